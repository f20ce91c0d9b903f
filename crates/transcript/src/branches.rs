//! The branches of a conversation: what is live, what the user gave up, and what may have been lost.

use std::io;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::plan::Plan;
use crate::scan::{AsSource, Scan, Transcript};
use crate::spoken;
use crate::tree::{RowSet, Tree};

/// Why a branch is not the live one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchKind {
    /// What a resume reaches.
    Live,
    /// The user went back and said something else: it must not come back by itself.
    Rewind,
    /// The same prompt was sent again.
    Retry,
    /// Two processes wrote at the same time: only the user knows which one counts (B7).
    Stranded,
}

impl BranchKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            BranchKind::Live => "live",
            BranchKind::Rewind => "rewind",
            BranchKind::Retry => "retry",
            BranchKind::Stranded => "stranded",
        }
    }
}

/// Where a conversation forks, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Forks {
    /// The user went back (B11): healthy.
    pub rewind: u64,
    /// The same prompt again: healthy.
    pub retry: u64,
    /// Tool calls side by side (B10): healthy.
    pub parallel_tools: u64,
    /// Attachments and system rows beside the chain: healthy.
    pub metadata: u64,
    /// Two processes at once (B7): only the user knows which one counts.
    pub stranded: u64,
}

/// One branch, from where it leaves the live one to its end.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What it is.
    pub kind: BranchKind,
    /// How many turns it has of its own; of the live one, all.
    pub turns: u64,
    /// The turn before it in the live conversation, counted from 1; nothing for the live one.
    pub leaves_after: Option<u64>,
    /// When its last row was written, in milliseconds since 1970.
    pub last_ms: Option<i64>,
    /// The last thing the user said on it.
    pub last_prompt: String,
    tip: RowNo,
}

