//! The first pass: every word that can begin a secret, and which rule looks there.

use std::sync::LazyLock;

use aho_corasick::automaton::{Automaton, OverlappingState};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input};

use crate::shape::Shape;
use crate::{Evidence, Finding, address, assigned, name, pem, shapes};

/// Words of which one is in every name of a secret.
const NAMES: &[&str] = &["pass", "pwd", "secret", "token", "key", "auth", "cred", "pw", "psk"];

/// Who looks at a word.
#[derive(Clone, Copy)]
enum Rule {
    Shape(&'static Shape),
    Name,
    Address,
    PemBegin,
    PemEnd,
}

struct Gate {
    words: DFA,
    /// One per word.
    rules: Vec<Rule>,
}

/// None only if the table of words cannot be built, which a test would tell.
static GATE: LazyLock<Option<Gate>> = LazyLock::new(|| {
    let fixed = [("://", Rule::Address), ("-----begin ", Rule::PemBegin), ("-----end ", Rule::PemEnd)];
    let names = NAMES.iter().map(|word| (*word, Rule::Name));
    let shapes =
        shapes::all().flat_map(|shape| shape.triggers.iter().map(move |word| (*word, Rule::Shape(shape))));
    let known = fixed.into_iter().chain(names).chain(shapes).map(|(word, rule)| (word.to_owned(), rule));
    let made = shapes::made().map(|(word, shape)| (word, Rule::Shape(shape)));
    let (words, rules): (Vec<String>, Vec<Rule>) = known.chain(made).unzip();
    let words = DFA::builder().ascii_case_insensitive(true).build(words).ok()?;
    Some(Gate { words, rules })
});

/// Every secret that can be seen in the text, in no order, some of them twice.
pub(crate) fn findings(text: &str) -> impl Iterator<Item = Finding> {
    let text = text.as_bytes();
    let input = Input::new(text).anchored(Anchored::No);
    let mut state = OverlappingState::start();
    let (mut named, mut found_until) = (0, 0);
    let mut unread = GATE.is_none() && !text.is_empty();
    std::iter::from_fn(move || {
        let Some(gate) = GATE.as_ref() else {
            // What cannot be looked at may not be shown.
            let whole = Finding { place: 0..text.len(), kind: "unread text", evidence: Evidence::Shape };
            return std::mem::take(&mut unread).then_some(whole);
        };
        loop {
            gate.words.try_find_overlapping(&input, &mut state).ok()?;
            let word = state.get_match()?;
            // Words inside of a secret are part of it. A shape inside of a named value says more than the name.
            if word.end() <= found_until {
                continue;
            }
            let found = match gate.rules[word.pattern()] {
                Rule::Shape(shape) => shape.find(text, word.start()),
                Rule::Address => address::find(text, word.end()),
                Rule::PemBegin => pem::find_begin(text, word.start()),
                Rule::PemEnd => pem::find_end(text, word.start()),
                // A name may hold several of the words: `AWS_SECRET_ACCESS_KEY`.
                Rule::Name if word.end() <= named => None,
                Rule::Name => {
                    let name = name::around(text, word.range());
                    named = name.end;
                    assigned::find(text, &name)
                }
            };
            if let Some(found) = found {
                let until = if found.evidence == Evidence::Name { &mut named } else { &mut found_until };
                *until = found.place.end;
                return Some(found);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_can_be_built() {
        assert!(GATE.is_some());
    }

    #[test]
    fn the_kind_is_the_most_telling_one() {
        let key = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zaB3dE5gH7jK9";
        assert_eq!(crate::redact(&format!("X_TOKEN=ghp_{key}")), "X_TOKEN=[redacted: github token]");
        assert_eq!(crate::redact(&format!("X_TOKEN={key}")), "X_TOKEN=[redacted: token]");
        assert_eq!(crate::redact("PGPASSWORD=swordfish psql"), "PGPASSWORD=[redacted: password] psql");
    }
}
