//! What must be there before one more agent is started: memory now, and quota for what it will do.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Why there is not enough memory for one more; nothing where there is. Nobody waits here while others start: they may
/// be the ones who need it, so the caller asks again.
pub(crate) fn memory(least: u64, patience: Duration, others: bool) -> Option<String> {
    let asked = Instant::now();
    loop {
        // Where nothing is known nothing is gated: other systems have no such file.
        let free = store::files::read_to_string("/proc/meminfo").ok().as_deref().and_then(available)?;
        if free >= least {
            return None;
        }
        if others || asked.elapsed() >= patience {
            let mib = |bytes: u64| bytes >> 20;
            return Some(format!(
                "only {} MiB of memory are free, and restore.min_free_memory is {} MiB",
                mib(free),
                mib(least)
            ));
        }
        pause();
    }
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

/// Why an account has nothing left to work with, by the newest input of a status line; nothing where it has, or where
/// that is not known.
pub(crate) fn quota(status: &Value, spent_at: u32, now: Timestamp) -> Option<String> {
    ["five_hour", "seven_day"].iter().find_map(|window| {
        let limit = &status["rate_limits"][window];
        let used = limit["used_percentage"].as_f64()?;
        let resets = time(&limit["resets_at"])?;
        let spent = used >= f64::from(spent_at) && resets > now;
        spent.then(|| {
            format!(
                "its account has used {used:.0}% of its quota, until {}",
                resets.strftime("%Y-%m-%d %H:%M UTC")
            )
        })
    })
}

/// `resets_at` was seen as seconds since 1970 and as text.
fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(seconds) => {
            let since = SignedDuration::try_from_secs_f64(seconds.as_f64()?).ok()?;
            Timestamp::from_duration(since).ok()
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: nothing tells when memory is free")]
fn pause() {
    std::thread::sleep(Duration::from_millis(250));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// F-others-9
    #[test]
    fn memory_is_what_the_kernel_says_is_available() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert_eq!(memory(0, Duration::ZERO, false), None);
        let why = memory(u64::MAX, Duration::ZERO, false).unwrap();
        assert!(why.contains("restore.min_free_memory"), "{why}");
    }

    /// F-others-9
    #[test]
    fn a_spent_quota_holds_until_it_resets() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let check = |used: f64, resets: Value, spent: bool| {
            let status =
                json!({"rate_limits": {"five_hour": {"used_percentage": used, "resets_at": resets}}});
            assert_eq!(quota(&status, 99, now).is_some(), spent, "{status}");
        };
        check(99.5, json!("2026-01-01T14:00:00Z"), true);
        check(99.5, json!(now.as_second() + 60), true);
        check(99.5, json!(now.as_second() - 60), false);
        check(99.5, json!(1_767_272_400.0), true);
        check(80.0, json!("2026-01-01T14:00:00Z"), false);
        assert_eq!(quota(&json!({}), 99, now), None);
    }
}
