//! A conversation as exchanges, read from the agent's own transcript.

use std::io;

use jiff::Timestamp;
use transcript::{AsSource, Speaker, Transcript, Utterance, is_prompt, repair_bytes};

use crate::exchange::{Exchange, Origin, Outcome, RESULT_LOOKED_AT, Step, ToolCall};

/// What was said and done, oldest first, and what was still open at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// The exchanges.
    pub exchanges: Vec<Exchange>,
    /// What the agent was at when it ended: tools that never answered.
    pub open: Vec<ToolCall>,
}

impl Exchanges {
    /// Reads a transcript on its own way from the first row to the last.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn of<S: AsSource>(transcript: &Transcript<S>) -> io::Result<Exchanges> {
        let mut reader = Reader::default();
        transcript.walked(|said| {
            reader.hear(said);
            true
        })?;
        Ok(reader.finish())
    }

    /// Reads a transcript that may be damaged, as it would be after a repair. What was half done is read from the file as
    /// it is: a repair answers open calls.
    ///
    /// # Errors
    /// None in practice: memory does not fail to be read.
    pub fn mended(bytes: &[u8], session: &str) -> io::Result<Exchanges> {
        let open = Exchanges::of(&Transcript::of(bytes, Some(session)))?.open;
        let (mended, _) = repair_bytes(bytes, Some(session))?;
        Ok(Exchanges { open, ..Exchanges::of(&Transcript::of(&mended, Some(session)))? })
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// The user's last words.
    pub fn last_prompt(&self) -> Option<&str> {
        let asked = self.exchanges.iter().rev().find(|exchange| exchange.is_asked_by_user());
        asked.and_then(|exchange| exchange.prompt.as_deref())
    }

    /// What the agent said or did last.
    pub fn last_action(&self) -> Option<&Step> {
        let steps = self.exchanges.iter().rev().flat_map(|exchange| exchange.steps.iter().rev());
        steps.into_iter().find(|step| matches!(step, Step::Said(_) | Step::Did(_)))
    }
}

/// Gathers what is heard into exchanges.
#[derive(Default)]
pub(crate) struct Reader {
    exchanges: Vec<Exchange>,
    /// Calls without an answer so far: id, exchange and step.
    calls: Vec<(String, usize, usize)>,
    /// When the last of the user's words were said: more of the same row belong to them.
    prompted_ms: Option<i64>,
}

impl Reader {
    fn hear(&mut self, said: Utterance) {
        match said.speaker {
            Speaker::User => self.user(said.at_ms, said.text),
            Speaker::Agent => self.step(Step::Said(said.text)),
            Speaker::Summary => {
                self.begin(said.at_ms, None);
                self.step(Step::Summary(said.text));
            }
            Speaker::Call(tool) => {
                self.step(Step::Did(ToolCall { tool, about: said.text, outcome: Outcome::Open }));
                if let (Some(id), Some(at)) = (said.call, self.exchanges.len().checked_sub(1)) {
                    self.calls.push((id, at, self.exchanges[at].steps.len() - 1));
                }
            }
            Speaker::Result => {
                let known = said.call.and_then(|id| self.calls.iter().rposition(|(call, ..)| *call == id));
                let Some(known) = known else { return };
                let (_, exchange, step) = self.calls.swap_remove(known);
                if let Some(Step::Did(deed)) = self.exchanges[exchange].steps.get_mut(step) {
                    let mut text = said.text;
                    text.truncate(text.floor_char_boundary(RESULT_LOOKED_AT));
                    deed.outcome = if said.failed { Outcome::Failed(text) } else { Outcome::Done(text) };
                }
            }
        }
    }

    fn user(&mut self, at_ms: Option<i64>, text: String) {
        let same_row = at_ms.is_some() && at_ms == self.prompted_ms;
        if is_prompt(&text) {
            match self.exchanges.last_mut() {
                Some(last) if same_row && last.steps.is_empty() => {
                    let prompt = last.prompt.get_or_insert_default();
                    prompt.push('\n');
                    prompt.push_str(&text);
                }
                _ => self.begin(at_ms, Some(text)),
            }
            self.prompted_ms = at_ms;
        } else if let Some(command) = between(&text, "<command-name>", "</command-name>") {
            let arguments = between(&text, "<command-args>", "</command-args>").unwrap_or_default();
            self.begin(at_ms, Some(format!("{command} {arguments}").trim_end().to_owned()));
        } else if let Some(command) = between(&text, "<bash-input>", "</bash-input>") {
            self.step(Step::Ran(command.to_owned()));
        } else if text.trim_start().starts_with("[Request interrupted") {
            self.step(Step::Stopped);
        }
    }

    fn begin(&mut self, at_ms: Option<i64>, prompt: Option<String>) {
        let at = at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        self.exchanges.push(Exchange { at, prompt, steps: Vec::new(), origin: Origin::Transcript });
    }

    fn step(&mut self, step: Step) {
        if self.exchanges.is_empty() {
            self.begin(None, None);
        }
        if let Some(last) = self.exchanges.last_mut() {
            last.steps.push(step);
        }
    }

    fn finish(mut self) -> Exchanges {
        // Commands to the agent's program (`/model`, `/exit`) lead to nothing that was said.
        self.exchanges.retain(|exchange| {
            let command = exchange.prompt.as_deref().is_some_and(|prompt| prompt.starts_with('/'));
            !exchange.steps.is_empty() || !command
        });
        let open = open_at_end(&self.exchanges);
        Exchanges { exchanges: self.exchanges, open }
    }
}

