//! The branches of a conversation: what is live, what the user gave up, and what may have been lost.

use std::io;

use crate::beside::{Behind, Side, Sides};
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
#[serde(rename_all = "camelCase")]
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
        let mut branches = vec![self.live(&tree, &walk)?];
        let behind = Behind::new(&tree, &walk);
        self.sides(&tree, &tree.request(&walk), &behind, |tip, side, kind| {
            branches.push(Branch {
                kind,
                turns: u64::from(side.prompts),
                leaves_after: Some(u64::from(behind.all().prompts - behind.of(side.fork).prompts)),
                last_ms: Some(tree.row(tip).time).filter(|time| *time != i64::MIN),
                last_prompt: side.last_prompt.map(|no| self.said(no)).transpose()?.unwrap_or_default(),
                tip,
            });
            Ok(())
        })?;
        Ok(branches)
    }

    /// Visits every branch but the live one, by its end in file order.
    fn sides(
        &self,
        tree: &Tree<'_>,
        request: &RowSet,
        behind: &Behind,
        mut visit: impl FnMut(RowNo, Side, BranchKind) -> io::Result<()>,
    ) -> io::Result<()> {
        let tips = tips(tree, request);
        if tips.is_empty() {
            return Ok(());
        }
        let mut sides = Sides::new(tree, request);
        // Branches that share their first prompt stand together, so that it is read once.
        let mut compared: Option<((RowNo, RowNo), bool)> = None;
        for tip in tips {
            // What a compaction put behind itself is no branch: the boundary has no parent.
            let Some(side) = sides.of(tip).filter(|side| side.says) else { continue };
            let live = behind.of(side.fork);
            let kind = if live.earliest.is_some_and(|earliest| side.latest > earliest) {
                BranchKind::Stranded
            } else if let (Some(own), Some(other)) = (side.first_prompt, live.first_prompt) {
                let known = compared.filter(|(prompts, _)| *prompts == (own, other));
                let same = match known {
                    Some((_, same)) => same,
                    None => self.said(own)? == self.said(other)?,
                };
                compared = Some(((own, other), same));
                if same { BranchKind::Retry } else { BranchKind::Rewind }
            } else {
                BranchKind::Rewind
            };
            visit(tip, side, kind)?;
        }
        Ok(())
    }

    /// Counts the forks; `tree` is as the file has it, `walk` is the live one.
    pub(crate) fn forks(&self, tree: &Tree<'_>, walk: &[RowNo]) -> io::Result<Forks> {
        let rows = &self.index.rows;
        let main = rows
            .iter()
            .filter(|row| row.in_tree() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED))
            .count();
        let mut forks = Forks::default();
        if main == walk.len() {
            return Ok(forks); // a straight line, as nearly all are
        }
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
        let Some(end) = tree.live_end(|no| tree.row(no).time) else { return Ok(forks) };
        let own = tree.walk(end);
        let request = if own == walk { request } else { tree.request(&own) };
        self.sides(tree, &request, &Behind::new(tree, &own), |_, _, kind| {
            match kind {
                BranchKind::Live => {}
                BranchKind::Rewind => forks.rewind += 1,
                BranchKind::Retry => forks.retry += 1,
                BranchKind::Stranded => forks.stranded += 1,
            }
            Ok(())
        })?;
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

    fn last_prompt(&self, tree: &Tree<'_>, rows: &[RowNo]) -> io::Result<String> {
        match rows.iter().copied().find(|no| is_prompt(tree, *no)) {
            Some(no) => self.said(no),
            None => Ok(String::new()),
        }
    }

    fn said(&self, no: RowNo) -> io::Result<String> {
        let row = &self.index.rows[no as usize];
        let bytes = self.row_bytes(row)?;
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
    tree.numbers().filter(is_tip).collect()
}
