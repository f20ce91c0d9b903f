//! The short restoration context: prepared at the end of every turn, so that it is there when nothing else is.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use transcript::Ending;

use crate::HEADING;
use crate::clean::clean;
use crate::cut::shorten;
use crate::exchange::{Exchange, Origin, Step};
use crate::exchanges::Exchanges;
use crate::when::local;

const PROMPT: &str = "Last prompt: ";
const REPLY: &str = "Last reply: ";

/// What goes into the short context.
#[derive(Debug, Clone, Copy)]
pub struct Short<'a> {
    /// What the agent is called.
    pub name: Option<&'a str>,
    /// The beginning of the conversation's id.
    pub session: &'a str,
    /// What it is about.
    pub task: Option<&'a str>,
    /// When it was last heard of.
    pub last_active: Timestamp,
    /// The end of the conversation.
    pub ending: Option<&'a Ending>,
    /// What it was about so far.
    pub summary: Option<&'a str>,
    /// The user's zone.
    pub zone: &'a TimeZone,
    /// The most characters.
    pub most: usize,
}

impl Short<'_> {
    /// The text, without secrets, within its bound, never cut in the middle of a word.
    pub fn text(&self) -> String {
        let mut head = vec![HEADING.to_owned()];
        let name = self.name.unwrap_or("unnamed");
        head.push(format!("You are continuing the work of {name} (session {}).", self.session));
        if let Some(task) = self.task {
            head.push(format!("Task: {}", cut(task, self.most / 5)));
        }
        head.push(format!("Last active: {}", local(self.last_active, self.zone)));
        let head = head.join("\n");
        let rest = self.most.saturating_sub(head.chars().count() + 2);
        let mut parts = vec![head];
        let exchange = self.exchange(rest * 3 / 5);
        if let Some(summary) = self.summary.filter(|summary| !summary.trim().is_empty()) {
            let left = rest.saturating_sub(exchange.chars().count() + 12);
            let short = cut(summary, left);
            if !short.is_empty() {
                parts.push(format!("Summary: {short}"));
            }
        }
        if !exchange.is_empty() {
            parts.push(exchange);
        }
        format!("{}\n", clean(&parts.join("\n")))
    }

    fn exchange(&self, most: usize) -> String {
        let Some(ending) = self.ending else { return String::new() };
        let mut said = Vec::new();
        if let Some(prompt) = &ending.prompt {
            said.push(format!("{PROMPT}{}", cut(&prompt.text, most / 2)));
        }
        if let Some(reply) = &ending.reply {
            said.push(format!("{REPLY}{}", cut(&reply.text, most / 2)));
        }
        said.join("\n")
    }
}

/// The last exchange that a short context holds: all that is left where transcript and screen are gone.
pub fn last_exchange(text: &str) -> Exchanges {
    let told = |begin: &str| text.lines().rev().find_map(|line| line.strip_prefix(begin)).map(str::to_owned);
    let (prompt, reply) = (told(PROMPT), told(REPLY));
    let steps: Vec<Step> = reply.map(Step::Said).into_iter().collect();
    let exchange = Exchange { at: None, prompt, steps, origin: Origin::Transcript };
    let known = exchange.prompt.is_some() || !exchange.steps.is_empty();
    Exchanges { exchanges: known.then_some(exchange).into_iter().collect(), open: Vec::new() }
}

/// Text on one line without secrets. They go first: a word in their place may be longer than they were.
fn cut(text: &str, most: usize) -> String {
    // What lies further behind is cut off anyway.
    let near = text.get(..text.floor_char_boundary(most.saturating_mul(8))).unwrap_or_default();
    shorten(&clean(near), most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::Said;

    #[test]
    fn stays_within_its_bound_and_between_words() {
        let long = Said { text: "speech PGPASSWORD=a1b2 ".repeat(2000), ..Said::default() };
        let ending = Ending { prompt: Some(long.clone()), reply: Some(long), ..Ending::default() };
        let (task, summary) = ("word ".repeat(400), "sum ".repeat(3000));
        for most in [400, 2000, 5000] {
            let short = Short {
                name: Some("shop"),
                session: "01234567",
                task: Some(&task),
                last_active: Timestamp::UNIX_EPOCH,
                ending: Some(&ending),
                summary: Some(&summary),
                zone: &TimeZone::UTC,
                most,
            };
            let text = short.text();
            assert!(text.chars().count() <= most, "{} of {most}", text.chars().count());
            assert!(text.starts_with("RESTORATION CONTEXT\n"));
            for word in text.replace('…', " ").split_whitespace() {
                assert!(!["spee", "wor", "su"].contains(&word), "cut: {word}");
            }
            assert!(!text.contains("a1b2"), "a secret: {text}");
            for part in [
                "shop",
                "Task:",
                "1970-01-01 00:00 UTC",
                "Summary: sum",
                "Last prompt: speech",
                "Last reply: speech",
            ] {
                assert!(text.contains(part), "{part} is missing of {most}");
            }
            let last = last_exchange(&text);
            assert!(last.last_prompt().is_some_and(|prompt| prompt.starts_with("speech ")), "{last:?}");
            assert!(
                matches!(last.last_action(), Some(Step::Said(said)) if said.starts_with("speech ")),
                "{last:?}"
            );
        }
        assert_eq!(last_exchange("RESTORATION CONTEXT\nTask: x\n"), Exchanges::default());
    }
}
