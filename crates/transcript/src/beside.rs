//! What hangs beside the live conversation, gathered in one pass: every row off the live walk is looked at once, however
//! many branches share it.

use crate::branches::is_prompt;
use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::tree::{RowSet, Tree};
use crate::visits::visit;

/// The rows from one row to where it leaves the live conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// The row of the live conversation that they hang on.
    pub(crate) fork: RowNo,
    /// The last of them in file order.
    pub(crate) latest: RowNo,
    /// How many prompts are among them.
    pub(crate) prompts: u32,
    /// The first prompt behind the fork, and the last one.
    pub(crate) first_prompt: Option<RowNo>,
    pub(crate) last_prompt: Option<RowNo>,
    /// Whether something is said on them that agents do not drop.
    pub(crate) says: bool,
}

impl Side {
    fn at(fork: RowNo) -> Side {
        Side { fork, latest: 0, prompts: 0, first_prompt: None, last_prompt: None, says: false }
    }

    /// With one more row at the end.
    fn with(mut self, tree: &Tree<'_>, no: RowNo) -> Side {
        let row = tree.row(no);
        self.latest = self.latest.max(no);
        if is_prompt(tree, no) {
            self.prompts += 1;
            self.first_prompt = self.first_prompt.or(Some(no));
            self.last_prompt = Some(no);
        }
        self.says |= row.kind().is_turn() && row.is(Flags::SAYS) && !tree.is_open_call(no);
        self
    }
}

/// The sides of a conversation's branches.
pub(crate) struct Sides<'a> {
    tree: &'a Tree<'a>,
    /// The live conversation.
    request: &'a RowSet,
    /// For each row where its side is in the list; [`NONE`] where it was not asked for, and `APART` where it has none.
    known: Vec<u32>,
    sides: Vec<Side>,
}

const APART: u32 = NONE - 1;

impl<'a> Sides<'a> {
    pub(crate) fn new(tree: &'a Tree<'a>, request: &'a RowSet) -> Sides<'a> {
        let rows = tree.parent.len();
        visit(rows);
        Sides { tree, request, known: vec![NONE; rows], sides: Vec::new() }
    }

    /// The side that ends at this row; nothing where its way leads past the live conversation.
    pub(crate) fn of(&mut self, end: RowNo) -> Option<Side> {
        let mut path = Vec::new();
        let mut at = end;
        // A row of this very path is apart until it is known better: a ring leads nowhere.
        while at != NONE && !self.request.contains(at) && self.known[at as usize] == NONE {
            self.known[at as usize] = APART;
            path.push(at);
            at = self.tree.parent[at as usize];
        }
        let mut side = if at == NONE {
            None
        } else if self.request.contains(at) {
            Some(Side::at(at))
        } else {
            self.sides.get(self.known[at as usize] as usize).copied()
        };
        for no in path.into_iter().rev() {
            side = side.map(|side| side.with(self.tree, no));
            if let Some(side) = side {
                self.known[no as usize] = u32::try_from(self.sides.len()).unwrap_or(APART);
                self.sides.push(side);
            }
        }
        side
    }
}

/// What the live walk has behind each of its rows.
pub(crate) struct Behind {
    /// Where each row stands on the walk, from its end; [`NONE`] for rows that are not on it.
    places: Vec<u32>,
    rows: Vec<RowsBehind>,
}

/// The rows of the walk behind one place: between it and the end of the conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsBehind {
    /// The first of them in file order.
    pub(crate) earliest: Option<RowNo>,
    /// The first prompt behind that place.
    pub(crate) first_prompt: Option<RowNo>,
    pub(crate) prompts: u32,
}

impl Behind {
    /// `walk` leads from the end of the conversation to its root.
    pub(crate) fn new(tree: &Tree<'_>, walk: &[RowNo]) -> Behind {
        let mut places = vec![NONE; tree.parent.len()];
        let mut rows = Vec::with_capacity(walk.len() + 1);
        let mut behind = RowsBehind { earliest: None, first_prompt: None, prompts: 0 };
        rows.push(behind);
        for (at, no) in (0..).zip(walk) {
            places[*no as usize] = at;
            behind.earliest = Some(behind.earliest.map_or(*no, |earliest| earliest.min(*no)));
            if is_prompt(tree, *no) {
                behind.first_prompt = Some(*no);
                behind.prompts += 1;
            }
            rows.push(behind);
        }
        visit(places.len());
        Behind { places, rows }
    }

    /// The rows behind this one. A row that is not on the walk has all of them behind it.
    pub(crate) fn of(&self, no: RowNo) -> RowsBehind {
        let place = self.places.get(no as usize).map_or(usize::MAX, |place| *place as usize);
        self.rows[place.min(self.rows.len() - 1)]
    }

    /// All rows of the walk.
    pub(crate) fn all(&self) -> RowsBehind {
        self.of(NONE)
    }
}
