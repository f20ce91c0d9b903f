//! The restoration context: what a fresh agent is told when a conversation cannot be resumed. Prepared at every turn's
//! end, so that it is there when nothing else is.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use state::record::SessionRecord;
use transcript::Ending;

/// What goes into the context.
pub(crate) struct Context<'a> {
    pub(crate) record: &'a SessionRecord,
    pub(crate) ending: Option<&'a Ending>,
    pub(crate) summary: Option<&'a str>,
    pub(crate) zone: &'a TimeZone,
    /// The most characters.
    pub(crate) most: usize,
}

impl Context<'_> {
    /// The text, redacted, within its bound, never cut in the middle of a word.
    pub(crate) fn text(&self) -> String {
        let record = self.record;
        let mut head = vec!["RESTORATION CONTEXT".to_owned()];
        let name = record.name.as_deref().unwrap_or("unnamed");
        head.push(format!("You are continuing the work of {name} (session {}).", record.short_id));
        if let Some(task) = &record.task {
            head.push(format!("Task: {}", shorten(task, self.most / 5)));
        }
        head.push(format!("Last active: {}", local(record.last_seen, self.zone)));
        let head = head.join("\n");
        let rest = self.most.saturating_sub(head.chars().count() + 2);
        let mut parts = vec![head];
        let exchange = self.exchange(rest * 3 / 5);
        if let Some(summary) = self.summary.filter(|summary| !summary.trim().is_empty()) {
            let left = rest.saturating_sub(exchange.chars().count() + 12);
            let short = shorten(summary, left);
            if !short.is_empty() {
                parts.push(format!("Summary: {short}"));
            }
        }
        if !exchange.is_empty() {
            parts.push(exchange);
        }
        let text = parts.join("\n");
        format!("{}\n", redact::redact(&text))
    }

    fn exchange(&self, most: usize) -> String {
        let Some(ending) = self.ending else { return String::new() };
        let mut said = Vec::new();
        if let Some(prompt) = &ending.prompt {
            said.push(format!("Last prompt: {}", shorten(&prompt.text, most / 2)));
        }
        if let Some(reply) = &ending.reply {
            said.push(format!("Last reply: {}", shorten(&reply.text, most / 2)));
        }
        said.join("\n")
    }
}

/// A time in the user's zone.
fn local(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// Text on one line, cut between words.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + usize::from(length > 0);
        if length + more + 1 > most {
            if length > 0 {
                short.push('…');
            }
            return short;
        }
        if length > 0 {
            short.push(' ');
        }
        short.push_str(word);
        length += more;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionId;
    use transcript::Said;

    #[test]
    fn stays_within_its_bound_and_between_words() {
        let mut record = SessionRecord::new(SessionId::new("0123456789").unwrap(), Timestamp::UNIX_EPOCH);
        record.name = Some("shop".to_owned());
        record.task = Some("word ".repeat(400));
        let long = Said { text: "speech ".repeat(2000), ..Said::default() };
        let ending = Ending { prompt: Some(long.clone()), reply: Some(long), ..Ending::default() };
        for most in [400, 2000, 5000] {
            let context = Context {
                record: &record,
                ending: Some(&ending),
                summary: Some(&"sum ".repeat(3000)),
                zone: &TimeZone::UTC,
                most,
            };
            let text = context.text();
            assert!(text.chars().count() <= most, "{} of {most}", text.chars().count());
            assert!(text.starts_with("RESTORATION CONTEXT\n"));
            for word in text.replace('…', " ").split_whitespace() {
                assert!(!["spee", "wor", "su"].contains(&word), "cut: {word}");
            }
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
        }
    }
}
