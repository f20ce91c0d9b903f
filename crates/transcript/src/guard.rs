//! Whether a repair made anything worse: what each version of the agent reached before it and reaches after it.
//!
//! A repair never makes a version reach less than it reached before, prompts or replies, and never brings back what the
//! user had rewound. The comparison is with the file as it was, not with what the repair thinks of it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use memchr::memmem;

use crate::by_time::places_by_time;
use crate::flags::Flags;
use crate::index::{Index, NONE, RowNo};
use crate::json::{Node, Outline};
use crate::models::{Version, reached};
use crate::rewound::rewound;
use crate::same_id::copies;
use crate::scan::{AsSource, Transcript};
use crate::strangers::strangers;
use crate::tree::{RowSet, Tree};
use crate::written::Written;

/// What the agent writes by itself where the last row is the user's.
const SYNTHETIC: &str = "No response requested.";

/// How the keys begin by which a boundary names the rows that its compaction kept.
const KEPT: &[u8] = b"\"preserved";

/// How a repair would make a file worse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harm {
    /// The version of the agent that notices.
    pub version: Version,
    /// Whether it would reach something no more, or again.
    pub kind: HarmKind,
    /// The row, counted from 1 in the file before the repair.
    pub row: u64,
    /// The beginning of what the row says.
    pub said: String,
}

/// Which promise would be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarmKind {
    /// A prompt or a reply is lost.
    Loses,
    /// A turn that the user gave up comes back.
    BringsBack,
    /// Another version reaches the row, and this one does not, though neither or both did before.
    Parts,
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.number();
        match self.kind {
            HarmKind::Loses => write!(f, "Claude Code {version} would no longer reach")?,
            HarmKind::BringsBack => write!(f, "Claude Code {version} would get back what was rewound,")?,
            HarmKind::Parts => write!(f, "Claude Code {version} would not reach what other versions do,")?,
        }
        write!(f, " row {} ({:?})", self.row, self.said)
    }
}

impl<S: AsSource> Transcript<S> {
    /// What got worse since `before`, of which this file is the repair; nothing where all is well.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn harm_since<T: AsSource>(&self, before: &Transcript<T>) -> io::Result<Option<Harm>> {
        let mut guards = Vec::new();
        for version in Version::ALL {
            let guard = Guard {
                was: before.with_source(|source| reached(&before.index, source, version))?,
                is: self.with_source(|source| reached(&self.index, source, version))?,
                before,
                after: self,
                version,
            };
            if let Some(harm) = guard.harm()? {
                return Ok(Some(harm));
            }
            // Where lines are not rows, an agent may read other rows than we do.
            if let Some(before) = before.as_read(version)? {
                let was = before.with_source(|source| reached(&before.index, source, version))?;
                let as_read = Guard { was, is: guard.is.clone(), before: &before, after: self, version };
                if let Some(harm) = as_read.harm()? {
                    return Ok(Some(harm));
                }
            }
            guards.push(guard);
        }
        versions_part(&guards)
    }
}

impl<S: AsSource> Transcript<S> {
    /// The texts that a version of the agent sends after a resume.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn texts_reached(&self, version: Version) -> io::Result<HashSet<String>> {
        if let Some(as_read) = self.as_read(version)? {
            return as_read.texts_of(version);
        }
        self.texts_of(version)
    }

    fn texts_of(&self, version: Version) -> io::Result<HashSet<String>> {
        let rows = self.with_source(|source| reached(&self.index, source, version))?;
        let mut texts = HashSet::new();
        visit_texts(
            self,
            |no| rows.contains(no),
            |text| {
                texts.insert(text.to_owned());
            },
        )?;
        Ok(texts)
    }
}

/// The comparison for one version.
struct Guard<'a, S, T> {
    before: &'a Transcript<T>,
    after: &'a Transcript<S>,
    version: Version,
    /// Rows reached before, by their numbers before.
    was: RowSet,
    /// Rows reached after, by their numbers after.
    is: RowSet,
}

