//! The saves there are.

use serde_json::{Value, json};
use state::saves::Generation;
use state::seal::Origin;

use super::super::save::counts_json;
use super::listed;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, Table, ago, bytes, count, one_line};

pub(super) fn list(context: &Context, json: bool) -> Result<Exit, Failure> {
    let listed = listed(context)?;
    let is_current = |known: &Generation| Some(&known.id) == listed.current.as_ref();
    let mut out = Out::new();
    if json {
        let saves: Vec<Value> =
            listed.generations.iter().map(|known| generation_json(known, is_current(known))).collect();
        let skipped: Vec<Value> = listed
            .skipped
            .iter()
            .map(|skipped| json!({"path": skipped.path.to_string_lossy(), "why": skipped.why}))
            .collect();
        out.json(json!({"saves": saves, "current": listed.current, "skipped": skipped}));
        return out.finish();
    }
    let mut table = Table::new(&[
        "", "save", "when", "name", "kind", "servers", "sessions", "windows", "panes", "agents", "size", "",
    ]);
    for column in 5..=10 {
        table = table.right(column);
    }
    for known in &listed.generations {
        let head = &known.head;
        let counts = head.counts;
        let mut cells = vec![
            if is_current(known) { "●" } else { "" }.to_owned(),
            known.id.split('-').next().unwrap_or(&known.id).to_owned(),
            ago(head.saved_at),
            one_line(head.name.as_deref().unwrap_or_default(), 30),
            head.kind.word().to_owned(),
        ];
        cells.extend(
            [counts.servers, counts.sessions, counts.windows, counts.panes, counts.agents]
                .map(|number| number.to_string()),
        );
        cells.push(bytes(known.bytes));
        cells.push(remark(known, is_current(known)));
        table.row(&cells);
    }
    if !listed.generations.is_empty() {
        out.line(&table.text());
        out.line("");
    }
    out.line(&count(listed.generations.len() as u64, "save", "saves"));
    out.finish()
}

fn remark(known: &Generation, current: bool) -> String {
    match (&known.head.held, current) {
        (_, true) => "current".to_owned(),
        (Some(why), _) => format!("held: {}", one_line(why, 60)),
        _ if known.origin == Origin::Foreign => "not written here".to_owned(),
        _ => String::new(),
    }
}

fn generation_json(known: &Generation, current: bool) -> Value {
    let head = &known.head;
    json!({
        "save": known.id, "savedAt": head.saved_at.to_string(), "name": head.name, "kind": head.kind,
        "imported": head.imported, "held": head.held, "counts": counts_json(head), "bytes": known.bytes,
        "scrollback": head.scrollback.as_ref().map(|beside| beside.panes), "current": current,
        "genuine": known.origin == Origin::Genuine,
    })
}
