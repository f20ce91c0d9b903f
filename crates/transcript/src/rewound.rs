//! What the user gave up, by the links of a file as it is: of two branches that begin with a prompt the later counts.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{BrokenLine, NONE, Row, RowNo};
use crate::order::parents_first;
use crate::salvage::Piece;
use crate::same_id::{copies, nearest_twin};
use crate::torn::behind_torn_prompts;
use crate::tree::{RowSet, Tree};

/// The row that a branch leaves: a row of the file, or an id that was lost from it.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Fork {
    Row(RowNo),
    Lost(u128),
}

/// What the user gave up, and how sure that is.
pub(crate) struct Rewound {
    /// Links tell so.
    pub(crate) certain: RowSet,
    /// Links or places tell so, also where the links are broken.
    pub(crate) likely: RowSet,
}

/// Rows of branches that a later prompt left and on whose way one of the `live` rows stands. `place` is where each row
/// stands in the order in which the rows were written.
pub(crate) fn rewound(tree: &Tree<'_>, place: &dyn Fn(RowNo) -> RowNo, live: &RowSet) -> Rewound {
    let rows = tree.parent.len();
    let copies = copies(tree);
    let twins = Twins::of(tree, place, &copies);
    let mut parent: Vec<RowNo> = tree.numbers().map(|no| twins.parent(tree, no, place)).collect();
    // What follows a torn prompt stands for it.
    let behind_torn = behind_torn_prompts(tree);
    for (no, fork) in &behind_torn {
        parent[*no as usize] = *fork;
    }
    let order = parents_first(rows, |no| Some(parent[no]).filter(|no| *no != NONE).map(|no| no as usize));
    let stands = |no: RowNo| tree.is_own(no) && !copies.contains_key(&no);
    // Whether a row leads to a prompt before anybody else speaks, and whether it leads to a live row.
    let (mut asks, mut lives) = (vec![false; rows], vec![false; rows]);
    for no in order.iter().rev().copied() {
        let at = RowNo::try_from(no).unwrap_or(NONE);
        if !stands(at) {
            continue;
        }
        lives[no] |= live.contains(at);
        asks[no] |= tree.is_prompt(at) || behind_torn.contains_key(&at);
        if let Some(up) = tree.index.row_at(parent[no]) {
            lives[parent[no] as usize] |= lives[no];
            // Hooks may write before the prompt does. A stop hook belongs to the turn before.
            asks[parent[no] as usize] |= asks[no] && !up.kind().is_turn() && !up.is(Flags::STOP_HOOK);
        }
    }
    let lost = lost_forks(tree, place);
    // A row of an unknown kind, which no agent keeps, may stand anywhere.
    let is_live_prompt = |no: RowNo| asks[no as usize] && lives[no as usize] && stands(no);
    // A row that names its own id, or has none, says nothing about where it belongs: no agent has read it there.
    let is_sure = |no: RowNo| {
        let names_itself =
            tree.index.row_at(parent[no as usize]).is_some_and(|up| up.uuid == tree.row(no).uuid);
        !names_itself && !tree.row(no).is(Flags::NO_UUID) && lost.get(&no).is_none_or(|fork| fork.is_sure)
    };
    let likely = passed_over(tree, place, &parent, is_live_prompt);
    let passed = passed_over(tree, place, &parent, |no| is_live_prompt(no) && is_sure(no));
    // Rows that hang on one the user did not go back over are on its branch, wherever they stand.
    let mut certain = RowSet::with_capacity(rows);
    let mut top: Vec<RowNo> = tree.numbers().collect();
    for no in order.iter().copied() {
        if parent[no] != NONE {
            top[no] = top[parent[no] as usize];
        }
        let at = RowNo::try_from(no).unwrap_or(NONE);
        // Of a row whose id another one has, the place tells nothing.
        let is_one = tree.index.row_at(top[no]).is_some_and(|row| !row.is(Flags::REPEATED));
        if is_one && passed.contains(top[no]) && passed.contains(at) {
            certain.insert(at);
        }
    }
    let mut rewound = Rewound { certain, likely };
    let mut written: Vec<RowNo> = tree.numbers().filter(|no| stands(*no)).collect();
    written.sort_unstable_by_key(|no| std::cmp::Reverse(place(*no)));
    let (mut left_later, mut left_for_sure): (HashSet<Fork>, HashSet<Fork>) = Default::default();
    for no in written {
        let fork = match parent[no as usize] {
            NONE => lost.get(&no).map(|fork| Fork::Lost(fork.id)),
            up => Some(Fork::Row(up)),
        };
        let Some(fork) = fork else { continue };
        let part = matches!(fork, Fork::Row(up) if same_reply(tree, up, no));
        if left_later.contains(&fork) && !part {
            rewound.likely.insert(no);
        }
        if left_for_sure.contains(&fork) && !part {
            rewound.certain.insert(no);
        }
        if asks[no as usize] && lives[no as usize] {
            left_later.insert(fork);
            if is_sure(no) {
                left_for_sure.insert(fork);
            }
        }
    }
    for set in [&mut rewound.certain, &mut rewound.likely] {
        for no in order.iter().copied() {
            if parent[no] != NONE && set.contains(parent[no]) {
                set.insert(RowNo::try_from(no).unwrap_or(NONE));
            }
        }
    }
    rewound
}

