//! A log per conversation in its project (`log.enabled`): `.claude/logging/YYYY/MM/DD/HH-MM-SS-<session>.jsonl` with the
//! events, and a report beside it that people can read. Redacted; kept out of the project's repository by a `.gitignore`.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use state::durable::{self, Sync};
use state::record::SessionRecord;
use state::spool;
use transcript::Ending;

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
    let known = last_offset(&path);
    let mut lines = String::new();
    let mut report = String::new();
    if known.is_none() {
        let name = record.name.as_deref().unwrap_or(&record.short_id);
        report = format!(
            "# {name}\n\nSession {} in {}\n",
            record.session_id,
            text_of(record.project_dir.as_deref())
        );
    }
    for (offset, event) in events.iter().filter(|(offset, _)| known.is_none_or(|known| *offset > known)) {
        for (kind, said) in kinds(event, ending) {
            let at = jiff::Timestamp::from_millisecond(event.at).unwrap_or_default();
            let said = said.map(|said| redact::redact(&said).into_owned());
            lines.push_str(&line(&kind, at, said.as_deref(), *offset));
            report.push_str(&section(&kind, &at.to_zoned(zone.clone()), said.as_deref()));
        }
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

fn line(kind: &str, at: jiff::Timestamp, said: Option<&str>, offset: u64) -> String {
    let mut object = Map::new();
    object.insert("schema".to_owned(), 1.into());
    object.insert("type".to_owned(), kind.into());
    object.insert("timestamp".to_owned(), at.to_string().into());
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

/// How far the log reaches into the spool.
fn last_offset(path: &Path) -> Option<u64> {
    const LAST: u64 = 1 << 20;
    let mut file = state::files::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find_map(|line| line["spool"].as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionId;
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
        let mut record = SessionRecord::new(SessionId::new("0123456789").unwrap(), Timestamp::UNIX_EPOCH);
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
    fn a_project_that_is_gone_is_not_made_again() {
        let project = tempfile::tempdir().unwrap();
        let mut record = SessionRecord::new(SessionId::new("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record.project_dir = Some(project.path().join("gone"));
        write(&record, &[(1, event("Stop", "{}"))], None, &TimeZone::UTC).unwrap();
        assert!(!project.path().join("gone").exists());
    }
}
