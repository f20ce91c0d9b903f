//! The order of rows by their times alone: what tells whether another order of the lines is right.

use crate::index::{NONE, RowNo};
use crate::order::parents_first;
use crate::same_id::Meant;
use crate::tree::Tree;

/// Where each row stands by its time. One without a date stands behind the row before it, one whose time does not fit between
/// the row that it follows and the first that follows it stands with the former, and of equal times a row stands behind the
/// one that it follows.
pub(crate) fn places_by_time(tree: &Tree<'_>) -> Vec<RowNo> {
    let meant = Meant::of(tree);
    let parent: Vec<RowNo> = tree.numbers().map(|no| meant.parent(tree, no)).collect();
    let dated = |no: RowNo| {
        let row = tree.index.row_at(no).filter(|row| row.in_tree() && row.time != i64::MIN);
        row.map(|row| row.time)
    };
    let mut child = vec![NONE; parent.len()];
    for no in tree.numbers() {
        if let Some(first) = child.get_mut(parent[no as usize] as usize).filter(|first| **first == NONE) {
            *first = no;
        }
    }
    let mut last = i64::MIN;
    let mut rows: Vec<(i64, RowNo)> = Vec::with_capacity(parent.len());
    for no in tree.numbers() {
        let (above, below) = (dated(parent[no as usize]), dated(child[no as usize]));
        let fitting = dated(no).map(|time| match (above, below) {
            (Some(above), Some(below)) if above <= below && !(above..=below).contains(&time) => above,
            (Some(above), None) if time < above => above,
            (None, Some(below)) if time > below => below,
            _ => time,
        });
        last = fitting.unwrap_or(last);
        rows.push((last, no));
    }
    rows.sort_unstable();
    let mut at = vec![usize::MAX; rows.len()];
    for (place, (_, no)) in rows.iter().enumerate() {
        at[*no as usize] = place;
    }
    let up = |place: usize| at.get(parent[rows[place].1 as usize] as usize).copied();
    let mut places = vec![NONE; rows.len()];
    for (place, from) in (0..).zip(parents_first(rows.len(), up)) {
        places[rows[from].1 as usize] = place;
    }
    places
}
