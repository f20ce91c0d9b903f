//! What agents reach in a file as it is, for saying what a resume would lose.

use std::cmp::Reverse;

use crate::flags::Flags;
use crate::index::{Index, NONE, RowNo};
use crate::salvage::Piece;
use crate::tree::{RowSet, Tree};

/// Newer agents bridge a missing parent to the row nearest in time, this far back at most (2.1.100, 2.1.325).
const GUESS: i64 = 5_000;
/// A file with more gaps than this is not worth the time to bridge them all.
const MOST_GUESSES: usize = 64;

/// Prompts that a resume would not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Loss {
    /// How many prompts the conversation has.
    pub prompts: u64,
    /// How many of them older agents lose: newest row, links as they stand.
    pub older: u64,
    /// How many newer agents lose: last row or checkpoint, gaps bridged by time.
    pub newer: u64,
}

impl Loss {
    /// Compares the mended walk with what agents reach today.
    pub(crate) fn of(index: &Index, mended: &[RowNo]) -> Loss {
        let mut tree = Tree::new(index);
        for line in &index.broken {
            for piece in &line.pieces {
                if let Piece::Row(range) = piece {
                    let offset = line.offset + range.start as u64;
                    let no = index.rows.partition_point(|row| row.offset < offset);
                    tree.remove(RowNo::try_from(no).unwrap_or(NONE));
                }
            }
        }
        // Agents compare ids as texts.
        for (no, _) in &index.respelled {
            tree.set_parent(*no, None);
        }
        // No agent reads a row without a type.
        for no in tree.numbers().filter(|no| index.rows[*no as usize].is(Flags::NO_TYPE)) {
            tree.remove(no);
        }
        let prompts: Vec<RowNo> = mended.iter().copied().filter(|no| tree.is_prompt(*no)).collect();
        let lost = |reached: &RowSet| prompts.iter().filter(|no| !reached.contains(**no)).count() as u64;
        let older = tree.newest_row(|no| index.rows[no as usize].time);
        let newer = newer_leaf(&tree);
        Loss {
            prompts: prompts.len() as u64,
            older: lost(&older.map(|leaf| walk(&tree, leaf, 0)).unwrap_or_default()),
            newer: lost(&newer.map(|leaf| walk(&tree, leaf, MOST_GUESSES)).unwrap_or_default()),
        }
    }
}

/// Where 2.1.325 resumes; nothing where it would not find the conversation.
fn newer_leaf(tree: &Tree<'_>) -> Option<RowNo> {
    let last = tree.last_row()?;
    let named =
        tree.index.checkpoint.and_then(|checkpoint| checkpoint.leaf).and_then(|id| tree.index.find(id));
    let leaf = match named.filter(|named| tree.is_main(*named)) {
        Some(named) if !tree.descends(last, named) => named,
        _ => last,
    };
    tree.climb(leaf).filter(|leaf| !tree.row(*leaf).is(Flags::BAD_TIME))
}

fn walk(tree: &Tree<'_>, leaf: RowNo, mut guesses: usize) -> RowSet {
    let mut seen = RowSet::with_capacity(tree.parent.len());
    let mut by_time = ByTime::default();
    let mut at = leaf;
    loop {
        if tree.is_gone(at) || !seen.insert(at) {
            return seen;
        }
        let parent = tree.parent[at as usize];
        let there = parent != NONE && !tree.is_gone(parent) && !seen.contains(parent);
        at = if there {
            parent
        } else if parent == NONE && tree.index.dangling.binary_search_by_key(&at, |(no, _)| *no).is_err() {
            return seen; // a root, false or not: nobody looks further
        } else if let Some(near) = (guesses > 0).then(|| by_time.guess(tree, at, &seen)).flatten() {
            guesses -= 1;
            near
        } else {
            return seen;
        };
    }
}

/// The rows that a gap can be bridged to, the newest first; sorted when the first gap is met.
#[derive(Default)]
struct ByTime(Option<Vec<(Reverse<i64>, RowNo)>>);

impl ByTime {
    fn guess(&mut self, tree: &Tree<'_>, no: RowNo, seen: &RowSet) -> Option<RowNo> {
        let rows = self.0.get_or_insert_with(|| {
            let dated = tree.numbers().filter(|no| tree.is_main(*no) && tree.row(*no).time != i64::MIN);
            let mut rows: Vec<_> = dated.map(|no| (Reverse(tree.row(no).time), no)).collect();
            rows.sort_unstable();
            rows
        });
        let time = tree.row(no).time;
        let first = rows.partition_point(|(Reverse(other), _)| *other > time);
        let near =
            rows[first..].iter().take_while(|(Reverse(other), _)| time.saturating_sub(*other) <= GUESS);
        near.map(|(_, other)| *other).find(|other| !seen.contains(*other))
    }
}
