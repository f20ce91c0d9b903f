//! Where the conversation ends while rows at its end go aside, one after the other: each question takes a few looks, and
//! all of them together one pass over the rows.

use crate::index::{NONE, RowNo};
use crate::tree::{RowSet, Tree};
use crate::visits::visit;

use super::Mend;

/// What is remembered from one row that goes aside to the next.
#[derive(Default)]
pub(super) struct Ends {
    /// Turns by time, the newest last; of equal times the first row last.
    by_time: Option<Vec<RowNo>>,
    /// The turn that a checkpoint names, the rows that descend from it, and where the search for the last of them goes on.
    below: Option<(RowNo, RowSet, RowNo)>,
}

impl Ends {
    /// As [`Mend::live_end`], where no branch was chosen.
    pub(super) fn live_end(&mut self, mend: &Mend<'_>) -> Option<RowNo> {
        let Ends { by_time, below } = self;
        let newest = || {
            let by_time = by_time.get_or_insert_with(|| turns_by_time(mend));
            while by_time.pop_if(|no| !mend.tree.is_dated(*no)).is_some() {}
            by_time.last().copied()
        };
        mend.tree.live_end_by(newest, |turn| last_below(&mend.tree, below, turn))
    }
}

fn turns_by_time(mend: &Mend<'_>) -> Vec<RowNo> {
    let is_dated = |no: &RowNo| {
        mend.tree.row(*no).kind().is_turn() && mend.tree.is_dated(*no) && mend.time_of(*no) != i64::MIN
    };
    let mut rows: Vec<RowNo> = mend.tree.numbers().filter(is_dated).collect();
    rows.sort_by_key(|no| (mend.time_of(*no), std::cmp::Reverse(*no)));
    rows
}

/// As [`Tree::last_descendant`]. What hung on a row that went aside hangs on the row before it, so nothing else changes.
fn last_below(tree: &Tree<'_>, known: &mut Option<(RowNo, RowSet, RowNo)>, turn: RowNo) -> RowNo {
    if known.as_ref().is_none_or(|(of, ..)| *of != turn) {
        *known = Some((turn, tree.descendants(turn), tree.numbers().end));
    }
    let Some((_, below, end)) = known else { return NONE };
    while *end > turn + 1 {
        visit(1);
        if below.contains(*end - 1) && tree.can_end(*end - 1) {
            return *end - 1;
        }
        *end -= 1;
    }
    turn
}
