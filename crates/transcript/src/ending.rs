//! The end of a conversation, read from the last stretch of its file: the last exchange, names, and what the rows say
//! about the agent. Cheap enough for every turn, whatever the size of the file.

use std::collections::HashMap;

use serde_json::Value;

use crate::order::parents_first;
use crate::own_prompt::is_own_prompt;

/// Something that was said, and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The row.
    pub uuid: Option<String>,
    /// Where the row begins in the file.
    pub offset: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// What.
    pub text: String,
}

/// What the last rows of a transcript tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// The user's last prompt.
    pub prompt: Option<Said>,
    /// A prompt of rekindle's own that came after it.
    pub own_prompt: Option<Said>,
    /// The agent's last words, of the same exchange or a later one.
    pub reply: Option<Said>,
    /// The name the user gave to the conversation.
    pub custom_title: Option<String>,
    /// The name of the agent.
    pub agent_name: Option<String>,
    /// The title the agent gave to the conversation.
    pub ai_title: Option<String>,
    /// What the last compaction left of everything before.
    pub summary: Option<String>,
    /// The version that wrote the newest row.
    pub version: Option<String>,
    /// The model of the newest reply.
    pub model: Option<String>,
    /// The directory of the newest row.
    pub cwd: Option<String>,
    /// The tokens that the newest request took: what is in the context window.
    pub context_tokens: Option<u64>,
    /// When the user's own `/exit` was said, in milliseconds since 1970, if it is the last thing in it.
    pub exited_ms: Option<i64>,
    /// Whether the last row calls a tool that has not answered yet.
    pub open_call: bool,
    /// Whether the user broke the last turn off: no event tells that.
    pub interrupted: bool,
    /// When the newest row was written, in milliseconds since 1970.
    pub newest_ms: Option<i64>,
}

impl Ending {
    /// Reads the rows in `tail`, which begins `base` bytes into the file. A first row that is cut off is passed over, as is
    /// every other row that cannot be read.
    pub fn of(tail: &[u8], base: u64) -> Ending {
        let mut rows = Vec::new();
        let mut offset = base;
        for line in tail.split_inclusive(|byte| *byte == b'\n') {
            if let Ok(Value::Object(row)) = serde_json::from_slice(line) {
                rows.push((Value::Object(row), offset));
            }
            offset += line.len() as u64;
        }
        let id = |at: usize, key: &str| rows[at].0[key].as_str();
        let places: HashMap<&str, usize> =
            (0..rows.len()).rev().filter_map(|at| Some((id(at, "uuid")?, at))).collect();
        let mut ending = Ending::default();
        for at in parents_first(rows.len(), |at| places.get(id(at, "parentUuid")?).copied()) {
            ending.take(&rows[at].0, rows[at].1);
        }
        ending
    }

