//! The saves there are.

use serde_json::{Value, json};
use store::mac::Origin;
use store::saves::Generation;

use super::super::save::counts_json;
use super::listed;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Cell, Column, Fit, Out, Table, ago, bytes, count, one_line};

const COLUMNS: [Column; 12] = [
    Column::new("", Fit::Whole),
    Column::new("save", Fit::Whole),
    Column::new("when", Fit::Whole),
    Column::new("name", Fit::CutThenDrop(8, 7)),
    Column::new("kind", Fit::Drop(4)),
    Column::right("servers", Fit::Drop(1)),
    Column::right("sessions", Fit::Drop(3)),
    Column::right("windows", Fit::Drop(2)),
    Column::right("panes", Fit::Drop(6)),
    Column::right("agents", Fit::Drop(8)),
    Column::right("size", Fit::Drop(5)),
    Column::new("", Fit::Wrap(16)),
];

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
    let mut table = Table::new(&COLUMNS);
    for known in &listed.generations {
        let head = &known.head;
        let counts = head.counts;
        let number = |number: usize| Cell::new(number.to_string());
        table.row([
            if is_current(known) { "●" } else { "" }.into(),
            known.id.split('-').next().unwrap_or(&known.id).into(),
            ago(head.saved_at).into(),
            one_line(head.name.as_deref().unwrap_or_default(), 30).into(),
            head.kind.word().into(),
            number(counts.servers),
            number(counts.sessions),
            number(counts.windows),
            number(counts.panes),
            number(counts.agents),
            bytes(known.bytes).into(),
            remark(known, is_current(known)).into(),
        ]);
    }
    if !listed.generations.is_empty() {
        out.exact_line(&table.text());
        out.line("");
    }
    out.line(&count(listed.generations.len() as u64, "save", "saves"));
    out.finish()
}

fn remark(known: &Generation, current: bool) -> String {
    let current = current.then(|| "current".to_owned());
    let held = known.head.held.as_ref().filter(|_| current.is_none());
    let held = held.map(|why| format!("held: {}", one_line(why, 60)));
    let foreign = (known.origin == Origin::Foreign).then(|| "not written here".to_owned());
    [current, held, foreign].into_iter().flatten().collect::<Vec<_>>().join(", ")
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
