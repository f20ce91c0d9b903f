//! Records on disk.

use std::io;
use std::path::{Path, PathBuf};

use agents::SessionKey;
use serde_json::{Map, Value, json};

use super::provenance::{distrust, fill_in, mark_untrusted};
use super::{SCHEMA, SessionRecord};
use crate::StateDir;
use crate::durable;
use crate::mac::{Key, Origin, Subject};

/// A record as it stands on disk, with whatever else stands beside what we know.
#[derive(Debug, Clone)]
pub struct Held {
    /// What it says.
    pub record: SessionRecord,
    /// Whether it was written here.
    pub origin: Origin,
    original: Map<String, Value>,
}

/// Why a record could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The record.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is no record.
    #[error("understand {}: {why}", path.display())]
    Broken {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It was written by a newer program, which knows more than this one.
    #[error("use {}: it is of a newer version ({schema}); update rekindle", path.display())]
    Newer {
        /// The record.
        path: PathBuf,
        /// Its version.
        schema: u32,
    },
    /// It could not be written.
    #[error(transparent)]
    Unwritable(#[from] durable::Error),
}

impl Held {
    /// A record that is on no disk yet.
    pub fn fresh(record: SessionRecord) -> Self {
        Self { record, origin: Origin::Genuine, original: Map::new() }
    }

    /// Whether the file carried a code, of whatever key.
    pub fn is_sealed(&self) -> bool {
        self.original.contains_key("mac")
    }
}

fn path(state: &StateDir, session: &SessionKey) -> PathBuf {
    state.session_health().join(format!("{session}.lock"))
}

pub(super) fn exists(state: &StateDir, session: &SessionKey) -> bool {
    path(state, session).exists()
}

/// The conversations that have a record.
///
/// # Errors
/// The folder is there and cannot be listed.
pub fn keys(state: &StateDir) -> Result<Vec<SessionKey>, RecordError> {
    let names = names(state)?;
    let locks = names.iter().map(Path::new).filter(|name| name.extension().is_some_and(|end| end == "lock"));
    let mut ids: Vec<SessionKey> =
        locks.filter_map(|name| SessionKey::parse(name.file_stem()?.to_str()?).ok()).collect();
    ids.sort();
    Ok(ids)
}

/// The keys of records that were broken and set aside (`<key>.broken-<time>`).
///
/// # Errors
/// The folder is there and cannot be listed.
pub fn set_aside(state: &StateDir) -> Result<Vec<SessionKey>, RecordError> {
    let names = names(state)?;
    let broken = names.iter().map(Path::new).filter(|name| {
        name.extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|end| end.starts_with("broken-"))
    });
    Ok(broken.filter_map(|name| SessionKey::parse(name.file_stem()?.to_str()?).ok()).collect())
}

fn names(state: &StateDir) -> Result<Vec<std::ffi::OsString>, RecordError> {
    let folder = state.session_health();
    let wrap = |source| RecordError::Unreadable { path: folder.clone(), source };
    match std::fs::read_dir(&folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(wrap)).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(wrap(error)),
    }
}

/// Reads the record of a conversation; nothing where there is none. Without a valid code for this very session every run in
/// it is untrusted, and what gives it power over other sessions is taken out. Without a key nothing is checked: every run is
/// untrusted, and the rest stays as it is, for readers that only look a session up.
///
/// # Errors
/// It is there and cannot be read or understood, or it is another session's.
pub fn load(state: &StateDir, key: Option<&Key>, session: &SessionKey) -> Result<Option<Held>, RecordError> {
    let path = path(state, session);
    let text = match crate::files::read_own_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // What is no text is no record, and reading it again would not make it one.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(RecordError::Broken { path, why: error.to_string() });
        }
        Err(source) => return Err(RecordError::Unreadable { path, source }),
    };
    let broken =
        |error: serde_json::Error| RecordError::Broken { path: path.clone(), why: error.to_string() };
    let original: Map<String, Value> = serde_json::from_str(&text).map_err(broken)?;
    let mut record: SessionRecord = match serde_json::from_value(Value::Object(original.clone())) {
        Ok(record) => record,
        Err(error) => {
            // A newer program may use words that this one does not know: not understood is not broken.
            let schema = original.get("schema").and_then(Value::as_u64).and_then(|s| u32::try_from(s).ok());
            return Err(match schema {
                Some(schema) if schema > SCHEMA => RecordError::Newer { path, schema },
                _ => broken(error),
            });
        }
    };
    if record.session_id.id() != session.id() {
        let why = format!("it is the record of session {}", record.session_id);
        return Err(RecordError::Broken { path, why });
    }
    // Both become names of files: the file's own name counts, whatever stands in it.
    (record.session_id, record.short_id) = (session.clone(), session.prefix());
    let origin = key.map_or(Origin::Foreign, |key| key.origin(Subject::Record(session), &text));
    match (origin, key) {
        (Origin::Genuine, _) => fill_in(&mut record),
        (Origin::Foreign, Some(_)) => distrust(&mut record),
        (Origin::Foreign, None) => mark_untrusted(&mut record),
    }
    Ok(Some(Held { record, origin, original }))
}

