//! A choice among numbered things, by whoever sits at the terminal.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

/// Asks which of so many things are meant. Nothing where the answer names none.
pub(crate) fn choose(question: &str, count: usize) -> BTreeSet<usize> {
    let mut err = std::io::stderr().lock();
    // Who cannot be shown the question answers nothing.
    let _ = write!(err, "{question} [1-{count}, all, none] ").and_then(|()| err.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(_) => chosen(&line, count).unwrap_or_default(),
        Err(_) => BTreeSet::new(),
    }
}

/// The numbers of an answer, from 0: `1 3`, `1,3`, `2-4`, `all`. Nothing where a part of it makes no sense: half a choice
/// is none.
fn chosen(answer: &str, count: usize) -> Option<BTreeSet<usize>> {
    let answer = answer.trim().to_lowercase();
    match answer.as_str() {
        "all" => return Some((0..count).collect()),
        "none" | "n" | "no" | "q" => return Some(BTreeSet::new()),
        _ => {}
    }
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=count).contains(number));
    let mut numbers = BTreeSet::new();
    for part in answer.split([' ', ',']).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(number(from)? - 1..number(to)?);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn numbers_ranges_and_words() {
        let check = |answer: &str, expect: Option<&[usize]>| {
            assert_eq!(
                chosen(answer, 4),
                expect.map(|numbers| numbers.iter().copied().collect()),
                "{answer:?}"
            );
        };
        check("2\n", Some(&[1]));
        check("1, 3 4", Some(&[0, 2, 3]));
        check("2-4", Some(&[1, 2, 3]));
        check("ALL", Some(&[0, 1, 2, 3]));
        check("none", Some(&[]));
        check("", Some(&[]));
        check("5", None);
        check("0", None);
        check("1 x", None);
    }
}
