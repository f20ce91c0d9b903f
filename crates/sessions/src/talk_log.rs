//! A log per conversation in its project (`log.enabled`): `.claude/logging/YYYY/MM/DD/HH-MM-SS-<session>.jsonl` with the
//! events and the whole conversation, tool calls and results included, and a report beside it that people can read. Redacted;
//! kept out of the project's repository by a `.gitignore`.
//!
//! Prompts come from events, everything else from the transcript. The last reply of a turn may come from its event, since the
//! transcript has it a moment later; it is not logged again then.

mod rows;

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use store::durable::{self, Sync};
use store::record::SessionRecord;
use store::spool;
use transcript::Ending;

use rows::{LastRow, Part, behind};

/// The log of a conversation; nothing where it belongs to no directory.
pub fn path(record: &SessionRecord, zone: &TimeZone) -> Option<PathBuf> {
    let project = record.project_dir.as_deref()?;
    let name = record.created.to_zoned(zone.clone()).strftime("%Y/%m/%d/%H-%M-%S").to_string();
    Some(project.join(".claude/logging").join(format!("{name}-{}.jsonl", record.short_id)))
}

/// Adds events to the log and the report of their conversation. What the log already has is passed over.
pub(crate) fn write(
    record: &SessionRecord,
    events: &[(u64, spool::Event)],
    ending: Option<&Ending>,
    zone: &TimeZone,
) -> Result<(), durable::Error> {
    let Some(path) = path(record, zone).filter(|_| record.project_dir.as_deref().is_some_and(Path::is_dir))
    else {
        return Ok(());
    };
    let known = Known::of(&path);
    let mut lines = String::new();
    let mut report = String::new();
    if known.spool.is_none() {
        let name = record.name.as_deref().unwrap_or(&record.short_id);
        report = format!(
            "# {name}\n\nSession {} in {}\n",
            record.session_id,
            text_of(record.project_dir.as_deref())
        );
    }
    let mut replies = known.replies.clone();
    let mut rows =
        record.transcript_path.as_deref().map(|path| behind(path, known.row.as_ref())).unwrap_or_default();
    for (offset, event) in events.iter().filter(|(offset, _)| known.spool.is_none_or(|known| *offset > known))
    {
        // What was done before a prompt belongs before it, and what its turn did before the end of that.
        for part in rows.drain(
            ..rows
                .iter()
                .take_while(|part| part.row.at.is_none_or(|at| at.as_millisecond() <= event.at))
                .count(),
        ) {
            add(&part, &mut replies, zone, &mut lines, &mut report);
        }
        for (kind, said) in kinds(event, ending) {
            let at = jiff::Timestamp::from_millisecond(event.at).unwrap_or_default();
            let said = said.map(|said| redact::redact(&said).into_owned());
            if kind == "AssistantResponse" {
                let reply = said.clone().unwrap_or_default();
                if replies.iter().any(|known| known.trim() == reply.trim()) {
                    continue;
                }
                replies.push(reply);
            }
            lines.push_str(&line(&kind, at, said.as_deref(), *offset));
            report.push_str(&section(&kind, &at.to_zoned(zone.clone()), said.as_deref()));
        }
    }
    for part in &rows {
        add(part, &mut replies, zone, &mut lines, &mut report);
    }
    if lines.is_empty() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        durable::private_dir(folder)?;
    }
    let ignore = record.project_dir.as_deref().map(|project| project.join(".claude/logging/.gitignore"));
    if let Some(ignore) = ignore.filter(|ignore| !ignore.exists()) {
        durable::replace(&ignore, b"*\n")?;
    }
    durable::append(&path.with_extension("md"), report.as_bytes(), Sync::No)?;
    durable::append(&path, lines.as_bytes(), Sync::No)
}

/// Adds a part of the transcript.
fn add(part: &Part, replies: &mut Vec<String>, zone: &TimeZone, lines: &mut String, report: &mut String) {
    let text = redact::redact(&part.text).into_owned();
    let at = part.row.at.unwrap_or_default();
    if part.kind == "AssistantResponse" {
        // Its event has told it already; it is known by its row from now on.
        if let Some(known) = replies.iter().position(|known| known.trim() == text.trim()) {
            replies.remove(known);
            return;
        }
    }
    let mut object = head(part.kind, at);
    if let Some(tool) = &part.tool {
        object.insert("tool".to_owned(), tool.as_str().into());
    }
    object.insert("content".to_owned(), text.as_str().into());
    object.insert("uuid".to_owned(), part.row.uuid.as_str().into());
    object.insert("offset".to_owned(), part.row.offset.into());
    lines.push_str(&format!("{}\n", Value::Object(object)));
    let at = at.to_zoned(zone.clone());
    report.push_str(&match part.kind {
        "AssistantResponse" => section(part.kind, &at, Some(&text)),
        _ => {
            let title = part.tool.as_deref().map_or("Result".to_owned(), |tool| format!("Tool {tool}"));
            let indented: Vec<String> = text.trim_end().lines().map(|line| format!("    {line}")).collect();
            format!("\n### {title} · {}\n\n{}\n", at.strftime("%H:%M:%S"), indented.join("\n"))
        }
    });
}

