//! Times as the user reads them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time in the user's zone.
pub(crate) fn local(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}
