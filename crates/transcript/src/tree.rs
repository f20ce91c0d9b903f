//! Rows as a tree, and what a resume reaches in it.
//!
//! The links here are the mended ones where a repair is being planned; the index keeps the file's own.

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Index, NONE, Row, RowNo, ToolRole};
use crate::order::parents_first;

/// A set of rows, one bit each.
#[derive(Clone, Default)]
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    pub(crate) fn with_capacity(rows: usize) -> RowSet {
        RowSet(vec![0; rows.div_ceil(64)])
    }

    /// Adds a row; whether it was new.
    pub(crate) fn insert(&mut self, no: RowNo) -> bool {
        let (word, bit) = (no as usize / 64, no % 64);
        if word >= self.0.len() {
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
    moved: std::collections::HashMap<RowNo, Vec<RowNo>>,
}

/// For every row the last one in file order on its way to the root; behind a ring, the end of the file.
fn farthest(parent: &[RowNo]) -> Vec<RowNo> {
    const UNKNOWN: RowNo = NONE;
    let mut reach = vec![UNKNOWN; parent.len()];
    for start in (0..).take(parent.len()) {
        let mut path: Vec<RowNo> = Vec::new();
        let mut at: RowNo = start;
        while at != NONE && reach[at as usize] == UNKNOWN {
            reach[at as usize] = NONE - 1; // on the path; what meets it again is in a ring
            path.push(at);
            at = parent[at as usize];
        }
        let mut last = if at == NONE { 0 } else { reach[at as usize] };
        for no in path.into_iter().rev() {
            last = last.max(no);
            reach[no as usize] = last;
        }
    }
    reach
}

/// A view of the rows with links that can be changed.
pub(crate) struct Tree<'a> {
    pub(crate) index: &'a Index,
    /// Each row's parent as things stand.
    pub(crate) parent: Vec<RowNo>,
    /// Rows that will not be there.
    pub(crate) gone: RowSet,
    /// Whether some row stands before its parent: only then can an earlier row descend from a later one.
    pub(crate) forward: bool,
    /// The last row in file order on each row's way to the root, or a later one; empty where nothing stands before its
    /// parent, or where that is no longer known. A row cannot descend from one behind that.
    reach: Vec<RowNo>,
    children: Option<Children>,
    /// Every tool call and result: its id, and its row; sorted.
    calls: Vec<(u64, RowNo)>,
    results: Vec<(u64, RowNo)>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(index: &'a Index) -> Tree<'a> {
        let parent: Vec<RowNo> = index.rows.iter().map(|row| row.parent).collect();
        let forward = parent.iter().enumerate().any(|(no, parent)| *parent != NONE && *parent as usize >= no);
        let sorted = |role: ToolRole| {
            let of = index.tools.iter().filter(|tool| tool.role == role);
            let mut tools: Vec<(u64, RowNo)> = of.map(|tool| (tool.id, tool.row)).collect();
            tools.sort_unstable();
            tools
        };
        let (calls, results) = (sorted(ToolRole::Call), sorted(ToolRole::Result));
        let reach = if forward { farthest(&parent) } else { Vec::new() };
        Tree { index, parent, gone: RowSet::default(), forward, reach, children: None, calls, results }
    }

    pub(crate) fn row(&self, no: RowNo) -> &'a Row {
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
        row.in_tree() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED) && !self.gone.contains(no)
    }

    /// Hangs a row on another, or makes it a root.
    pub(crate) fn set_parent(&mut self, no: RowNo, parent: Option<RowNo>) {
        self.parent[no as usize] = parent.unwrap_or(NONE);
        let Some(parent) = parent else {
            if let Some(own) = self.reach.get_mut(no as usize) {
                *own = no; // a root reaches nothing but itself
            }
            return;
        };
        self.forward |= parent >= no;
        if let (Some(own), Some(through)) = (self.reach.get(no as usize), self.reach.get(parent as usize)) {
            let new = no.max(*through);
            if new > *own {
                self.reach.clear(); // what hangs on this row may reach farther now
            } else {
                self.reach[no as usize] = new; // what hangs on it reaches no farther than before
            }
        }
        if let Some(children) = &mut self.children {
            children.moved.entry(parent).or_default().push(no);
        }
    }

    /// The rows that hang on this one, in file order.
    pub(crate) fn children(&mut self, no: RowNo) -> Vec<RowNo> {
        let rows = self.parent.len();
        let known = self.children.get_or_insert_with(|| {
            let (mut last, mut before) = (vec![NONE; rows], vec![NONE; rows]);
            for (child, parent) in (0..).zip(&self.parent).filter(|(_, parent)| **parent != NONE) {
                before[child as usize] = std::mem::replace(&mut last[*parent as usize], child);
            }
            Children { last, before, moved: std::collections::HashMap::new() }
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
            || row.kind() == Kind::Progress
                && row.uuid != 0
                && !row.is(Flags::SIDECHAIN)
                && !self.gone.contains(no)
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

    /// Whether `no`, a row before `ancestor`, surely is no descendant of it.
    fn surely_apart(&self, no: RowNo, ancestor: RowNo) -> bool {
        no < ancestor && self.reach.get(no as usize).is_some_and(|reach| *reach < ancestor)
    }

    /// Whether `ancestor` is `no` or on its way to the root.
    pub(crate) fn descends(&self, no: RowNo, ancestor: RowNo) -> bool {
        if self.surely_apart(no, ancestor) {
            return false;
        }
        let mut at = no;
        for _ in 0..=self.parent.len() {
            if at == ancestor {
                return true;
            }
            // Where every parent stands before its children, the way leads only further away.
            if at == NONE || !self.forward && at < ancestor {
                return false;
            }
            at = self.parent[at as usize];
        }
        false
    }

    /// The compaction this row stands behind: its boundary, or `NONE` before the first.
    pub(crate) fn segment(&self, no: RowNo) -> RowNo {
        let after = self.index.boundaries.partition_point(|boundary| *boundary <= no);
        self.index.boundaries[..after]
            .iter()
            .rev()
            .find(|boundary| !self.row(**boundary).is(Flags::SIDECHAIN))
            .copied()
            .unwrap_or(NONE)
    }

    /// The rows before `no` that it could hang on, nearest first: same compaction, same chain.
    pub(crate) fn candidates(&self, no: RowNo) -> impl Iterator<Item = RowNo> + '_ {
        let segment = self.segment(no);
        let first = if segment == NONE { 0 } else { segment };
        let sidechain = self.row(no).is(Flags::SIDECHAIN);
        (first..no).rev().filter(move |candidate| {
            let row = self.row(*candidate);
            row.in_tree()
                && row.is(Flags::SIDECHAIN) == sidechain
                && !row.is(Flags::REPEATED)
                && !self.gone.contains(*candidate)
        })
    }

    /// The nearest row before `no` that it can hang on, not one of its own descendants.
    pub(crate) fn nearest_earlier(&self, no: RowNo) -> Option<RowNo> {
        if !self.forward {
            return self.candidates(no).next();
        }
        // Rows known to descend from `no`: with them, all ways together are walked once.
        let mut below = RowSet::default();
        self.candidates(no).find(|candidate| {
            if self.surely_apart(*candidate, no) {
                return true;
            }
            let mut path = Vec::new();
            let mut at = *candidate;
            while at != NONE && at != no && !below.contains(at) && path.len() <= self.parent.len() {
                path.push(at);
                at = self.parent[at as usize];
            }
            let is_below = at == no || at != NONE && below.contains(at);
            if is_below {
                for row in path {
                    below.insert(row);
                }
            }
            !is_below
        })
    }

    /// The last row of the conversation in file order, as the newest agents choose it.
    pub(crate) fn last_row(&self) -> Option<RowNo> {
        let last = self.numbers().rev().find(|no| self.can_end(*no))?;
        // With a checkpoint they look no further.
        let goes_on = self.forward && self.index.checkpoint.is_none();
        Some(if goes_on { self.newest_below(last) } else { last })
    }

    /// Whether a conversation may end at this row.
    fn can_end(&self, no: RowNo) -> bool {
        self.is_main(no) && self.row(no).kind() != Kind::System
    }

    /// The newest of the rows before this one that descend from it, or itself: in a new conversation 2.1.31 may write a reply
    /// before its prompt, and every version resumes at the reply (measured on 2.1.31, 2.1.100 and 2.1.325).
    fn newest_below(&self, last: RowNo) -> RowNo {
        let (mut below, mut seen) = (RowSet::default(), RowSet::default());
        below.insert(last);
        for start in (0..last).filter(|no| !self.surely_apart(*no, last)) {
            let mut path = Vec::new();
            let mut at = start;
            // Each row is walked once; a ring ends where it began.
            while at != NONE && !below.contains(at) && seen.insert(at) {
                path.push(at);
                at = self.parent[at as usize];
            }
            if at != NONE && below.contains(at) {
                for no in path {
                    below.insert(no);
                }
            }
        }
        let newer = (0..last).filter(|no| below.contains(*no) && self.can_end(*no));
        newer.max_by_key(|no| (self.row(*no).time, *no)).unwrap_or(last)
    }

    /// The last row in file order that descends from this one, or itself.
    pub(crate) fn last_descendant(&self, no: RowNo) -> RowNo {
        let mut below = RowSet::with_capacity(self.parent.len());
        below.insert(no);
        let mut last = no;
        for later in no + 1..self.numbers().end {
            let parent = self.parent[later as usize];
            let known = parent != NONE && below.contains(parent);
            if known || self.forward && self.descends(later, no) {
                below.insert(later);
                if self.can_end(later) {
                    last = later;
                }
            }
        }
        last
    }

    /// The row a resume should end at: the checkpoint where the newest row is on its branch too (then every agent
    /// resumes there), else the last row of the file.
    pub(crate) fn live_end(&self, time: impl Fn(RowNo) -> i64) -> Option<RowNo> {
        let last = self.last_row()?;
        let Some(named) = self.other_checkpoint(last) else { return Some(last) };
        // A stray system row is nobody's word on where the conversation is.
        let spoken = |no: RowNo| if self.row(no).kind().is_turn() { time(no) } else { i64::MIN };
        let newest = self.newest_row(spoken);
        let turn = self.climb(named)?;
        let agree =
            newest.is_some_and(|newest| self.descends(newest, turn) || self.shares_reply(newest, turn));
        Some(if agree { self.last_descendant(turn) } else { last })
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
        let mut reached = RowSet::with_capacity(self.parent.len());
        let mut at = from;
        while at != NONE && reached.insert(at) {
            at = self.parent[at as usize];
        }
        self.walk(leaf).into_iter().take_while(|no| !reached.contains(*no)).any(|no| {
            let row = self.row(no);
            let says = row.is(Flags::SAYS) && row.kind().is_turn() && !self.is_open_call(no);
            // Of calls side by side older agents see one anyhow; of what a reply says they must see all.
            says && !(row.is(Flags::HAS_CALL) && self.shares_reply(from, no))
        })
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
        self.walk(no).into_iter().find(|no| self.row(*no).kind().is_turn())
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
        let mut replies: Vec<u32> = Vec::new();
        for no in walk {
            set.insert(*no);
            let row = self.row(*no);
            if row.kind() == Kind::Assistant && row.reply() != 0 {
                replies.push(row.reply());
            }
        }
        replies.sort_unstable();
        replies.dedup();
        let of_walk = |no: RowNo| {
            let row = self.row(no);
            row.kind() == Kind::Assistant && replies.binary_search(&row.reply()).is_ok()
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
        self.results_of(id).any(|row| self.is_main(row))
    }

    /// The last row before `before` that makes this call.
    pub(crate) fn call_of(&self, id: u64, before: RowNo) -> Option<RowNo> {
        let end = self.calls.partition_point(|call| *call < (id, before));
        let (call, row) = self.calls[..end].last()?;
        (*call == id).then_some(*row)
    }

    /// The rows with a result of this call, in file order.
    pub(crate) fn results_of(&self, id: u64) -> impl Iterator<Item = RowNo> + '_ {
        let start = self.results.partition_point(|(call, _)| *call < id);
        self.results[start..].iter().take_while(move |(call, _)| *call == id).map(|(_, row)| *row)
    }
}
