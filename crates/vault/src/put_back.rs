//! The rules by which a conversation is put back into the agent's folder.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::{Duration, SystemTime};

// The sweep compares days; an hour keeps the file out of the one that runs right now.
const MARGIN: Duration = Duration::from_secs(3600);

/// The modification time for a file that is put back: its own if the agent's sweep spares that, else the oldest that
/// it spares; never newer than the newest transcript of the folder, because `--continue` picks the newest
/// (measured on 2.1.31 and 2.1.325).
pub fn put_back_mtime(
    original: SystemTime,
    cleanup_period: Duration,
    now: SystemTime,
    newest_in_folder: Option<SystemTime>,
) -> SystemTime {
    let spared =
        now.checked_sub(cleanup_period).and_then(|edge| edge.checked_add(MARGIN)).unwrap_or(original);
    let wanted = original.max(spared).min(now);
    match newest_in_folder {
        // Swept is worse than hijacked only if there is somebody to hijack: the newest of the folder wins.
        Some(newest) => wanted.min(newest),
        None => wanted,
    }
}

/// How the rows that are there relate to the rows in the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The same rows.
    Equal,
    /// All of them are in the vault, which has more: the file may be replaced by its own past.
    Subset,
    /// Both have rows that the other lacks, or only the file has more: what is put back goes to a new id.
    Diverged,
}

/// Compares by the uuids of rows; order and metadata rows do not matter.
pub fn compare_uuid_sets<T: Eq + Hash>(current: &HashSet<T>, vaulted: &HashSet<T>) -> Relation {
    if !current.is_subset(vaulted) {
        Relation::Diverged
    } else if current.len() == vaulted.len() {
        Relation::Equal
    } else {
        Relation::Subset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn day(days: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(days * DAY)
    }

    fn check(original: u64, newest: Option<u64>, expect: SystemTime) {
        let period = Duration::from_secs(30 * DAY);
        let mtime = put_back_mtime(day(original), period, day(1000), newest.map(day));
        assert_eq!(mtime, expect, "original {original}, newest {newest:?}");
    }

    #[test]
    fn the_time_survives_the_sweep_and_hijacks_nobody() {
        check(990, Some(995), day(990));
        check(100, Some(995), day(970) + MARGIN);
        check(100, None, day(970) + MARGIN);
        check(990, Some(980), day(980));
        check(100, Some(200), day(200));
        check(2000, None, day(1000));
    }

    #[test]
    fn only_a_subset_is_replaced_by_its_past() {
        let set = |ids: &[u32]| ids.iter().copied().collect::<HashSet<u32>>();
        for (current, vaulted, expect) in [
            (&[1, 2][..], &[1, 2, 3][..], Relation::Subset),
            (&[], &[1], Relation::Subset),
            (&[1, 2], &[2, 1], Relation::Equal),
            (&[], &[], Relation::Equal),
            (&[1, 4], &[1, 2, 3], Relation::Diverged),
            (&[1, 2, 3], &[1, 2], Relation::Diverged),
        ] {
            assert_eq!(compare_uuid_sets(&set(current), &set(vaulted)), expect, "{current:?} {vaulted:?}");
        }
    }
}
