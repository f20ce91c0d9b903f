//! How rekindle names a session: two accounts may have a session with the same id.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{BadSessionId, SessionId};

/// The name of one session in rekindle's own files: its id and, where another account had a session with this id first, a
/// mark of its account behind it (`<id>@1a2b3c4d`).
///
/// Accounts that are copies of each other share ids. State of 0.1.0 has no marks: there an id means the account that had
/// it first, and it still does.
///
/// Whatever belongs to an agent (arguments, file names, its registry) takes the agent's own [`SessionKey::id`], and whatever
/// belongs to rekindle takes the key. A key never becomes an id by itself: that would drop the account without a sign.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    // First, so that keys are ordered and compared by their whole text.
    text: Arc<str>,
    id: SessionId,
}

/// How many characters of the account's hash are its mark: enough to tell a handful of accounts apart.
const MARK: usize = 8;

impl SessionKey {
    /// The session of the account that had this id first; nearly always the only one.
    pub fn first(id: SessionId) -> Self {
        Self { text: Arc::from(id.as_str()), id }
    }

    /// The session with this id of an account that was not the first to have it. Only ids that agents make get a mark:
    /// behind any other text it could be part of the id, so those stay the first account's.
    pub fn of_account(id: SessionId, account: &Path) -> Self {
        if !id.is_uuid() {
            return Self::first(id);
        }
        Self { text: Arc::from(format!("{id}@{}", mark(account))), id }
    }

    /// Reads the text of a key.
    ///
    /// # Errors
    /// The text cannot be a session id.
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        if let Some((id, mark)) = text.rsplit_once('@')
            && is_mark(mark)
            && let Ok(id) = SessionId::new(id)
            && id.is_uuid()
        {
            return Ok(Self { text: Arc::from(text), id });
        }
        SessionId::new(text).map(Self::first)
    }

    /// The key as text, as it stands in file names.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The agent's own id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The mark of its account; nothing for the account that had the id first.
    pub fn account_mark(&self) -> Option<&str> {
        self.text.rsplit_once('@').map(|(_, mark)| mark).filter(|_| self.text.len() > self.id.as_str().len())
    }

    /// The short form that people see and every command takes: the shortest beginning of its id that no other id has, and
    /// the account's mark where several accounts have the id.
    pub fn short(&self) -> String {
        crate::short_ids::known().short(self)
    }

    /// The id's first eight characters, and the mark where there is one. Other sessions may begin so, too.
    pub fn prefix(&self) -> String {
        match self.account_mark() {
            Some(mark) => format!("{}@{mark}", self.id.prefix()),
            None => self.id.prefix().to_owned(),
        }
    }
}

/// The mark of an account: the beginning of a hash of its configuration directory.
pub fn mark(account: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, account.as_os_str().as_bytes()).simple().to_string()
        [..MARK]
        .to_owned()
}

/// Whether a text has the form of a mark.
pub fn is_mark(text: &str) -> bool {
    text.len() == MARK && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({})", self.text)
    }
}

impl FromStr for SessionKey {
    type Err = BadSessionId;
    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        Self::parse(text)
    }
}

impl Serialize for SessionKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for SessionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[test]
    fn the_same_id_in_two_accounts_is_two_keys_and_one_id() {
        let first = SessionKey::first(id(ID));
        let second = SessionKey::of_account(id(ID), Path::new("/h/work"));
        let third = SessionKey::of_account(id(ID), Path::new("/h/other"));
        assert!(first != second && second != third);
        assert_eq!([first.id(), second.id(), third.id()], [&id(ID); 3]);
        assert_eq!(first.as_str(), ID);
        assert_eq!(first.account_mark(), None);
        let mark = second.account_mark().unwrap();
        assert!(is_mark(mark), "{mark}");
        assert_eq!(second.as_str(), format!("{ID}@{mark}"));
        assert_eq!(second.short(), format!("0b1e6f5e@{mark}"));
        for key in [first, second, third] {
            assert_eq!(SessionKey::parse(key.as_str()).unwrap(), key);
            assert_eq!(
                serde_json::from_str::<SessionKey>(&serde_json::to_string(&key).unwrap()).unwrap(),
                key
            );
        }
    }

    #[test]
    fn an_at_sign_in_an_id_that_no_agent_made_is_part_of_it() {
        for text in ["me@1a2b3c4d", "a@b", "x"] {
            let key = SessionKey::parse(text).unwrap();
            assert_eq!((key.id().as_str(), key.account_mark()), (text, None));
            assert_eq!(SessionKey::of_account(id(text), Path::new("/h")), key);
        }
        let long = format!("{ID}@1a2b3c4de");
        assert_eq!(SessionKey::parse(&long).unwrap().id().as_str(), long);
        assert!(SessionKey::parse("../x@1a2b3c4d").is_err());
    }
}
