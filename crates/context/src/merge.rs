//! What a screen shows beyond the end of a transcript: the newest rows may be lost, and a terminal still have them.

use crate::exchange::{Exchange, Outcome, Step};
use crate::exchanges::Exchanges;

/// Fewer characters than this may be alike by chance.
const TELLING: usize = 12;

impl Exchanges {
    /// Adds what a screen shows after the last thing that both have. Nothing is added where they have nothing in common:
    /// what came first could not be told. Says whether anything was.
    pub fn extend(&mut self, screen: Exchanges) -> bool {
        let Some(shared) = self.last_shown(&screen.exchanges) else { return false };
        let mut shown = screen.exchanges.into_iter().skip(shared);
        let Some(at_both) = shown.next() else { return false };
        let mut more = self.complete(at_both);
        for exchange in shown {
            self.exchanges.push(exchange);
            more = true;
        }
        if more {
            self.open = screen.open;
        }
        more
    }

    /// Where on a screen the last exchange is; a screen that does not show it is from before. Users say the same thing
    /// twice: of several that could be it, the last one behind the exchange before it.
    fn last_shown(&self, shown: &[Exchange]) -> Option<usize> {
        let (last, before) = self.exchanges.split_last()?;
        let in_order = |place: &usize| match (before.last(), place.checked_sub(1)) {
            (Some(behind), Some(before)) => same_exchange(behind, &shown[before]),
            _ => true,
        };
        let places: Vec<usize> =
            (0..shown.len()).filter(|place| same_exchange(last, &shown[*place])).collect();
        places.iter().rev().find(|place| in_order(place)).or(places.last()).copied()
    }

    /// Adds to the last exchange what the screen shows of it and the transcript lacks.
    fn complete(&mut self, shown: Exchange) -> bool {
        let Some(last) = self.exchanges.last_mut().filter(|last| same_exchange(last, &shown)) else {
            return false;
        };
        let known: Vec<String> = last.steps.iter().filter_map(words).collect();
        let both = shown.steps.iter().rposition(|step| words(step).is_some_and(|words| has(&known, &words)));
        let mut missing: Vec<Step> = shown.steps.into_iter().skip(both.map_or(0, |at| at + 1)).collect();
        // Behind its last words the transcript names its tools better than a screen does.
        let spoken = last.steps.iter().rposition(|step| matches!(step, Step::Said(_))).map_or(0, |at| at + 1);
        if last.steps[spoken..].iter().any(|step| matches!(step, Step::Did(_))) {
            let deeds = missing.iter().take_while(|step| matches!(step, Step::Did(_))).count();
            missing.drain(..deeds);
        }
        if missing.is_empty() {
            return false;
        }
        for step in &mut last.steps {
            if let Step::Did(deed) = step
                && deed.outcome == Outcome::Open
            {
                // The agent went on, so it was answered; what with is lost.
                deed.outcome = Outcome::Done(String::new());
            }
        }
        last.steps.append(&mut missing);
        true
    }
}

fn same_exchange(known: &Exchange, shown: &Exchange) -> bool {
    match (&known.prompt, &shown.prompt) {
        (Some(known), Some(shown)) => dense(known) == dense(shown),
        (_, None) => {
            let words_known: Vec<String> = known.steps.iter().filter_map(words).collect();
            shown.steps.iter().filter_map(words).any(|words| has(&words_known, &words))
        }
        (None, Some(_)) => false,
    }
}

/// What the agent said, as it can be compared: a terminal breaks lines where it likes.
fn words(step: &Step) -> Option<String> {
    match step {
        Step::Said(said) => Some(dense(said)),
        _ => None,
    }
}

/// Whether these words are among the known ones; a screen may have only a part of them.
fn has(known: &[String], words: &str) -> bool {
    let telling = words.chars().count() >= TELLING;
    known.iter().any(|known| known == words || telling && known.contains(words))
}

/// Text without white space, and without the marks that a terminal shows as something else.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '*' | '`' | '#')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Origin;

    fn exchange(prompt: &str, said: &str) -> Exchange {
        let steps = if said.is_empty() { Vec::new() } else { vec![Step::Said(said.to_owned())] };
        Exchange { at: None, prompt: Some(prompt.to_owned()), steps, origin: Origin::Transcript }
    }

    fn talk(exchanges: &[(&str, &str)]) -> Exchanges {
        let exchanges = exchanges.iter().map(|(prompt, said)| exchange(prompt, said)).collect();
        Exchanges { exchanges, open: Vec::new() }
    }

    #[track_caller]
    fn check(known: &[(&str, &str)], screen: &[(&str, &str)], expect: &[(&str, &str)]) {
        let mut merged = talk(known);
        let more = merged.extend(talk(screen));
        assert_eq!(merged, talk(expect));
        assert_eq!(more, known != expect);
    }

    #[test]
    fn what_comes_after_the_last_thing_that_both_have_is_added() {
        check(&[("a", "1"), ("b", "2")], &[("b", "2"), ("c", "3")], &[("a", "1"), ("b", "2"), ("c", "3")]);
        check(&[("a", "1"), ("b", "")], &[("a", "1"), ("b", "2")], &[("a", "1"), ("b", "2")]);
        check(&[("a", "1")], &[("a", "1")], &[("a", "1")]);
        // A terminal breaks lines and shows no marks.
        check(
            &[("long words", "**bold** too")],
            &[("long\nwords", "bold\ntoo"), ("b", "")],
            &[("long words", "**bold** too"), ("b", "")],
        );
    }

    #[test]
    fn nothing_is_added_where_nothing_is_shared() {
        check(&[("a", "1")], &[("x", "9")], &[("a", "1")]);
        check(&[("a", "1")], &[], &[("a", "1")]);
        // A screen of before, with something on it that no transcript keeps.
        check(&[("a", "1"), ("b", "2")], &[("a", "1"), ("/cost", "3")], &[("a", "1"), ("b", "2")]);
    }

    #[test]
    fn who_says_the_same_twice_is_understood() {
        check(
            &[("a", "1"), ("go on", "2")],
            &[("a", "1"), ("go on", "2"), ("go on", "3")],
            &[("a", "1"), ("go on", "2"), ("go on", "3")],
        );
        check(
            &[("hi", "1"), ("b", "2")],
            &[("hi", "1"), ("b", "2"), ("hi", "3")],
            &[("hi", "1"), ("b", "2"), ("hi", "3")],
        );
    }
}