/// Rows that were written between a live prompt and the row that it follows: the user went back over them, also where
/// their own links are broken.
fn passed_over(
    tree: &Tree<'_>,
    place: &dyn Fn(RowNo) -> RowNo,
    parent: &[RowNo],
    is_live_prompt: impl Fn(RowNo) -> bool,
) -> RowSet {
    let rows = tree.parent.len();
    // For every place up to which a live prompt goes back: the earliest row that one behind it follows.
    let mut back = vec![NONE; rows];
    let mut from = vec![NONE; rows];
    for no in tree.numbers() {
        let up = parent[no as usize];
        back[place(no) as usize] = no;
        if up != NONE && is_live_prompt(no) && place(up) < place(no) {
            from[place(no) as usize] = up;
        }
    }
    let mut passed = RowSet::with_capacity(rows);
    let mut earliest = NONE;
    for at in (0..rows).rev() {
        let no = back[at];
        let up = earliest;
        // What is older than the row that the user went back to was not written behind it: lines were swapped.
        let is_older = up != NONE && tree.row(no).time != i64::MIN && tree.row(no).time < tree.row(up).time;
        if up != NONE
            && place(up) < RowNo::try_from(at).unwrap_or(NONE)
            && !is_older
            && !same_reply(tree, up, no)
        {
            passed.insert(no);
        }
        if up != NONE && place(up) as usize == at {
            earliest = NONE;
        }
        let next = from[at];
        if next != NONE && (earliest == NONE || place(next) < place(earliest)) {
            earliest = next;
        }
    }
    passed
}

fn same_reply(tree: &Tree<'_>, a: RowNo, b: RowNo) -> bool {
    let (a, b) = (tree.row(a), tree.row(b));
    a.kind() == Kind::Assistant && b.kind() == Kind::Assistant && a.reply() != 0 && a.reply() == b.reply()
}

/// An id that was lost from the file.
struct LostFork {
    id: u128,
    /// Whether the row stood before all that name it: no later one of them follows a turn that was never answered.
    is_sure: bool,
}

/// Rows whose parent's id was lost from the file, by that id, where something tells that a row was lost.
fn lost_forks(tree: &Tree<'_>, place: &dyn Fn(RowNo) -> RowNo) -> HashMap<RowNo, LostFork> {
    let mut by_id: HashMap<u128, Vec<RowNo>> = HashMap::new();
    for (no, id) in tree.index.dangling.iter().filter(|(no, _)| tree.is_own(*no)) {
        by_id.entry(*id).or_default().push(*no);
    }
    by_id.retain(|_, rows| rows.len() > 1);
    let (mut lost, hooks) = (HashMap::new(), Hooks::default());
    let before = |no: RowNo| (0..no).rev().find(|no| tree.is_main(*no));
    let is_behind_nameless = |no: RowNo| before(no).is_some_and(|before| tree.row(before).is(Flags::NO_UUID));
    for (id, rows) in by_id {
        let first = rows.iter().copied().min_by_key(|no| place(*no)).unwrap_or(NONE);
        // A row that has lost its id and stands before a later one is the one that is named: the first one's link is wrong.
        let is_there = !is_behind_nameless(first) && rows.iter().any(|no| is_behind_nameless(*no));
        if !is_there && before(first).is_some_and(|before| tree.row_was_lost(before, first, &hooks)) {
            let is_unanswered = |no: RowNo| {
                before(no)
                    .and_then(|before| tree.climb(before))
                    .is_some_and(|turn| tree.row(turn).kind() == Kind::User)
            };
            let is_sure = !rows.iter().any(|no| *no != first && is_unanswered(*no));
            lost.extend(rows.into_iter().map(|no| (no, LostFork { id, is_sure })));
        }
    }
    lost
}

