//! Saves of tmux: titles and commands of the conversation's panes, and what those panes showed when no agent was in them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use store::durable;

use crate::scrub::scrub;
use crate::{Eraser, Error, Subject, reading};

impl Eraser<'_> {
    pub(crate) fn erase_saves(&self, subject: &Subject) -> Result<(), Error> {
        let (state, key) = (&self.settler.state, self.settler.key.writing()?);
        let folder = state.saves();
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(reading(&folder))?,
        };
        for entry in entries {
            let path = entry.map_err(reading(&folder))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // What is torn is no save, and says nothing that could be taken out of it: it goes if it names the conversation.
            let Ok(loaded) = store::saves::load(state, Some(key), &stem) else {
                let bytes = store::files::read(&path).unwrap_or_default();
                if String::from_utf8_lossy(&bytes).contains(subject.session.as_str()) {
                    durable::remove(&path)?;
                }
                continue;
            };
            let mut whole = Value::Object(loaded.whole.clone());
            let panes = panes_of(&loaded.whole, subject);
            let mut changed = scrub(&mut whole, subject);
            let beside = path.with_extension("zst");
            let packed = store::files::read(&beside).ok();
            let new = packed.as_deref().map(|packed| without(packed, &panes, subject)).transpose();
            let scrollback = match new {
                Ok(new) => new.flatten(),
                // It cannot be read, so it cannot be told what is in it.
                Err(_) => Some(None),
            };
            changed |= scrollback.is_some();
            if !changed {
                continue;
            }
            let Value::Object(whole) = whole else { continue };
            store::saves::rewrite(state, key, &loaded, whole, scrollback)?;
        }
        Ok(())
    }
}

/// The panes of a save that were this conversation's, by the place of their server in it.
fn panes_of(whole: &Map<String, Value>, subject: &Subject) -> BTreeSet<(usize, String)> {
    let mut panes = BTreeSet::new();
    let servers = whole.get("servers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (number, server) in servers.iter().enumerate() {
        let tmux = &server["tmux"];
        let id = (
            u32::try_from(tmux["pid"].as_u64().unwrap_or_default()).unwrap_or_default(),
            tmux["startTime"].as_i64().unwrap_or_default(),
        );
        for window in tmux["windows"].as_array().into_iter().flatten() {
            for pane in window["panes"].as_array().into_iter().flatten() {
                let Some(name) = pane["id"].as_str() else { continue };
                let tagged = !subject.is_anothers && pane["tag"].as_str() == Some(subject.session.as_str());
                if tagged || subject.was_in(id, name) {
                    panes.insert((number, name.to_owned()));
                }
            }
        }
        for agent in server["agents"].as_array().into_iter().flatten() {
            if !subject.is_anothers
                && agent["sessionId"].as_str() == Some(subject.session.as_str())
                && let Some(name) = agent["pane"].as_str()
            {
                panes.insert((number, name.to_owned()));
            }
        }
    }
    panes
}

/// The scrollback without these panes and without panes that show what was said; `None` where it may stay, `Some(None)` where
/// nothing is left of it.
fn without(
    packed: &[u8],
    panes: &BTreeSet<(usize, String)>,
    subject: &Subject,
) -> std::io::Result<Option<Option<store::saves::Scrollback>>> {
    let mut texts = layouts::unpack(packed)?;
    let before = texts.len();
    texts.retain(|text| {
        let own = panes.contains(&(text.server, text.pane.clone()));
        let shows =
            || text.text.lines().any(|line| subject.words.are_in(line, crate::words::About::Anything));
        !own && !shows()
    });
    if texts.len() == before {
        return Ok(None);
    }
    if texts.is_empty() {
        return Ok(Some(None));
    }
    let packed = layouts::pack(&texts)?;
    Ok(Some(Some(store::saves::Scrollback { packed, panes: texts.len(), taken_at: None })))
}
