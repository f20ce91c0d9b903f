//! Whether a manifest tells of the conversation in whose folder it lies, and names only files that such a conversation has.
//!
//! The chain of a manifest is no signature: whoever can write into the vault (a synced or pulled state directory, an editor)
//! can make a whole one. Its paths decide what a restore writes, so they are compared with the folder's name, which is made
//! of the configuration directory and the session.

use std::path::{Path, PathBuf};

use agents::claude::ConfigDir;

use crate::manifest::Begin;
use crate::replay::{Bad, BadKind, State};
use crate::{FileKind, Key};

/// A manifest as it was read, with the word on whether it is its folder's.
pub(crate) fn judged(key: &Key, mut state: State) -> State {
    state.foreign = why_foreign(key, &state);
    if state.foreign.is_some() {
        state.bad.insert(0, Bad { line: 1, offset: 0, kind: BadKind::Foreign });
    }
    state
}

/// Why nothing of a manifest may be used, as the rest of a sentence; `None` where it is its folder's.
fn why_foreign(key: &Key, state: &State) -> Option<String> {
    let begin = state.begin.as_ref();
    if let Some(begin) = begin {
        let session = begin.session.as_deref();
        if session != key.session().as_ref().map(agents::SessionId::as_str) {
            return Some(format!("its manifest is of {:?}", session.unwrap_or("the history of all prompts")));
        }
        let config = ConfigDir::new(&begin.config);
        if Key::new(&config, key.session().as_ref()) != *key {
            return Some(format!("its manifest names another configuration directory, {:?}", begin.config));
        }
    }
    let bad = state.files.iter().find(|(name, file)| !is_of(key, begin, name, file.kind));
    bad.map(|(name, _)| format!("its manifest names {name:?}, which is no file of this conversation"))
}

/// Whether the agent has such a file for this conversation: the forms that a walk of its folder finds.
fn is_of(key: &Key, begin: Option<&Begin>, name: &str, kind: FileKind) -> bool {
    let Some(name) = within_config(begin, name) else { return false };
    let parts: Vec<&str> = name.split('/').collect();
    if name.contains('\0') || parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return false;
    }
    let Some(session) = key.session() else { return kind == FileKind::History && parts == ["history.jsonl"] };
    let session = session.as_str();
    match (kind, &parts[..]) {
        // A subagent's rows are a conversation of their own where a user repaired them by their path.
        (FileKind::Transcript, ["projects", _, .., file]) => file.strip_suffix(".jsonl") == Some(session),
        (FileKind::Subagent, ["projects", _, folder, "subagents", .., file]) => {
            *folder == session && (file.ends_with(".jsonl") || file.ends_with(".meta.json"))
        }
        (FileKind::ToolResult, ["projects", _, folder, "tool-results", _, ..]) => *folder == session,
        _ => false,
    }
}

/// The name as seen from the configuration directory. Where that is behind a link, 0.1.0 wrote down whole paths.
fn within_config(begin: Option<&Begin>, name: &str) -> Option<String> {
    if !name.starts_with('/') {
        return Some(name.to_owned());
    }
    let config = ConfigDir::new(&begin?.config);
    let behind = |config: &Path| std::fs::canonicalize(config).ok().map(|real| real.join("projects"));
    let real: PathBuf = std::fs::canonicalize(config.projects()).ok().or_else(|| behind(config.path()))?;
    let rest = name.strip_prefix(real.to_str()?)?.strip_prefix('/')?;
    Some(format!("projects/{rest}"))
}

#[cfg(test)]
mod tests {
    use agents::SessionId;

    use super::*;

    fn is_of_session(name: &str, kind: FileKind) -> bool {
        let session = SessionId::new("s").unwrap();
        is_of(&Key::new(&ConfigDir::new("/c"), Some(&session)), None, name, kind)
    }

    #[test]
    fn the_files_of_a_conversation_and_no_others() {
        for (name, kind) in [
            ("projects/-a/s.jsonl", FileKind::Transcript),
            ("projects/-a/s/subagents/agent-1.jsonl", FileKind::Subagent),
            ("projects/-a/s/subagents/deep/agent-1.meta.json", FileKind::Subagent),
            ("projects/-a/s/tool-results/call.txt", FileKind::ToolResult),
        ] {
            assert!(is_of_session(name, kind), "{name}");
        }
        for name in [
            "",
            "../.bash_profile",
            "settings.json",
            "history.jsonl",
            "/etc/s.jsonl",
            "projects/s.jsonl",
            "projects/-a/other.jsonl",
            "projects/-a/s.jsonl/",
            "projects//s.jsonl",
            "projects/./s.jsonl",
            "projects/x/../../../s.jsonl",
            "projects/-a/s/tool-results/../../../../settings.json",
            "projects/-a/s/tool-results",
            "projects/-a/t/tool-results/call.txt",
            "projects/-a/s/subagents/run.sh",
        ] {
            for kind in [FileKind::Transcript, FileKind::Subagent, FileKind::ToolResult, FileKind::History] {
                assert!(!is_of_session(name, kind), "{name}");
            }
        }
        let history = Key::new(&ConfigDir::new("/c"), None);
        assert!(is_of(&history, None, "history.jsonl", FileKind::History));
        assert!(!is_of(&history, None, "settings.json", FileKind::History));
    }
}