/// Writes a record, sealed, with every unknown key it had.
///
/// # Errors
/// It is of a newer version, or cannot be written.
pub fn store(state: &StateDir, key: &Key, held: &Held) -> Result<(), RecordError> {
    let path = path(state, &held.record.session_id);
    if held.record.schema > SCHEMA {
        return Err(RecordError::Newer { path, schema: held.record.schema });
    }
    let broken =
        |error: serde_json::Error| RecordError::Broken { path: path.clone(), why: error.to_string() };
    let Value::Object(mut written) = serde_json::to_value(&held.record).map_err(broken)? else {
        return Err(RecordError::Broken { path, why: "it is no object".to_owned() });
    };
    carry(&held.original, &mut written);
    repeat_run(&held.record, &mut written);
    if let (Some(Value::Array(old)), Some(Value::Array(new))) =
        (held.original.get("runs"), written.get_mut("runs"))
    {
        for run in new {
            let same =
                old.iter().find(|old| old["pid"] == run["pid"] && old["procStart"] == run["procStart"]);
            if let (Some(Value::Object(old)), Value::Object(run)) = (same, run) {
                carry(old, run);
            }
        }
    }
    written.shift_remove("mac");
    let text = serde_json::to_string_pretty(&written).map_err(broken)?;
    durable::private_dir(&state.session_health())?;
    durable::replace(&path, key.seal(Subject::Record(&held.record.session_id), &text).as_bytes())?;
    Ok(())
}

/// Repeats the newest run at the top, in the shape of the lifecycle design, for programs that read records. Always made anew
/// from `runs`, and never read back.
fn repeat_run(record: &SessionRecord, written: &mut Map<String, Value>) {
    let run = record.run();
    let place = record.place.as_ref().or_else(|| run.and_then(|run| run.tmux.as_ref()));
    // A session's name has no colon and no point.
    let parts = place.and_then(|place| {
        let (session, rest) = place.reference.rsplit_once(':')?;
        let (window, pane) = rest.rsplit_once('.')?;
        // On another server its name stands before it.
        let session = session.rsplit_once("//").map_or(session, |(_, session)| session);
        Some(json!({"session": session, "window": window, "pane": pane}))
    });
    let repeated = [
        ("launchedAt", json!(run.map(|run| run.launched_at.as_millisecond()))),
        ("slotId", json!(run.map(|run| &run.slot_id))),
        ("configDir", json!(run.map(|run| &run.config_dir))),
        ("keychainService", json!(run.map(|run| &run.keychain_service))),
        ("email", json!(run.map(|run| &run.email))),
        ("claudeVersion", json!(run.map(|run| &run.claude_version))),
        ("tmux", json!(parts)),
    ];
    written.extend(repeated.map(|(key, value)| (key.to_owned(), value)));
}

