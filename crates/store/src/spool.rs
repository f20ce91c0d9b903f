//! What hooks leave behind, as it came: `spool/<session-id>.jsonl`, one event per line, folded into records by settle.
//!
//! **Hot.** An event is one `write` to a file of its own session: no lock, no look at other sessions, no wait but for the
//! disk at the first and last event of a session. Every line begins with a newline too, so that the torn line of a killed
//! writer spoils nothing but itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agents::claude::chain::Link;
use agents::claude::config_of;
use agents::claude::pid_domain::PidDomain;
use agents::{SessionId, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::StateDir;
use crate::durable::{self, Sync};
use crate::mac::{Key, Origin};
use crate::record::SessionRecord;

/// The version of a spool line.
pub const SCHEMA: u32 = 1;

/// One event of an agent: who sent it, and what it said.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The version of this line.
    pub schema: u32,
    /// The event's name, such as `SessionStart`.
    pub event: String,
    /// When the hook ran, milliseconds since 1970. Order is the order of lines: clocks jump.
    pub at: i64,
    /// The processes above the hook, innermost first.
    #[serde(default)]
    pub chain: Vec<Link>,
    /// What only the first event of a run carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Launch>,
    /// What the agent wrote to the hook's standard input.
    pub input: Box<RawValue>,
}

impl Event {
    /// The agent's configuration directory: the one its transcript lies in, else the one it was started with. Nothing
    /// where the event tells neither.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let of_transcript = self.transcript_path().as_deref().and_then(config_of).map(Path::to_path_buf);
        of_transcript.or_else(|| {
            let env = &self.launch.as_ref()?.env;
            env.iter().find(|(name, _)| name == "CLAUDE_CONFIG_DIR").map(|(_, value)| PathBuf::from(value))
        })
    }

    /// Whether its paths mean here what they mean to its agent. An agent in a container may call by `/root/.claude` what is
    /// another folder here. The transcript itself shows it; before there is one, the pid namespace of the start does.
    pub fn means_the_same_here(&self) -> bool {
        let started_in = self.launch.as_ref().and_then(|launch| launch.pid_domain.as_deref());
        let is_ours = |domain| PidDomain::parse(domain).namespace == PidDomain::own().namespace;
        match started_in.map(is_ours) {
            Some(true) => true,
            Some(false) | None => self.transcript_path().is_some_and(|path| path.is_file()),
        }
    }

    /// The transcript that the agent names, by its path where the agent runs.
    pub fn transcript_path(&self) -> Option<PathBuf> {
        #[derive(Deserialize)]
        struct Named {
            transcript_path: Option<PathBuf>,
        }
        serde_json::from_str::<Named>(self.input.get()).ok()?.transcript_path
    }
}

/// The world an agent was started in, as its SessionStart hook sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// The variables that a restart would need, and the names of those whose values are nobody's business.
    pub env: Vec<(String, String)>,
    /// How the agent runs by its own word: `cli` for people, `sdk-cli` for `claude -p`. Children inherit it.
    pub entrypoint: Option<String>,
    /// The kernel's name for this boot.
    pub boot_id: Option<String>,
    /// Machine and pid namespace: a pid means something only inside of both.
    pub pid_domain: Option<String>,
}

/// Larger inputs are cut down to their small members: a spool is no transcript.
pub const LARGEST_INPUT: usize = 256 * 1024;

/// The spool of a session.
pub fn path(state: &StateDir, session: &SessionId) -> PathBuf {
    state.spool().join(format!("{session}.jsonl"))
}

/// Appends an event to its session's spool, sealed with the machine's key where there is one.
///
/// # Errors
/// It cannot be written.
pub fn append(
    folder: &Path,
    session: &SessionId,
    event: &Event,
    key: Option<&Key>,
    sync: Sync,
) -> Result<(), durable::Error> {
    let path = folder.join(format!("{session}.jsonl"));
    let written = serde_json::to_vec(event);
    let mut object = written.map_err(|error| durable::Error::new("write down", &path, error.into()))?;
    if let Some(key) = key {
        key.seal_line(session, &mut object);
    }
    let line = [b"\n", &object[..], b"\n"].concat();
    into_folder(folder, || durable::append(&path, &line, sync))
}

/// Keeps the newest input of a session's status line, in place of the one before: only the newest counts.
pub fn put_status(folder: &Path, session: &SessionKey, input: &[u8]) -> Result<(), durable::Error> {
    let path = folder.join(format!("{session}.status"));
    let input = input.trim_ascii_end();
    into_folder(folder, || match durable::overwrite_block(&path, input)? {
        true => Ok(()),
        false => durable::replace_unsynced(&path, input),
    })
}

