//! Every table fits the terminal: at 0, 40, 80 and 120 columns, with colour and without.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;

use lab::old_state::OldState;
use lab::rekindle::DEADLINE;
use lab::terminal::{shown_in, unpainted};
use unicode_width::UnicodeWidthStr;

/// A command that prints a table, a heading of that table, and what each row of it is about.
type Case = (&'static [&'static str], &'static str, &'static [&'static str]);

/// On a machine that crashed: agents to recover, saves, a repair, a vault, a damaged conversation.
const TABLES: [Case; 12] = [
    (&["scan"], "A RESUME LOSES", &["c59c9e3e"]),
    (&["up"], "A RESUME LOSES", &["c59c9e3e"]),
    (&["scan", "c59c9e3e"], "CLASS", &["A7", "B4"]),
    (&["status", "--all"], "STATE", &["e343e1eb", "c59c9e3e", "af77719b"]),
    (&["map"], "PANE", &["c59c9e3e", "e343e1eb", "af77719b"]),
    (&["recover", "--dry-run"], "SESSION", &["e343e1eb", "c59c9e3e"]),
    (&["restore", "--dry-run"], "PANE", &["c59c9e3e", "e343e1eb"]),
    (&["saves"], "SAVE", &["20261116T135531.453Z", "20261116T135501.348Z"]),
    (&["history"], "OPERATION", &["yvnxsrql"]),
    (&["vault", "list"], "SESSION", &["af77719b", "c59c9e3e", "e343e1eb"]),
    (&["service", "status"], "UNIT", &["rekindle-restore.service", "rekindle-tick.timer"]),
    (&["restore", "--last"], "PANE", &["c59c9e3e", "e343e1eb"]),
];

/// The machine, with a row of one transcript lost and a report of a restore.
fn machine() -> OldState {
    let state = OldState::unpack().unwrap();
    lose_a_row(&state, "c59c9e3e");
    let pane = |pane: &str, session: &str| {
        let session = on_record(&state, session);
        let reason =
            "its directory /mnt/project/a/rather/long/path is gone, and so is everything that was in it";
        serde_json::json!({"pane": pane, "sessionId": session, "outcome": "resumed_fresh", "reason": reason})
    };
    let panes = [pane("work:1.0", "c59c9e3e"), pane("work:2.0", "e343e1eb")];
    let report = serde_json::json!({"at": "2026-11-16T14:00:00Z", "restored": 2, "total": 2, "panes": panes});
    fs::create_dir_all(state.path("state/instances/restore")).unwrap();
    fs::write(state.path("state/instances/restore/last-restore.json"), report.to_string()).unwrap();
    state
}

/// The whole id of a session on record.
fn on_record(state: &OldState, session: &str) -> String {
    let records = fs::read_dir(state.path("state/session-health")).unwrap();
    let mut names = records.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let record = names.find(|name| name.starts_with(session) && name.ends_with(".lock")).unwrap();
    record.strip_suffix(".lock").unwrap().to_owned()
}

fn transcript(state: &OldState, session: &str) -> PathBuf {
    let folder = state.path("home/.claude/projects/-mnt-project");
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let wanted = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(session);
    files.find(wanted).unwrap()
}

/// Takes a reply out of the middle of a transcript.
fn lose_a_row(state: &OldState, session: &str) {
    let transcript = transcript(state, session);
    let rows = fs::read_to_string(&transcript).unwrap();
    let spoken = |row: &&str| row.contains("\"type\":\"assistant\"");
    let lost = rows.lines().filter(spoken).nth(1).unwrap();
    fs::write(&transcript, rows.replace(&format!("{lost}\n"), "")).unwrap();
}

/// A repair of many tells of each as it goes, on a terminal.
#[test]
fn a_repair_of_many_speaks() {
    let state = machine();
    let torn = transcript(&state, "af77719b");
    let rows = fs::read_to_string(&torn).unwrap();
    fs::write(&torn, format!("{{\"type\":\"us\n{rows}")).unwrap();
    let all = shown(&state, &["repair", "--all", "--dry-run"], 80, true);
    for line in ["1/2  ", "2/2  "] {
        assert!(
            all.lines().any(|shown| shown.starts_with(line) && shown.ends_with("would be repaired")),
            "{all}"
        );
    }
}

fn shown(state: &OldState, words: &[&str], columns: u16, plain: bool) -> String {
    let program = lab::program().canonicalize().unwrap().display().to_string();
    let words: Vec<&str> = std::iter::once(program.as_str()).chain(words.iter().copied()).collect();
    let mut command = state.command(&words);
    if plain {
        command.env("NO_COLOR", "1");
    }
    shown_in(&mut command, columns, DEADLINE).unwrap()
}

/// The lines of the table, from its headings on.
fn table(text: &str, heading: &str) -> Vec<String> {
    let lines =
        text.lines().skip_while(|line| !line.contains(heading)).take_while(|line| line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

/// Where each heading begins and ends.
fn headings(line: &str) -> Vec<(usize, usize)> {
    let line: Vec<char> = line.chars().collect();
    let blank = |at: usize| line.get(at).is_none_or(|c| *c == ' ');
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.len() {
        if blank(at) {
            at += 1;
            continue;
        }
        let begin = at;
        while !(blank(at) && blank(at + 1)) {
            at += 1;
        }
        found.push((begin, at));
    }
    found
}

/// Each heading stands over its column: nothing in the rows crosses its beginning, or its end where it stands on the right.
#[track_caller]
fn is_aligned(lines: &[String], whole: &str) {
    let rows: Vec<Vec<char>> = lines[1..].iter().map(|line| line.chars().collect()).collect();
    let below = |row: &Vec<char>| row.starts_with(&[' ', ' ', ' ', ' ']);
    let rows: Vec<&Vec<char>> = rows.iter().filter(|row| !below(row)).collect();
    let blank = |row: &Vec<char>, at: usize| row.get(at).is_none_or(|c| *c == ' ');
    for (begin, end) in headings(&lines[0]) {
        let left = rows.iter().all(|row| blank(row, begin - 1));
        let right = rows.iter().all(|row| blank(row, end));
        assert!(left || right, "the heading at {begin} is shifted:\n{whole}");
    }
}

#[test]
fn every_table_fits_every_terminal() {
    let state = machine();
    for (words, heading, rows) in TABLES {
        for columns in [0, 40, 80, 120] {
            for plain in [false, true] {
                let text = unpainted(&shown(&state, words, columns, plain));
                let lines = table(&text, heading);
                assert!(lines.len() > rows.len(), "{words:?} in {columns}:\n{text}");
                is_aligned(&lines, &text);
                for row in rows {
                    let named = lines.iter().filter(|line| line.split_whitespace().any(|word| word == *row));
                    assert_eq!(named.count(), 1, "{row} of {words:?} in {columns}:\n{text}");
                }
                let wide = lines.iter().find(|line| columns > 0 && line.width() > columns.into());
                assert_eq!(wide, None, "{words:?} in {columns}:\n{text}");
            }
        }
    }
}

/// What was half done is told in the narrowest terminal, and colour is there where it is wanted.
#[test]
fn a_terminal_has_colour_unless_it_is_told_not_to() {
    let state = machine();
    assert!(shown(&state, &["status", "--all"], 80, false).contains("\u{1b}[31m✕ crashed\u{1b}[0m"));
    assert!(!shown(&state, &["status", "--all"], 80, true).contains('\u{1b}'));
    // A terminal that does not know its width gets the same lines as a pipe.
    let piped = state.rekindle(&["map"]).unwrap().stdout;
    assert_eq!(shown(&state, &["map"], 0, true), piped);
}
