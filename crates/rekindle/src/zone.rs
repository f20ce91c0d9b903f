//! The user's time zone from one file: the usual way looks through the whole database of zones first.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use crate::fast_path::read_small;

/// The largest zone there is has 4 KB.
const LARGEST: u64 = 64 * 1024;

/// The zone that `$TZ` names, else the machine's, else UTC.
pub(crate) fn local() -> TimeZone {
    let zone = match std::env::var("TZ") {
        Ok(name) => named(name.trim_start_matches(':')),
        Err(_) => from_file(Path::new("/etc/localtime")),
    };
    zone.unwrap_or(TimeZone::UTC)
}

/// A file of the database, a path, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn named(name: &str) -> Option<TimeZone> {
    if name.is_empty() {
        return None;
    }
    let database = std::env::var_os("TZDIR").map_or_else(|| "/usr/share/zoneinfo".into(), PathBuf::from);
    from_file(&database.join(name)).or_else(|| TimeZone::posix(name).ok())
}

fn from_file(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif("local", &read_small(path, LARGEST).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_by_file_and_by_rule() {
        let hour = |zone: TimeZone| zone.to_datetime(jiff::Timestamp::UNIX_EPOCH).hour();
        assert_eq!(named("LAB-5").map(hour), Some(5));
        assert!(named("").is_none() && named("no/such zone").is_none());
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(15, 0);
        assert!(TimeZone::tzif("x", &bytes).is_err());
        if Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
            assert_eq!(named("Asia/Tokyo").map(hour), Some(9));
        }
    }
}