/// The calls behind the agent's last words that never were answered. One that the user broke off is not half done: its
/// user knows.
pub(crate) fn open_at_end(exchanges: &[Exchange]) -> Vec<ToolCall> {
    let Some(last) = exchanges.last() else { return Vec::new() };
    let spoken = last.steps.iter().rposition(|step| matches!(step, Step::Said(_))).map_or(0, |at| at + 1);
    let behind = &last.steps[spoken..];
    if behind.contains(&Step::Stopped) {
        return Vec::new();
    }
    let open = behind.iter().filter_map(|step| match step {
        Step::Did(deed) if deed.outcome == Outcome::Open => Some(deed.clone()),
        _ => None,
    });
    open.collect()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end)?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A transcript in which each row follows the one before, a second later.
    fn rows(contents: &[(&str, Value)]) -> String {
        let uuid = |at: usize| format!("00000000-0000-4000-8000-{at:012}");
        let row = |(at, (kind, content)): (usize, &(&str, Value))| {
            let parent = at.checked_sub(1).map(uuid);
            let mut row = json!({"parentUuid": parent, "uuid": uuid(at), "type": kind,
                "timestamp": format!("2026-01-01T00:00:{at:02}.000Z"), "message": {"content": content}});
            if *kind == "meta" {
                row["type"] = "user".into();
                row["isMeta"] = true.into();
            }
            format!("{row}\n")
        };
        contents.iter().enumerate().map(row).collect()
    }

    fn call(id: &str, tool: &str, input: &Value) -> (&'static str, Value) {
        ("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]))
    }

    fn result(id: &str, failed: bool) -> (&'static str, Value) {
        ("user", json!([{"type": "tool_result", "tool_use_id": id, "content": "out", "is_error": failed}]))
    }

    fn said(text: &str) -> (&'static str, Value) {
        ("assistant", json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]))
    }

    fn talk(contents: &[(&str, Value)]) -> Exchanges {
        Exchanges::of(&Transcript::of(rows(contents).as_bytes(), None)).unwrap()
    }

    fn open(contents: &[(&str, Value)]) -> Vec<String> {
        talk(contents).open.iter().map(ToolCall::line).collect()
    }

    #[test]
    fn commands_and_blocks_of_one_prompt_are_understood() {
        let told = talk(&[
            ("user", "<command-name>/model</command-name><command-args>opus</command-args>".into()),
            ("user", "<local-command-stdout>Set</local-command-stdout>".into()),
            ("user", json!([{"type": "text", "text": "look at"}, {"type": "image"}])),
            said("A cat."),
            ("user", "<command-name>/review</command-name><command-args>12</command-args>".into()),
            ("meta", "Review the pull request 12 …".into()),
            said("Reviewed."),
            ("user", "<bash-input>ls</bash-input>".into()),
        ]);
        let prompts: Vec<_> = told.exchanges.iter().map(|exchange| exchange.prompt.as_deref()).collect();
        assert_eq!(prompts, [Some("look at\n[picture]"), Some("/review 12")]);
        assert_eq!(told.exchanges[1].steps, [Step::Said("Reviewed.".into()), Step::Ran("ls".into())]);
        assert_eq!(told.last_action(), Some(&Step::Said("Reviewed.".into())));
        assert_eq!(told.last_prompt(), Some("/review 12"));
    }

    #[test]
    fn a_prompt_of_rekindles_own_is_told_as_such() {
        let own = format!("{} Go on with your task from there.", transcript::RESUMED);
        let told = talk(&[("user", "mend it".into()), said("Yes."), ("user", own.into()), said("On.")]);
        assert_eq!(told.last_prompt(), Some("mend it"));
        assert_eq!(told.exchanges.len(), 2);
        let text = told.exchanges[1].text(&jiff::tz::TimeZone::UTC);
        assert!(text.starts_with("rekindle") && !text.contains("User"), "{text}");
    }

    #[test]
    fn only_what_is_open_at_the_end_is_half_done() {
        let write = || call("w", "Write", &json!({"file_path": "/a", "content": "x"}));
        let run = || call("r", "Bash", &json!({"command": "make", "description": "build"}));
        let ask = || ("user", json!("ask"));
        assert_eq!(open(&[ask(), write(), run(), result("r", false)]), ["Write: /a"]);
        assert_eq!(open(&[ask(), write(), run()]), ["Write: /a", "Bash: make"]);
        assert_eq!(open(&[ask(), run(), result("r", true)]), [""; 0]);
        assert_eq!(open(&[ask(), run(), said("Went on."), ask()]), [""; 0], "long ago");
        assert_eq!(open(&[ask(), run(), said("Went on.")]), [""; 0]);
        let stopped = ("user", json!("[Request interrupted by user for tool use]"));
        assert_eq!(open(&[ask(), run(), stopped]), [""; 0], "its user knows");
    }

    #[test]
    fn a_damaged_one_is_read_as_after_a_repair() {
        let contents = [
            ("user", json!("first")),
            said("one"),
            ("user", json!("second")),
            call("r", "Bash", &json!({"command": "make"})),
        ];
        let whole = rows(&contents);
        // The row of the first reply is torn, and what follows it hangs on nothing.
        let torn = whole.replacen("\"type\":\"assistant\"", "\"type\":\"assis", 1);
        let told = Exchanges::mended(torn.as_bytes(), "s").unwrap();
        let prompts: Vec<_> = told.exchanges.iter().map(|exchange| exchange.prompt.as_deref()).collect();
        assert_eq!(prompts, [Some("first"), Some("second")]);
        assert_eq!(told.open.iter().map(ToolCall::line).collect::<Vec<_>>(), ["Bash: make"]);
    }
}
