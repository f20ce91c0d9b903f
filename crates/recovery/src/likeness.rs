//! How alike two descriptions are: the last thing that is weighed before a person is asked.

use std::collections::BTreeSet;

/// Below this two descriptions are of different things.
const ENOUGH: f64 = 0.5;

/// The words both have, by all the words there are; case and punctuation say nothing.
fn likeness(one: &str, other: &str) -> f64 {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() > 2)
            .map(str::to_lowercase)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    let all = one.union(&other).count();
    if all == 0 { 0.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}

/// The one that is more like this text than any other, where one is; a tie is no answer.
pub(crate) fn most_alike<'a, T>(text: &str, others: impl IntoIterator<Item = (T, &'a str)>) -> Option<T> {
    let mut scored: Vec<(f64, T)> =
        others.into_iter().map(|(other, words)| (likeness(text, words), other)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut scored = scored.into_iter();
    let (best, found) = scored.next()?;
    let second = scored.next().map_or(0.0, |(score, _)| score);
    (best >= ENOUGH && best > second).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_wins_and_a_tie_does_not() {
        let among = [(1, "fix the login page"), (2, "write release notes")];
        assert_eq!(most_alike("✳ Fix login page", among), Some(1));
        assert_eq!(most_alike("bash", among), None);
        assert_eq!(
            most_alike("fix the login page", [(1, "fix the login page"), (2, "Fix the login page!")]),
            None
        );
        assert_eq!(most_alike("", [(1, "")]), None);
    }
}
