//! As many exchanges as there is room for: the newest ones, whole, and always the first prompt.

use jiff::tz::TimeZone;

use crate::cut::{beginning, characters};
use crate::exchange::{Exchange, Step};

/// How much an agent may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Lines at most.
    pub lines: usize,
    /// Tokens at most, four characters each.
    pub tokens: usize,
}

/// Exchanges as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fitted {
    pub(crate) text: String,
    /// How many are in it, whole or in part.
    pub(crate) kept: usize,
    /// How many are not.
    pub(crate) left_out: usize,
}

/// Room for text.
#[derive(Debug, Clone, Copy)]
struct Room {
    lines: usize,
    characters: usize,
}

impl Room {
    /// Takes the place of a text and of the blank line behind it; says whether there was room.
    fn take(&mut self, text: &str) -> bool {
        let (lines, characters) = (text.lines().count() + 1, text.chars().count() + 2);
        let fits = lines <= self.lines && characters <= self.characters;
        if fits {
            self.lines -= lines;
            self.characters -= characters;
        }
        fits
    }

    fn part(self, of: usize) -> Room {
        Room { lines: self.lines / of, characters: self.characters / of }
    }
}

/// The line in the place of what is left out; as long as it can get.
fn gap(left_out: usize, what: &str) -> String {
    format!("[… {left_out} {what} left out here …]")
}

/// Fits exchanges into the room there is.
pub(crate) fn fit(exchanges: &[Exchange], limits: Limits, zone: &TimeZone) -> Fitted {
    let mut room = Room { lines: limits.lines, characters: characters(limits.tokens) };
    let first = exchanges.iter().position(Exchange::is_asked_by_user);
    let first_prompt = first.and_then(|first| {
        let part = room.part(4);
        Some(beginning(&exchanges[first].prompt_text(zone)?, part.lines.max(1), part.characters))
    });
    if exchanges.len() > 1 {
        room.take(first_prompt.as_deref().unwrap_or_default());
        room.take(&gap(exchanges.len(), "exchanges are"));
    }
    let mut texts: Vec<String> = Vec::new();
    for exchange in exchanges.iter().rev() {
        let text = exchange.text(zone);
        if !room.take(&text) {
            break;
        }
        texts.push(text);
    }
    if texts.is_empty() {
        texts.extend(
            exchanges.last().map(|newest| shrunk(newest, room, zone)).filter(|text| !text.is_empty()),
        );
    }
    let kept = texts.len();
    let left_out = exchanges.len() - kept;
    if left_out > 0 {
        texts.push(gap(left_out, if left_out == 1 { "exchange is" } else { "exchanges are" }));
        let lost = first.is_some_and(|first| first < left_out);
        texts.extend(first_prompt.filter(|_| lost));
    }
    texts.reverse();
    Fitted { text: texts.join("\n\n"), kept, left_out }
}

