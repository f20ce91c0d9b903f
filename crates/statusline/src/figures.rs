//! Figures as people read them at a glance.

use jiff::{SignedDuration, Timestamp};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A count of tokens: `980`, `154k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..999_500 => format!("{}k", (count + 500) / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// An amount: `$7.94`, `$332`.
pub(crate) fn dollars(amount: f64) -> String {
    if amount < 99.995 { format!("${amount:.2}") } else { format!("${amount:.0}") }
}

/// How long ago something was; what lies in the future is now, since clocks jump.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..MINUTE => "<1m".to_owned(),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

/// How long ago something was, in words.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    if now.duration_since(then).as_secs() < MINUTE {
        return "just now".to_owned();
    }
    format!("{} ago", age(then, now))
}

/// Time left in its two largest units: `4d 12h`, `3h 53m`, `53m`; `None` when it is over.
pub(crate) fn two_units(left: SignedDuration) -> Option<String> {
    let seconds = left.as_secs();
    match seconds {
        ..=0 => None,
        // The last minute counts as one: "in 0m" says nothing.
        1..HOUR => Some(format!("{}m", (seconds / MINUTE).max(1))),
        HOUR..DAY => Some(format!("{}h {}m", seconds / HOUR, seconds % HOUR / MINUTE)),
        _ => Some(format!("{}d {}h", seconds / DAY, seconds % DAY / HOUR)),
    }
}

/// Time left in hours and minutes: `3h53m`, `53m`, `<1m`; `None` when it is over.
pub(crate) fn hours_and_minutes(left: SignedDuration) -> Option<String> {
    let seconds = left.as_secs();
    match seconds {
        ..=0 => None,
        1..MINUTE => Some("<1m".to_owned()),
        MINUTE..HOUR => Some(format!("{}m", seconds / MINUTE)),
        _ => Some(format!("{}h{:02}m", seconds / HOUR, seconds % HOUR / MINUTE)),
    }
}

/// Time left in hours, as for a week: `120h`, `53m`, `<1m`; `None` when it is over.
pub(crate) fn hours(left: SignedDuration) -> Option<String> {
    if left.as_secs() < HOUR {
        return hours_and_minutes(left);
    }
    Some(format!("{}h", left.as_secs() / HOUR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_dollars() {
        let read = [0, 999, 1000, 8200, 154_499, 999_499, 999_500, 1_234_567].map(tokens);
        assert_eq!(read, ["0", "999", "1k", "8k", "154k", "999k", "1.0M", "1.2M"]);
        let read = [0.0, 0.005, 7.94, 99.99, 99.999, 332.4].map(dollars);
        assert_eq!(read, ["$0.00", "$0.01", "$7.94", "$99.99", "$100", "$332"]);
    }

    #[test]
    fn times() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let read = [-50, 0, 59, 60, 3599, 3600, 86_399, 86_400, 864_000].map(|past| age(at(0), at(past)));
        assert_eq!(read, ["<1m", "<1m", "<1m", "1m", "59m", "1h", "23h", "1d", "10d"]);
        let left = [-1, 0, 1, 60, 3599, 3600, 13_980, 432_000].map(SignedDuration::from_secs);
        let read = left.map(|left| hours_and_minutes(left).unwrap_or_default());
        assert_eq!(read, ["", "", "<1m", "1m", "59m", "1h00m", "3h53m", "120h00m"]);
        let read = left.map(|left| two_units(left).unwrap_or_default());
        assert_eq!(read, ["", "", "1m", "1m", "59m", "1h 0m", "3h 53m", "5d 0h"]);
        assert_eq!(two_units(SignedDuration::from_hours(108)).as_deref(), Some("4d 12h"));
        assert_eq!([59, 60, 7200].map(|past| ago(at(0), at(past))), ["just now", "1m ago", "2h ago"]);
        let read = left.map(|left| hours(left).unwrap_or_default());
        assert_eq!(read, ["", "", "<1m", "1m", "59m", "1h", "3h", "120h"]);
    }
}
