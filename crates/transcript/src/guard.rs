//! Whether a repair made anything worse: what each version of the agent reached before it and reaches after it.
//!
//! A repair never makes a version reach less than it reached before, prompts or replies, and never brings back what the
//! user had rewound. The comparison is with the file as it was, not with what the repair thinks of it.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

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
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.number();
        match self.kind {
            HarmKind::Loses => write!(f, "Claude Code {version} would no longer reach")?,
            HarmKind::BringsBack => write!(f, "Claude Code {version} would get back what was rewound,")?,
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
                let guard = Guard { was, is: guard.is, before: &before, after: self, version };
                if let Some(harm) = guard.harm()? {
                    return Ok(Some(harm));
                }
            }
        }
        Ok(None)
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
        let left = rewound(&tree, &place, &now);
        // Where lines have moved, their order is a guess, and the times must say the same.
        let times = written.is_some().then(|| places_by_time(&tree));
        let by_time = times.as_ref().map(|times| rewound(&tree, &|no| times[no as usize], &now));
        let may_go = |no: RowNo| left.contains(no) && by_time.as_ref().is_none_or(|left| left.contains(no));
        let may_not_come =
            |no: RowNo| left.contains(no) || by_time.as_ref().is_some_and(|left| left.contains(no));
        let texts_after = texts(self.after, |no| self.is.contains(no))?;
        let texts_before = texts(self.before, |no| self.was.contains(no))?;
        let opens = Flags::COMPACT_BOUNDARY | Flags::COMPACT_SUMMARY;
        let compaction = numbers()
            .filter(|no| now.contains(*no) && index.rows[*no as usize].flags.intersects(opens))
            .map(|no| copies.get(&no).copied().unwrap_or(no))
            .max_by_key(|no| place(*no));
        let is_stranger = |no: RowNo| strangers.rows.contains(no) && !strangers.doubtful.contains(no);
        for no in changed.into_iter().filter(|no| !is_stranger(*no)) {
            let mut said = Vec::new();
            each_text(self.before, no, |text| said.push(TextId::of(text)))?;
            let lost = self.was.contains(no) && said.iter().any(|text| !texts_after.contains(text));
            // A copy stands where the first one stands. One that says something else may be another row of the same time.
            let mut first = copies.get(&no).copied().unwrap_or(no);
            if first != no {
                let mut of_first = Vec::new();
                each_text(self.before, first, |text| of_first.push(TextId::of(text)))?;
                first = if of_first == said { first } else { no };
            }
            let since = |then: i64| self.is_since(first, then);
            // The order of the lines is a guess where they moved: what was said since a compaction is not summed up in it.
            let is_summed_up = || {
                compaction.is_some_and(|compaction| {
                    let then = index.rows[compaction as usize].time;
                    place(first) < place(compaction) && !(written.is_some() && since(then))
                })
            };
            if lost && !may_go(first) && !is_summed_up() {
                return self.found(HarmKind::Loses, no).map(Some);
            }
            let back = !self.was.contains(no) && now.contains(no) && may_not_come(first);
            let is_new = |text: &TextId| texts_after.contains(text) && !texts_before.contains(text);
            if back && said.iter().any(is_new) {
                return self.found(HarmKind::BringsBack, no).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether a row was written after a point in time. One time alone may be wrong: so must be the row that it follows.
    fn is_since(&self, no: RowNo, then: i64) -> bool {
        let rows = &self.before.index.rows;
        let is_newer = |no: RowNo| rows.get(no as usize).is_some_and(|row| row.time > then);
        then != i64::MIN && is_newer(no) && is_newer(rows[no as usize].parent)
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