/// The prompt and the last steps of an exchange that has no room alone.
fn shrunk(exchange: &Exchange, mut room: Room, zone: &TimeZone) -> String {
    let half = room.part(2);
    let prompt = exchange.prompt_text(zone).map(|text| beginning(&text, half.lines.max(1), half.characters));
    room.take(prompt.as_deref().unwrap_or_default());
    room.take(&gap(exchange.steps.len(), "steps are"));
    let alone = |step: &Step| {
        Exchange { at: None, prompt: None, steps: vec![step.clone()], origin: exchange.origin }.text(zone)
    };
    let mut steps: Vec<String> = Vec::new();
    for step in exchange.steps.iter().rev() {
        let text = alone(step);
        if !room.take(&text) {
            if steps.is_empty() {
                steps.push(beginning(
                    &text,
                    room.lines.saturating_sub(1).max(1),
                    room.characters.saturating_sub(2),
                ));
            }
            break;
        }
        steps.push(text);
    }
    let left_out = exchange.steps.len() - steps.len();
    if left_out > 0 {
        steps.push(gap(left_out, if left_out == 1 { "step is" } else { "steps are" }));
    }
    steps.extend(prompt);
    steps.reverse();
    steps.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::tokens;
    use crate::exchange::Origin;
    use proptest::prelude::*;

    fn exchange(prompt: &str, steps: &[String]) -> Exchange {
        let steps = steps.iter().cloned().map(Step::Said).collect();
        Exchange { at: None, prompt: Some(prompt.to_owned()), steps, origin: Origin::Transcript }
    }

    fn fitted(exchanges: &[Exchange], lines: usize, tokens: usize) -> Fitted {
        fit(exchanges, Limits { lines, tokens }, &TimeZone::UTC)
    }

    #[test]
    fn the_newest_stay_whole_and_the_first_prompt_always_stays() {
        let many: Vec<Exchange> =
            (0..100).map(|at| exchange(&format!("ask {at:02}"), &[format!("reply {at:02}")])).collect();
        let told = fitted(&many, 1_000, 100);
        assert!(
            told.text
                .starts_with("User: ask 00\n\n[… 89 exchanges are left out here …]\n\nUser: ask 89\nAgent")
        );
        assert!(told.text.ends_with("User: ask 99\nAgent: reply 99"));
        assert_eq!((told.kept, told.left_out), (11, 89));
        let few = fitted(&many, 14, 100_000);
        assert_eq!((few.kept, few.left_out), (3, 97), "by lines");
        let all = fitted(&many[..3], 1_000, 1_000);
        assert_eq!(
            all.text,
            "User: ask 00\nAgent: reply 00\n\nUser: ask 01\nAgent: reply 01\n\nUser: ask 02\nAgent: reply 02"
        );
        assert_eq!(fitted(&[], 10, 10), Fitted::default());
    }

    #[test]
    fn an_exchange_that_has_no_room_alone_keeps_its_prompt_and_its_end() {
        let steps: Vec<String> = (0..50).map(|at| format!("step {at:02} of many")).collect();
        let told = fitted(&[exchange("the first", &[]), exchange("ask", &steps)], 1_000, 60);
        let expect = "User: the first\n\n[… 1 exchange is left out here …]\n\nUser: ask\n[… 45 steps are left out here …]
Agent: step 45 of many\nAgent: step 46 of many\nAgent: step 47 of many\nAgent: step 48 of many\nAgent: step 49 of many";
        assert_eq!(told.text, expect);
        let long = [exchange(&"long ".repeat(1_000), &["speech ".repeat(1_000)])];
        let told = fitted(&long, 1_000, 100);
        assert!(told.text.starts_with("User: long long"));
        assert!(told.text.contains("long…\nAgent: speech speech"));
        assert!(told.text.ends_with("speech…"));
    }

    proptest! {
        #[test]
        fn nothing_outgrows_its_room_or_cuts_a_word(
            sizes in prop::collection::vec((1usize..60, prop::collection::vec(1usize..80, 0..5)), 1..12),
            lines in 12usize..200,
            most in 60usize..2_000,
        ) {
            let words = |count: usize| vec!["word"; count].join(if count.is_multiple_of(3) { "\n" } else { " " });
            let exchanges: Vec<Exchange> = sizes
                .iter()
                .map(|(prompt, steps)| exchange(&words(*prompt), &steps.iter().map(|n| words(*n)).collect::<Vec<_>>()))
                .collect();
            let told = fitted(&exchanges, lines, most);
            prop_assert!(told.text.lines().count() <= lines, "{} of {lines}", told.text.lines().count());
            prop_assert!(tokens(&told.text) <= most, "{} of {most}", tokens(&told.text));
            prop_assert_eq!(told.kept + told.left_out, exchanges.len());
            prop_assert!(told.text.starts_with("User: word"));
            for word in told.text.split(|c: char| !c.is_alphanumeric()) {
                prop_assert!(!["w", "wo", "wor", "ord", "rd", "d"].contains(&word), "{}", told.text);
            }
        }
    }
}
