//! Conversations made by hand, for tests that need many rows or known ones more than they need an agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::base::{Base, GHOST};
use crate::home::Home;

/// When every conversation here begins: long past, so that no row is newer than a running agent.
const BEGIN: &str = "2026-01-02T03:04:05Z";
/// More than the 5 s within which newer agents bridge a gap by themselves.
const STEP: SignedDuration = SignedDuration::from_secs(20);

/// A conversation of so many turns, as an agent in this directory would have written it. The same at every run.
pub fn talk(session: &str, cwd: &Path, turns: u8) -> Base {
    let mut base = Base::default();
    let mut parent = Value::Null;
    for turn in 0..turns {
        for row in turn_rows(session, cwd, turn, &parent) {
            parent = row["uuid"].clone();
            base.push(row);
        }
    }
    base
}

/// The two rows of one turn, behind a row.
pub fn turn_rows(session: &str, cwd: &Path, turn: u8, parent: &Value) -> [Value; 2] {
    let uuid = |role: &str| {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{session} {role} {turn}").as_bytes()).to_string()
    };
    let at = |half: i32| {
        let begin: Timestamp = BEGIN.parse().unwrap_or_default();
        let at = begin + STEP * (i32::from(turn) * 2 + half);
        at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
    };
    let (ask, reply) = (uuid("ask"), uuid("reply"));
    let row = |parent: &Value, kind: &str, message: Value, uuid: &str, half: i32| {
        json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": cwd,
            "sessionId": session, "version": "2.1.100", "gitBranch": "", "type": kind,
            "message": message, "uuid": uuid, "timestamp": at(half),
        })
    };
    let said = json!({"role": "user", "content": format!("ask-{turn:02} please")});
    let answered = json!({
        "id": format!("msg_{session}_{turn:02}"), "type": "message", "role": "assistant", "model": "lab",
        "content": [{"type": "text", "text": format!("reply-{turn:02}: noted")}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    [row(parent, "user", said, &ask, 0), row(&json!(ask), "assistant", answered, &reply, 1)]
}

/// A healthy conversation with one wound: the prompt of a turn follows a row that is not there (B1).
pub fn dangling(session: &str, cwd: &Path, turns: u8, at: u8) -> Result<Base> {
    let mut base = talk(session, cwd, turns);
    let ask = base.ask(at)?;
    base[ask]["parentUuid"] = GHOST.into();
    Ok(base)
}

impl Home {
    /// Puts a transcript into the project's folder, last changed an hour ago.
    pub fn put(&self, session: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.transcript(session);
        fs::create_dir_all(self.slug(&self.project()))?;
        fs::write(&path, bytes)?;
        set_age(&path, 3600)?;
        Ok(path)
    }

    /// A healthy conversation of so many turns in the project's folder.
    pub fn put_talk(&self, session: &str, turns: u8) -> Result<PathBuf> {
        self.put(session, &talk(session, &self.project(), turns).bytes())
    }

    /// A conversation whose turn `at` lost its parent, in the project's folder.
    pub fn put_dangling(&self, session: &str, turns: u8, at: u8) -> Result<PathBuf> {
        self.put(session, &dangling(session, &self.project(), turns, at)?.bytes())
    }
}

/// Makes a file look as if it was last changed so many seconds ago.
pub fn set_age(path: &Path, seconds: u64) -> Result<()> {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::options().append(true).open(path)?.set_modified(then)?;
    Ok(())
}