impl<S: AsSource, T: AsSource> Guard<'_, S, T> {
    fn harm(&self) -> io::Result<Option<Harm>> {
        let index = &self.before.index;
        let numbers = || 0..RowNo::try_from(index.rows.len()).unwrap_or(NONE);
        let mut now = RowSet::with_capacity(index.rows.len()); // reached after, by numbers before
        for no in numbers().filter(|no| self.is_reached_after(*no)) {
            now.insert(no);
        }
        let changed = |no: &RowNo| self.was.contains(*no) != now.contains(*no) || self.is_ambiguous(*no);
        let changed: Vec<RowNo> = numbers().filter(|no| speaks(index, *no)).filter(changed).collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let tree = Tree::new(index);
        let written = Written::of(&tree);
        let place = |no: RowNo| written.as_ref().map_or(no, |written| written.place(no));
        let strangers = self.before.with_source(|source| strangers(&tree, source))?.unwrap_or_default();
        let copies = copies(&tree);
        // Where the order of the file is in doubt, the times must say the same for a loss to be right, and they alone are
        // enough for a row to count as given up.
        let by_time = places_by_time(&tree, &place, written.is_some());
        let place_by_time =
            |no: RowNo| by_time.as_ref().map_or_else(|| place(no), |places| places[no as usize]);
        let by_file = rewound(&tree, &place, &now);
        let by_times = by_time.as_ref().map(|_| rewound(&tree, &place_by_time, &now).certain);
        let is_rewound =
            |no: RowNo| by_file.certain.contains(no) && by_times.as_ref().is_none_or(|set| set.contains(no));
        // Also where the later branch is not reached any more.
        let mut all = RowSet::with_capacity(index.rows.len());
        numbers().for_each(|no| {
            all.insert(no);
        });
        let by_any = by_time.as_ref().map(|_| rewound(&tree, &place_by_time, &all).certain);
        let may_be_rewound =
            |no: RowNo| by_file.likely.contains(no) || by_any.as_ref().is_some_and(|set| set.contains(no));
        let texts_after = texts(self.after, |no| self.is.contains(no))?;
        let texts_before = texts(self.before, |no| self.was.contains(no))?;
        let compaction = self.compaction(&now, &copies, &place);
        // What stands before a compaction is summed up in it.
        let is_summed_up = |no: RowNo| {
            compaction.is_some_and(|compaction| {
                place(no) < place(compaction) && place_by_time(no) < place_by_time(compaction)
            })
        };
        let is_stranger = |no: RowNo| strangers.rows.contains(no) && !strangers.doubtful.contains(no);
        for no in changed.into_iter().filter(|no| !is_stranger(*no)) {
            let mut said = Vec::new();
            each_text(self.before, no, |text| said.push(TextId::of(text)))?;
            let lost = self.was.contains(no) && said.iter().any(|text| !texts_after.contains(text));
            // A copy stands where the first one stands. One that says something else and follows another row may be another
            // row of the same time.
            let mut first = copies.get(&no).copied().unwrap_or(no);
            if index.rows[first as usize].parent != index.rows[no as usize].parent {
                let mut of_first = Vec::new();
                each_text(self.before, first, |text| of_first.push(TextId::of(text)))?;
                first = if of_first == said { first } else { no };
            }
            if lost && !is_rewound(first) && !is_summed_up(first) {
                return self.found(HarmKind::Loses, no).map(Some);
            }
            let back = !self.was.contains(no) && now.contains(no) && may_be_rewound(first);
            let is_new = |text: &TextId| texts_after.contains(text) && !texts_before.contains(text);
            if back && said.iter().any(is_new) {
                return self.found(HarmKind::BringsBack, no).map(Some);
            }
        }
        Ok(None)
    }

    /// The last compaction that is reached now: its boundary, or its summary where that is all there is. A summary may stand
    /// behind what was said since, where lines moved.
    fn compaction(
        &self,
        now: &RowSet,
        copies: &HashMap<RowNo, RowNo>,
        place: &dyn Fn(RowNo) -> RowNo,
    ) -> Option<RowNo> {
        let rows = &self.before.index.rows;
        let last = |flag: Flags| {
            let reached = (0..RowNo::try_from(rows.len()).unwrap_or(NONE))
                .filter(|no| now.contains(*no) && rows[*no as usize].is(flag));
            reached.map(|no| copies.get(&no).copied().unwrap_or(no)).max_by_key(|no| place(*no))
        };
        last(Flags::COMPACT_BOUNDARY).or_else(|| last(Flags::COMPACT_SUMMARY))
    }

    fn found(&self, kind: HarmKind, no: RowNo) -> io::Result<Harm> {
        let mut said: Option<String> = None;
        each_text(self.before, no, |text| {
            said.get_or_insert_with(|| text.chars().take(40).collect());
        })?;
        let said = said.unwrap_or_default();
        Ok(Harm { version: self.version, kind, row: self.before.index.line_of(no), said })
    }

    fn is_reached_after(&self, no: RowNo) -> bool {
        let uuid = self.before.index.rows[no as usize].uuid;
        uuid != 0 && self.after.index.find(uuid).is_some_and(|now| self.is.contains(now))
    }

    /// Whether several rows had the id: then it does not tell which one is meant.
    fn is_ambiguous(&self, no: RowNo) -> bool {
        self.before.index.rows[no as usize].is(Flags::REPEATED)
    }
}

