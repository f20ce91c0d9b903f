//! The end of a conversation's transcript, read backwards as far as needed.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use transcript::Ending;

/// The last exchange is mostly within this.
const FIRST_LOOK: u64 = 256 * 1024;

/// A tool's output may stand between; beyond this nothing is looked for.
const LAST_LOOK: u64 = 16 << 20;

/// Why a transcript that is there cannot be read; nothing where it can, or where there is none.
pub(crate) fn refused(path: &Path) -> Option<String> {
    match store::files::open_own(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Some(format!("cannot read {}: {error}", path.display()))
        }
        _ => None,
    }
}

/// Reads the end of a transcript; nothing where there is none.
pub fn ending(path: &Path) -> Option<Ending> {
    let mut file = store::files::open_own(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut window = FIRST_LOOK;
    loop {
        let begin = length.saturating_sub(window);
        file.seek(SeekFrom::Start(begin)).ok()?;
        let mut tail = Vec::new();
        Read::by_ref(&mut file).take(window).read_to_end(&mut tail).ok()?;
        let ending = Ending::of(&tail, begin);
        if ending.prompt.is_some() || begin == 0 || window >= LAST_LOOK {
            return Some(ending);
        }
        window *= 8;
    }
}

/// Whether the agent's own history of prompts ends, for this conversation, with the user's `/exit`: agents write no row
/// about it into the transcript since 2.1.325 (measured).
pub(crate) fn exited_by_history(history: &Path, session: &str, since_ms: i64) -> bool {
    let Ok(mut file) = store::files::open_own(history) else { return false };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut tail = Vec::new();
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(FIRST_LOOK)))
        .and_then(|_| file.read_to_end(&mut tail));
    if read.is_err() {
        return false;
    }
    let rows = tail.split(|byte| *byte == b'\n').rev();
    let mut theirs = rows
        .filter_map(|row| serde_json::from_slice::<serde_json::Value>(row).ok())
        .filter(|row| row["sessionId"] == session);
    theirs.next().is_some_and(|row| {
        let exit = row["display"].as_str().is_some_and(|text| text.trim() == "/exit");
        // One of an earlier run says nothing of this one.
        exit && row["timestamp"].as_i64().is_some_and(|at| at >= since_ms)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_further_back_when_a_tool_said_much() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let prompt = r#"{"type":"user","uuid":"u1","message":{"content":"hello"}}"#;
        let much = serde_json::json!({"type": "user", "message": {"content": [{"type": "tool_result",
            "content": "x".repeat(600 * 1024)}]}});
        store::durable::replace(&path, format!("{prompt}\n{much}\n").as_bytes()).unwrap();
        assert_eq!(ending(&path).unwrap().prompt.unwrap().text, "hello");
        assert_eq!(ending(&dir.path().join("none")), None);
    }

    #[test]
    fn history_tells_an_exit_of_this_conversation_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        let rows = concat!(
            r#"{"display":"hi","sessionId":"a"}"#,
            "\n",
            r#"{"display":"/exit ","sessionId":"a","timestamp":5000}"#,
            "\n",
            r#"{"display":"hi","sessionId":"b"}"#,
            "\n"
        );
        store::durable::replace(&path, rows.as_bytes()).unwrap();
        assert!(exited_by_history(&path, "a", 4000));
        assert!(!exited_by_history(&path, "a", 6000), "an earlier run's");
        assert!(!exited_by_history(&path, "b", 4000));
        assert!(!exited_by_history(&path, "c", 4000));
    }
}
