//! Rows as a tree, and what a resume reaches in it.
//!
//! The links here are the mended ones where a repair is being planned; the index keeps the file's own.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::forest::{Forest, Mark};
use crate::index::{Hashes, Index, NONE, Row, RowNo};
use crate::order::parents_first;
use crate::skips::Skips;
use crate::visits::visit;

/// How many rows a question about ancestors walks before it counts as a long one.
const SHORT_WALK: usize = 64;

/// A set of rows, one bit each.
#[derive(Clone, Default)]
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    pub(crate) fn with_capacity(rows: usize) -> RowSet {
        visit(rows.div_ceil(64));
        RowSet(vec![0; rows.div_ceil(64)])
    }

    /// Adds a row; whether it was new.
    pub(crate) fn insert(&mut self, no: RowNo) -> bool {
        let (word, bit) = (no as usize / 64, no % 64);
        if word >= self.0.len() {
            visit(word - self.0.len());
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] >> bit & 1 == 0;
        self.0[word] |= 1 << bit;
        fresh
    }

    pub(crate) fn contains(&self, no: RowNo) -> bool {
        self.0.get(no as usize / 64).is_some_and(|word| word >> (no % 64) & 1 == 1)
    }
}

/// Who hangs on whom, for the few rows that ask: eight bytes per row, and only in files that are mended.
struct Children {
    /// The last child of each row, and of each child the one before it.
    last: Vec<RowNo>,
    before: Vec<RowNo>,
    /// Rows that were hung on another one since.
    moved: HashMap<RowNo, Vec<RowNo>>,
}

/// Each row's parent. Every look at one is counted in tests.
pub(crate) struct Links(Vec<RowNo>);

impl Links {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl ops::Index<usize> for Links {
    type Output = RowNo;

    #[inline]
    fn index(&self, no: usize) -> &RowNo {
        visit(1);
        &self.0[no]
    }
}

/// A view of the rows with links that can be changed.
pub(crate) struct Tree<'a> {
    pub(crate) index: &'a Index,
    /// Each row's parent as things stand.
    pub(crate) parent: Links,
    /// Rows that will not be there.
    gone: RowSet,
    /// Whether some row stands before its parent: only then can an earlier row descend from a later one.
    pub(crate) forward: bool,
    children: Option<Children>,
    /// The ancestors of every row, once plain walks have taken too long.
    forest: RefCell<Option<Forest>>,
    /// How many rows long walks may still look at before the forest is made.
    patience: Cell<usize>,
    skips: RefCell<TreeSkips>,
    /// No row from here on can be the last one.
    ends_before: Cell<RowNo>,
    /// Rows that some row hangs on, or did; only where it is asked.
    followed: RefCell<Option<RowSet>>,
    below: RefCell<Below>,
    /// How often a row was taken from the one it hung on.
    pub(crate) cuts: u32,
}

/// For a place that was looked for in vain: from this row back to that one (which is not among them) all candidates
/// descend from a row. Those of the main conversation, and those of subagents.
#[derive(Default)]
struct Below([HashMap<RowNo, (RowNo, Option<RowNo>)>; 2]);

/// Rows that were looked at in vain.
#[derive(Default)]
struct TreeSkips {
    /// Rows that are no place for a row of the main conversation, and none for a row of a subagent.
    candidates: [Skips; 2],
    /// Results that are not in the main conversation.
    results: Skips,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(index: &'a Index) -> Tree<'a> {
        visit(index.rows.len());
        let mut parent: Vec<RowNo> = index.rows.iter().map(|row| row.parent).collect();
        for (no, named) in &index.respelled {
            parent[*no as usize] = *named;
        }
        let forward = parent.iter().enumerate().any(|(no, parent)| *parent != NONE && *parent as usize >= no);
        Tree {
            index,
            forward,
            gone: RowSet::default(),
            children: None,
            forest: RefCell::new(None),
            // A few walks over all rows are cheaper than a forest of them.
            patience: Cell::new(4 * parent.len()),
            skips: RefCell::default(),
            ends_before: Cell::new(NONE),
            followed: RefCell::default(),
            below: RefCell::default(),
            cuts: 0,
            parent: Links(parent),
        }
    }

    #[inline]
    pub(crate) fn row(&self, no: RowNo) -> &'a Row {
        visit(1);
        &self.index.rows[no as usize]
    }

