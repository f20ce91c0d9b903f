//! `rekindle service status`: what is installed, whether it runs, when it ran and when it will.

use integrate::service::{Service, UnitFile};
use jiff::Timestamp;
use serde_json::{Value, json};
use store::StateDir;

use super::manager::{self, Linger, Unit};
use super::{refuse, word};
use crate::commands::tick::LastTick;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Column, Fit, Out, Table, age, ago};

/// Everything about one file.
struct Row {
    file: UnitFile,
    installed: bool,
    /// As this program would write it.
    current: bool,
    unit: Unit,
}

pub(super) fn run(as_json: bool) -> Result<Exit, Failure> {
    let (around, _) = Context::paths()?;
    let config = Context::configuration(&around)?;
    let service = manager::service(&around, config.save.interval)?;
    let plan = integrate::service::plan(&around.state, &service).map_err(|error| refuse(&error))?;
    let changes = plan.changes();
    let row = |file: UnitFile| {
        let installed = file.path.exists();
        let real = std::fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        let current = installed && !changes.iter().any(|change| change.path == real);
        let unit = if installed { manager::ask(&service, file.name) } else { Unit::default() };
        Row { file, installed, current, unit }
    };
    let rows: Vec<Row> = service.files().into_iter().map(row).collect();
    let state = StateDir::existing(&around.state)?;
    let last = state.as_ref().map(LastTick::read).unwrap_or_default();
    let restored = state.as_ref().and_then(last_restore);
    let next = rows.iter().any(|row| row.installed).then(|| manager::next_tick(&service)).flatten();
    let next = next.and_then(|next| Timestamp::from_microsecond(next).ok());
    let linger = manager::linger(&service);
    let mut out = Out::new();
    if as_json {
        let unit = |row: &Row| {
            json!({"name": row.file.name, "path": row.file.path.to_string_lossy(), "installed": row.installed,
                "current": row.current, "enabled": row.unit.enabled, "active": row.unit.active,
                "result": row.unit.result})
        };
        out.json(json!({
            "manager": word(service.manager), "units": rows.iter().map(unit).collect::<Value>(),
            "linger": linger.as_json(), "lastTick": last.at, "failures": last.failures, "nextTick": next,
            "lastRestore": restored,
        }));
        return out.finish();
    }
    show(&rows, &mut out);
    words(&service, &rows, &last, next, restored.as_ref(), linger, &mut out);
    out.finish()
}

fn show(rows: &[Row], out: &mut Out) {
    let mut table = Table::new(&[
        Column::new("unit", Fit::Whole),
        Column::new("installed", Fit::Whole),
        Column::new("enabled", Fit::Drop(1)),
        Column::new("active", Fit::Drop(2)),
        Column::new("last result", Fit::Drop(3)),
    ]);
    for row in rows {
        let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let installed = match (row.installed, row.current) {
            (false, _) => "no",
            (true, true) => "yes",
            (true, false) => "differs",
        };
        table.row([
            row.file.name.into(),
            installed.into(),
            said(&row.unit.enabled).into(),
            said(&row.unit.active).into(),
            said(&row.unit.result).into(),
        ]);
    }
    out.exact_line(&table.text());
    out.line("");
}

fn words(
    service: &Service,
    rows: &[Row],
    last: &LastTick,
    next: Option<Timestamp>,
    restored: Option<&Value>,
    linger: Linger,
    out: &mut Out,
) {
    let now = Timestamp::now();
    let ticked = last.at.map_or_else(|| "never".to_owned(), ago);
    let coming = next.map(|next| format!(", the next in {}", age(now, next))).unwrap_or_default();
    out.line(&format!("last tick: {ticked}{coming}"));
    for failure in &last.failures {
        out.line(&format!("  it failed: {failure}"));
    }
    let at = restored.and_then(|last| last["at"].as_str()?.parse().ok());
    if let (Some(at), Some(last)) = (at, restored) {
        out.line(&format!("last restore: {}, {}/{}", ago(at), last["restored"], last["total"]));
    }
    match linger {
        Linger::On => out.line("linger: on"),
        Linger::Off => out.line("linger: off; loginctl enable-linger starts your services at boot"),
        Linger::Unknown => {}
    }
    if rows.iter().any(|row| !row.installed) {
        out.line("rekindle service install installs what is missing");
    } else if rows.iter().any(|row| !row.current) {
        let manager = word(service.manager);
        out.line(&format!("rekindle service install brings what {manager} was given up to date"));
    }
}

/// When the last restore was, and what came of it.
fn last_restore(state: &StateDir) -> Option<Value> {
    let bytes = store::files::read(state.instances().join("restore/last-restore.json")).ok()?;
    let whole: Value = serde_json::from_slice(&bytes).ok()?;
    Some(json!({"at": whole["at"], "restored": whole["restored"], "total": whole["total"]}))
}