    fn take(&mut self, row: &Value, offset: u64) {
        let text = |key: &str| row[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let keep = |slot: &mut Option<String>, value: Option<String>| {
            if value.is_some() {
                *slot = value;
            }
        };
        match row["type"].as_str() {
            Some("custom-title") => keep(&mut self.custom_title, text("customTitle")),
            Some("agent-name") => keep(&mut self.agent_name, text("agentName")),
            Some("ai-title") => keep(&mut self.ai_title, text("aiTitle")),
            Some("summary") => keep(&mut self.summary, text("summary")),
            Some("user" | "assistant" | "system") if row["isSidechain"] != true => self.turn(row, offset),
            _ => {}
        }
    }

    fn turn(&mut self, row: &Value, offset: u64) {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        self.version = text("version").or(self.version.take());
        self.cwd = text("cwd").or(self.cwd.take());
        let at_ms = row["timestamp"].as_str().and_then(crate::time_ms);
        self.newest_ms = at_ms.max(self.newest_ms);
        let content = &row["message"]["content"];
        let has = |kind: &str| {
            content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
        };
        if row["type"] != "system" {
            self.open_call = has("tool_use");
        }
        let said = Said { uuid: text("uuid"), offset, at_ms, text: spoken(content) };
        match row["type"].as_str() {
            Some("assistant") => self.reply(row, said),
            Some("user") if row["isCompactSummary"] == true => self.summary = Some(said.text),
            Some("user") => {
                self.interrupted = said.text.trim_start().starts_with("[Request interrupted");
                // The agent writes what was typed as a row of its own, its answer as another.
                let goes_on = self.exited_ms.filter(|_| said.text.starts_with("<local-command-"));
                let exits = said.text.contains("<command-name>/exit</command-name>");
                self.exited_ms = if exits { said.at_ms.or(Some(i64::MIN)) } else { goes_on };
                if row["isMeta"] != true && is_prompt(&said.text) {
                    self.reply = None;
                    if is_own_prompt(&said.text) {
                        self.own_prompt = Some(said);
                    } else {
                        self.prompt = Some(said);
                        self.own_prompt = None;
                    }
                }
            }
            _ => {}
        }
    }

    fn reply(&mut self, row: &Value, said: Said) {
        self.exited_ms = None;
        self.interrupted = false;
        let message = &row["message"];
        // Errors of the API come as replies of a model that does not exist.
        if let Some(model) = message["model"].as_str().filter(|model| !model.starts_with('<')) {
            self.model = Some(model.to_owned());
            let used = |key: &str| message["usage"][key].as_u64().unwrap_or_default();
            let tokens = used("input_tokens")
                + used("cache_read_input_tokens")
                + used("cache_creation_input_tokens")
                + used("output_tokens");
            if tokens > 0 {
                self.context_tokens = Some(tokens);
            }
        }
        if !said.text.trim().is_empty() {
            self.reply = Some(said);
        }
    }
}

fn spoken(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Whether a user's row was typed by the user as words for the agent: not a command, its output, or a notice.
pub fn is_prompt(text: &str) -> bool {
    const NOT_WORDS: [&str; 7] = [
        "<command-name>",
        "<command-message>",
        "<local-command-",
        "<bash-",
        "<task-notification>",
        "<system-reminder>",
        "[Request interrupted",
    ];
    let text = text.trim_start();
    !text.is_empty() && !NOT_WORDS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RESUMED;

    #[test]
    fn a_prompt_of_rekindles_own_is_not_the_users_last_one() {
        let row = |kind: &str, text: &str| {
            serde_json::json!({"type": kind, "message": {"content": text}}).to_string() + "\n"
        };
        let own = format!("{RESUMED} Go on with your task from there.");
        let rows =
            [row("user", "mend it"), row("assistant", "yes"), row("user", &own), row("assistant", "on")];
        let text = |said: &Option<Said>| said.as_ref().map(|said| said.text.clone());
        let ending = Ending::of(rows.concat().as_bytes(), 0);
        assert_eq!(text(&ending.prompt).as_deref(), Some("mend it"));
        assert_eq!(text(&ending.own_prompt), Some(own));
        assert_eq!(text(&ending.reply).as_deref(), Some("on"));
        let asked = rows.concat() + &row("user", "and test it");
        let ending = Ending::of(asked.as_bytes(), 0);
        assert_eq!(text(&ending.prompt).as_deref(), Some("and test it"));
        assert_eq!((ending.own_prompt, ending.reply), (None, None));
    }

    const ROWS: &str = concat!(
        "half a row\"}\n",
        r#"{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z","version":"2.1.1","cwd":"/a","message":{"role":"user","content":"first"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"a1","message":{"model":"m1","content":[{"type":"text","text":"one"}],"usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}"#,
        "\n",
        r#"{"type":"user","uuid":"u2","isSidechain":true,"message":{"content":"aside"}}"#,
        "\n",
        r#"{"type":"custom-title","customTitle":"Mine"}"#,
        "\n",
        r#"{"type":"user","uuid":"u3","timestamp":"2026-01-01T00:00:05.000Z","version":"2.1.2","message":{"content":[{"type":"text","text":"second"}]}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"a2","message":{"model":"<synthetic>","content":[{"type":"tool_use","name":"Bash"}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u4","message":{"content":[{"type":"tool_result","content":"out"}]}}"#,
        "\n",
    );

    #[test]
    fn tells_the_last_exchange_and_what_the_rows_say_of_the_agent() {
        let ending = Ending::of(ROWS.as_bytes(), 1000);
        let prompt = ending.prompt.unwrap();
        assert_eq!((prompt.uuid.as_deref(), prompt.text.as_str()), (Some("u3"), "second"));
        assert_eq!(prompt.offset, 1000 + ROWS.find(r#"{"type":"user","uuid":"u3""#).unwrap() as u64);
        assert_eq!(ending.reply, None, "the last prompt has no answer in words yet");
        assert_eq!(ending.custom_title.as_deref(), Some("Mine"));
        assert_eq!((ending.model.as_deref(), ending.context_tokens), (Some("m1"), Some(13)));
        assert_eq!((ending.version.as_deref(), ending.cwd.as_deref()), (Some("2.1.2"), Some("/a")));
        assert_eq!(ending.exited_ms, None);
        assert!(!ending.open_call, "the tool has answered");
        let calling = ROWS.rsplit_once("{").unwrap().0.rsplit_once("{\"type\":\"user\"").unwrap().0;
        assert!(Ending::of(calling.as_bytes(), 0).open_call);
    }

    /// As 2.1.31 wrote it; a ring and a row that is its own parent are taken as they stand.
    /// F-resume-22
    #[test]
    fn a_reply_that_stands_before_its_prompt_is_its_reply() {
        let row = |kind: &str, id: &str, parent: &str, text: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"parentUuid\":\"{parent}\",\"message\":{{\"content\":\"{text}\"}}}}\n"
            )
        };
        let said = |rows: &[String]| {
            let ending = Ending::of(rows.concat().as_bytes(), 0);
            (ending.prompt.map(|said| said.text), ending.reply.map(|said| said.text))
        };
        let both = (Some("ask".to_owned()), Some("answer".to_owned()));
        let (reply, beside) = (row("assistant", "a", "u", "answer"), row("progress", "p", "a", ""));
        let (start, prompt) = (row("progress", "s", "", ""), row("user", "u", "s", "ask"));
        let stop = row("system", "e", "p", "");
        assert_eq!(said(&[reply.clone(), beside.clone(), start.clone(), prompt.clone(), stop]), both);
        assert_eq!(said(&[start, prompt, reply.clone()]), both);
        assert_eq!(said(&[reply, beside, row("user", "u", "a", "ask")]), (both.0.clone(), None), "a ring");
        assert_eq!(said(&[row("user", "u", "u", "ask")]), (both.0, None));
    }

    #[test]
    fn knows_the_users_own_exit_and_no_command_as_a_prompt() {
        let exit = r#"{"type":"user","timestamp":"2026-01-01T00:00:00.000Z","message":{"content":"<command-name>/exit</command-name>"}}"#;
        let answer =
            r#"{"type":"user","message":{"content":"<local-command-stdout>Bye!</local-command-stdout>"}}"#;
        let ending = Ending::of(format!("{ROWS}{exit}\n{answer}\n").as_bytes(), 0);
        assert_eq!(ending.exited_ms, Some(1_767_225_600_000));
        assert_eq!(ending.prompt.unwrap().text, "second");
        let more = r#"{"type":"user","message":{"content":"go on"}}"#;
        let gone_on = Ending::of(format!("{exit}\n{answer}\n{more}\n").as_bytes(), 0);
        assert_eq!(gone_on.exited_ms, None);
    }
}