/// The first prompt or reply since the last compaction that only some versions reach after the repair, where that is new.
/// A repair makes all of them resume at the same turn.
fn versions_part<S: AsSource, T: AsSource>(guards: &[Guard<'_, S, T>]) -> io::Result<Option<Harm>> {
    let Some(Guard { before, after, .. }) = guards.first() else { return Ok(None) };
    // Only 2.1.325 goes back where the user did so on purpose and has said nothing since.
    if after.index.checkpoint.is_some_and(|checkpoint| checkpoint.explicit) {
        return Ok(None);
    }
    let rows = &after.index.rows;
    let numbers = || 0..RowNo::try_from(rows.len()).unwrap_or(NONE);
    // What a compaction kept of the time before it only newer agents show.
    let is_boundary = |no: &RowNo| rows[*no as usize].is(Flags::COMPACT_BOUNDARY);
    let boundary = numbers().rev().find(|no| is_boundary(no) && guards.iter().any(|it| it.is.contains(*no)));
    let bytes = boundary.map(|no| after.row_bytes(&rows[no as usize])).transpose()?;
    let since = boundary.filter(|_| bytes.is_some_and(|row| memmem::find(&row, KEPT).is_some()));
    // Of calls side by side 2.1.31 reaches one (B10).
    let counts = |no: &RowNo| {
        speaks(&after.index, *no) && !rows[*no as usize].flags.intersects(Flags::HAS_CALL | Flags::HAS_RESULT)
    };
    let parts = |no: &RowNo| guards.iter().any(|it| it.is.contains(*no) != guards[0].is.contains(*no));
    let parted: Vec<RowNo> =
        numbers().filter(|no| since.is_none_or(|since| *no > since)).filter(counts).filter(parts).collect();
    if parted.is_empty() {
        return Ok(None);
    }
    let before_rows = &before.index.rows;
    let ids_reached = |was: &RowSet| -> HashSet<u128> {
        let reached = (0..).zip(before_rows).filter(|(no, _)| was.contains(*no));
        reached.map(|(_, row)| row.uuid).collect()
    };
    let was: Vec<HashSet<u128>> = guards.iter().map(|it| ids_reached(&it.was)).collect();
    for no in parted {
        let id = rows[no as usize].uuid;
        let as_before = guards.iter().zip(&was).all(|(it, was)| it.is.contains(no) == was.contains(&id));
        let misses = guards.iter().find(|it| !it.is.contains(no)).filter(|_| !as_before);
        if let Some((guard, old)) = misses.zip(before.index.find(id)) {
            let harm = guard.found(HarmKind::Parts, old)?;
            // What stands for a message that cannot be read says nothing that could be missed.
            if !harm.said.is_empty() {
                return Ok(Some(harm));
            }
        }
    }
    Ok(None)
}

/// Whether a row may be a prompt, a reply or a compaction's summary: what the guard watches over.
fn speaks(index: &Index, no: RowNo) -> bool {
    let row = &index.rows[no as usize];
    row.kind().is_turn()
        && row.is(Flags::SAYS)
        && !row.flags.intersects(Flags::SIDECHAIN | Flags::META | Flags::API_ERROR)
}

/// What stands for a text: the texts of a large file would take as much memory as the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct TextId(u64, u64);

impl TextId {
    fn of(text: &str) -> TextId {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, text).hash(&mut hasher);
            hasher.finish()
        };
        TextId(half(0), half(1))
    }
}

/// What the rows of a set say, text by text.
fn texts<S: AsSource>(of: &Transcript<S>, wanted: impl Fn(RowNo) -> bool) -> io::Result<HashSet<TextId>> {
    let mut texts = HashSet::new();
    visit_texts(of, wanted, |text| {
        texts.insert(TextId::of(text));
    })?;
    Ok(texts)
}

fn visit_texts<S: AsSource>(
    of: &Transcript<S>,
    wanted: impl Fn(RowNo) -> bool,
    mut visit: impl FnMut(&str),
) -> io::Result<()> {
    for no in 0..RowNo::try_from(of.index.rows.len()).unwrap_or(NONE) {
        if wanted(no) && of.index.rows[no as usize].kind().is_turn() {
            each_text(of, no, &mut visit)?;
        }
    }
    Ok(())
}

/// The texts of one row, as a repair may leave them: what the API refuses in a text is replaced. One at a time: a text may
/// be as large as the file.
fn each_text<S: AsSource>(of: &Transcript<S>, no: RowNo, mut visit: impl FnMut(&str)) -> io::Result<()> {
    let row = &of.index.rows[no as usize];
    let bytes = of.row_bytes(row)?;
    let outline = Outline::parse(&bytes);
    let Some(content) = outline.as_ref().and_then(|row| row.get("message")?.get("content")) else {
        return Ok(());
    };
    let mut one = |text: Option<String>| {
        let Some(text) = text else { return };
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
        if !text.trim().is_empty() && text != SYNTHETIC {
            visit(&text);
        }
    };
    match &content.node {
        Node::String(_) => one(content.text(&bytes)),
        Node::Array(items) => {
            items.iter().for_each(|item| one(item.get("text").and_then(|text| text.text(&bytes))));
        }
        _ => {}
    }
    Ok(())
}
