//! The order in which things happened. A clock may jump, so what is numbered goes by its number; only what an older version
//! wrote without one goes by its time.

use std::cmp::Reverse;

use jiff::Timestamp;

/// Sorts the newest first. Numbered items stand in the order of their numbers. An item without a number is put among them by
/// its time; one that claims to be of the future stands behind them, because its clock was wrong.
pub fn newest_first<T>(
    items: Vec<T>,
    number: impl Fn(&T) -> Option<u64>,
    at: impl Fn(&T) -> Timestamp,
    now: Timestamp,
) -> Vec<T> {
    let (mut numbered, mut timed): (Vec<T>, Vec<T>) =
        items.into_iter().partition(|item| number(item).is_some());
    numbered.sort_by_key(|item| (number(item), at(item)));
    timed.sort_by_key(|item| Reverse(at(item)));
    // An item is at least as new as every item with a smaller number, whatever its own clock said.
    let mut latest = Timestamp::MIN;
    let mut known: Vec<(Timestamp, T)> = Vec::with_capacity(numbered.len());
    for item in numbered {
        latest = latest.max(at(&item));
        known.push((latest, item));
    }
    let mut sorted = Vec::with_capacity(known.len() + timed.len());
    let mut timed = timed.into_iter().peekable();
    for (reached, item) in known.into_iter().rev() {
        let newer = |other: &T| at(other) <= now && at(other) > reached;
        while let Some(other) = timed.next_if(newer) {
            sorted.push(other);
        }
        sorted.push(item);
    }
    sorted.extend(timed);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 100;

    fn check(items: &[(Option<u64>, i64)], expect: &[(Option<u64>, i64)]) {
        let second = |second: i64| Timestamp::from_second(second).unwrap();
        let sorted = newest_first(items.to_vec(), |item| item.0, |item| second(item.1), second(NOW));
        assert_eq!(sorted, expect, "{items:?}");
    }

    #[test]
    fn numbers_decide_and_times_only_where_there_is_no_number() {
        check(&[(None, 1), (None, 3), (None, 2)], &[(None, 3), (None, 2), (None, 1)]);
        // A clock that was ahead, and one that was behind.
        check(&[(Some(1), 900), (Some(2), 90)], &[(Some(2), 90), (Some(1), 900)]);
        check(&[(Some(1), 80), (Some(2), 5), (None, 70)], &[(Some(2), 5), (Some(1), 80), (None, 70)]);
        // What was written without a number, between numbered items.
        check(&[(Some(1), 10), (None, 20), (Some(2), 30)], &[(Some(2), 30), (None, 20), (Some(1), 10)]);
        check(&[(None, 900), (Some(1), 90), (None, 50)], &[(Some(1), 90), (None, 900), (None, 50)]);
    }
}
