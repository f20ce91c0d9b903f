//! What a conversation's agent was at when it ended: tools that had not answered.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use agents::SessionKey;
use context::{Exchanges, ToolCall};
use repair::{Repairer, Target};
use transcript::Transcript;

/// The last turn of most transcripts fits into this.
const LAST_ROWS: u64 = 1 << 20;

/// What was half done, by the transcript, else by its copy in the vault; nothing where neither can be read. Asked before a
/// repair, which answers open calls.
pub fn half_done(repairer: &Repairer, session: &SessionKey) -> Option<Vec<ToolCall>> {
    if let Ok(Target::File(file)) = repairer.transcript_of(session)
        && let Some(open) = at_the_end_of(&file.path)
    {
        return Some(open);
    }
    copy_in_vault(repairer, session).map(|talk| talk.open)
}

/// What the vault's copy of a conversation says.
pub(crate) fn copy_in_vault(repairer: &Repairer, session: &SessionKey) -> Option<Exchanges> {
    let found = repairer.vaulted_of(session).ok()?;
    found.iter().find_map(|conversation| {
        let file = conversation.transcript()?;
        let generation = file.best_generation()?.number;
        let mut bytes = Vec::new();
        repairer.vault.read(&conversation.key, &file.name, Some(generation), &mut bytes).ok()?;
        Exchanges::mended(&bytes, session.id().as_str()).ok()
    })
}

/// Reads so much of the end that the prompt of the last turn is in it; nothing where nothing was said, or it cannot be read.
fn at_the_end_of(path: &Path) -> Option<Vec<ToolCall>> {
    let mut length = LAST_ROWS;
    loop {
        let (rows, is_all) = last_bytes(path, length).ok()?;
        let talk = Exchanges::of(&Transcript::of(&rows, None)).ok()?;
        if talk.last_prompt().is_some() || (is_all && !talk.is_empty()) {
            return Some(talk.open);
        }
        if is_all {
            return None;
        }
        length *= 4;
    }
}

/// The whole rows among the last bytes of a file, and whether that is all of it.
fn last_bytes(path: &Path, length: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = store::files::open(path)?;
    let begin = file.metadata()?.len().saturating_sub(length);
    file.seek(SeekFrom::Start(begin))?;
    let mut rows = Vec::new();
    file.take(length).read_to_end(&mut rows)?;
    // The first row is cut off, unless the file begins with it.
    let whole = match begin {
        0 => 0,
        _ => rows.iter().position(|byte| *byte == b'\n').map_or(rows.len(), |at| at + 1),
    };
    Ok((rows.split_off(whole), begin == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &mut Vec<u8>, row: &serde_json::Value) {
        file.extend_from_slice(row.to_string().as_bytes());
        file.push(b'\n');
    }

    fn transcript(calls: &[(&str, usize)]) -> tempfile::NamedTempFile {
        let mut rows = Vec::new();
        let id = |at: usize| format!("0000000{at}-1111-4222-8333-000000000000");
        let time = |at: usize| format!("2026-11-01T00:00:0{at}.000Z");
        write(
            &mut rows,
            &serde_json::json!({"type": "user", "uuid": id(0), "parentUuid": null, "timestamp": time(0),
            "message": {"role": "user", "content": "do it"}}),
        );
        for (at, (tool, size)) in calls.iter().enumerate() {
            let content = serde_json::json!([{"type": "tool_use", "id": format!("toolu_{at}"), "name": tool,
                "input": {"file_path": "/srv/dump.sql", "content": "x".repeat(*size)}}]);
            write(
                &mut rows,
                &serde_json::json!({"type": "assistant", "uuid": id(at + 1), "parentUuid": id(at),
                "timestamp": time(at + 1), "message": {"id": "msg_1", "role": "assistant", "content": content}}),
            );
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        store::durable::replace(file.path(), &rows).unwrap();
        file
    }

    #[test]
    fn a_call_that_is_longer_than_what_is_read_first_is_half_done_too() {
        for calls in [&[("Write", 10)][..], &[("Write", 1_300_000)], &[("Write", 900_000), ("Edit", 900_000)]]
        {
            let open = at_the_end_of(transcript(calls).path()).unwrap();
            let tools: Vec<&str> = open.iter().map(|deed| deed.tool.as_str()).collect();
            assert_eq!(tools, calls.iter().map(|(tool, _)| *tool).collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_a_file_that_is_not_there_or_says_nothing_it_is_not_known() {
        assert!(at_the_end_of(Path::new("/no/such.jsonl")).is_none());
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert!(at_the_end_of(empty.path()).is_none());
    }
}
