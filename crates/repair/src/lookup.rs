//! Targets that only records know: a pane, a name, a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, account};
use agents::{SessionId, SessionKey, is_mark, mark};
use jiff::Timestamp;
use store::record::{self, SessionRecord, Status};

use crate::{Repairer, TargetError};

/// Whether a text is written like a pane: `%4`, `work:1.0`, `socket//work:1.0`.
pub fn is_pane(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.strip_prefix('%') {
        return digits(number);
    }
    let Some((session, place)) = text.rsplit_once(':') else { return false };
    let numbered = place.split_once('.').is_some_and(|(window, pane)| digits(window) && digits(pane));
    let name = session.rsplit_once("//").map_or(session, |(_, name)| name);
    numbered && !name.is_empty() && !name.contains('/')
}

impl Repairer {
    /// The conversation that a pane, a name or a directory means by the records; nothing where none does.
    ///
    /// # Errors
    /// It means several.
    pub fn on_record(&self, text: &str) -> Result<Option<SessionKey>, TargetError> {
        if is_pane(text) {
            return in_pane(&self.records(), text);
        }
        if Path::new(text).is_dir() {
            return in_directory(&self.records(), text, &real(Path::new(text)));
        }
        one_of(text, self.named(text).iter().map(|id| (id.clone(), self.tell_apart(id))).collect())
    }

    /// The conversation that any kind of target means, whether its transcript is there or not.
    ///
    /// # Errors
    /// It means nothing, or several.
    pub fn session(&self, text: &str) -> Result<SessionKey, TargetError> {
        Ok(self.resolve(text)?.key)
    }

    /// The key of a conversation of this account. A record that cannot be read keeps its name.
    pub fn key_of(&self, session: &SessionId, config: Option<&ConfigDir>) -> SessionKey {
        let first = || SessionKey::first(session.clone());
        let Some(config) = config else { return first() };
        record::key_for(&self.state, session, config.path()).unwrap_or_else(|_| first())
    }

    /// The key of the conversation whose transcript is, or was, at this path.
    pub fn key_at(&self, session: &SessionId, transcript: &Path) -> SessionKey {
        self.key_of(session, agents::claude::config_of(transcript).map(ConfigDir::new).as_ref())
    }

    /// Every record that can be read.
    pub(crate) fn records(&self) -> Vec<SessionRecord> {
        let keys = record::keys(&self.state).unwrap_or_default();
        let load = |key: &SessionKey| record::load(&self.state, None, key).ok().flatten();
        keys.iter().filter_map(load).map(|held| held.record).collect()
    }

    /// The conversations of this name, upper and lower case being the same; those that have not ended come before those
    /// that have.
    pub(crate) fn named(&self, text: &str) -> BTreeSet<SessionKey> {
        if text.trim().is_empty() {
            return BTreeSet::new();
        }
        let is = |record: &SessionRecord| {
            record.name.as_deref().is_some_and(|name| name.to_lowercase() == text.to_lowercase())
        };
        let named: Vec<SessionRecord> = self.records().into_iter().filter(is).collect();
        rather_living(named.iter()).into_iter().map(|record| record.session_id.clone()).collect()
    }

    /// What tells a conversation from others of its name.
    pub(crate) fn tell_apart(&self, key: &SessionKey) -> String {
        let held = record::load(&self.state, None, key).ok().flatten();
        held.map(|held| whereabouts(&held.record)).unwrap_or_default()
    }

    /// The conversations on record whose id begins so. Behind the beginning may stand the mark of an account, as in the
    /// short form that lists show.
    pub(crate) fn beginning(&self, text: &str) -> BTreeSet<SessionKey> {
        let keys = record::keys(&self.state).unwrap_or_default();
        let marked = text.rsplit_once('@').filter(|(_, mark)| is_mark(mark));
        let (id, mark) = marked.map_or((text, None), |(id, mark)| (id, Some(mark)));
        let is = |key: &SessionKey| {
            // The first account of an id has no mark in its name; where others have the id, too, it is shown with its own.
            let first = || {
                key.account_mark().is_none() && self.account_of(key).as_ref().map(own_mark).as_deref() == mark
            };
            let begins = !id.is_empty() && key.id().as_str().starts_with(id);
            begins && (mark.is_none() || key.account_mark() == mark || first())
        };
        keys.into_iter().filter(is).collect()
    }

    /// The accounts of all conversations on record with this id.
    pub(crate) fn recorded_accounts(&self, session: &SessionId) -> Vec<ConfigDir> {
        let keys = self.beginning(session.as_str()).into_iter().filter(|key| key.id() == session);
        keys.filter_map(|key| self.account_of(&key)).collect()
    }
}

fn own_mark(config: &ConfigDir) -> String {
    mark(&account(config.path()))
}

/// Those that have not ended, or all where all have.
fn rather_living<'a>(records: impl Iterator<Item = &'a SessionRecord>) -> Vec<&'a SessionRecord> {
    let all: Vec<&SessionRecord> = records.collect();
    let lives = |record: &&SessionRecord| match record.status {
        Status::Active => true,
        // One that went on under another id is not meant where that one is.
        Status::Crashed => record.next_id.is_none(),
        Status::EndedCleanly => false,
    };
    let living: Vec<&SessionRecord> = all.iter().copied().filter(lives).collect();
    if living.is_empty() { all } else { living }
}

