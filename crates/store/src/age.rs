//! How long ago something was, by a clock that may have been wrong at that time or be wrong now.

use jiff::{SignedDuration, Timestamp};

/// So far a clock is set back in ordinary life: by NTP, or by a virtual machine that wakes up. A time that is further ahead was
/// written by a wrong clock.
pub const SKEW: SignedDuration = SignedDuration::from_mins(2);

/// Whether a time is ahead of now, by more than clocks are set back.
pub fn is_ahead(then: Timestamp, now: Timestamp) -> bool {
    now.duration_since(then) < -SKEW
}

/// Whether something happened within this time before now. **A time in the future proves nothing**: it counts as old.
pub fn is_within(then: Timestamp, now: Timestamp, limit: SignedDuration) -> bool {
    !is_ahead(then, now) && now.duration_since(then) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_is_old() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let check = |ago: i64, expect: bool| {
            let then = now - SignedDuration::from_secs(ago);
            assert_eq!(is_within(then, now, SignedDuration::from_secs(3600)), expect, "{ago} s ago");
        };
        check(0, true);
        check(3600, true);
        check(3601, false);
        check(-60, true);
        check(-121, false);
        check(-40 * 86_400, false);
        assert!(!is_within(Timestamp::MAX, Timestamp::MIN, SignedDuration::MAX));
    }
}
