//! Step 4, times: rows without a date, and rows without a zone among others that have one (A12).
//!
//! Each row without a date gets the time of the row before it and one millisecond: with equal times 2.1.31 and 2.1.100 resume at the
//! first of them and lose the rest (measured).

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;

use super::Mend;

/// Zones are at most so far apart from UTC, in milliseconds.
const FARTHEST_ZONE: i64 = 14 * 3_600_000;

impl Mend<'_> {
    /// Agents read a time without a zone in their own. Beside times that have one, west of Greenwich, 2.1.31 and 2.1.100 take the
    /// rows without for the newer ones and resume there (measured). Where all lack one, or they are far enough apart, the order
    /// is the same in every zone.
    fn zones(&mut self) {
        let index = self.tree.index;
        if index.local_times.is_empty() {
            return;
        }
        let is_local = |no: &u32| index.local_times.binary_search(no).is_ok();
        let newest = |local: bool| {
            let rows = self.tree.numbers().filter(|no| self.tree.is_dated(*no) && is_local(no) == local);
            rows.map(|no| self.tree.row(no).time).max().filter(|time| *time != i64::MIN)
        };
        let (Some(without), Some(with)) = (newest(true), newest(false)) else { return };
        if (without - with).abs() >= FARTHEST_ZONE {
            return;
        }
        for no in index.local_times.iter().copied() {
            if self.tree.is_gone(no) {
                continue;
            }
            let time = self.tree.row(no).time;
            self.found(Class::A12, no, "its time gets a zone, as the others have one");
            self.edit(no).time = Some((Class::A12, time));
        }
    }

    pub(super) fn times(&mut self) {
        self.zones();
        let rows = &self.tree.index.rows;
        let dated = |no: u32| {
            let row = &rows[no as usize];
            row.uuid != 0 && (row.kind().in_tree() || row.kind() == Kind::Progress)
        };
        if !self.tree.numbers().any(|no| dated(no) && rows[no as usize].is(Flags::BAD_TIME)) {
            return;
        }
        let first = self
            .tree
            .numbers()
            .filter(|no| dated(*no))
            .map(|no| rows[no as usize].time)
            .find(|t| *t != i64::MIN);
        let undated = self.tree.numbers().filter(|no| dated(*no)).count();
        let mut last = match first {
            Some(time) => time - i64::try_from(undated).unwrap_or(0),
            None => self.options.fallback_time,
        };
        for no in self.tree.numbers() {
            if !dated(no) || self.tree.is_gone(no) {
                continue;
            }
            if rows[no as usize].is(Flags::BAD_TIME) {
                last += 1;
                self.found(Class::A12, no, "it gets the time of the row before it");
                self.edit(no).time = Some((Class::A12, last));
            } else {
                last = rows[no as usize].time;
            }
        }
    }
}
