//! The order in which rows were written, where a tool has put them into another one: sorted, reversed, swapped (B15).
//!
//! Agents append: a row stands behind the row it follows. Only 2.1.31 may write a few rows at once, a reply before its
//! prompt, and every version reads that. So the links tell the order; where they do not, the file and the times do. Copies of
//! a row do not count: the order is that of the file without them.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, Row, RowNo};
use crate::order::parents_first;
use crate::same_id::Meant;
use crate::tree::Tree;

/// Rows in the order in which they were written.
pub(crate) struct Written {
    /// The rows, first to last.
    pub(crate) order: Vec<RowNo>,
    /// Where each row stands in it.
    place: Vec<RowNo>,
    /// Rows that stand before the row they follow.
    pub(crate) early: Vec<RowNo>,
    /// Whether the file is read backwards: then lines without a row are, too.
    pub(crate) backwards: bool,
}

impl Written {
    /// Nothing where the file has its order: no row stands before the one it follows, but for false links.
    pub(crate) fn of(tree: &Tree<'_>) -> Option<Written> {
        let is_repeated = |no: RowNo| tree.row(no).is(Flags::REPEATED);
        // A compaction has nothing before it: the file may have been cut right there, and then no link tells.
        let in_tree = |no: &RowNo| tree.row(*no).in_tree() && !tree.row(*no).is(Flags::SIDECHAIN);
        let compaction = tree.numbers().find(in_tree).filter(|no| tree.row(*no).is(Flags::COMPACT_BOUNDARY));
        if !tree.forward && compaction.is_none() && !tree.numbers().any(is_repeated) {
            return None;
        }
        let links = Links::of(tree);
        if !tree.forward && compaction.is_none() && !links.meant.has_twins() {
            return None;
        }
        let (mut count, mut early) = (0usize, Vec::new());
        for no in tree.numbers().filter(|no| links.has_link(*no) && links.meant.original(*no) == *no) {
            count += 1;
            if links.is_early(no) {
                early.push(no);
            }
        }
        if early.is_empty() {
            early.extend(compaction.filter(|_| links.rotation().is_some()));
        }
        if early.is_empty() {
            return None;
        }
        let backwards = early.len() * 4 >= count * 3;
        let order = links.order(&links.base(count, early.len()));
        let mut place = vec![NONE; order.len()];
        for (at, no) in (0..).zip(&order) {
            place[*no as usize] = at;
        }
        // Where only copies of one row change places, the file has its order: else no repair would come to an end.
        let original = |no: RowNo| links.meant.original(no);
        let moved = order.iter().zip(0..).any(|(no, at)| original(*no) != original(at));
        moved.then_some(Written { order, place, early, backwards })
    }

    /// Where a row stands in the order in which rows were written.
    pub(crate) fn place(&self, no: RowNo) -> RowNo {
        self.place.get(no as usize).copied().unwrap_or(no)
    }
}

/// The links of a file, each to the row that it means.
struct Links<'a> {
    tree: &'a Tree<'a>,
    meant: Meant,
    parent: Vec<RowNo>,
    /// The newest time and the oldest, where they lie so far from all others that they are wrong themselves.
    far_ahead: Option<i64>,
    far_behind: Option<i64>,
}

/// A time this far from all others is wrong.
const FAR: i64 = 3_600_000;