/// Every key we know is always written, so whatever else was there is somebody else's and stays.
fn carry(original: &Map<String, Value>, written: &mut Map<String, Value>) {
    for (key, value) in original {
        if !written.contains_key(key) {
            written.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Provenance, Run};
    use jiff::Timestamp;

    fn room() -> (tempfile::TempDir, StateDir, Key, SessionKey) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = Key::create(&dir.path().join("key")).unwrap();
        (dir, state, key, SessionKey::parse("s1").unwrap())
    }

    fn run() -> Run {
        serde_json::from_value(
            serde_json::json!({"launchedAt": Timestamp::UNIX_EPOCH, "pid": 7, "procStart": 9}),
        )
        .unwrap()
    }

    #[test]
    fn unknown_keys_survive_and_the_seal_tells_a_hand_from_ours() {
        let (_dir, state, key, id) = room();
        let mut record = SessionRecord::new(id.clone(), Timestamp::UNIX_EPOCH);
        record.runs.push(run());
        record.name = Some("a".to_owned());
        store(&state, &key, &Held::fresh(record)).unwrap();
        let held = load(&state, Some(&key), &id).unwrap().unwrap();
        assert_eq!(held.origin, Origin::Genuine);
        let file = path(&state, &id);
        let text = std::fs::read_to_string(&file).unwrap();
        let edited = text
            .replace("\"name\": \"a\",", "\"name\": \"b\",\n  \"theirs\": 5,")
            .replace("\"pid\": 7,", "\"pid\": 7, \"more\": true,");
        durable::replace(&file, edited.as_bytes()).unwrap();
        let mut held = load(&state, Some(&key), &id).unwrap().unwrap();
        assert_eq!(held.origin, Origin::Foreign);
        assert_eq!((held.record.name.as_deref(), held.record.shown_name()), (None, Some("b")));
        held.record.untrusted_words = None;
        store(&state, &key, &held).unwrap();
        let value: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&value["theirs"], &value["name"]), (&Value::from(5), &Value::Null));
        assert_eq!(value["runs"][0]["more"], true);
        let again = load(&state, Some(&key), &id).unwrap().unwrap();
        assert_eq!(again.origin, Origin::Genuine);
        assert_eq!(again.record.runs[0].provenance, Some(Provenance::Untrusted), "a new code raises nothing");
        assert_eq!(keys(&state).unwrap(), [id]);
    }

    #[test]
    fn the_newest_run_is_repeated_at_the_top_and_never_read_from_there() {
        let (_dir, state, key, id) = room();
        let mut record = SessionRecord::new(id.clone(), Timestamp::UNIX_EPOCH);
        let place = |reference: &str| crate::record::TmuxPlace {
            socket: "/s".into(),
            server: 1,
            started: 2,
            pane: "%4".to_owned(),
            reference: reference.to_owned(),
        };
        let newest = Run {
            launched_at: Timestamp::from_millisecond(1_738_854_720_123).unwrap(),
            slot_id: Some("slot-1".to_owned()),
            claude_version: Some("2.1.31".to_owned()),
            ..run()
        };
        record.runs = vec![run(), newest];
        record.place = Some(place("side//main:1.0"));
        store(&state, &key, &Held::fresh(record)).unwrap();
        let file = path(&state, &id);
        let read = || serde_json::from_str::<Value>(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let value = read();
        assert_eq!(
            (&value["launchedAt"], &value["slotId"]),
            (&json!(1_738_854_720_123_u64), &json!("slot-1"))
        );
        assert_eq!((&value["claudeVersion"], &value["email"]), (&json!("2.1.31"), &Value::Null));
        assert_eq!(value["tmux"], json!({"session": "main", "window": "1", "pane": "0"}));
        // Whatever stands there is made anew.
        let edited = std::fs::read_to_string(&file)
            .unwrap()
            .replace("\"slotId\": \"slot-1\",", "\"slotId\": \"slot-9\",");
        durable::replace(&file, edited.as_bytes()).unwrap();
        let mut held = load(&state, Some(&key), &id).unwrap().unwrap();
        held.record.runs.clear();
        held.record.place = None;
        store(&state, &key, &held).unwrap();
        let value = read();
        assert_eq!(
            (&value["slotId"], &value["tmux"], &value["launchedAt"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
    }

    #[test]
    fn a_genuine_record_under_another_name_is_broken() {
        let (_dir, state, key, id) = room();
        store(&state, &key, &Held::fresh(SessionRecord::new(id.clone(), Timestamp::UNIX_EPOCH))).unwrap();
        let other = SessionKey::parse("s2").unwrap();
        durable::replace(&path(&state, &other), &std::fs::read(path(&state, &id)).unwrap()).unwrap();
        assert!(matches!(load(&state, Some(&key), &other), Err(RecordError::Broken { .. })));
    }

    #[test]
    fn a_missing_one_is_none_a_broken_one_an_error_and_a_newer_one_is_not_written() {
        let (_dir, state, key, id) = room();
        assert!(load(&state, None, &id).unwrap().is_none());
        let mut newer = SessionRecord::new(id.clone(), Timestamp::UNIX_EPOCH);
        newer.schema = SCHEMA + 1;
        assert!(matches!(store(&state, &key, &Held::fresh(newer)), Err(RecordError::Newer { .. })));
        durable::private_dir(&state.session_health()).unwrap();
        durable::replace(&path(&state, &id), b"{").unwrap();
        assert!(matches!(load(&state, None, &id), Err(RecordError::Broken { .. })));
        durable::replace(&path(&state, &id), br#"{"schema":2,"status":"asleep"}"#).unwrap();
        assert!(matches!(load(&state, None, &id), Err(RecordError::Newer { schema: 2, .. })));
    }

    #[test]
    fn tells_the_config_directory_from_whatever_part_has_it() {
        let id = SessionKey::parse("s1").unwrap();
        let mut record = SessionRecord::new(id, Timestamp::UNIX_EPOCH);
        assert_eq!(record.config_dir(), None);
        record.transcript_path = Some("/d/other/-x/s.jsonl".into());
        assert_eq!(record.config_dir(), None);
        record.transcript_path = Some("/d/projects/-x/s.jsonl".into());
        assert_eq!(record.config_dir(), Some("/d".into()));
        record.runs = vec![Run { config_dir: Some("/c".into()), ..run() }, run()];
        assert_eq!(record.config_dir(), Some("/c".into()));
    }
}
