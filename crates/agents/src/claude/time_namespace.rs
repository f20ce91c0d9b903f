//! Start times as the host counts them. The kernel shifts the start time of every process by the boot-time offset of the time
//! namespace that the *reader* is in, so a process in a container reads other numbers than the host. Everything that rekindle reads
//! or writes down is the host's number.

use std::path::Path;
use std::sync::OnceLock;

use super::process::{PROC, read_small, ticks_per_second};

/// When a process started, as it reads that in its own time namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartInside {
    /// As the host counts it.
    #[default]
    AsOutside,
    /// At this number.
    At(u64),
    /// It cannot be told.
    Unknown,
}

impl StartInside {
    /// Whether a number is the start of this process, which the host counts as `outside`. An offset need not be whole ticks, and
    /// no process id is given out again within a tick.
    pub fn is(self, outside: u64, start: u64) -> bool {
        match self {
            StartInside::At(inside) => outside.abs_diff(start) <= 1 || inside.abs_diff(start) <= 1,
            StartInside::AsOutside | StartInside::Unknown => outside == start,
        }
    }
}

/// A number that was read here, as the host counts it.
pub(crate) fn host_ticks(read_here: u64) -> u64 {
    read_here.saturating_add_signed(-own_offset())
}

/// The offset of this process's own time namespace, in ticks. Read once: a process cannot leave its time namespace.
pub(super) fn own_offset() -> i64 {
    static OWN: OnceLock<i64> = OnceLock::new();
    *OWN.get_or_init(|| {
        let offset = offset_of("self").unwrap_or_default();
        // The file tells of the namespace that children get. Theirs is another one only for who has just made it.
        let link = |name: &str| std::fs::read_link(Path::new(PROC).join("self/ns").join(name)).ok();
        if offset != 0 && link("time") != link("time_for_children") { 0 } else { offset }
    })
}

/// The boot-time offset that a process reads times with, in ticks; nothing where that cannot be told. Kernels without time
/// namespaces have none.
pub(super) fn offset_of(process: &str) -> Option<i64> {
    let folder = Path::new(PROC).join(process);
    match read_small(&folder.join("timens_offsets")) {
        Some(text) => parse(&String::from_utf8_lossy(&text)),
        None => (!Path::new(PROC).join("self/timens_offsets").exists()).then_some(0),
    }
}

/// `boottime <seconds> <nanoseconds>`, beside other clocks.
fn parse(offsets: &str) -> Option<i64> {
    let mut words = offsets.lines().find_map(|line| line.strip_prefix("boottime"))?.split_ascii_whitespace();
    let (seconds, nanoseconds): (i64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let per_second = i64::try_from(ticks_per_second()).ok()?;
    let fraction = nanoseconds.checked_div(1_000_000_000_i64.checked_div(per_second)?)?;
    seconds.checked_mul(per_second)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_says_of_a_time_namespace() {
        let per_second = i64::try_from(ticks_per_second()).unwrap();
        let check = |seconds: &str, expect: Option<i64>| {
            let text = format!("monotonic           5         0\nboottime   {seconds}\n");
            assert_eq!(parse(&text), expect, "{seconds}");
        };
        check("0         0", Some(0));
        check("100000    0", Some(100_000 * per_second));
        check("-7 500000000", Some(-7 * per_second + per_second / 2));
        check("x 0", None);
        assert_eq!(parse("monotonic 1 0\n"), None);
        assert_eq!(
            offset_of("no process"),
            if Path::new("/proc/self/timens_offsets").exists() { None } else { Some(0) }
        );
    }
}
