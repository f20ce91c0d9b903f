//! Files that an editor or a sync tool wrote anew (A13).

use anyhow::Result;
use serde_json::Value;
use transcript::Class::A13;

use super::Case;
use crate::agent::VERSIONS;
use crate::base::Base;

pub(super) fn cases() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        Case::bytes("pretty-printed", &[A13], "an editor formatted every row", |b| pretty(b, usize::MAX))
            .on(older),
        Case::bytes(
            "pretty-then-rows",
            &[A13],
            "the agent went on behind rows that an editor formatted",
            |b| pretty(b, 12),
        )
        .on(newest)
        .goes_on(),
        Case::bytes("one-array", &[A13], "a tool made one array of the rows", |b| {
            Ok(Value::from(values(b)).to_string().into_bytes())
        })
        .on(oldest),
        Case::bytes("array-of-lines", &[A13], "a tool made an array of the rows, one per line", |b| {
            let lines: Vec<String> = values(b).iter().map(Value::to_string).collect();
            Ok(format!("[\n{}\n]\n", lines.join(",\n")).into_bytes())
        })
        .on(newest),
        Case::bytes("utf-16-little", &[A13], "a tool wrote UTF-16", |b| utf16(b, u16::to_le_bytes))
            .on(newest)
            .goes_on(),
        Case::bytes("utf-16-big", &[A13], "a tool wrote UTF-16 of the other order", |b| {
            utf16(b, u16::to_be_bytes)
        })
        .on(older),
        Case::bytes("folded", &[A13], "a tool folded the lines at 80 bytes", |b| Ok(folded(&b.bytes(), 80)))
            .on(newest),
        Case::bytes("folded-wide", &[A13], "a tool folded the lines at 500 bytes", |b| {
            Ok(folded(&b.bytes(), 500))
        })
        .on(oldest),
        Case::bytes("blank-lines", &[], "an empty line between rows, which every version passes over", |b| {
            Ok(String::from_utf8(b.bytes())?.replace('\n', "\n\n").into_bytes())
        })
        .unchanged()
        .on(older),
        Case::bytes("spaced-rows", &[], "white space between the values of a row", |b| {
            let spaced = |row: &Value| row.to_string().replacen("{\"", "{ \"", 1).replacen(":", " : ", 1);
            Ok(values(b).iter().map(|row| spaced(row) + "\n").collect::<String>().into_bytes())
        })
        .unchanged()
        .on(newest),
    ]
}

fn values(base: &Base) -> Vec<Value> {
    base.rows().into_iter().map(|row| base[row].clone()).collect()
}

/// The first rows formatted, the others as the agent writes them.
fn pretty(base: &Base, first: usize) -> Result<Vec<u8>> {
    let mut out = String::new();
    for (no, row) in values(base).iter().enumerate() {
        out.push_str(&if no < first { serde_json::to_string_pretty(row)? } else { row.to_string() });
        out.push('\n');
    }
    Ok(out.into_bytes())
}

fn utf16(base: &Base, order: fn(u16) -> [u8; 2]) -> Result<Vec<u8>> {
    let text = format!("\u{feff}{}", String::from_utf8(base.bytes())?);
    Ok(text.encode_utf16().flat_map(order).collect())
}

fn folded(bytes: &[u8], width: usize) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let cut = |line: &[u8]| line.chunks(width).collect::<Vec<_>>().join(&b'\n');
    lines.flat_map(|line| [cut(line), b"\n".to_vec()].concat()).collect()
}
