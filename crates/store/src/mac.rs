//! Message authentication codes on what this machine wrote: **state is not code**.
//!
//! A record, save or spool line that was imported, pulled or edited has no valid code, and is untrusted: shown and offered,
//! never started by itself. The key lies outside of the state directory, so that somebody who can sync or share that
//! directory cannot write trusted files. docs/security.md has the threat model.

use std::io;
use std::path::Path;

use agents::{SessionId, SessionKey};

use crate::durable::{self, Kept};

/// The machine's key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// Whether a text was written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It carries a valid code of this machine's key.
    Genuine,
    /// It does not: imported, pulled, edited by hand, or written before there was a key.
    Foreign,
}

/// What a text is. The code covers it, so that a genuine file is not genuine under another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// The record of a session.
    Record(&'a SessionKey),
    /// A save, by its id.
    Save(&'a str),
    /// One line of a session's spool.
    SpoolLine(&'a SessionId),
    /// What a session's pane showed.
    Snapshot(&'a SessionKey),
    /// What a fresh agent of a session is told.
    Context(&'a SessionKey),
    /// The decision record of a restore, by its id.
    Decision(&'a str),
}

impl Subject<'_> {
    fn kind_and_name(&self) -> (&'static str, &str) {
        match self {
            Subject::Record(session) => ("record", session.as_str()),
            Subject::Save(id) => ("save", id),
            Subject::SpoolLine(session) => ("spool line", session.as_str()),
            Subject::Snapshot(session) => ("snapshot", session.as_str()),
            Subject::Context(session) => ("context", session.as_str()),
            Subject::Decision(id) => ("decision", id),
        }
    }
}

const BEFORE_MARK: &str = ",\n  \"mac\": \"";
const AFTER_MARK: &str = "\"\n}\n";

/// Version 0.1.0 wrote the bare code, over the text alone.
const SECOND: &str = "2:";

const BEFORE_LINE_MARK: &str = ",\"mac\":\"";
const AFTER_LINE_MARK: &str = "\"}";

impl Key {
    /// Makes a new key at this path; one that is there already stays and is returned.
    ///
    /// # Errors
    /// It cannot be made or read.
    pub fn create(path: &Path) -> Result<Self, durable::Error> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        if let Some(folder) = path.parent() {
            // `~/.config/rekindle`: a home that is not there is not made, not even by root.
            if let Some(home) = folder.ancestors().nth(2).filter(|home| !home.exists()) {
                let error = io::Error::new(io::ErrorKind::NotFound, "there is no such home directory");
                return Err(durable::Error::new("make a key in", home, error));
            }
            durable::private_dir(folder)?;
        }
        let fresh = random()?;
        match durable::create_new(path, Kept::default(), |out| out.write_all(&fresh)) {
            Ok(()) => Ok(Self(fresh)),
            // Another process was faster; its key is the key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path)?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Reads the key; nothing where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no key.
    pub fn read(path: &Path) -> Result<Option<Self>, durable::Error> {
        match crate::files::read_own(path) {
            Ok(bytes) => {
                let wrong = || {
                    let why = "it is not 32 bytes long; put it back from a copy, or move it away and run `rekindle trust`";
                    io::Error::new(io::ErrorKind::InvalidData, why)
                };
                let key = bytes.try_into().map_err(|_| durable::Error::new("use the key", path, wrong()))?;
                Ok(Some(Self(key)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(durable::Error::new("read", path, error)),
        }
    }

    /// Takes the key from everybody but its owner; whether others could read or write it.
    ///
    /// # Errors
    /// Its mode cannot be changed.
    pub fn tighten(path: &Path) -> Result<bool, durable::Error> {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
        if open {
            durable::set_like(path, Kept { mode: Some(0o600), mtime: None })?;
        }
        Ok(open)
    }

    /// A short name for the key that tells nothing about it.
    pub fn id(&self) -> String {
        let hash = blake3::keyed_hash(&self.0, b"rekindle: the name of this key");
        hash.to_hex().as_str()[..16].to_owned()
    }

    /// Puts the code into a JSON object that was printed in several lines.
    pub fn seal(&self, subject: Subject<'_>, object: &str) -> String {
        let open = object.trim_end().strip_suffix('}').unwrap_or(object).trim_end();
        format!("{open}{BEFORE_MARK}{SECOND}{}{AFTER_MARK}", self.code(subject, open.as_bytes()))
    }

    /// Whether an object carries this key's code for this subject, over exactly these bytes.
    ///
    /// The codes of 0.1.0 cover the text alone: callers compare the name inside the text with the file's.
    pub fn origin(&self, subject: Subject<'_>, sealed: &str) -> Origin {
        let split = sealed.rfind(BEFORE_MARK).map(|at| (&sealed[..at], &sealed[at + BEFORE_MARK.len()..]));
        let Some((open, Some(mark))) = split.map(|(open, mark)| (open, mark.strip_suffix(AFTER_MARK))) else {
            return Origin::Foreign;
        };
        let valid = match mark.strip_prefix(SECOND) {
            Some(code) => self.code(subject, open.as_bytes()) == code,
            None => blake3::keyed_hash(&self.0, open.as_bytes()).to_hex().as_str() == mark,
        };
        if valid { Origin::Genuine } else { Origin::Foreign }
    }

    /// Puts the code into one line of a spool: a JSON object on one line.
    pub fn seal_line(&self, session: &SessionId, line: &mut Vec<u8>) {
        if line.last() == Some(&b'}') {
            line.pop();
            let code = self.code(Subject::SpoolLine(session), line);
            line.extend_from_slice(BEFORE_LINE_MARK.as_bytes());
            line.extend_from_slice(code.as_bytes());
            line.extend_from_slice(AFTER_LINE_MARK.as_bytes());
        }
    }

    /// Whether one line of a session's spool carries this key's code.
    pub fn line_origin(&self, session: &SessionId, line: &[u8]) -> Origin {
        let split = line.trim_ascii().strip_suffix(AFTER_LINE_MARK.as_bytes()).and_then(|rest| {
            let (open, code) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
            Some((open.strip_suffix(BEFORE_LINE_MARK.as_bytes())?, code))
        });
        match split {
            Some((open, code)) if self.code(Subject::SpoolLine(session), open).as_bytes() == code => {
                Origin::Genuine
            }
            _ => Origin::Foreign,
        }
    }

    /// The code of a text, to be kept beside it.
    pub fn code(&self, subject: Subject<'_>, text: &[u8]) -> String {
        let (kind, name) = subject.kind_and_name();
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        // Lengths keep a name from running into the text behind it.
        for part in [kind.as_bytes(), name.as_bytes(), text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex().to_string()
    }
}

fn random() -> Result<[u8; 32], durable::Error> {
    use std::io::Read as _;
    let mut fresh = [0; 32];
    let random = Path::new("/dev/urandom");
    #[expect(clippy::disallowed_methods, reason = "a device, and the only one that is to be read")]
    let filled = std::fs::File::open(random).and_then(|mut file| file.read_exact(&mut fresh));
    filled.map_err(|error| durable::Error::new("read", random, error))?;
    Ok(fresh)
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionKey {
        SessionKey::parse(text).unwrap()
    }

    #[test]
    fn a_changed_byte_another_key_or_another_name_is_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::create(&dir.path().join("a/machine.key")).unwrap();
        let other = Key::create(&dir.path().join("b/machine.key")).unwrap();
        let (a, b) = (id("a"), id("b"));
        let sealed = key.seal(Subject::Record(&a), "{\n  \"argv\": [\n    \"claude\"\n  ]\n}");
        assert!(serde_json::from_str::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(key.origin(Subject::Record(&a), &sealed), Origin::Genuine);
        assert_eq!(other.origin(Subject::Record(&a), &sealed), Origin::Foreign);
        assert_eq!(key.origin(Subject::Record(&b), &sealed), Origin::Foreign, "copied over another record");
        assert_eq!(key.origin(Subject::Save("a"), &sealed), Origin::Foreign, "a record is no save");
        assert_eq!(key.origin(Subject::Record(&a), &sealed.replace("claude", "evil")), Origin::Foreign);
        assert_eq!(key.origin(Subject::Record(&a), "{}"), Origin::Foreign);
        let again = Key::create(&dir.path().join("a/machine.key")).unwrap();
        assert_eq!(again.origin(Subject::Record(&a), &sealed), Origin::Genuine);
        assert_eq!(again.id(), key.id());
        assert_ne!(other.id(), key.id());
    }

    #[test]
    fn the_code_of_0_1_0_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::create(&dir.path().join("key")).unwrap();
        let open = "{\n  \"a\": 1";
        let code = blake3::keyed_hash(&key.0, open.as_bytes()).to_hex();
        let sealed = format!("{open}{BEFORE_MARK}{code}{AFTER_MARK}");
        assert_eq!(key.origin(Subject::Record(&id("a")), &sealed), Origin::Genuine);
        assert_eq!(key.origin(Subject::Record(&id("a")), &sealed.replace("1", "2")), Origin::Foreign);
    }

    #[test]
    fn a_line_is_genuine_in_its_own_spool_only() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::create(&dir.path().join("key")).unwrap();
        let mut line = br#"{"event":"Stop","input":{"mac":"x"}}"#.to_vec();
        assert_eq!(key.line_origin(id("a").id(), &line), Origin::Foreign);
        key.seal_line(id("a").id(), &mut line);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        assert_eq!(key.line_origin(id("a").id(), &line), Origin::Genuine);
        assert_eq!(key.line_origin(id("b").id(), &line), Origin::Foreign);
        let text = String::from_utf8(line).unwrap().replace("Stop", "Halt");
        assert_eq!(key.line_origin(id("a").id(), text.as_bytes()), Origin::Foreign);
        for short in ["", "}", "\"}", "{\"mac\":\"\"}"] {
            assert_eq!(key.line_origin(id("a").id(), short.as_bytes()), Origin::Foreign);
        }
    }

    #[test]
    fn a_key_of_the_wrong_length_is_an_error_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machine.key");
        assert_eq!(Key::read(&path).unwrap(), None);
        for wrong in [&b"short"[..], &[7; 33]] {
            durable::replace(&path, wrong).unwrap();
            let refused = Key::create(&path).unwrap_err();
            let why = std::error::Error::source(&refused).unwrap().to_string();
            assert!(why.contains("rekindle trust"), "{why}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_taken_from_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machine.key");
        Key::create(&path).unwrap();
        assert!(!Key::tighten(&path).unwrap());
        durable::set_like(&path, Kept { mode: Some(0o644), mtime: None }).unwrap();
        assert!(Key::tighten(&path).unwrap());
        assert!(!Key::tighten(&path).unwrap());
    }
}
