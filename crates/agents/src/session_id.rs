use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of one conversation: the stem of its transcript's file name.
///
/// Agents use UUIDs, people and foreign tools do not always: anything is taken that is safe as a file name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

/// A text that cannot be a session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("take {0:?} as a session id: it must be a plain file name that does not begin with a dot")]
pub struct BadSessionId(pub String);

// Leaves room for `.jsonl` and our own suffixes within the 255 bytes of a file name.
const LONGEST: usize = 200;

impl SessionId {
    /// Takes a file stem or what a user typed.
    pub fn new(text: &str) -> Result<Self, BadSessionId> {
        let safe = !text.is_empty()
            && text.len() <= LONGEST
            && !text.starts_with('.')
            && !text.chars().any(|c| c == '/' || c == '\\' || c.is_control());
        if safe { Ok(Self(Arc::from(text))) } else { Err(BadSessionId(text.to_owned())) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The short form that people see: the shortest beginning that no other id has, at least eight characters.
    pub fn short(&self) -> String {
        crate::short_ids::known().beginning(self)
    }

    /// The first eight characters. Other ids may begin so, too.
    pub fn prefix(&self) -> &str {
        match self.0.char_indices().nth(8) {
            Some((end, _)) => &self.0[..end],
            None => &self.0,
        }
    }

    /// Whether the agent itself can have minted it; others hang some agent versions at resume (B14).
    pub fn is_uuid(&self) -> bool {
        let bytes = self.0.as_bytes();
        bytes.len() == 36
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({})", self.0)
    }
}

impl FromStr for SessionId {
    type Err = BadSessionId;
    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        Self::new(text)
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_safe_as_a_file_name_and_nothing_else() {
        for good in ["0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e", "agent-12", "ü", "a b"] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", ".hidden", "a/b", "a\0b", "a\nb", "..\\x", &"x".repeat(201)] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn knows_uuids_and_shortens_by_characters() {
        let uuid = SessionId::new("0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e").unwrap();
        assert!(uuid.is_uuid());
        assert_eq!(uuid.prefix(), "0b1e6f5e");
        assert!(!SessionId::new("0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3g").unwrap().is_uuid());
        assert_eq!(SessionId::new("üüüüüüüüüü").unwrap().prefix(), "üüüüüüüü");
        assert_eq!(SessionId::new("abc").unwrap().prefix(), "abc");
    }
}
