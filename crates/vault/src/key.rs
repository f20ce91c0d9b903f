use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::SessionId;
use agents::claude::ConfigDir;

/// The name of a conversation inside the vault: which configuration directory, which session.
///
/// The same session id in two configuration directories is two conversations.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    text: Arc<str>,
    slash: usize,
}

// No session id begins with a dot, so this one is free.
const HISTORY: &str = ".history";

impl Key {
    /// The conversation of a session; no session means the history of all prompts.
    pub fn new(config: &ConfigDir, session: Option<&SessionId>) -> Self {
        let tag = tag(config.path());
        let name = session.map_or(HISTORY, SessionId::as_str);
        Self { slash: tag.len(), text: Arc::from(format!("{tag}/{name}")) }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (tag, name) = text.split_once('/')?;
        let plain = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && !part.contains(|c: char| c == '/' || c.is_control())
        };
        (plain(tag) && plain(name)).then(|| Self { slash: tag.len(), text: Arc::from(text) })
    }

    /// The history of the same configuration directory.
    pub(crate) fn history(&self) -> Self {
        Self { slash: self.slash, text: Arc::from(format!("{}/{HISTORY}", &self.text[..self.slash])) }
    }

    /// `<config>/<session>`, as frame references spell it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn name(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// The session; `None` for the history.
    pub fn session(&self) -> Option<SessionId> {
        SessionId::new(self.name()).ok()
    }

    pub(crate) fn folder(&self, conversations: &Path) -> PathBuf {
        conversations.join(&*self.text)
    }
}

// A readable word and enough of a hash that two directories never meet.
fn tag(config: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let name = config.file_name().unwrap_or_default().to_string_lossy();
    let word: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    let hash = blake3::hash(config.as_os_str().as_bytes()).to_hex();
    format!("{}-{}", if word.is_empty() { "config" } else { &word }, &hash[..12])
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_config_directories_never_share_a_conversation() {
        let id = SessionId::new("s1").unwrap();
        let one = Key::new(&ConfigDir::new("/home/a/.claude"), Some(&id));
        let two = Key::new(&ConfigDir::new("/home/b/.claude"), Some(&id));
        assert_ne!(one, two);
        assert_eq!(one.session(), Some(id));
        assert_eq!(Key::parse(one.as_str()), Some(one));
        assert_eq!(Key::new(&ConfigDir::new("/c"), None).session(), None);
        for bad in ["", "a", "a/", "/b", "a/..", "../b", "a/b/c"] {
            assert_eq!(Key::parse(bad), None, "{bad}");
        }
    }
}