/// A pane's conversation is the active one there, else the newest that was: as the map has it.
fn in_pane(records: &[SessionRecord], text: &str) -> Result<Option<SessionKey>, TargetError> {
    let here = |record: &&SessionRecord| {
        let own = record.run().is_none_or(|run| !run.nested && !run.one_shot);
        own && record.place.as_ref().is_some_and(|place| place.pane == text || place.reference == text)
    };
    let all: Vec<&SessionRecord> = records.iter().filter(here).collect();
    let active: Vec<&SessionRecord> =
        all.iter().copied().filter(|record| record.status == Status::Active).collect();
    let mut servers: Vec<&PathBuf> =
        active.iter().filter_map(|record| Some(&record.place.as_ref()?.socket)).collect();
    servers.dedup();
    if servers.len() > 1 {
        return one_of(
            text,
            active.iter().map(|record| (record.session_id.clone(), whereabouts(record))).collect(),
        );
    }
    let candidates = if active.is_empty() { all } else { active };
    let newest = candidates.into_iter().max_by_key(|record| record.last_seen);
    Ok(newest.map(|record| record.session_id.clone()))
}

fn in_directory(
    records: &[SessionRecord],
    text: &str,
    directory: &Path,
) -> Result<Option<SessionKey>, TargetError> {
    let here = |path: &Option<PathBuf>| path.as_deref().is_some_and(|path| real(path) == directory);
    let mine = records.iter().filter(|record| here(&record.cwd) || here(&record.project_dir));
    let mine = rather_living(mine).into_iter();
    one_of(text, mine.map(|record| (record.session_id.clone(), whereabouts(record))).collect())
}

fn one_of(text: &str, found: Vec<(SessionKey, String)>) -> Result<Option<SessionKey>, TargetError> {
    match found.as_slice() {
        [] => Ok(None),
        [(only, _)] => Ok(Some(only.clone())),
        _ => Err(TargetError::Several { text: text.to_owned(), found }),
    }
}

/// What tells a conversation from others of its kind.
fn whereabouts(record: &SessionRecord) -> String {
    let pane = record.place.as_ref().map(|place| place.reference.clone());
    let task = record.task.as_ref().map(|task| {
        let short: String = task.chars().take(LONGEST_TASK).collect();
        if short.len() < task.len() { format!("{short}…") } else { short }
    });
    let age = Timestamp::now().duration_since(record.last_seen);
    let minutes = age.as_mins().max(0);
    let age = match minutes {
        0..2 => format!("{} s ago", age.as_secs().max(0)),
        2..120 => format!("{minutes} m ago"),
        120..2880 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1440),
    };
    pane.into_iter().chain(task).chain([age]).collect::<Vec<_>>().join(", ")
}

/// As much of a task as tells it from others.
const LONGEST_TASK: usize = 40;

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn panes_are_told_from_paths_and_names() {
        for pane in ["%0", "%412", "work:1.0", "my shop:0.12", "side//work:1.0", "/run/x.sock//work:1.0"] {
            assert!(is_pane(pane), "{pane}");
        }
        for other in ["%", "%x", "work:1", "work:.0", ":1.0", "/a/b:1.0", "a//b.jsonl", "1a2b", "shop", ""] {
            assert!(!is_pane(other), "{other}");
        }
    }

    fn record(id: &str, status: Status, socket: &str, pane: &str, seen: i64) -> SessionRecord {
        let at = Timestamp::from_second(seen).unwrap();
        let mut record = SessionRecord::new(SessionKey::parse(id).unwrap(), at);
        record.status = status;
        record.cwd = Some("/w".into());
        let place =
            json!({"socket": socket, "server": 1, "pane": pane, "ref": format!("work:0.{}", &pane[1..])});
        record.place = serde_json::from_value(place).unwrap();
        record
    }

    #[test]
    fn a_pane_means_who_is_there_else_who_was_there_last() {
        let old = record("old", Status::EndedCleanly, "/a", "%1", 9);
        let new = record("new", Status::Active, "/a", "%1", 5);
        let check = |records: &[SessionRecord], text: &str, expect: Option<&str>| {
            let found = in_pane(records, text).unwrap();
            assert_eq!(found.as_ref().map(SessionKey::as_str), expect);
        };
        check(&[old.clone(), new.clone()], "%1", Some("new"));
        check(&[old.clone(), new.clone()], "work:0.1", Some("new"));
        check(std::slice::from_ref(&old), "%1", Some("old"));
        check(&[old], "%2", None);
        let elsewhere = record("far", Status::Active, "/b", "%1", 5);
        assert!(matches!(in_pane(&[new, elsewhere], "%1"), Err(TargetError::Several { .. })));
    }

    #[test]
    fn a_directory_means_its_only_living_conversation() {
        let ended = record("ended", Status::EndedCleanly, "/a", "%1", 9);
        let living = record("living", Status::Crashed, "/a", "%2", 5);
        let check = |records: &[SessionRecord]| in_directory(records, "/w", Path::new("/w"));
        assert_eq!(check(&[ended.clone(), living.clone()]).unwrap().unwrap().as_str(), "living");
        assert_eq!(check(&[ended]).unwrap().unwrap().as_str(), "ended");
        let second = record("second", Status::Active, "/a", "%3", 5);
        let refused = check(&[living, second]).unwrap_err().to_string();
        assert!(
            refused.contains("living (work:0.2, ") && refused.contains("second (work:0.3, "),
            "{refused}"
        );
        assert!(refused.contains(" d ago"), "{refused}");
    }
}
