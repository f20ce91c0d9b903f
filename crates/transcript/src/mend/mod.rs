//! Plans a repair: bytes, duplicates, ids, times, links, stranded turns, leaf, request, in this order, each idempotent.
//!
//! Nothing is written here. Steps change the tree and note edits per row; [`finish`] turns them into splices, so
//! that every row nobody edits is copied byte for byte.

mod bytes;
mod duplicates;
mod finish;
mod ids;
mod leaf;
mod links;
mod message;
mod pairs;
mod request;
mod row_text;
mod stranded;
mod times;

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::class::Class;
use crate::index::{Index, NONE, RowNo};
use crate::plan::Plan;
use crate::source::Source;
use crate::tree::Tree;

use message::Fixes;

/// What the planner is told from outside.
pub(crate) struct Options<'a> {
    /// The time for rows of a file in which no row has one, in milliseconds.
    pub(crate) fallback_time: i64,
    /// Which of these ids are rows of a subagent's file (B3).
    pub(crate) in_subagents: &'a dyn Fn(&[u128]) -> Vec<u128>,
    /// The last row of the branch the user chose, where one was chosen (B7d).
    pub(crate) branch: Option<RowNo>,
}

/// What happens to one row.
#[derive(Debug, Default)]
pub(super) struct Edit {
    pub(super) parent: Option<(Class, Option<u128>)>,
    pub(super) uuid: Option<(Class, u128)>,
    pub(super) time: Option<(Class, i64)>,
    pub(super) leaf: Option<(Class, u128)>,
    /// The row whose message it gets: a later copy that still has one.
    pub(super) message_of: Option<RowNo>,
    fixes: Fixes,
    /// Rewrites of ids that other fields refer to.
    pub(super) references: bool,
}

/// A row that is not in the file yet.
#[derive(Debug)]
pub(super) struct NewRow {
    pub(super) class: Class,
    pub(super) bytes: Vec<u8>,
}

/// A repair being planned.
pub(super) struct Mend<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) source: &'a dyn Source,
    pub(super) options: &'a Options<'a>,
    pub(super) edits: BTreeMap<RowNo, Edit>,
    /// Rows that go, and why.
    pub(super) dropped: BTreeMap<RowNo, Class>,
    /// New rows behind a row of the file.
    pub(super) added: BTreeMap<RowNo, Vec<NewRow>>,
    /// New rows before all others.
    pub(super) first: Vec<NewRow>,
    /// New ids by old ones, for what refers to them.
    pub(super) renamed: HashMap<u128, u128>,
    pub(super) findings: Findings,
    pub(super) orphans_fixed: u64,
}

/// Findings by class while they are gathered.
#[derive(Default)]
pub(super) struct Findings(pub(super) BTreeMap<Class, (Vec<u64>, u64, &'static str)>);

impl Findings {
    /// Notes a row, counted from 0.
    pub(super) fn add(&mut self, class: Class, row: u64, repair: &'static str) {
        let (rows, count, _) = self.0.entry(class).or_insert((Vec::new(), 0, repair));
        *count += 1;
        if rows.len() < 100 {
            rows.push(row + 1);
        }
    }
}

/// Plans the repair of an indexed file.
pub(crate) fn plan(index: &Index, source: &dyn Source, options: &Options<'_>) -> io::Result<(Plan, Shape)> {
    let mut mend = Mend {
        tree: Tree::new(index),
        source,
        options,
        edits: BTreeMap::new(),
        dropped: BTreeMap::new(),
        added: BTreeMap::new(),
        first: Vec::new(),
        renamed: HashMap::new(),
        findings: Findings::default(),
        orphans_fixed: 0,
    };
    mend.bytes();
    mend.duplicates()?;
    mend.ids();
    mend.times();
    mend.links();
    mend.stranded();
    let leaf = mend.leaf()?;
    mend.request(leaf)?;
    mend.finish(leaf)
}

/// What the mended conversation looks like: for reports, and to judge a repair by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    /// The walk from leaf to root after the repair.
    pub(crate) walk: Vec<RowNo>,
}

impl Mend<'_> {
    pub(super) fn edit(&mut self, no: RowNo) -> &mut Edit {
        self.edits.entry(no).or_default()
    }

    /// The id a row will have.
    pub(super) fn uuid_of(&self, no: RowNo) -> u128 {
        let edited = self.edits.get(&no).and_then(|edit| edit.uuid);
        edited.map_or(self.tree.row(no).uuid, |(_, uuid)| uuid)
    }

    /// The time a row will have.
    pub(super) fn time_of(&self, no: RowNo) -> i64 {
        let edited = self.edits.get(&no).and_then(|edit| edit.time);
        edited.map_or(self.tree.row(no).time, |(_, time)| time)
    }

    /// Hangs a row on another, or makes it a root.
    pub(super) fn set_parent(&mut self, no: RowNo, parent: Option<RowNo>, class: Class) {
        let id = parent.map(|parent| self.uuid_of(parent));
        self.tree.set_parent(no, parent);
        self.edit(no).parent = Some((class, id));
    }

    /// Takes a row out; its children hang on its parent.
    pub(super) fn drop_row(&mut self, no: RowNo, class: Class) {
        if !self.tree.gone.insert(no) {
            return;
        }
        self.dropped.insert(no, class);
        let parent = self.tree.parent[no as usize];
        let mut children = self.tree.children(no);
        children.retain(|child| *child != no);
        for child in children {
            self.set_parent(child, (parent != NONE && parent != child).then_some(parent), class);
        }
    }

    pub(super) fn row_bytes(&self, no: RowNo) -> io::Result<Vec<u8>> {
        let row = self.tree.row(no);
        self.source.bytes(row.offset, row.len as usize)
    }

    pub(super) fn found(&mut self, class: Class, no: RowNo, repair: &'static str) {
        self.findings.add(class, u64::from(no), repair);
    }
}
