//! The row nearest in time: how newer agents bridge a missing parent.

use crate::flags::Flags;
use crate::tree::RowSet;

use super::Version;
use super::load::Loaded;

/// This far back at most, in milliseconds (measured on 2.1.100 and 2.1.325).
const REACH: i64 = 5_000;

/// Rows by time. A row that the walk has passed is left out of later searches, so all of them together are one pass.
pub(super) struct Nearest {
    /// Time and row, oldest first, of equal times the first row last: the nearest is found from behind.
    rows: Vec<(i64, u32)>,
    /// For each place the next one before it that may still be free.
    free: Vec<usize>,
}

impl Nearest {
    /// `sidechain`: whether the row that misses its parent is one of a subagent.
    pub(super) fn new(loaded: &Loaded<'_>, sidechain: bool) -> Nearest {
        // 2.1.100 takes any row; 2.1.325 goes neither from a subagent's row to the main conversation nor back (measured).
        let takes = |node: &u32| {
            loaded.version == Version::V100 || loaded.row(*node).is(Flags::SIDECHAIN) == sidechain
        };
        let dated = loaded.alive().filter(takes).map(|node| (loaded.row(node).time, node));
        let mut rows: Vec<(i64, u32)> = dated.filter(|(time, _)| *time != i64::MIN).collect();
        rows.sort_unstable_by_key(|(time, node)| (*time, std::cmp::Reverse(*node)));
        let free = (0..=rows.len()).collect();
        Nearest { rows, free }
    }

    /// The nearest row that is not newer than `time` and that the walk has not passed.
    pub(super) fn before(&mut self, time: i64, seen: &RowSet) -> Option<u32> {
        if time == i64::MIN {
            return None;
        }
        let mut at = self.rows.partition_point(|(other, _)| *other <= time);
        let mut path = Vec::new();
        // Place `n` stands for row `n - 1`; place 0 for none.
        while at > 0 && (self.free[at] != at || seen.contains(self.rows[at - 1].1)) {
            path.push(at);
            at = if self.free[at] == at { at - 1 } else { self.free[at] };
        }
        for passed in path {
            self.free[passed] = at;
        }
        let (then, node) = *self.rows.get(at.checked_sub(1)?)?;
        (time.saturating_sub(then) <= REACH).then_some(node)
    }
}
