//! Checking every stored bit.

use serde_json::{Value, json};
use vault::DamagedPlace;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, bytes, count};

pub(super) fn verify(context: &Context, json: bool) -> Result<Exit, Failure> {
    let report = context.repairer.vault.verify()?;
    let mut out = Out::new();
    if json {
        let damage: Vec<Value> = report.damage.iter().map(|damage| {
            let touches: Vec<Value> = damage.touches.iter().map(|t| json!({ "file": t.file, "generation": t.generation, "bytes": t.bytes, "rows": t.rows })).collect();
            json!({ "conversation": damage.key.as_str(), "place": place_words(&damage.place), "touches": touches })
        }).collect();
        out.json(json!({ "conversations": report.conversations, "frames": report.frames, "bytes": report.bytes, "damage": damage }));
    } else {
        for damage in &report.damage {
            out.line(&format!("{}: {}", damage.key.as_str(), place_words(&damage.place)));
            for touched in &damage.touches {
                out.line(&format!(
                    "  touches {} (version {}), rows {} to {}",
                    touched.file,
                    touched.generation,
                    touched.rows.0 + 1,
                    touched.rows.1
                ));
            }
        }
        out.line(&format!(
            "{}, {} checked: {}",
            count(report.conversations as u64, "conversation", "conversations"),
            bytes(report.bytes),
            if report.is_clean() {
                "every bit is as it was written".to_owned()
            } else {
                count(report.damage.len() as u64, "place is damaged", "places are damaged")
            },
        ));
    }
    out.finish_as(if report.is_clean() { Exit::Done } else { Exit::Failed })
}

fn place_words(place: &DamagedPlace) -> String {
    match place {
        DamagedPlace::Manifest { line, .. } => format!("line {line} of its manifest is damaged"),
        DamagedPlace::Lost { line } => format!("lines are missing before line {line} of its manifest"),
        DamagedPlace::Foreign { what } => format!("{what}; nothing of it is used"),
        DamagedPlace::Head => "its head is damaged, which says where the manifest ends".to_owned(),
        DamagedPlace::Data { of, offset, error } => {
            format!("the frame at byte {offset} of {of} is damaged ({error})")
        }
    }
}