impl<S: AsSource> Transcript<S> {
    /// The branches, the live one first, then by their place in the file.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn branches(&self) -> io::Result<Vec<Branch>> {
        let tree = Tree::new(&self.index);
        let Some(end) = tree.live_end(|no| tree.row(no).time) else { return Ok(Vec::new()) };
        let walk = tree.walk(end);
        let request = tree.request(&walk);
        let mut branches = vec![self.live(&tree, &walk)?];
        for tip in tips(&tree, &request) {
            let own: Vec<RowNo> =
                tree.walk(tip).into_iter().take_while(|no| !request.contains(*no)).collect();
            let says = |no: &&RowNo| tree.row(**no).kind().is_turn() && tree.row(**no).is(Flags::SAYS);
            if own.iter().filter(says).any(|no| !tree.is_open_call(*no)) {
                branches.push(self.branch(&tree, &walk, tip, &own)?);
            }
        }
        Ok(branches)
    }

    /// Counts the forks; `walk` is the live one.
    pub(crate) fn forks(&self, walk: &[RowNo]) -> io::Result<Forks> {
        let rows = &self.index.rows;
        let main = rows
            .iter()
            .filter(|row| row.in_tree() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED))
            .count();
        let mut forks = Forks::default();
        if main == walk.len() {
            return Ok(forks); // a straight line, as nearly all are
        }
        let tree = Tree::new(&self.index);
        let request = tree.request(walk);
        let mut on_walk = RowSet::with_capacity(rows.len());
        for no in walk {
            on_walk.insert(*no);
        }
        let beside = |no: &RowNo| tree.is_main(*no) && !on_walk.contains(*no);
        let forking = |no: &RowNo| beside(no) && on_walk.contains(tree.parent[*no as usize]);
        for no in tree.numbers().filter(forking) {
            if tree.row(no).kind().is_turn() && request.contains(no) {
                forks.parallel_tools += 1;
            } else if !tree.row(no).kind().is_turn() {
                forks.metadata += 1;
            }
        }
        for branch in self.branches()? {
            match branch.kind {
                BranchKind::Live => {}
                BranchKind::Rewind => forks.rewind += 1,
                BranchKind::Retry => forks.retry += 1,
                BranchKind::Stranded => forks.stranded += 1,
            }
        }
        Ok(forks)
    }

    /// How many prompts a resume reaches in a file whose links are whole.
    pub fn prompts(&self) -> u64 {
        let tree = Tree::new(&self.index);
        let walk = tree.live_end(|no| tree.row(no).time).map(|end| tree.walk(end)).unwrap_or_default();
        walk.iter().filter(|no| is_prompt(&tree, **no)).count() as u64
    }

    /// The ids of all rows that have one, as numbers.
    pub fn ids(&self) -> impl Iterator<Item = u128> + '_ {
        self.index.rows.iter().map(|row| row.uuid).filter(|id| *id != 0)
    }

    /// When the last turn was written, in milliseconds since 1970; nothing where there is no turn.
    pub fn newest_turn_ms(&self) -> Option<i64> {
        let turns = self.index.rows.iter().filter(|row| row.kind().is_turn() && !row.is(Flags::SIDECHAIN));
        turns.map(|row| row.time).max()
    }

    /// As [`Transcript::examine`], with a branch made the live one: its number as in [`Transcript::branches`], from 1.
    ///
    /// # Errors
    /// There is no such branch, or rows cannot be read again.
    pub fn examine_with_branch(&self, number: usize) -> io::Result<(Scan, Plan)> {
        let branches = self.branches()?;
        let branch = number.checked_sub(1).and_then(|at| branches.get(at));
        let Some(branch) = branch else {
            let text = format!("there is no branch {number}: it has {}", branches.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        self.examine_branch(Some(branch.tip))
    }

    fn live(&self, tree: &Tree<'_>, walk: &[RowNo]) -> io::Result<Branch> {
        Ok(Branch {
            kind: BranchKind::Live,
            turns: walk.iter().filter(|no| is_prompt(tree, **no)).count() as u64,
            leaves_after: None,
            last_ms: walk.first().map(|no| tree.row(*no).time).filter(|time| *time != i64::MIN),
            last_prompt: self.last_prompt(tree, walk)?,
            tip: walk.first().copied().unwrap_or(NONE),
        })
    }

    fn branch(&self, tree: &Tree<'_>, walk: &[RowNo], tip: RowNo, own: &[RowNo]) -> io::Result<Branch> {
        let fork = own.last().map_or(NONE, |no| tree.parent[*no as usize]);
        let at = walk.iter().position(|no| *no == fork).unwrap_or(walk.len());
        let turns = |rows: &[RowNo]| rows.iter().filter(|no| is_prompt(tree, **no)).count() as u64;
        let live_after: Vec<RowNo> = walk[..at].to_vec();
        let first_live = live_after.iter().copied().min();
        let interleaved = first_live.is_some_and(|first| own.iter().any(|no| *no > first));
        let kind = if interleaved {
            BranchKind::Stranded
        } else if self.same_prompt(tree, own, &live_after)? {
            BranchKind::Retry
        } else {
            BranchKind::Rewind
        };
        Ok(Branch {
            kind,
            turns: turns(own),
            leaves_after: Some(turns(&walk[at.min(walk.len())..])),
            last_ms: Some(tree.row(tip).time).filter(|time| *time != i64::MIN),
            last_prompt: self.last_prompt(tree, own)?,
            tip,
        })
    }

    fn same_prompt(&self, tree: &Tree<'_>, a: &[RowNo], b: &[RowNo]) -> io::Result<bool> {
        let first = |rows: &[RowNo]| rows.iter().rev().copied().find(|no| is_prompt(tree, *no));
        let (Some(a), Some(b)) = (first(a), first(b)) else { return Ok(false) };
        Ok(self.said(a)? == self.said(b)?)
    }

    fn last_prompt(&self, tree: &Tree<'_>, rows: &[RowNo]) -> io::Result<String> {
        match rows.iter().copied().find(|no| is_prompt(tree, *no)) {
            Some(no) => self.said(no),
            None => Ok(String::new()),
        }
    }

    fn said(&self, no: RowNo) -> io::Result<String> {
        let row = &self.index.rows[no as usize];
        let bytes = self.source.as_source().bytes(row.offset, row.len as usize)?;
        Ok(spoken::text(&bytes))
    }
}

/// Something the user said, not a result or what the agent says in the user's name.
pub(crate) fn is_prompt(tree: &Tree<'_>, no: RowNo) -> bool {
    let row = tree.row(no);
    row.kind() == Kind::User
        && row.is(Flags::SAYS)
        && !row.flags.intersects(Flags::META | Flags::HAS_RESULT | Flags::COMPACT_SUMMARY)
}

/// The ends of branches: turns that no other turn follows, and that are not beside the live walk anyway (B10).
fn tips(tree: &Tree<'_>, request: &RowSet) -> Vec<RowNo> {
    let mut followed = RowSet::with_capacity(tree.parent.len());
    for no in tree.numbers().filter(|no| tree.is_main(*no) && tree.row(*no).kind().is_turn()) {
        let parent = tree.parent[no as usize];
        if parent != NONE
            && let Some(turn) = tree.climb(parent)
            && turn != no
        {
            followed.insert(turn);
        }
    }
    let is_tip = |no: &RowNo| {
        tree.is_main(*no)
            && tree.row(*no).kind().is_turn()
            && !followed.contains(*no)
            && !request.contains(*no)
    };
    // What a compaction put behind itself is no branch: the boundary has no parent.
    tree.numbers().filter(is_tip).filter(|no| reaches(tree, request, *no)).collect()
}

fn reaches(tree: &Tree<'_>, request: &RowSet, tip: RowNo) -> bool {
    tree.walk(tip).into_iter().any(|no| request.contains(no))
}
