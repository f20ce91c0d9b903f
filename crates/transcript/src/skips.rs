//! Finds the nearest row that counts, where rows may stop to count but never begin to: those that were passed over once are
//! passed over in one step ever after.

use crate::index::RowNo;
use crate::visits::visit;

/// Nearly always the row is near, and nothing needs to be remembered.
const NEAR: RowNo = 16;

/// What was passed over so far.
#[derive(Default)]
pub(crate) struct Skips {
    /// For each row how many rows from the first on may still count: itself, or some before it.
    left: Vec<RowNo>,
}

impl Skips {
    /// The last row before `before` that counts.
    pub(crate) fn last(&mut self, before: RowNo, counts: impl Fn(RowNo) -> bool) -> Option<RowNo> {
        let near = before.saturating_sub(NEAR);
        if let Some(found) = (near..before).rev().find(|no| counts(*no)) {
            return Some(found);
        }
        // `left[n]` is about row `n - 1`, so that zero means that there is none.
        let known = RowNo::try_from(self.left.len()).unwrap_or(RowNo::MAX);
        if known <= near {
            visit((near - known) as usize);
            self.left.extend(known..=near);
        }
        let mut passed = Vec::new();
        let mut at = near;
        while at > 0 {
            visit(1);
            let next = self.left[at as usize];
            if next == at && counts(at - 1) {
                break;
            }
            passed.push(at);
            at = if next == at { at - 1 } else { next };
        }
        for row in passed {
            self.left[row as usize] = at;
        }
        at.checked_sub(1)
    }

    /// The first of `rows` rows from `from` on that counts.
    pub(crate) fn first(
        &mut self,
        from: RowNo,
        rows: RowNo,
        counts: impl Fn(RowNo) -> bool,
    ) -> Option<RowNo> {
        let mirrored = |no: RowNo| rows - 1 - no;
        let before = rows.checked_sub(from)?;
        self.last(before, |no| counts(mirrored(no))).map(mirrored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_search_finds_while_rows_stop_to_count() {
        const ROWS: u32 = 200;
        let mut counts = [true; ROWS as usize];
        let (mut down, mut up) = (Skips::default(), Skips::default());
        for step in 0..ROWS * 4 {
            counts[(step * 89 % ROWS) as usize] &= step % 7 == 0;
            let at = step * 31 % (ROWS + 1);
            let does = |no: u32| counts[no as usize];
            assert_eq!(down.last(at, does), (0..at).rev().find(|no| does(*no)));
            assert_eq!(up.first(at, ROWS, does), (at..ROWS).find(|no| does(*no)));
        }
    }
}
