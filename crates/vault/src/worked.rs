//! How long rekindle was at work since a moment, by the journal. The clock alone does not tell how old something is: one that
//! jumps two years ahead makes everything two years older at once.

use std::time::Duration;

use jiff::Timestamp;

/// Entries this close to a moment were written at about that moment, even while the clock was wrong.
const NEAR_SECONDS: i64 = 3_600;

/// The times of the journal's entries, in the order in which they were written.
pub(crate) struct Worked {
    seconds: Vec<i64>,
    now: i64,
    /// How much of a time without entries counts at most.
    idle: i64,
}

impl Worked {
    pub(crate) fn new(times: &[Timestamp], now: Timestamp, idle: Duration) -> Worked {
        let seconds = times.iter().map(|time| time.as_second()).collect();
        Worked { seconds, now: now.as_second(), idle: i64::try_from(idle.as_secs()).unwrap_or(i64::MAX) }
    }

    /// Whether rekindle was at work for longer than this since a moment.
    pub(crate) fn is_past(&self, then: Timestamp, age: Duration) -> bool {
        self.since(then.as_second()) > i64::try_from(age.as_secs()).unwrap_or(i64::MAX)
    }

    fn since(&self, then: i64) -> i64 {
        let near = |second: &i64| second.abs_diff(then) <= NEAR_SECONDS.unsigned_abs();
        let last = |fits: &dyn Fn(&i64) -> bool| self.seconds.iter().rposition(fits);
        let from = last(&near).or_else(|| last(&|second| *second <= then));
        let after = &self.seconds[from.map_or(0, |at| at + 1)..];
        let (mut passed, mut before) = (0_i64, then);
        for second in after.iter().chain([&self.now]) {
            passed = passed.saturating_add((second - before).clamp(0, self.idle));
            before = *second;
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;
    const YEAR: i64 = 365 * DAY;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn check(times: &[i64], now: i64, then: i64, expect_days: i64) {
        let times: Vec<Timestamp> = times.iter().map(|second| at(*second)).collect();
        let worked = Worked::new(&times, at(now), Duration::from_secs(3 * 86_400));
        assert_eq!(worked.since(then), expect_days * DAY, "{times:?}");
    }

    #[test]
    fn time_without_work_counts_for_three_days_at_most() {
        let daily: Vec<i64> = (0..=40).map(|day| 50 * YEAR + day * DAY).collect();
        check(&daily, 50 * YEAR + 40 * DAY, 50 * YEAR, 40);
        check(&daily, 50 * YEAR + 40 * DAY, 50 * YEAR + 35 * DAY, 5);
        // The clock jumps two years ahead, and goes on from there.
        check(&daily, 52 * YEAR + 40 * DAY, 50 * YEAR + 39 * DAY, 4);
        let jumped: Vec<i64> =
            daily.iter().copied().chain([52 * YEAR + 40 * DAY, 52 * YEAR + 41 * DAY]).collect();
        check(&jumped, 52 * YEAR + 42 * DAY, 50 * YEAR + 40 * DAY, 5);
        // Something that was made while the clock stood in 1970.
        let behind: Vec<i64> = daily.iter().copied().chain([0, 50 * YEAR + 41 * DAY]).collect();
        check(&behind, 50 * YEAR + 42 * DAY, 60, 4);
        // Without a journal there is nothing to compare the clock with.
        check(&[], 52 * YEAR, 50 * YEAR, 3);
    }
}
