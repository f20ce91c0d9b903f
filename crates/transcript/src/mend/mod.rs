//! Plans a repair: bytes, duplicates, ids, times, links, stranded turns, leaf, request, in this order, each idempotent.
//!
//! Nothing is written here. Steps change the tree and note edits per row; [`finish`] turns them into splices, so
//! that every row nobody edits is copied byte for byte.

mod bytes;
mod duplicates;
mod ends;
mod finish;
mod ids;
mod leaf;
mod links;
mod message;
mod order;
mod pairs;
mod request;
mod row_text;
mod runs;
mod stranded;
mod strangers;
mod times;

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::class::Class;
use crate::index::{Index, NONE, RowNo};
use crate::plan::Plan;
use crate::skips::Skips;
use crate::source::Source;
use crate::tree::Tree;
use crate::written::Written;

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
struct Edit {
    parent: Option<(Class, Option<u128>)>,
    uuid: Option<(Class, u128)>,
    time: Option<(Class, i64)>,
    leaf: Option<(Class, u128)>,
    /// The row whose message it gets: a later copy that still has one.
    message_of: Option<RowNo>,
    fixes: Fixes,
    /// Rewrites of ids that other fields refer to.
    references: bool,
}

/// A row that is not in the file yet.
#[derive(Debug)]
struct NewRow {
    class: Class,
    bytes: Vec<u8>,
}

/// A repair being planned.
struct Mend<'a> {
    tree: Tree<'a>,
    source: &'a dyn Source,
    options: &'a Options<'a>,
    edits: BTreeMap<RowNo, Edit>,
    /// Rows that go, and why.
    dropped: BTreeMap<RowNo, Class>,
    /// New rows behind a row of the file.
    added: BTreeMap<RowNo, Vec<NewRow>>,
    /// New rows before all others.
    first: Vec<NewRow>,
    /// New ids by old ones, for what refers to them.
    renamed: HashMap<u128, u128>,
    findings: Findings,
    orphans_fixed: u64,
    skips: MendSkips,
    /// Rows of a subagent whose parent is in the subagent's own file.
    elsewhere: u64,
    /// The first row behind it that follows a row; for the few that ask.
    first_children: HashMap<RowNo, Option<RowNo>>,
    /// Whether the links are mended in the next round: it must still see where a row was torn.
    another_round: bool,
}

/// Rows that were looked at in vain.
#[derive(Default)]
struct MendSkips {
    /// Rows that are no turns of the main conversation.
    turns: Skips,
    /// Rows that are no turns, or calls that were never answered, or late results.
    settled: Skips,
    /// Rows that say nothing which agents keep.
    said: Skips,
}

/// Findings by class while they are gathered.
#[derive(Default)]
struct Findings(BTreeMap<Class, (Vec<u64>, u64, &'static str)>);

impl Findings {
    /// Notes a line of the file, counted from 1.
    fn add(&mut self, class: Class, line: u64, repair: &'static str) {
        let (rows, count, _) = self.0.entry(class).or_insert((Vec::new(), 0, repair));
        *count += 1;
        if rows.len() < 100 {
            rows.push(line);
        }
    }
}

/// Plans the repair of an indexed file.
pub(crate) fn plan(index: &Index, source: &dyn Source, options: &Options<'_>) -> io::Result<(Plan, Shape)> {
    let in_place = plan_in_place(index, source, options)?;
    // Which branch lives is told by a row's number: then the rows stay where they are.
    let moved = if options.branch.is_none() { order::plan(index, source, &in_place.0)? } else { None };
    Ok(moved.unwrap_or(in_place))
}

/// Plans a repair that leaves every line in its place.
fn plan_in_place(index: &Index, source: &dyn Source, options: &Options<'_>) -> io::Result<(Plan, Shape)> {
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
        skips: MendSkips::default(),
        elsewhere: 0,
        first_children: HashMap::new(),
        another_round: false,
    };
    mend.bytes();
    if mend.glued_in_another_order() || mend.strangers()? || mend.duplicates()? {
        mend.another_round = true;
        let leaf = mend.live_end().and_then(|end| mend.tree.climb(end));
        return mend.finish(leaf);
    }
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
    /// How many rows rightly follow a row of a subagent's file.
    pub(crate) elsewhere: u64,
}

impl Mend<'_> {
    /// Whether lines have to move and some of them hold several rows: first each row gets a line of its own.
    fn glued_in_another_order(&self) -> bool {
        order::several_rows_on_a_line(self.tree.index) && Written::of(&self.tree).is_some()
    }

    fn edit(&mut self, no: RowNo) -> &mut Edit {
        self.edits.entry(no).or_default()
    }

    /// The id a row will have.
    fn uuid_of(&self, no: RowNo) -> u128 {
        let edited = self.edits.get(&no).and_then(|edit| edit.uuid);
        edited.map_or(self.tree.row(no).uuid, |(_, uuid)| uuid)
    }

    /// The time a row will have.
    fn time_of(&self, no: RowNo) -> i64 {
        let edited = self.edits.get(&no).and_then(|edit| edit.time);
        edited.map_or(self.tree.row(no).time, |(_, time)| time)
    }

    /// Hangs a row on another, or makes it a root.
    fn set_parent(&mut self, no: RowNo, parent: Option<RowNo>, class: Class) {
        let id = parent.map(|parent| self.uuid_of(parent));
        self.tree.set_parent(no, parent);
        self.edit(no).parent = Some((class, id));
    }

    /// Takes a row out; its children hang on its parent.
    fn drop_row(&mut self, no: RowNo, class: Class) {
        if !self.tree.remove(no) {
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

    fn row_bytes(&self, no: RowNo) -> io::Result<Vec<u8>> {
        let row = self.tree.row(no);
        self.source.bytes(row.offset, row.len as usize)
    }

    fn found(&mut self, class: Class, no: RowNo, repair: &'static str) {
        self.findings.add(class, self.tree.index.line_of(no), repair);
    }
}
