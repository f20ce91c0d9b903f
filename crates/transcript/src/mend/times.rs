//! Step 4, times: rows without a date (A12).
//!
//! Each gets the time of the row before it and one millisecond: with equal times 2.1.31 and 2.1.100 resume at the
//! first of them and lose the rest (measured).

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;

use super::Mend;

impl Mend<'_> {
    pub(super) fn times(&mut self) {
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