/// The newest input of a session's status line. Until a settle has told a second account with the same id from the first,
/// both write to one file: what names another account's transcript is nobody's here.
pub fn status_of(state: &StateDir, record: &SessionRecord) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Named {
        transcript_path: Option<PathBuf>,
    }
    let bytes = status(state, &record.session_id)?;
    let named: Option<Named> = serde_json::from_slice(&bytes).ok();
    let transcript = named.and_then(|named| named.transcript_path);
    let ours = transcript.as_deref().and_then(config_of).is_none_or(|config| record.may_be_of(config));
    ours.then_some(bytes)
}

/// The newest input of a session's status line, whoever wrote it.
pub fn status(state: &StateDir, session: &SessionKey) -> Option<Vec<u8>> {
    let path = state.spool().join(format!("{session}.status"));
    let mut before = crate::files::read_own(&path).ok()?;
    // It is overwritten in place: what reads the same twice was not just being written.
    for _ in 0..3 {
        let again = crate::files::read_own(&path).ok()?;
        if again == before {
            return Some(again);
        }
        before = again;
    }
    None
}

// The folder is there but for the very first time, so it is made when it turns out to be missing.
fn into_folder(
    folder: &Path,
    mut write: impl FnMut() -> Result<(), durable::Error>,
) -> Result<(), durable::Error> {
    match write() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            durable::private_dir(folder)?;
            write()
        }
        done => done,
    }
}

/// More of a first line is not needed to tell two spools apart: its time and its processes stand at its beginning.
const LONGEST_HEAD: u64 = 4096;

/// Names a spool by its first line. Lengths and inodes cannot: a spool that is removed and begun anew may get both again.
/// Nothing while no whole line is there.
///
/// # Errors
/// The spool cannot be read.
pub fn head(path: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    crate::files::open_own(path)?.take(LONGEST_HEAD).read_to_end(&mut bytes)?;
    let line = bytes.iter().position(|byte| *byte != b'\n').map_or(&[][..], |begin| &bytes[begin..]);
    let whole = line.iter().position(|byte| *byte == b'\n').map(|end| &line[..end]);
    let cut = || (bytes.len() as u64 == LONGEST_HEAD).then_some(line);
    Ok(whole.or_else(cut).map(|line| blake3::hash(line).to_hex()[..32].to_owned()))
}

/// One event read back, and where the next one begins.
#[derive(Debug)]
pub struct Read {
    /// Where its line begins.
    pub offset: u64,
    /// The event.
    pub event: Event,
    /// Whether a hook of this machine wrote it.
    pub origin: Origin,
}

/// When an event was written, and nothing else of it.
#[derive(Deserialize)]
struct When {
    at: i64,
}

fn ends_a_line(file: &mut File, offset: u64) -> io::Result<bool> {
    let Some(last) = offset.checked_sub(1) else { return Ok(true) };
    if offset > file.metadata()?.len() {
        return Ok(false);
    }
    let mut byte = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut byte)?;
    Ok(byte == *b"\n")
}

