//! Random conversations as agents write them, with a record of what is live and what the user gave up.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Line, SESSION, timestamp, uuid};

/// One thing that happens in a conversation.
#[derive(Debug, Clone)]
pub enum Step {
    Turn(Turn),
    Compact { preserved: bool },
    Rewind { back: usize },
    Sidechain { rows: usize },
    Metadata { kind: usize },
}

/// A prompt and what follows from it.
#[derive(Debug, Clone)]
pub struct Turn {
    pub tools: usize,
    pub parallel: bool,
    pub killed: bool,
    pub thinks: bool,
    pub attachments: usize,
    pub system: bool,
    pub progress: bool,
    pub gap: bool,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let turn = (
        0..3usize,
        any::<bool>(),
        prop::bool::weighted(0.1),
        any::<bool>(),
        0..3usize,
        any::<[bool; 2]>(),
        any::<bool>(),
    )
        .prop_map(|(tools, parallel, killed, thinks, attachments, [system, progress], gap)| {
            Step::Turn(Turn { tools, parallel, killed, thinks, attachments, system, progress, gap })
        });
    let step = prop_oneof![
        8 => turn.clone(),
        1 => any::<bool>().prop_map(|preserved| Step::Compact { preserved }),
        1 => (1..4usize).prop_map(|back| Step::Rewind { back }),
        1 => (1..4usize).prop_map(|rows| Step::Sidechain { rows }),
        1 => (0..4usize).prop_map(|kind| Step::Metadata { kind }),
    ];
    (turn, prop::collection::vec(step, 1..9)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

/// A conversation as it was written.
#[derive(Debug, Default)]
pub struct Conversation {
    pub lines: Vec<Line>,
    /// What is said on the live branch since the last compaction.
    pub live: BTreeSet<String>,
    /// What the user gave up.
    pub abandoned: BTreeSet<String>,
    /// The rows where the user went back: nobody can tell where to once their parent is lost.
    pub turning: BTreeSet<String>,
    checkpoints: bool,
    count: usize,
    time: i64,
    tail: Option<String>,
    /// Prompts on the live branch: where they hang, and what has been said since.
    prompts: Vec<(Option<String>, Vec<String>)>,
    turned: bool,
    last_reply: Option<String>,
}

impl Conversation {
    /// `checkpoints`: whether `last-prompt` rows are written, as the newest agents do.
    pub fn new(steps: &[Step], checkpoints: bool) -> Conversation {
        let mut it = Conversation { checkpoints, ..Conversation::default() };
        for step in steps {
            match step {
                Step::Turn(turn) => it.turn(turn),
                Step::Compact { preserved } => it.compact(*preserved),
                Step::Rewind { back } => it.rewind(*back),
                Step::Sidechain { rows } => it.sidechain(*rows),
                Step::Metadata { kind } => it.metadata(*kind),
            }
        }
        if it.turned {
            // The user went back and said nothing since: no version of the file shows that.
            it.turn(&Turn {
                tools: 0,
                parallel: false,
                killed: false,
                thinks: false,
                attachments: 0,
                system: false,
                progress: false,
                gap: true,
            });
        }
        it
    }

    /// Whether a row is the first of a branch where the user went back (live or given up), or a system row: these tell that
    /// there was a fork where the row at the fork is lost.
    pub fn tells_of_forks(&self, id: &str) -> bool {
        let rows = || self.lines.iter().filter_map(Line::row);
        let turns = |row: &&Value| row["uuid"].as_str().is_some_and(|id| self.turning.contains(id));
        let forks: Vec<&Value> = rows().filter(turns).map(|row| &row["parentUuid"]).collect();
        let tells = |row: &Value| row["type"] == "system" || forks.contains(&&row["parentUuid"]);
        rows().any(|row| row["uuid"] == id && tells(row))
    }

    fn token(&mut self) -> String {
        self.count += 1;
        let token = format!("tok{}", self.count);
        self.live.insert(token.clone());
        if let Some((_, said)) = self.prompts.last_mut() {
            said.push(token.clone());
        }
        format!("{token}.")
    }

    /// Appends a row on `parent`; its id.
    fn push(&mut self, kind: &str, parent: Option<&str>, more: Value) -> String {
        self.count += 1;
        self.time += 400;
        let id = uuid(self.count);
        let mut row = json!({"parentUuid": parent, "isSidechain": false, "type": kind, "cwd": "/home/u/p", "sessionId": SESSION, "version": "2.1.100"});
        if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
            row.extend(more);
            row.insert("uuid".to_owned(), json!(id));
            row.insert("timestamp".to_owned(), json!(timestamp(self.time)));
        }
        self.lines.push(Line::Row(row));
        id
    }

    fn follow(&mut self, kind: &str, more: Value) -> String {
        let id = self.push(kind, self.tail.clone().as_deref(), more);
        self.tail = Some(id.clone());
        id
    }

    fn assistant(&mut self, reply: &str, block: Value) -> String {
        let message = json!({"id": reply, "type": "message", "role": "assistant", "content": [block]});
        let id = self.follow("assistant", json!({"requestId": format!("req_{reply}"), "message": message}));
        self.last_reply = Some(id.clone());
        id
    }

    fn turn(&mut self, turn: &Turn) {
        if turn.gap {
            self.time += 60_000;
        }
        self.prompts.push((self.tail.clone(), Vec::new()));
        let said = self.token();
        let content = if turn.thinks { json!([{"type": "text", "text": said}]) } else { json!(said) };
        let prompt = self.follow(
            "user",
            json!({"promptId": format!("p{}", self.count), "message": {"role": "user", "content": content}}),
        );
        if std::mem::take(&mut self.turned) {
            self.turning.insert(prompt);
        }
        for n in 0..turn.attachments {
            self.follow("attachment", json!({"attachment": {"type": "todo", "n": n}}));
        }
        let reply = format!("msg_{}", self.count);
        if turn.thinks {
            self.assistant(&reply, json!({"type": "thinking", "thinking": "so", "signature": "QUJD"}));
        }
        let said = self.token();
        self.assistant(&reply, json!({"type": "text", "text": said}));
        if turn.killed {
            // 2.1.31 and 2.1.100 leave the call of a killed tool behind and go on from its parent.
            let parent = self.tail.clone();
            let id = format!("toolu_{}", self.count);
            self.assistant(&reply, json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}}));
            self.tail = parent;
        } else if turn.tools > 0 {
            self.tools(turn, &reply);
            let said = self.token();
            let reply = format!("msg_{}", self.count);
            self.assistant(&reply, json!({"type": "text", "text": said}));
        }
        if turn.system {
            self.follow("system", json!({"subtype": "stop_hook_summary", "hookCount": 1}));
        }
        self.checkpoint();
    }

    fn tools(&mut self, turn: &Turn, reply: &str) {
        if turn.parallel {
            let calls: Vec<(String, String)> = (0..turn.tools)
                .map(|_| {
                    let id = format!("toolu_{}", self.count);
                    (
                        self.assistant(
                            reply,
                            json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "x"}}),
                        ),
                        id,
                    )
                })
                .collect();
            for (call, id) in calls.iter().rev() {
                self.tail = Some(call.clone());
                self.result(id);
            }
            return;
        }
        for n in 0..turn.tools {
            let id = format!("toolu_{}", self.count);
            let reply = if n == 0 { reply.to_owned() } else { format!("msg_{}", self.count) };
            self.assistant(
                &reply,
                json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "x"}}),
            );
            if turn.progress {
                self.follow("progress", json!({"data": {"type": "bash_progress"}}));
            }
            self.result(&id);
        }
    }

    fn result(&mut self, id: &str) {
        let content = json!([{"tool_use_id": id, "type": "tool_result", "content": "done"}]);
        self.follow(
            "user",
            json!({"message": {"role": "user", "content": content}, "toolUseResult": "done"}),
        );
    }

    fn checkpoint(&mut self) {
        if self.checkpoints {
            self.lines.push(Line::Row(json!({"type": "last-prompt", "lastPrompt": "x", "leafUuid": self.tail, "sessionId": SESSION})));
        }
    }

    fn compact(&mut self, preserved: bool) {
        if self.turned {
            return;
        }
        let kept = self.last_reply.take().filter(|_| preserved);
        let summary = uuid(self.count + 2);
        let mut metadata = json!({"trigger": "manual", "preTokens": 100});
        if let Some(kept) = kept {
            metadata["preservedSegment"] = json!({"headUuid": kept, "anchorUuid": summary, "tailUuid": kept});
            metadata["preservedMessages"] = json!({"anchorUuid": summary, "uuids": [kept]});
        }
        let before = self.tail.clone();
        self.tail = None;
        self.follow(
            "system",
            json!({"subtype": "compact_boundary", "logicalParentUuid": before, "compactMetadata": metadata}),
        );
        self.live.clear();
        self.abandoned.clear();
        self.prompts.clear();
        let id = self.follow("user", json!({"isCompactSummary": true, "message": {"role": "user", "content": "This session is being continued"}}));
        assert_eq!(id, summary);
        self.checkpoint();
    }

    fn rewind(&mut self, back: usize) {
        // Going back before the first prompt makes a second root, which needs a checkpoint to be told from damage.
        let Some(at) = self.prompts.len().checked_sub(back).filter(|at| self.prompts[*at].0.is_some()) else {
            return;
        };
        self.tail = self.prompts[at].0.clone();
        for (_, said) in self.prompts.drain(at..) {
            for token in said {
                self.live.remove(&token);
                self.abandoned.insert(token);
            }
        }
        self.turned = true;
        self.time += 20_000;
    }

    fn sidechain(&mut self, rows: usize) {
        let mut parent: Option<String> = None;
        for n in 0..rows {
            let (kind, message) = match n % 2 {
                0 => ("user", json!({"role": "user", "content": "aside"})),
                _ => (
                    "assistant",
                    json!({"id": format!("msg_s{}", self.count), "role": "assistant", "content": [{"type": "text", "text": "aside"}]}),
                ),
            };
            parent =
                Some(self.push(kind, parent.as_deref(), json!({"isSidechain": true, "message": message})));
        }
    }

    fn metadata(&mut self, kind: usize) {
        let row = match kind {
            0 => json!({"type": "mode", "mode": "plan", "sessionId": SESSION}),
            1 => json!({"type": "custom-title", "customTitle": "a title", "sessionId": SESSION}),
            2 => {
                json!({"type": "file-history-snapshot", "messageId": self.tail, "snapshot": {}, "isSnapshotUpdate": false})
            }
            _ => json!({"type": "summary", "summary": "s", "leafUuid": self.tail}),
        };
        self.lines.push(Line::Row(row));
    }
}
