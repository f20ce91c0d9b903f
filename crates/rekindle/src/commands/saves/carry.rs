//! Saves that leave and saves that come in.

use std::path::Path;

use jiff::Timestamp;
use layouts::{CarryError, Imported};
use serde_json::json;
use store::saves::{Loaded, SaveError};

use super::super::save::{PATIENCE, counts_json, saver, words};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

pub(super) fn export(context: &Context, save: &Loaded, file: &Path, json: bool) -> Result<Exit, Failure> {
    let written = layouts::export(&context.repairer.state, save, file).map_err(refused)?;
    let mut out = Out::new();
    if json {
        let files: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
        out.json(json!({"save": save.id, "files": files}));
    } else {
        for path in &written {
            out.line(&format!("wrote {}", context.short_path(path)));
        }
    }
    out.finish()
}

pub(super) fn import(
    context: &Context,
    file: &Path,
    name: Option<&str>,
    json: bool,
) -> Result<Exit, Failure> {
    let saver = saver(context)?;
    let _alone = store::saves::lock(&saver.state, PATIENCE)?;
    let socket = Context::default_socket();
    let imported = layouts::import(
        &saver.state,
        saver.key.writing().map_err(SaveError::from)?,
        file,
        name,
        &socket,
        Timestamp::now(),
    );
    let Imported { written, mended, skipped } = imported.map_err(refused)?;
    if mended > 0 {
        say(&format!("rekindle: put back the columns of {}", count(mended as u64, "line", "lines")));
    }
    for line in &skipped {
        say(&format!("rekindle: passed over line {line}, which makes no sense"));
    }
    let mut out = Out::new();
    if json {
        out.json(json!({"save": written.id, "name": written.head.name, "imported": true,
            "counts": counts_json(&written.head), "mended": mended, "skipped": skipped}));
    } else {
        out.line(&format!("imported {}: {}", words(&written.head), written.id));
    }
    out.finish()
}

fn refused(error: CarryError) -> Failure {
    match &error {
        CarryError::Exists { .. } | CarryError::Save(SaveError::Newer { .. }) => {
            Failure::new(Exit::Refused, format!("cannot {error}"))
        }
        CarryError::NoSave { .. } => Failure::new(Exit::Usage, format!("cannot {error}")),
        _ => error.into(),
    }
}