impl<'a> Links<'a> {
    fn of(tree: &'a Tree<'a>) -> Links<'a> {
        let meant = Meant::of(tree);
        // Agents do not keep rows of a kind they do not know: such a row may stand anywhere.
        let is_kept = |no: RowNo| {
            let row = tree.row(no);
            row.in_tree() || row.kind() == Kind::Progress
        };
        let parent = tree.numbers().map(|no| {
            let mut parent = meant.parent(tree, no);
            for _ in 0..MOST_UNKNOWN {
                if parent == NONE || is_kept(parent) {
                    break;
                }
                parent = meant.parent(tree, parent);
            }
            parent
        });
        let parent = parent.collect();
        let times =
            || tree.index.rows.iter().filter(|row| row.in_tree() && row.time != i64::MIN).map(|row| row.time);
        let (newest, oldest) = (times().max(), times().min());
        // Copies of a row have one time.
        let second = times().filter(|time| Some(*time) < newest).max();
        let last_but_one = times().filter(|time| Some(*time) > oldest).min();
        let is_far =
            |a: Option<i64>, b: Option<i64>| a.zip(b).is_some_and(|(a, b)| a.saturating_sub(b) > FAR);
        let far_ahead = newest.filter(|_| is_far(newest, second));
        let far_behind = oldest.filter(|_| is_far(last_but_one, oldest));
        Links { tree, parent, meant, far_ahead, far_behind }
    }

    /// Whether a row's link says where it belongs.
    fn has_link(&self, no: RowNo) -> bool {
        let parent = self.parent[no as usize];
        parent != NONE && parent != self.meant.original(no) && self.tree.row(no).uuid != 0
    }

    /// Whether a row stands before the one it follows. One that agents do not keep does not count: such links are mended by
    /// themselves (B2).
    fn is_early(&self, no: RowNo) -> bool {
        let parent = self.parent[no as usize];
        parent > no && self.leads_to_later_row(no) && !self.is_false(no)
    }

    /// Whether the first row of those above it that agents keep stands behind it.
    fn leads_to_later_row(&self, no: RowNo) -> bool {
        let parent = self.parent[no as usize];
        if self.tree.row(parent).kind() != Kind::Progress {
            return self.tree.row(parent).in_tree();
        }
        // A tool's call may be followed by some of these, one on the other; no agent writes many.
        let mut above = parent;
        for _ in 0..MOST_UNKNOWN {
            above = self.parent[above as usize];
            if above == NONE || above == no {
                return false;
            }
            if self.tree.row(above).in_tree() {
                return above > no;
            }
        }
        false
    }

    /// Whether a row is newer than another, as far as both have a date.
    fn is_newer(&self, a: RowNo, b: RowNo) -> bool {
        let (a, b) = (self.tree.row(a).time, self.tree.row(b).time);
        a != i64::MIN && b != i64::MIN && a > b
    }

    /// Whether a row's link cannot be right: it leads to a newer row. Where that row itself follows one that is not newer, or
    /// is a root whose time lies far ahead, its time is wrong and not the link; or the row's own time lies far behind.
    fn is_false(&self, no: RowNo) -> bool {
        let parent = self.parent[no as usize];
        let above = self.parent[parent as usize];
        let fits = above != NONE && above != no && above != parent && !self.is_newer(above, no);
        let is_wrong = above == NONE && self.far_ahead == Some(self.tree.row(parent).time)
            || self.far_behind == Some(self.tree.row(no).time);
        self.is_newer(parent, no) && !is_wrong && !(fits && self.tree.row(above).time != i64::MIN)
    }

    /// What the links are laid upon: the times where many links lead backwards, and where nearly all do, the file backwards
    /// between equal times.
    fn base(&self, links: usize, early: usize) -> Vec<RowNo> {
        let mut base: Vec<RowNo> = self.tree.numbers().collect();
        let backwards = early * 4 >= links * 3;
        let rotation = if backwards { None } else { self.rotation() };
        if backwards {
            base.reverse();
        }
        if let Some(cut) = rotation {
            base.rotate_left(cut);
        } else if backwards || early * 8 > links {
            // Also in a file that is read backwards: rows may have been appended since. Metadata has no time and stays behind
            // the row before it, and so do kinds that no agent knows.
            let mut last = i64::MIN;
            let mut times = vec![last; base.len()];
            for no in &base {
                let row = self.tree.row(*no);
                let is_dated = row.time != i64::MIN && self.far_behind != Some(row.time);
                if is_dated && (row.in_tree() || row.kind() == Kind::Progress) {
                    last = row.time;
                }
                times[*no as usize] = last;
            }
            base.sort_by_key(|no| times[*no as usize]);
        } else {
            self.parents_that_came_late(&mut base);
        }
        self.rows_with_a_wrong_time(&mut base);
        base
    }

    /// Where the file was cut in two and the parts changed places: where the part begins that was written first. Every row that
    /// stands before the one it follows is of the other part, no other link leads across, and the times say so.
    fn rotation(&self) -> Option<usize> {
        let rows = self.parent.len();
        let (mut from, mut to, mut is_told) = (1, rows.checked_sub(1)?, false);
        let mut crossing = vec![0i64; rows + 1]; // how many links forbid each cut, as steps up and down
        for at in self.tree.numbers().filter(|no| self.has_link(*no) && self.meant.original(*no) == *no) {
            let (no, parent) = (at as usize, self.parent[at as usize] as usize);
            if parent < no {
                crossing[parent + 1] += 1;
                crossing[no + 1] -= 1;
            } else if self.is_early(at) {
                (from, to, is_told) = (from.max(no + 1), to.min(parent), true);
            }
        }
        // The time before each cut, and behind it.
        let time = |no: usize| Some(self.tree.index.rows[no].time).filter(|time| *time != i64::MIN);
        let mut behind = vec![None; rows + 1];
        for no in (0..rows).rev() {
            behind[no] = time(no).or(behind[no + 1]);
        }
        let (mut links, mut before, mut best) = (0, None, None);
        for cut in 0..=to {
            links += crossing[cut];
            if cut >= from && links == 0 {
                let drop = before.zip(behind[cut]).map_or(i64::MIN, |(a, b): (i64, i64)| a.saturating_sub(b));
                // Of metadata in between, the checkpoints are of the end.
                let is_behind_checkpoint = self.tree.index.rows[cut - 1].kind() == Kind::LastPrompt;
                let is_better = |known: i64| drop > known || drop == known && is_behind_checkpoint;
                if best.is_none_or(|(known, _)| is_better(known)) {
                    best = Some((drop, cut));
                }
            }
            before = time(cut).or(before);
        }
        let (_, cut) = best?;
        let times = |rows: &[Row]| -> Vec<i64> {
            rows.iter().filter(|row| row.in_tree() && row.time != i64::MIN).map(|row| row.time).collect()
        };
        let (newer, older) = self.tree.index.rows.split_at(cut);
        let (mut newer, mut older) = (times(newer), times(older));
        if !is_told {
            // No link tells: then every single time must.
            let is_newer =
                older.iter().max().zip(newer.iter().min()).is_some_and(|(older, newer)| older < newer);
            return is_newer.then_some(cut);
        }
        if newer.is_empty() || older.is_empty() {
            return Some(cut);
        }
        let middle = |times: &mut Vec<i64>| {
            let middle = times.len() / 2;
            *times.select_nth_unstable(middle).1
        };
        (middle(&mut older) <= middle(&mut newer)).then_some(cut)
    }

    /// A row whose time lies far ahead, or is none, was sorted to the wrong end: it goes before the first row that follows it
    /// and has a better one.
    fn rows_with_a_wrong_time(&self, base: &mut [RowNo]) {
        let is_wrong = |no: RowNo| {
            let time = self.tree.row(no).time;
            time == i64::MIN || self.far_ahead == Some(time)
        };
        // Where each row stands, and whether it goes behind what stands there.
        let mut place: Vec<(usize, bool)> = vec![(usize::MAX, true); base.len()];
        for (at, no) in base.iter().enumerate() {
            let parent = self.parent[*no as usize];
            place[*no as usize] = place[*no as usize].min((at, true));
            let is_first = parent != NONE && place[parent as usize].0 == usize::MAX;
            if is_first && self.tree.row(parent).in_tree() && is_wrong(parent) && !is_wrong(*no) {
                place[parent as usize] = (at, false);
            }
        }
        base.sort_by_key(|no| place[*no as usize]);
    }

    /// Few links lead backwards. Where a row stands before the one it follows, one of them is in the wrong place. It is the
    /// parent if that stands among copies, or is older than the row before it: a row of the first of two copies of the file
    /// is lost, say. Then the parent goes before its child; else the child will go behind its parent.
    fn parents_that_came_late(&self, base: &mut [RowNo]) {
        let tree = self.tree;
        let (mut before, mut is_behind_copy) = (i64::MIN, false);
        let mut in_place = vec![true; base.len()]; // as far as that can be told
        for no in tree.numbers().filter(|no| tree.row(*no).uuid != 0) {
            let row = tree.row(no);
            if self.meant.copies.contains_key(&no) {
                is_behind_copy = true;
                continue;
            }
            // A row that was sorted by a time far behind all others is not in place, though nothing before it is newer.
            let is_far_behind = self.far_behind == Some(row.time) && self.has_link(no);
            in_place[no as usize] =
                !is_behind_copy && !is_far_behind && (row.time == i64::MIN || before <= row.time);
            before = if row.time == i64::MIN { before } else { row.time };
            is_behind_copy = false;
        }
        // Rows are sorted by their place; a parent that goes up has its child's place and stands before it.
        let mut place: Vec<(RowNo, bool)> = tree.numbers().map(|no| (no, true)).collect();
        for no in tree.numbers().filter(|no| self.has_link(*no) && self.meant.original(*no) == *no) {
            let parent = self.parent[no as usize];
            if self.is_early(no)
                && in_place[no as usize]
                && (!in_place[parent as usize] || self.is_newer(parent, no))
                && place[parent as usize].1
            {
                place[parent as usize] = (no, false);
            }
        }
        base.sort_by_key(|no| place[*no as usize]);
    }

    /// Every row behind the one it follows; else as in `base`. Copies stand right behind the likeliest of them.
    fn order(&self, base: &[RowNo]) -> Vec<RowNo> {
        if self.meant.copies.is_empty() {
            return self.sorted(base, |no| no);
        }
        let likely = self.likely_copies(base);
        let stands = |no: RowNo| likely.get(&self.meant.original(no)).copied().unwrap_or(no);
        let (alone, mut behind): (Vec<RowNo>, HashMap<RowNo, Vec<RowNo>>) =
            (base.iter().copied().filter(|no| stands(*no) == *no).collect(), HashMap::new());
        for no in base.iter().copied().filter(|no| stands(*no) != *no) {
            behind.entry(stands(no)).or_default().push(no);
        }
        let mut order = Vec::with_capacity(base.len());
        for no in self.sorted(&alone, stands) {
            order.push(no);
            order.append(behind.get_mut(&no).unwrap_or(&mut Vec::new()));
        }
        order
    }

    /// Every row behind the one it follows; else as in `base`. `stands` is the copy that stands for a row.
    fn sorted(&self, base: &[RowNo], stands: impl Fn(RowNo) -> RowNo) -> Vec<RowNo> {
        let mut place = vec![usize::MAX; self.parent.len()];
        for (at, no) in base.iter().enumerate() {
            place[*no as usize] = at;
        }
        let parent_at = |no: RowNo| place[stands(self.parent[no as usize]) as usize];
        // A link to a row that is newer and stands behind is false. So is one that closes a ring.
        let follows = |at: usize, strict: bool| {
            let no = base[at];
            let is_link = |at: &usize| *at != usize::MAX;
            let parent = Some(no).filter(|no| self.has_link(*no)).map(parent_at).filter(is_link)?;
            (!(parent > at && (strict || self.is_false(no)))).then_some(parent)
        };
        let in_ring = rings(base.len(), |at| follows(at, false));
        let order = parents_first(base.len(), |at| follows(at, in_ring[at]));
        order.into_iter().map(|at| base[at]).collect()
    }

    /// Of each row that is there several times the likeliest one, by the first of them in the file. Where they have other
    /// parents, it is the one that follows the newest row, since a row is written right behind its parent; else the one whose
    /// run of copied rows fits best where it stands; else the first.
    fn likely_copies(&self, base: &[RowNo]) -> HashMap<RowNo, RowNo> {
        let mut copies: HashMap<RowNo, Vec<(usize, RowNo)>> = HashMap::new();
        for original in self.meant.copies.values() {
            copies.entry(*original).or_default();
        }
        // Copies that stand one behind the other count as one row: they fit equally well.
        let mut rows: Vec<RowNo> = Vec::new();
        for no in base.iter().copied().filter(|no| self.tree.row(*no).uuid != 0) {
            let original = self.meant.original(no);
            if rows.last().is_none_or(|last| self.meant.original(*last) != original) {
                rows.push(no);
            }
            if let Some(places) = copies.get_mut(&original) {
                places.push((rows.len() - 1, no));
            }
        }
        let fits = self.fits(&rows, copies.values());
        let best = |places: Vec<(usize, RowNo)>| {
            let of_first = places.first().map_or(0, |(at, _)| fits[*at].0);
            let places = places.into_iter().enumerate();
            // Runs of other lengths tell nothing: a row may be there three times, and the next one only twice.
            let fit = |at: usize, no: RowNo| {
                let (rows, fit) = fits[at];
                if self.has_link(no) && rows != of_first { 0 } else { fit }
            };
            let key =
                |(nth, (at, no)): &(usize, (usize, RowNo))| (self.gap(*no), Reverse(fit(*at, *no)), *nth);
            places.min_by_key(key).map(|(_, (_, no))| no)
        };
        copies.into_iter().filter_map(|(original, places)| Some((original, best(places)?))).collect()
    }

    /// How long before a row its parent was written.
    fn gap(&self, no: RowNo) -> i64 {
        let parent = self.parent[no as usize];
        let then = self.tree.index.row_at(parent).map_or(i64::MIN, |parent| parent.time);
        let gap = self.tree.row(no).time.saturating_sub(then);
        if parent == NONE || gap < 0 { i64::MAX } else { gap }
    }

    /// How long the run of copied rows is that each row stands in, and how well it fits there, as the ends of the run do.
    /// `copies` are the places of each row.
    fn fits<'c>(
        &self,
        rows: &[RowNo],
        copies: impl Iterator<Item = &'c Vec<(usize, RowNo)>>,
    ) -> Vec<(usize, usize)> {
        let follows = |no: RowNo, before: RowNo| self.parent[no as usize] == self.meant.original(before);
        // The place of each row's next copy, of the last one that of the first.
        let mut next = vec![usize::MAX; rows.len()];
        for places in copies {
            for ((at, _), (other, _)) in places.iter().zip(places.iter().cycle().skip(1)) {
                next[*at] = *other;
            }
        }
        let mut fits = vec![(0, 0); rows.len()];
        let mut at = 0;
        while at < rows.len() {
            let start = at;
            at += 1;
            if next[start] == usize::MAX {
                continue;
            }
            while at < rows.len() && next[at] != usize::MAX && next[at] == next[at - 1] + 1 {
                at += 1;
            }
            let (first, last) = (rows[start], rows[at - 1]);
            // At the beginning and at the end any row may stand.
            let before = start.checked_sub(1).map(|at| rows[at]);
            let is_after = before.is_none_or(|before| !self.is_newer(before, first));
            let is_child = before.is_some_and(|before| follows(first, before));
            let behind = rows.get(at).copied();
            let is_before = behind.is_none_or(|behind| !self.is_newer(last, behind));
            let is_parent = behind.is_some_and(|behind| follows(behind, last));
            let fit = [is_after, is_child, is_before, is_parent].into_iter().filter(|fits| *fits).count();
            fits[start..at].fill((at - start, fit));
        }
        fits
    }
}