fn text_of(path: Option<&Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

/// What an event is called in a log, and what was said with it. The end of a turn tells the agent's answer.
fn kinds(event: &spool::Event, ending: Option<&Ending>) -> Vec<(String, Option<String>)> {
    let input: Value = serde_json::from_str(event.input.get()).unwrap_or_default();
    let text = |key: &str| input[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let name = event.event.clone();
    match name.as_str() {
        "UserPromptSubmit" => vec![(name, text("prompt"))],
        "Stop" => {
            let reply = text("last_assistant_message")
                .or_else(|| ending.and_then(|ending| Some(ending.reply.as_ref()?.text.clone())));
            let answer = reply.map(|reply| ("AssistantResponse".to_owned(), Some(reply)));
            answer.into_iter().chain([(name, None)]).collect()
        }
        "SessionStart" => vec![(name, text("source"))],
        "SessionEnd" => vec![(name, text("reason"))],
        "Notification" => vec![(name, text("message"))],
        _ => vec![(name, None)],
    }
}

fn head(kind: &str, at: jiff::Timestamp) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("schema".to_owned(), 1.into());
    object.insert("type".to_owned(), kind.into());
    object.insert("timestamp".to_owned(), at.to_string().into());
    object
}

fn line(kind: &str, at: jiff::Timestamp, said: Option<&str>, offset: u64) -> String {
    let mut object = head(kind, at);
    if let Some(said) = said {
        object.insert("content".to_owned(), said.into());
    }
    object.insert("spool".to_owned(), offset.into());
    format!("{}\n", Value::Object(object))
}

fn section(kind: &str, at: &jiff::Zoned, said: Option<&str>) -> String {
    let time = at.strftime("%H:%M:%S");
    match (kind, said) {
        ("UserPromptSubmit", Some(said)) => format!("\n## You · {time}\n\n{}\n", said.trim_end()),
        ("AssistantResponse", Some(said)) => format!("\n## Agent · {time}\n\n{}\n", said.trim_end()),
        ("Stop", _) => String::new(),
        (kind, Some(said)) => format!("\n*{kind} · {time} · {said}*\n"),
        (kind, None) => format!("\n*{kind} · {time}*\n"),
    }
}

/// How far a log reaches.
#[derive(Default)]
struct Known {
    /// Into the spool.
    spool: Option<u64>,
    /// Into the transcript.
    row: Option<LastRow>,
    /// The replies that events told, and that no row stands for.
    replies: Vec<String>,
}

impl Known {
    fn of(path: &Path) -> Known {
        const LAST: u64 = 1 << 20;
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = store::files::open(path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(tail)
        };
        let mut known = Known::default();
        for line in read().unwrap_or_default().split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            known.spool = line["spool"].as_u64().or(known.spool);
            if let Some(uuid) = line["uuid"].as_str() {
                let at = line["timestamp"].as_str().and_then(|at| at.parse().ok());
                let offset = line["offset"].as_u64().unwrap_or_default();
                known.row = Some(LastRow { uuid: uuid.to_owned(), offset, at });
            } else if line["type"] == "AssistantResponse" {
                known.replies.extend(line["content"].as_str().map(str::to_owned));
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionKey;
    use jiff::Timestamp;
    use serde_json::value::RawValue;

    fn event(name: &str, input: &str) -> spool::Event {
        spool::Event {
            schema: 1,
            event: name.to_owned(),
            at: 60_000,
            chain: Vec::new(),
            launch: None,
            input: RawValue::from_string(input.to_owned()).unwrap(),
        }
    }

    #[test]
    fn events_are_logged_once_where_the_design_lays_them() {
        let project = tempfile::tempdir().unwrap();
        let mut record = SessionRecord::new(SessionKey::parse("0123456789").unwrap(), Timestamp::UNIX_EPOCH);
        record.project_dir = Some(project.path().to_path_buf());
        let first = [(1, event("UserPromptSubmit", r#"{"prompt":"hello"}"#))];
        write(&record, &first, None, &TimeZone::UTC).unwrap();
        let both = [first[0].clone(), (9, event("Stop", r#"{"last_assistant_message":"hi there"}"#))];
        write(&record, &both, None, &TimeZone::UTC).unwrap();
        let log = project.path().join(".claude/logging/1970/01/01/00-00-00-01234567.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let types: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(types, ["UserPromptSubmit", "AssistantResponse", "Stop"]);
        let report = std::fs::read_to_string(log.with_extension("md")).unwrap();
        assert!(report.contains("## You · 00:01:00\n\nhello\n"), "{report}");
        assert!(report.contains("## Agent · 00:01:00\n\nhi there\n"), "{report}");
        assert_eq!(
            std::fs::read_to_string(project.path().join(".claude/logging/.gitignore")).unwrap(),
            "*\n"
        );
    }

    #[test]
    fn the_whole_conversation_is_in_it_once_and_without_secrets() {
        let project = tempfile::tempdir().unwrap();
        let transcript = project.path().join("t.jsonl");
        let row = |uuid: &str, second: u32, kind: &str, content: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{uuid}","timestamp":"1970-01-01T00:00:{second:02}Z","message":{{"content":{content}}}}}"#
            ) + "\n"
        };
        let said = [
            row("u1", 1, "user", r#""list them""#),
            row("u2", 2, "assistant", r#"[{"type":"text","text":"Looking."}]"#),
            row("u3", 3, "assistant", r#"[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]"#),
            row(
                "u4",
                4,
                "user",
                r#"[{"type":"tool_result","content":"TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz"}]"#,
            ),
        ];
        durable::replace(&transcript, said.concat().as_bytes()).unwrap();
        let mut record = SessionRecord::new(SessionKey::parse("0123456789").unwrap(), Timestamp::UNIX_EPOCH);
        record.project_dir = Some(project.path().to_path_buf());
        record.transcript_path = Some(transcript.clone());
        let at = |event: spool::Event, at: i64| spool::Event { at, ..event };
        let prompt = (1, at(event("UserPromptSubmit", r#"{"prompt":"list them"}"#), 900));
        let stop = (2, at(event("Stop", r#"{"last_assistant_message":"There is one."}"#), 5_500));
        write(&record, &[prompt, stop], None, &TimeZone::UTC).unwrap();
        // The last reply reaches the transcript after its event.
        let late = row("u5", 5, "assistant", r#"[{"type":"text","text":"There is one."}]"#);
        let more =
            row("u6", 7, "assistant", r#"[{"type":"tool_use","name":"Read","input":{"file_path":"a"}}]"#);
        durable::replace(&transcript, format!("{}{late}{more}", said.concat()).as_bytes()).unwrap();
        let next = (3, at(event("UserPromptSubmit", r#"{"prompt":"go on"}"#), 6_000));
        write(&record, &[next], None, &TimeZone::UTC).unwrap();
        write(&record, &[], None, &TimeZone::UTC).unwrap();
        let log = project.path().join(".claude/logging/1970/01/01/00-00-00-01234567.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            let part = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", part("type"), part("tool"), part("content"))
        };
        let lines: Vec<String> = text.lines().map(line).collect();
        assert_eq!(
            lines,
            [
                "UserPromptSubmit  list them",
                "AssistantResponse  Looking.",
                r#"ToolUse Bash {"command":"ls"}"#,
                "ToolResult  TOKEN=[redacted: github token]",
                "AssistantResponse  There is one.",
                "Stop  ",
                "UserPromptSubmit  go on",
                r#"ToolUse Read {"file_path":"a"}"#,
            ]
        );
        let report = std::fs::read_to_string(log.with_extension("md")).unwrap();
        assert!(report.contains("### Tool Bash · 00:00:03\n\n    {\"command\":\"ls\"}\n"), "{report}");
        assert!(report.contains("### Result · 00:00:04\n\n    TOKEN=[redacted"), "{report}");
    }

    #[test]
    fn a_project_that_is_gone_is_not_made_again() {
        let project = tempfile::tempdir().unwrap();
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record.project_dir = Some(project.path().join("gone"));
        write(&record, &[(1, event("Stop", "{}"))], None, &TimeZone::UTC).unwrap();
        assert!(!project.path().join("gone").exists());
    }
}
