//! The order in which rows were written by their times and links alone: a second witness beside the order of the file.

use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::order::parents_first;
use crate::same_id::Meant;
use crate::tree::{RowSet, Tree};

/// A time this far from all others is wrong where another one is wrong for certain.
const FAR: i64 = 3_600_000;

/// Where each row stands in the order of the times. Nothing where no row has moved and every time is a date that fits
/// between its neighbours: then the order of the file is beyond doubt, also where the clock went back. `place` is the order of
/// the file; it tells where times do not, and `moved` says that it is a guess.
pub(crate) fn places_by_time(
    tree: &Tree<'_>,
    place: &dyn Fn(RowNo) -> RowNo,
    moved: bool,
) -> Option<Vec<RowNo>> {
    let rows = &tree.index.rows;
    let is_doubtful = |no: RowNo| {
        let row = tree.row(no);
        row.in_tree() && (row.time == i64::MIN || row.is(Flags::REPEATED))
    };
    let sticks_out = sticks_out(tree);
    if !moved && !sticks_out && !tree.numbers().any(is_doubtful) {
        return None;
    }
    let meant = Meant::of(tree);
    let parent: Vec<RowNo> = tree.numbers().map(|no| meant.parent(tree, no)).collect();
    let up = |no: usize| Some(parent[no]).filter(|up| *up != NONE).map(|up| up as usize);
    let order = parents_first(rows.len(), up);
    let far_ahead = if sticks_out { far_ahead(tree) } else { i64::MAX };
    let far_behind = far_behind(tree, &parent);
    let is_wrong = |no: RowNo, time: i64| time == i64::MIN || time >= far_ahead || far_behind.contains(no);
    // No row is newer than what follows it.
    let mut time: Vec<i64> =
        (0..).zip(rows).map(|(no, row)| if is_wrong(no, row.time) { i64::MAX } else { row.time }).collect();
    for no in order.iter().rev().copied() {
        if let Some(up) = up(no).filter(|_| rows[no].in_tree()) {
            time[up] = time[up].min(time[no]);
        }
    }
    // Where nothing tells, a row is as old as the one it follows.
    for no in order {
        if time[no] == i64::MAX {
            time[no] = up(no).map_or(i64::MIN, |up| time[up]);
        }
    }
    let mut by_time: Vec<RowNo> = tree.numbers().collect();
    by_time.sort_by_key(|no| (time[*no as usize], place(*no)));
    let mut places = vec![NONE; rows.len()];
    for (at, no) in (0..).zip(by_time) {
        places[no as usize] = at;
    }
    Some(places)
}

/// Whether some row is newer than one that follows it, while the row that it follows is not: its time is wrong.
fn sticks_out(tree: &Tree<'_>) -> bool {
    let rows = &tree.index.rows;
    tree.numbers().any(|no| {
        let row = tree.row(no);
        let Some(up) = tree.index.row_at(row.parent).filter(|up| row.in_tree() && up.time > row.time) else {
            return false;
        };
        let above = rows.get(up.parent as usize);
        row.time != i64::MIN && above.is_none_or(|above| above.time <= row.time)
    })
}

/// The time from which on times are too far ahead of all others.
fn far_ahead(tree: &Tree<'_>) -> i64 {
    let rows = tree.index.rows.iter();
    let mut times: Vec<i64> =
        rows.filter(|row| row.in_tree() && row.time != i64::MIN).map(|row| row.time).collect();
    times.sort_unstable();
    times.dedup();
    match times.as_slice() {
        [.., before, newest] if newest.saturating_sub(*before) > FAR => *newest,
        _ => i64::MAX,
    }
}

/// Rows that are much older than the row they follow, and as much than all that follow them.
fn far_behind(tree: &Tree<'_>, parent: &[RowNo]) -> RowSet {
    let mut gaps = Vec::with_capacity(parent.len());
    let mut is_near_child = RowSet::with_capacity(parent.len());
    for no in tree.numbers() {
        let (row, up) = (tree.row(no), parent[no as usize]);
        let then = tree.index.row_at(up).map_or(i64::MIN, |up| up.time);
        let known = row.in_tree() && row.time != i64::MIN && then != i64::MIN;
        let gap = if known { then.saturating_sub(row.time) } else { 0 };
        if known && gap.abs() <= FAR {
            is_near_child.insert(up);
        }
        gaps.push(gap);
    }
    let mut behind = RowSet::with_capacity(parent.len());
    for (no, gap) in (0..).zip(gaps) {
        if gap > FAR && !is_near_child.contains(no) {
            behind.insert(no);
        }
    }
    behind
}