    pub(crate) fn numbers(&self) -> std::ops::Range<RowNo> {
        0..RowNo::try_from(self.index.rows.len()).unwrap_or(NONE)
    }

    /// All rows, in the order in which they were said.
    pub(crate) fn as_said(&self) -> Vec<RowNo> {
        if !self.forward {
            return self.numbers().collect();
        }
        let parent = |no: usize| Some(self.parent[no]).filter(|parent| *parent != NONE).map(|no| no as usize);
        let order = parents_first(self.parent.len(), parent);
        order.into_iter().filter_map(|no| RowNo::try_from(no).ok()).collect()
    }

    /// A row of the main conversation: what a leaf, a parent or a turn can be.
    pub(crate) fn is_main(&self, no: RowNo) -> bool {
        let row = self.row(no);
        row.in_tree() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED) && !self.is_gone(no)
    }

    /// Hangs a row on another, or makes it a root.
    pub(crate) fn set_parent(&mut self, no: RowNo, parent: Option<RowNo>) {
        let was = std::mem::replace(&mut self.parent.0[no as usize], parent.unwrap_or(NONE));
        if was != NONE {
            self.cuts += 1;
            *self.below.get_mut() = Below::default();
        }
        let leads_on = self.leads_on(no);
        if let Some(forest) = self.forest.get_mut() {
            forest.set_parent(no, parent.unwrap_or(NONE));
            if leads_on {
                forest.mark(no, Mark::LEADS_ON);
            } else {
                forest.unmark(no, Mark::LEADS_ON);
            }
        }
        let Some(parent) = parent else { return };
        self.forward |= parent >= no;
        if let Some(followed) = self.followed.get_mut() {
            followed.insert(parent);
        }
        if let Some(children) = &mut self.children {
            children.moved.entry(parent).or_default().push(no);
        }
    }

    /// Takes a row out of the tree; whether it was in it.
    pub(crate) fn remove(&mut self, no: RowNo) -> bool {
        if let Some(forest) = self.forest.get_mut() {
            forest.unmark(no, Mark::MAIN);
        }
        self.gone.insert(no)
    }

    pub(crate) fn is_gone(&self, no: RowNo) -> bool {
        self.gone.contains(no)
    }

    /// The rows that hang on this one, in file order.
    pub(crate) fn children(&mut self, no: RowNo) -> Vec<RowNo> {
        let rows = self.parent.len();
        let known = self.children.get_or_insert_with(|| {
            let (mut last, mut before) = (vec![NONE; rows], vec![NONE; rows]);
            visit(rows);
            for (child, parent) in (0..).zip(&self.parent.0).filter(|(_, parent)| **parent != NONE) {
                before[child as usize] = std::mem::replace(&mut last[*parent as usize], child);
            }
            Children { last, before, moved: HashMap::new() }
        });
        let mut found: Vec<RowNo> = known.moved.get(&no).cloned().unwrap_or_default();
        let mut at = known.last[no as usize];
        while at != NONE {
            found.push(at);
            at = known.before[at as usize];
        }
        found.retain(|child| self.parent[*child as usize] == no);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What a person typed: neither a tool's result nor something the agent said to itself.
    pub(crate) fn is_prompt(&self, no: RowNo) -> bool {
        let row = self.row(no);
        row.kind() == Kind::User
            && row.is(Flags::SAYS)
            && !row.flags.intersects(Flags::META | Flags::HAS_RESULT | Flags::COMPACT_SUMMARY)
    }

    /// A row whose time older agents look at when they choose where to resume.
    pub(crate) fn is_dated(&self, no: RowNo) -> bool {
        let row = self.row(no);
        self.is_main(no)
            || row.kind() == Kind::Progress && row.uuid != 0 && !row.is(Flags::SIDECHAIN) && !self.is_gone(no)
    }

    /// From `no` to its root; a ring ends the walk.
    pub(crate) fn walk(&self, no: RowNo) -> Vec<RowNo> {
        let mut seen = RowSet::with_capacity(self.parent.len());
        let mut walk = Vec::new();
        let mut at = no;
        while at != NONE && seen.insert(at) {
            walk.push(at);
            at = self.parent[at as usize];
        }
        walk
    }

    /// Whether `ancestor` is `no` or on its way to the root.
    pub(crate) fn descends(&self, no: RowNo, ancestor: RowNo) -> bool {
        if no == NONE || ancestor == NONE {
            return false;
        }
        let met = |at: RowNo| {
            if at == ancestor {
                return Some(true);
            }
            // Where every parent stands before its children, the way leads only further away.
            (!self.forward && at < ancestor).then_some(false)
        };
        match self.walk_until(no, met) {
            Walked::Met(found) => found,
            Walked::End => false,
            Walked::TooLong => self.with_forest(|forest| forest.descends(no, ancestor)),
        }
    }

    /// Walks from `no` to its root until `met` says something. Gives up where that takes too long, too often.
    fn walk_until<T>(&self, no: RowNo, met: impl Fn(RowNo) -> Option<T>) -> Walked<T> {
        let mut at = no;
        for steps in 0..=self.parent.len() {
            if let Some(found) = met(at) {
                return Walked::Met(found);
            }
            if steps >= SHORT_WALK {
                let Some(left) = self.patience.get().checked_sub(1) else { return Walked::TooLong };
                self.patience.set(left);
            }
            at = self.parent[at as usize];
            if at == NONE {
                return Walked::End;
            }
        }
        Walked::End // a ring
    }

    fn with_forest<T>(&self, ask: impl FnOnce(&mut Forest) -> T) -> T {
        let mark = |no: RowNo| {
            let mark = if self.row(no).kind().is_turn() { Mark::TURN } else { Mark::NOTHING };
            let mark = if self.leads_on(no) { mark.and(Mark::LEADS_ON) } else { mark };
            if self.is_main(no) { mark.and(Mark::MAIN) } else { mark }
        };
        let mut forest = self.forest.borrow_mut();
        ask(forest.get_or_insert_with(|| Forest::new(&self.parent.0, mark)))
    }

    /// The compaction this row stands behind: its boundary, or `NONE` before the first.
    pub(crate) fn segment(&self, no: RowNo) -> RowNo {
        let after = self.index.main_boundaries.partition_point(|boundary| *boundary <= no);
        after.checked_sub(1).map_or(NONE, |at| self.index.main_boundaries[at])
    }

    /// The rows before `no` that it could hang on, nearest first: same compaction, same chain.
    pub(crate) fn candidates(&self, no: RowNo) -> impl Iterator<Item = RowNo> + '_ {
        std::iter::successors(self.candidate_before(no, no), move |at| self.candidate_before(*at, no))
    }

    /// The last row before `before` that `no` could hang on.
    fn candidate_before(&self, before: RowNo, no: RowNo) -> Option<RowNo> {
        let segment = self.segment(no);
        let first = if segment == NONE { 0 } else { segment };
        let sidechain = self.row(no).is(Flags::SIDECHAIN);
        let counts = |candidate: RowNo| {
            let row = self.row(candidate);
            row.in_tree()
                && row.is(Flags::SIDECHAIN) == sidechain
                && !row.is(Flags::REPEATED)
                && !self.is_gone(candidate)
        };
        let skips = &mut self.skips.borrow_mut().candidates[usize::from(sidechain)];
        skips.last(before, counts).filter(|candidate| *candidate >= first)
    }

    /// The nearest row before `no` that it can hang on, not one of its own descendants.
    pub(crate) fn nearest_earlier(&self, no: RowNo) -> Option<RowNo> {
        let nearest = self.candidate_before(no, no)?;
        if !self.forward {
            return Some(nearest);
        }
        let chain = usize::from(self.row(no).is(Flags::SIDECHAIN));
        let mut passed: HashSet<RowNo> = HashSet::new();
        let mut at = Some(nearest);
        while let Some(candidate) = at {
            // What descended from a row that descends from this one was passed over before.
            let known = self.below.borrow().0[chain].get(&candidate).copied();
            if let Some((_, end)) = known.filter(|(root, _)| self.descends(*root, no)) {
                at = end.and_then(|end| self.candidate_before(end + 1, no));
                continue;
            }
            if !passed.contains(&self.parent[candidate as usize]) && !self.descends(candidate, no) {
                break;
            }
            passed.insert(candidate);
            at = self.candidate_before(candidate, no);
        }
        if at != Some(nearest) {
            self.below.borrow_mut().0[chain].insert(nearest, (no, at));
        }
        at
    }

    /// Whether a row's link leads to a later row of the file that is not older.
    fn leads_on(&self, no: RowNo) -> bool {
        let parent = self.parent[no as usize];
        if parent == NONE || parent < no {
            return false;
        }
        let (own, other) = (self.row(no).time, self.row(parent).time);
        own == i64::MIN || other == i64::MIN || own <= other
    }

    /// The first row on the way from `no` to its root whose link leads to a later row that is not older.
    pub(crate) fn nearest_leading_on(&self, no: RowNo) -> Option<RowNo> {
        self.nearest(no, Mark::LEADS_ON, |no| self.leads_on(no))
    }

    /// The last row of the conversation in file order, as the newest agents choose it.
    pub(crate) fn last_row(&self) -> Option<RowNo> {
        let end = self.ends_before.get().min(self.numbers().end);
        let last = (0..end).rev().find(|no| self.can_end(*no));
        self.ends_before.set(last.map_or(0, |last| last + 1));
        let last = last?;
        // With a checkpoint they look no further.
        let goes_on = self.forward && self.index.checkpoint.is_none();
        Some(if goes_on { self.newest_below(last) } else { last })
    }

    /// Whether a conversation may end at this row.
    pub(crate) fn can_end(&self, no: RowNo) -> bool {
        self.is_main(no) && self.row(no).kind() != Kind::System
    }

    /// The newest of the rows before this one that descend from it, or itself: in a new conversation 2.1.31 may write a reply
    /// before its prompt, and every version resumes at the reply (measured on 2.1.31, 2.1.100 and 2.1.325).
    fn newest_below(&self, last: RowNo) -> RowNo {
        let is_followed = |followed: &mut Option<RowSet>| {
            let followed = followed.get_or_insert_with(|| self.followed_rows());
            followed.contains(last)
        };
        if !is_followed(&mut self.followed.borrow_mut()) {
            return last;
        }
        let below = self.descendants(last);
        let newer = (0..last).filter(|no| below.contains(*no) && self.can_end(*no));
        newer.max_by_key(|no| (self.row(*no).time, *no)).unwrap_or(last)
    }

    /// Rows that some row hangs on.
    fn followed_rows(&self) -> RowSet {
        visit(self.parent.len());
        let mut followed = RowSet::with_capacity(self.parent.len());
        for parent in self.parent.0.iter().filter(|parent| **parent != NONE) {
            followed.insert(*parent);
        }
        followed
    }

    /// The last row in file order that descends from this one, or itself.
    pub(crate) fn last_descendant(&self, no: RowNo) -> RowNo {
        let below = self.descendants(no);
        let later = (no + 1..self.numbers().end).rev();
        later.into_iter().find(|later| below.contains(*later) && self.can_end(*later)).unwrap_or(no)
    }

    /// All rows that descend from this one, and itself. Each row is walked once.
    pub(crate) fn descendants(&self, no: RowNo) -> RowSet {
        let (mut below, mut seen) =
            (RowSet::with_capacity(self.parent.len()), RowSet::with_capacity(self.parent.len()));
        below.insert(no);
        let mut path = Vec::new();
        for start in self.numbers() {
            let mut at = start;
            // A ring ends where it began.
            while at != NONE && !below.contains(at) && seen.insert(at) {
                path.push(at);
                at = self.parent[at as usize];
            }
            let is_below = at != NONE && below.contains(at);
            for no in path.drain(..).filter(|_| is_below) {
                below.insert(no);
            }
        }
        below
    }

    /// The row a resume should end at: the checkpoint where the newest row is on its branch too (then every agent
    /// resumes there), else the last row of the file.
    pub(crate) fn live_end(&self, time: impl Fn(RowNo) -> i64) -> Option<RowNo> {
        // A stray system row is nobody's word on where the conversation is.
        let spoken = |no: RowNo| if self.row(no).kind().is_turn() { time(no) } else { i64::MIN };
        self.live_end_by(|| self.newest_row(spoken), |turn| self.last_descendant(turn))
    }

    /// As [`Tree::live_end`], with the newest turn and the last row that descends from a turn as the caller knows them.
    pub(crate) fn live_end_by(
        &self,
        newest_turn: impl FnOnce() -> Option<RowNo>,
        last_descendant: impl FnOnce(RowNo) -> RowNo,
    ) -> Option<RowNo> {
        let last = self.last_row()?;
        if let Some(turn) = self.checkpoint_below(last) {
            return Some(turn);
        }
        let Some(named) = self.other_checkpoint(last) else { return Some(last) };
        let turn = self.climb(named)?;
        let agree = newest_turn()
            .is_some_and(|newest| self.descends(newest, turn) || self.shares_reply(newest, turn));
        Some(if agree { last_descendant(turn) } else { last })
    }

    /// The turn of a checkpoint that descends from `last` and stands before it, where lines are in another order: the newest
    /// agents resume there.
    fn checkpoint_below(&self, last: RowNo) -> Option<RowNo> {
        let named = self.index.find(self.index.checkpoint.filter(|_| self.forward)?.leaf?)?;
        let turn = self.climb(named).filter(|turn| self.is_main(named) && self.is_main(*turn))?;
        (turn != last && self.descends(turn, last)).then_some(turn)
    }

    /// The row a checkpoint names, where that is not on the way to `last`.
    pub(crate) fn other_checkpoint(&self, last: RowNo) -> Option<RowNo> {
        let named = self.index.find(self.index.checkpoint?.leaf?)?;
        if !self.is_main(named) || self.descends(last, named) || self.shares_reply(last, named) {
            return None;
        }
        // A system row or an attachment behind the last turn means that turn, and a call that was never answered is
        // nothing to miss.
        self.climb(named)?;
        self.misses(named, last).then_some(named)
    }

    /// Whether a resume from one row misses something said on the way to another.
    pub(crate) fn misses(&self, from: RowNo, leaf: RowNo) -> bool {
        if self.descends(from, leaf) {
            return false;
        }
        let mut at = leaf;
        for _ in 0..self.parent.len() {
            if at == NONE || self.descends(from, at) {
                return false;
            }
            let row = self.row(at);
            let says = row.is(Flags::SAYS) && row.kind().is_turn() && !self.is_open_call(at);
            // Of calls side by side older agents see one anyhow; of what a reply says they must see all.
            if says && !(row.is(Flags::HAS_CALL) && self.shares_reply(from, at)) {
                return true;
            }
            at = self.parent[at as usize];
        }
        false // a ring, in which nothing is said
    }

    /// Whether two rows are parts of one reply, or results of its calls.
    pub(crate) fn shares_reply(&self, a: RowNo, b: RowNo) -> bool {
        let reply = |no: RowNo| {
            let row = self.row(no);
            let parent = self.index.row_at(self.parent[no as usize]);
            match row.kind() {
                Kind::Assistant => row.reply(),
                _ if row.is(Flags::HAS_RESULT) => parent.map_or(0, |parent| parent.reply()),
                _ => 0,
            }
        };
        reply(a) != 0 && reply(a) == reply(b)
    }

    /// Climbs over attachments and system rows to the turn they belong to.
    pub(crate) fn climb(&self, no: RowNo) -> Option<RowNo> {
        self.nearest(no, Mark::TURN, |no| self.row(no).kind().is_turn())
    }

    /// The nearest row of the main conversation: this one, or one on its way to the root.
    pub(crate) fn nearest_main(&self, no: RowNo) -> Option<RowNo> {
        self.nearest(no, Mark::MAIN, |no| self.is_main(no))
    }

    fn nearest(&self, no: RowNo, mark: Mark, is_marked: impl Fn(RowNo) -> bool) -> Option<RowNo> {
        if no == NONE {
            return None;
        }
        match self.walk_until(no, |at| is_marked(at).then_some(at)) {
            Walked::Met(found) => Some(found),
            Walked::End => None,
            Walked::TooLong => self.with_forest(|forest| forest.nearest(no, mark)),
        }
    }

    /// The row older agents resume from: the newest of any kind, the first of equals (measured on 2.1.31, 2.1.100).
    pub(crate) fn newest_row(&self, time: impl Fn(RowNo) -> i64) -> Option<RowNo> {
        let mut newest: Option<(i64, RowNo)> = None;
        for no in self.numbers() {
            let at = time(no);
            if self.is_dated(no) && at != i64::MIN && newest.is_none_or(|(best, _)| at > best) {
                newest = Some((at, no));
            }
        }
        newest.map(|(_, no)| no)
    }

    /// The walk and what newer agents put beside it: the other rows of its replies and their tool results (B10).
    pub(crate) fn request(&self, walk: &[RowNo]) -> RowSet {
        let mut set = RowSet::with_capacity(self.parent.len());
        let mut replies = Hashes::default();
        let mut last = 0; // the parts of a reply stand together
        for no in walk {
            set.insert(*no);
            let row = self.row(*no);
            if row.kind() == Kind::Assistant && row.reply() != 0 && row.reply() != last {
                last = row.reply();
                replies.insert(last);
            }
        }
        let of_walk = |no: RowNo| {
            let row = self.row(no);
            row.kind() == Kind::Assistant && replies.contains(&row.reply())
        };
        for no in self.numbers() {
            if self.is_main(no) && of_walk(no) {
                set.insert(no);
            }
        }
        for no in self.numbers() {
            let parent = self.parent[no as usize];
            if self.is_main(no) && self.row(no).is(Flags::HAS_RESULT) && parent != NONE && of_walk(parent) {
                set.insert(no);
            }
        }
        set
    }

    /// Whether this is a tool call that was never answered: agents drop such a row, or answer it themselves.
    pub(crate) fn is_open_call(&self, no: RowNo) -> bool {
        let row = self.row(no);
        row.kind() == Kind::Assistant
            && row.is(Flags::HAS_CALL)
            && !self.index.tools_of(no).iter().any(|call| self.answered(call.id))
    }

    /// Whether some row of the main conversation has a result of this call.
    pub(crate) fn answered(&self, id: u64) -> bool {
        let results = &self.index.pairs().results;
        let start = results.partition_point(|(call, _)| *call < id);
        let no = |at: usize| RowNo::try_from(at).unwrap_or(NONE);
        let is_main = |at: RowNo| self.is_main(results[at as usize].1);
        let first = self.skips.borrow_mut().results.first(no(start), no(results.len()), is_main);
        first.is_some_and(|at| results[at as usize].0 == id)
    }

    /// The last row before `before` that makes this call.
    pub(crate) fn call_of(&self, id: u64, before: RowNo) -> Option<RowNo> {
        let calls = &self.index.pairs().calls;
        let end = calls.partition_point(|call| *call < (id, before));
        let (call, row) = calls[..end].last()?;
        (*call == id).then_some(*row)
    }
}

/// Where a walk to the root ended.
enum Walked<T> {
    Met(T),
    End,
    TooLong,
}