/// The whole lines of a spool from `offset` on, and how far they reach; lines that cannot be read are passed over.
///
/// A spool that is shorter than the offset was replaced, and so was one in which no line ends there: it is read from its
/// beginning.
///
/// A line that stands twice, code and all, is read once: it was copied. Lines that are not newer than `known_until_ms`
/// are looked for before `offset`, too.
///
/// # Errors
/// It is there and cannot be read.
pub fn read(
    path: &Path,
    offset: u64,
    session: &SessionId,
    key: Option<&Key>,
    known_until_ms: i64,
) -> io::Result<(Vec<Read>, u64)> {
    let is_old =
        |line: &[u8]| serde_json::from_slice::<When>(line).is_ok_and(|when| when.at <= known_until_ms);
    let mut file = match crate::files::open_own(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let mut at = if ends_a_line(&mut file, offset)? { offset } else { 0 };
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    (&mut file).take(crate::files::LARGEST).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut events = Vec::new();
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let before = if at > 0 && bytes[..whole].split(|byte| *byte == b'\n').any(is_old) {
        let mut before = vec![0; usize::try_from(at).unwrap_or_default()];
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut before)?;
        before
    } else {
        Vec::new()
    };
    seen.extend(before.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii));
    for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
        if let Ok(event) = serde_json::from_slice::<Event>(line) {
            let origin = key.map_or(Origin::Foreign, |key| key.line_origin(session, line));
            // Lines without a code are untrusted however often they stand there.
            if seen.insert(line.trim_ascii()) || origin == Origin::Foreign {
                events.push(Read { offset: at, event, origin });
            }
        }
        at += line.len() as u64;
    }
    Ok((events, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, input: &str) -> Event {
        Event {
            schema: SCHEMA,
            event: name.to_owned(),
            at: 1,
            chain: Vec::new(),
            launch: None,
            input: RawValue::from_string(input.to_owned()).unwrap(),
        }
    }

    fn names(read: &[Read]) -> Vec<&str> {
        read.iter().map(|read| read.event.event.as_str()).collect()
    }

    #[test]
    fn events_come_back_in_order_and_from_where_reading_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let id = SessionId::new("s1").unwrap();
        append(&state.spool(), &id, &event("SessionStart", r#"{"a":1}"#), None, Sync::Yes).unwrap();
        let file = path(&state, &id);
        let (first, offset) = read(&file, 0, &id, None, 0).unwrap();
        assert_eq!(names(&first), ["SessionStart"]);
        append(&state.spool(), &id, &event("Stop", "{}"), None, Sync::No).unwrap();
        let (next, _) = read(&file, offset, &id, None, 0).unwrap();
        assert_eq!(names(&next), ["Stop"]);
        let (all, _) = read(&file, 1 << 40, &id, None, 0).unwrap();
        assert_eq!(names(&all), ["SessionStart", "Stop"]);
    }

    #[test]
    fn a_spool_is_named_by_its_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s1.jsonl");
        let of = |bytes: &[u8]| {
            durable::replace(&file, bytes).unwrap();
            head(&file).unwrap()
        };
        assert_eq!(of(b""), None);
        assert_eq!(of(b"\n{\"at\":1"), None, "its first line may still grow");
        let first = of(b"\n{\"at\":1}\n");
        assert!(first.is_some());
        assert_eq!(of(b"\n{\"at\":1}\n\n{\"at\":2}\n"), first);
        assert_ne!(of(b"\n{\"at\":2}\n"), first);
        let long = |last: &str| of(format!("\n{}{last}", "x".repeat(9000)).as_bytes());
        assert_eq!(long(""), long("more\n"));
        assert!(long("").is_some());
        assert!(head(&dir.path().join("none")).is_err());
    }

    #[test]
    fn a_sealed_line_that_was_copied_is_read_once_and_an_edited_one_is_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let (id, other) = (SessionId::new("s1").unwrap(), SessionId::new("s2").unwrap());
        let key = Key::create(&dir.path().join("key")).unwrap();
        let file = path(&state, &id);
        append(&state.spool(), &id, &event("SessionStart", "{}"), Some(&key), Sync::No).unwrap();
        let line = std::fs::read(&file).unwrap();
        durable::append(&file, &line, Sync::No).unwrap();
        let (once, offset) = read(&file, 0, &id, Some(&key), 0).unwrap();
        assert_eq!((names(&once), once[0].origin), (vec!["SessionStart"], Origin::Genuine));
        durable::append(&file, &line, Sync::No).unwrap();
        assert!(read(&file, offset, &id, Some(&key), 1).unwrap().0.is_empty(), "it stands before the offset");
        let edited = String::from_utf8(line.clone()).unwrap().replace("SessionStart", "SessionEnd");
        durable::append(&file, edited.as_bytes(), Sync::No).unwrap();
        let (edited, _) = read(&file, offset, &id, Some(&key), 1).unwrap();
        assert_eq!((names(&edited), edited[0].origin), (vec!["SessionEnd"], Origin::Foreign));
        let elsewhere = path(&state, &other);
        durable::append(&elsewhere, &line, Sync::No).unwrap();
        assert_eq!(read(&elsewhere, 0, &other, Some(&key), 0).unwrap().0[0].origin, Origin::Foreign);
    }

    #[test]
    fn only_the_newest_status_counts() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let id = SessionKey::parse("s1").unwrap();
        assert_eq!(status(&state, &id), None);
        // Larger and smaller than a block, in every order.
        for length in [10, 5000, 4096, 4097, 1, 9000, 20] {
            let text = format!("\"{}\"", "x".repeat(length));
            put_status(&state.spool(), &id, text.as_bytes()).unwrap();
            let read: String = serde_json::from_slice(&status(&state, &id).unwrap()).unwrap();
            assert_eq!(read.len(), length);
        }
        assert_eq!(std::fs::read_dir(state.spool()).unwrap().count(), 1);
    }

    #[test]
    fn a_torn_line_spoils_nothing_but_itself() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let id = SessionId::new("s1").unwrap();
        let file = path(&state, &id);
        append(&state.spool(), &id, &event("SessionStart", "{}"), None, Sync::No).unwrap();
        durable::append(&file, b"\n{\"schema\":1,\"event\":\"St", Sync::No).unwrap();
        let (before, offset) = read(&file, 0, &id, None, 0).unwrap();
        assert_eq!(names(&before), ["SessionStart"]);
        append(&state.spool(), &id, &event("SessionEnd", "{}"), None, Sync::No).unwrap();
        assert_eq!(names(&read(&file, offset, &id, None, 0).unwrap().0), ["SessionEnd"]);
    }
}
