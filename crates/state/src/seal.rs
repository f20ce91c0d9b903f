//! The mark of this machine on what it wrote: **state is not code**.
//!
//! A record that was imported, pulled or edited lacks it and is a guess: shown and confirmed, never started by itself. The
//! key lies outside of the state directory, so that whoever can sync or share that one cannot make genuine records.

use std::io::{self, Read};
use std::path::Path;

use crate::durable::{self, Kept};

/// The machine's key.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// Whether a text was written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It carries the mark of this machine's key.
    Genuine,
    /// It does not: imported, pulled, edited by hand, or written before there was a key.
    Foreign,
}

const BEFORE_MARK: &str = ",\n  \"mac\": \"";
const AFTER_MARK: &str = "\"\n}\n";

impl Key {
    /// Reads the key, making one where there is none.
    ///
    /// # Errors
    /// It cannot be read or made.
    pub fn open(path: &Path) -> Result<Self, durable::Error> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        if let Some(folder) = path.parent() {
            durable::private_dir(folder)?;
        }
        let mut fresh = [0; 32];
        let random = Path::new("/dev/urandom");
        #[expect(clippy::disallowed_methods, reason = "a device, and the only one that is to be read")]
        let filled = std::fs::File::open(random).and_then(|mut file| file.read_exact(&mut fresh));
        filled.map_err(|error| durable::Error::new("read", random, error))?;
        match durable::create_new(path, Kept::default(), |out| out.write_all(&fresh)) {
            Ok(()) => Ok(Self(fresh)),
            // Another process was faster; its key is the key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path)?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    fn read(path: &Path) -> Result<Option<Self>, durable::Error> {
        match crate::files::read_own(path) {
            Ok(bytes) => {
                let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it is not 32 bytes long");
                let key = bytes.try_into().map_err(|_| durable::Error::new("use the key", path, wrong()))?;
                Ok(Some(Self(key)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(durable::Error::new("read", path, error)),
        }
    }

    /// Puts the mark into a JSON object that was printed in several lines.
    pub fn seal(&self, object: &str) -> String {
        let open = object.trim_end().strip_suffix('}').unwrap_or(object).trim_end();
        format!("{open}{BEFORE_MARK}{}{AFTER_MARK}", self.mark(open))
    }

    /// Whether an object carries the mark of this key, over exactly these bytes.
    pub fn origin(&self, sealed: &str) -> Origin {
        let split = sealed.rfind(BEFORE_MARK).map(|at| (&sealed[..at], &sealed[at + BEFORE_MARK.len()..]));
        match split {
            Some((open, mark)) if mark.strip_suffix(AFTER_MARK) == Some(&self.mark(open)) => Origin::Genuine,
            _ => Origin::Foreign,
        }
    }

    fn mark(&self, text: &str) -> String {
        blake3::keyed_hash(&self.0, text.as_bytes()).to_hex().to_string()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_or_another_key_is_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::open(&dir.path().join("a/machine.key")).unwrap();
        let other = Key::open(&dir.path().join("b/machine.key")).unwrap();
        let sealed = key.seal("{\n  \"argv\": [\n    \"claude\"\n  ]\n}");
        assert!(serde_json::from_str::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(key.origin(&sealed), Origin::Genuine);
        assert_eq!(other.origin(&sealed), Origin::Foreign);
        assert_eq!(key.origin(&sealed.replace("claude", "evil")), Origin::Foreign);
        assert_eq!(key.origin("{}"), Origin::Foreign);
        let again = Key::open(&dir.path().join("a/machine.key")).unwrap();
        assert_eq!(again.origin(&sealed), Origin::Genuine);
    }

    #[test]
    fn a_key_of_the_wrong_length_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machine.key");
        durable::replace(&path, b"short").unwrap();
        assert!(Key::open(&path).is_err());
    }
}
