//! Timestamps as the agent writes them: ISO 8601 in UTC, to the millisecond.

/// A row's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Time {
    #[default]
    Missing,
    /// Present, but no date: one such last row hides the whole session from 2.1.325 (measured).
    Bad,
    /// Milliseconds since 1970.
    At(i64),
    /// The same, of a time without a zone, read as UTC.
    Local(i64),
}

/// The time that a row names.
pub(crate) fn read(raw: &[u8]) -> Time {
    // A time with a zone ends in a letter, or in a sign and digits behind the time of day.
    let has_zone = raw.last().is_some_and(u8::is_ascii_alphabetic)
        || raw.get(16..).is_some_and(|rest| rest.iter().any(|byte| matches!(byte, b'+' | b'-')));
    match parse(raw) {
        Some(millis) if has_zone => Time::At(millis),
        Some(millis) => Time::Local(millis),
        None => Time::Bad,
    }
}

/// Reads `2026-11-15T09:17:45.238Z`, with other fractions and offsets too, with a space for the `T`, in lower case, and
/// without seconds or a zone: every agent does (measured). Without a zone agents take their own, which is unknown here;
/// UTC keeps the order of rows that all lack one, and [`crate::mend`] gives the others theirs.
pub(crate) fn parse(raw: &[u8]) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        raw.get(range)?.iter().try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    };
    let is = |at: usize, byte: u8| raw.get(at) == Some(&byte);
    if !(is(4, b'-') && is(7, b'-') && matches!(raw.get(10), Some(b'T' | b't' | b' ')) && is(13, b':')) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute) = (number(11..13)?, number(14..16)?);
    let has_seconds = is(16, b':');
    let second = if has_seconds { number(17..19)? } else { 0 };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = if has_seconds { 19 } else { 16 };
    let mut millis = 0;
    if has_seconds && is(at, b'.') {
        let digits = raw[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        for i in 0..3 {
            millis = millis * 10 + if i < digits { i64::from(raw[at + 1 + i] - b'0') } else { 0 };
        }
        at += 1 + digits;
    }
    if is(10, b' ') && is(at, b' ') {
        at += 1;
    }
    let offset = match raw.get(at..)? {
        b"Z" | b"z" | b"" => 0,
        b"UTC" | b"GMT" if is(10, b' ') => 0,
        [sign @ (b'+' | b'-'), digits @ ..] => {
            let minutes_at = match digits {
                [_, _, b':', _, _] => at + 4,
                [_, _, _, _] => at + 3,
                _ => return None,
            };
            let minutes = number(at + 1..at + 3)? * 60 + number(minutes_at..minutes_at + 2)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + (minute - offset) * 60 + second;
    Some(seconds * 1_000 + millis)
}

/// Writes milliseconds since 1970 as the agent does.
pub(crate) fn format(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar (Howard Hinnant's `days_from_civil`).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{Time, format, parse, read};

    #[test]
    fn reads_what_it_writes() {
        for text in [
            "2026-11-15T09:17:45.238Z",
            "1970-01-01T00:00:00.000Z",
            "2024-02-29T23:59:59.999Z",
            "0001-03-01T00:00:00.001Z",
        ] {
            assert_eq!(parse(text.as_bytes()).map(format).as_deref(), Some(text));
        }
    }

    #[test]
    fn reads_offsets_and_other_fractions() {
        assert_eq!(parse(b"1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse(b"1970-01-01T00:00:00.5Z"), Some(500));
        assert_eq!(parse(b"1970-01-01T00:00:00.123456Z"), Some(123));
        assert_eq!(parse(b"1970-01-01T01:00:00.007+0100"), Some(7));
        assert_eq!(parse(b"1970-01-01 00:00:00.007Z"), Some(7));
        assert_eq!(parse(b"1970-01-01 01:00:00.007 +0100"), Some(7));
        assert_eq!(parse(b"1970-01-01 00:00:01"), Some(1_000));
        assert_eq!(parse(b"1970-01-01 00:00:01 UTC"), Some(1_000));
        assert_eq!(parse(b"1970-01-01t00:00:01z"), Some(1_000));
        assert_eq!(parse(b"1970-01-01T00:01Z"), Some(60_000));
        assert_eq!(parse(b"1970-01-01T00:00:01.5"), Some(1_500));
    }

    #[test]
    fn knows_a_time_without_a_zone() {
        for zoned in [
            "1970-01-01T00:00:01Z",
            "1970-01-01 01:00:01 +0100",
            "1970-01-01T00:00:01.000+00:00",
            "1970-01-01 00:00:01 UTC",
        ] {
            assert_eq!(read(zoned.as_bytes()), Time::At(1_000), "{zoned}");
        }
        for local in ["1970-01-01T00:00:01", "1970-01-01 00:00:01.000"] {
            assert_eq!(read(local.as_bytes()), Time::Local(1_000), "{local}");
        }
        assert_eq!(read(b"yesterday"), Time::Bad);
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "garbage",
            "2026-13-01T00:00:00Z",
            "2026-11-15",
            "2026-11-15T09:17:45 +0000",
            "2026-11-15T09:17:45+0",
            "2026-11-15T09:17:45+000000",
            "2026-11-15T09:17:45.Z",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