/// How many rows that agents do not keep are looked through, one on the other.
const MOST_UNKNOWN: usize = 16;

/// Which rows are on a ring.
fn rings(rows: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<bool> {
    let mut on_ring = vec![false; rows];
    let mut passed = vec![usize::MAX; rows];
    for start in 0..rows {
        let mut at = Some(start);
        while let Some(row) = at.filter(|row| passed[*row] == usize::MAX) {
            passed[row] = start;
            at = parent(row);
        }
        // A row that is met again on the same way is on a ring.
        while let Some(row) = at.filter(|row| passed[*row] == start && !on_ring[*row]) {
            on_ring[row] = true;
            at = parent(row);
        }
    }
    on_ring
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::lines::Buffer;

    /// `(id, parent, second)` of each row; zero is no parent.
    fn order(rows: &[(u32, u32, u32)]) -> Option<Vec<u32>> {
        let uuid = |id: u32| format!("00000000-0000-4000-8000-{id:012}");
        let text: String = rows
            .iter()
            .map(|(id, parent, second)| {
                let parent = if *parent == 0 { "null".to_owned() } else { format!("\"{}\"", uuid(*parent)) };
                format!("{{\"parentUuid\":{parent},\"type\":\"user\",\"message\":{{\"content\":\"x\"}},\"uuid\":\"{}\",\"timestamp\":\"2026-01-01T00:00:{second:02}.000Z\"}}\n", uuid(*id))
            })
            .collect();
        let index = Index::read(text.as_bytes(), None, &mut Buffer::default()).unwrap();
        let written = Written::of(&Tree::new(&index))?;
        Some(written.order.into_iter().map(|no| rows[no as usize].0).collect())
    }

    #[test]
    fn the_links_tell_the_order() {
        assert_eq!(order(&[(1, 0, 1), (2, 1, 2), (3, 2, 3)]), None);
        assert_eq!(order(&[(3, 2, 3), (2, 1, 2), (1, 0, 1)]), Some(vec![1, 2, 3]), "reversed");
        assert_eq!(order(&[(2, 1, 2), (1, 0, 1), (3, 2, 3), (4, 3, 4)]), Some(vec![1, 2, 3, 4]), "swapped");
        assert_eq!(order(&[(3, 2, 3), (1, 0, 1), (4, 3, 4), (2, 1, 2)]), Some(vec![1, 2, 3, 4]), "shuffled");
    }

    #[test]
    fn a_link_to_a_newer_row_is_false() {
        assert_eq!(order(&[(1, 0, 1), (2, 4, 2), (3, 2, 3), (4, 3, 4)]), None, "a ring");
        assert_eq!(order(&[(1, 0, 1), (2, 9, 2), (3, 2, 3), (9, 0, 4)]), None);
    }

    #[test]
    fn a_ring_without_times_keeps_the_order_of_the_file() {
        assert_eq!(order(&[(1, 0, 1), (2, 4, 1), (3, 2, 1), (4, 3, 1)]), None);
    }
}