/// Ids that several rows have. A child means the twin that was written last before it.
struct Twins(HashMap<RowNo, Vec<RowNo>>);

impl Twins {
    fn of(tree: &Tree<'_>, place: &dyn Fn(RowNo) -> RowNo, copies: &HashMap<RowNo, RowNo>) -> Twins {
        let mut twins: HashMap<RowNo, Vec<RowNo>> = HashMap::new();
        for no in tree.numbers().filter(|no| tree.row(*no).is(Flags::REPEATED)) {
            if let Some(first) = tree.index.find(tree.row(no).uuid).filter(|_| !copies.contains_key(&no)) {
                twins.entry(first).or_insert_with(|| vec![first]).push(no);
            }
        }
        twins.values_mut().for_each(|rows| rows.sort_unstable_by_key(|no| place(*no)));
        Twins(twins)
    }

    fn parent(&self, tree: &Tree<'_>, no: RowNo, place: &dyn Fn(RowNo) -> RowNo) -> RowNo {
        let parent = tree.parent[no as usize];
        match self.0.get(&parent) {
            Some(twins) => {
                let before = twins.partition_point(|twin| place(*twin) < place(no));
                nearest_twin(tree, no, &twins[..before]).or(twins.first().copied()).unwrap_or(parent)
            }
            None => parent,
        }
    }
}

/// How many progress rows are looked through, one on the other.
const MOST_PROGRESS: usize = 16;

/// Whether some prompt of the file follows a system row; asked once.
#[derive(Default)]
pub(crate) struct Hooks(OnceCell<bool>);

impl Tree<'_> {
    /// A row of the main conversation, whether or not another one has its id.
    pub(crate) fn is_own(&self, no: RowNo) -> bool {
        let row = self.row(no);
        row.in_tree() && !row.is(Flags::SIDECHAIN) && !self.is_gone(no)
    }

    /// Whether a row was lost between `before` and `first`, the first row of the file that names it as its parent. Then
    /// all rows that name it leave the same place. Else the name is only wrong, and two wrong names may be equal.
    pub(crate) fn row_was_lost(&self, before: RowNo, first: RowNo, hooks: &Hooks) -> bool {
        let row = self.row(before);
        let Some(turn) = self.climb(before) else { return true };
        // The user cannot have spoken before the reply was there; a thought alone is none.
        let is_reply = self.row(turn).kind() == Kind::Assistant && self.row(turn).is(Flags::SAYS);
        if !is_reply || self.is_open_call(turn) {
            return true;
        }
        // A row was torn, or its bytes are NUL: a line without any row in it, or a fragment before or behind a row.
        // One row more on either side: lines may have been swapped.
        let start = before.checked_sub(1).map_or(row.offset, |no| self.row(no).offset);
        let end = self.index.row_at(first + 1).map_or(self.index.size, |row| row.offset);
        let line = self.index.broken.partition_point(|line| line.offset + line.len as u64 <= start);
        let mut lines = self.index.broken[line..].iter().take_while(|line| line.offset < end);
        let is_lost = |line: &BrokenLine| {
            let is_row = |piece: &Piece| matches!(piece, Piece::Row(_));
            let is_fragment = |piece: &Piece| {
                let Piece::Reject(range) = piece else { return false };
                (start..end).contains(&(line.offset + range.start as u64))
            };
            line.pieces.iter().any(is_fragment) || !line.pieces.iter().any(is_row)
        };
        if lines.any(is_lost) {
            return true;
        }
        // Where hooks or the agent write a system row behind a reply, that is what may be missing here.
        row.kind().is_turn() && *hooks.0.get_or_init(|| self.prompts_follow_system_rows())
    }

    /// Whether some prompt of the file follows a system row.
    fn prompts_follow_system_rows(&self) -> bool {
        let is_summary = |row: &Row| row.kind() == Kind::System && !row.is(Flags::COMPACT_BOUNDARY);
        let above = |row: &Row| self.index.row_at(row.parent);
        // No agent keeps progress rows, or writes many of them one on the other.
        let is_kept = |row: &&Row| row.kind() != Kind::Progress;
        let parent = |no| {
            std::iter::successors(above(self.row(no)), |row| above(row)).take(MOST_PROGRESS).find(is_kept)
        };
        // A prompt may have lost its words.
        let asks =
            |row: &Row| row.kind() == Kind::User && !row.flags.intersects(Flags::META | Flags::HAS_RESULT);
        let mut prompts = self.numbers().filter(|no| self.is_own(*no) && asks(self.row(*no)));
        prompts.any(|no| parent(no).is_some_and(is_summary))
    }
}
