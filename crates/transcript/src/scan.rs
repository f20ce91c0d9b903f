//! The verdict on one transcript.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use serde::Serialize;

use crate::branches::Forks;
use crate::class::{Class, Recipe};
use crate::facts::Kind;
use crate::files;
use crate::flags::Flags;
use crate::index::{Index, Row, RowNo, canonical};
use crate::lines::Buffer;
use crate::mend::{self, Options};
use crate::plan::{Change, Finding, Plan};
use crate::reach::Loss;
use crate::rewritten::{self, Form, HEAD};
use crate::source::Source;
use crate::tree::Tree;

/// What is said of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing to do.
    Healthy,
    /// A repair would change it.
    Corrupted,
    /// Nothing was ever said in it.
    Empty,
    /// Something was said in it, and neither the file nor the vault has it.
    Unrecoverable,
    /// There is no file.
    Missing,
    /// It cannot be opened, or no row parses.
    Unreadable,
}

impl Status {
    /// The word for it in tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Status::Healthy => "healthy",
            Status::Corrupted => "corrupted",
            Status::Empty => "empty",
            Status::Unrecoverable => "unrecoverable",
            Status::Missing => "missing",
            Status::Unreadable => "unreadable",
        }
    }
}

/// What one file is like.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The verdict by the file alone.
    pub status: Status,
    /// Rows on the walk from the last row to the root, or to where it breaks.
    pub chain_depth: u64,
    /// Rows whose parent is no row of the file.
    pub orphan_count: u64,
    /// Rows with a uuid.
    pub message_count: u64,
    /// Bytes.
    pub file_size: u64,
    /// What is wrong or worth knowing.
    pub findings: Vec<Finding>,
    /// What a resume would lose.
    pub loss: Loss,
    /// Where it forks, and why.
    pub forks: Forks,
    /// Where the conversation was held, by its own rows.
    pub cwd: Option<String>,
    /// The session id its rows carry.
    pub inner_session: Option<String>,
}

/// A transcript that has been read once; its rows are read again where they are needed.
pub struct Transcript<S> {
    pub(crate) index: Index,
    pub(crate) source: S,
    pub(crate) name: Option<String>,
    fallback_time: i64,
    subagents: Option<std::path::PathBuf>,
    /// How another program wrote the file anew, where one did (A13).
    pub(crate) form: Option<Form>,
}

impl Transcript<File> {
    /// Reads a file. The session's name is the file's.
    pub fn open(path: &Path, buffer: &mut Buffer) -> io::Result<Transcript<File>> {
        let file = files::open(path)?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        Transcript::from_file(file, name, Some(path.with_extension("").join("subagents")), buffer)
    }

    /// Reads an open file under a name of its own, such as a repair's result that is not in place yet.
    pub fn from_file(
        mut file: File,
        name: Option<String>,
        subagents: Option<std::path::PathBuf>,
        buffer: &mut Buffer,
    ) -> io::Result<Transcript<File>> {
        let mut head = [0; HEAD];
        file.rewind()?;
        let read = file.read(&mut head)?;
        let again = || {
            let mut file = &file;
            file.rewind()?;
            Ok(file)
        };
        let session = name.as_deref().filter(|name| is_uuid(name));
        let (index, form) = rewritten::read_index(&head[..read], session, again, buffer)?;
        let modified = file.metadata()?.modified().ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let fallback_time = since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default();
        // Rows without a time get ones from here on, a millisecond each; the newest must not be in the future.
        let fallback_time = fallback_time - i64::try_from(index.rows.len()).unwrap_or_default();
        Ok(Transcript { index, source: file, name, fallback_time, subagents, form })
    }

    /// The file it was read from.
    pub fn file(&self) -> &File {
        &self.source
    }

    /// The file it was read from, for whoever goes on with it.
    pub fn into_file(self) -> File {
        self.source
    }
}

impl<'a> Transcript<&'a [u8]> {
    /// Reads bytes in memory.
    pub fn of(bytes: &'a [u8], name: Option<&str>) -> Transcript<&'a [u8]> {
        let session = name.filter(|name| is_uuid(name));
        let read = rewritten::read_index(bytes, session, || Ok(bytes), &mut Buffer::default());
        let (index, form) = read.unwrap_or_default();
        let name = name.map(str::to_owned);
        Transcript { index, source: bytes, name, fallback_time: 0, subagents: None, form }
    }
}

impl<S: AsSource> Transcript<S> {
    /// The plan that mends it, and the verdict.
    pub fn examine(&self) -> io::Result<(Scan, Plan)> {
        self.examine_branch(None)
    }

    /// As [`Transcript::examine`], with the branch that ends at this row made the live one.
    pub(crate) fn examine_branch(&self, branch: Option<RowNo>) -> io::Result<(Scan, Plan)> {
        let in_subagents =
            |ids: &[u128]| self.subagents.as_deref().map_or(Vec::new(), |dir| subagent_ids(dir, ids));
        let options = Options { fallback_time: self.fallback_time, in_subagents: &in_subagents, branch };
        let (mut plan, shape) = self.with_source(|source| mend::plan(&self.index, source, &options))?;
        if let Some(form) = self.form {
            plan = rewrite(form, plan);
        }
        let mut loss =
            if plan.findings.is_empty() { Loss::default() } else { Loss::of(&self.index, &shape.walk) };
        if let Some(form) = self.form {
            loss.older = loss.prompts;
            if !form.newest_agent_reads_it() {
                loss.newer = loss.prompts;
            }
        }
        for finding in &mut plan.findings {
            finding.loses = loses(finding.class, loss);
        }
        let mut findings = plan.findings.clone();
        let tree = Tree::new(&self.index);
        let forks = self.forks(&tree, &shape.walk)?;
        findings.extend(self.notes());
        if forks.stranded > 0 && branch.is_none() {
            findings.push(Finding {
                class: Class::B7,
                rows: Vec::new(),
                count: forks.stranded,
                loses: "nothing, or all of a branch: two processes wrote at the same time".to_owned(),
                repair: "yours to choose: see `branches`, then `repair --branch N`".to_owned(),
            });
        }
        findings.sort_by_key(|finding| finding.class);
        let scan = Scan {
            status: self.status(&plan),
            chain_depth: chain_depth(&tree),
            orphan_count: self.orphan_count().saturating_sub(shape.elsewhere),
            message_count: self
                .index
                .rows
                .iter()
                .filter(|row| row.uuid != 0 && !row.is(Flags::NO_UUID))
                .count() as u64,
            file_size: self.index.size,
            findings,
            loss,
            forks,
            cwd: self.index.cwd.clone(),
            inner_session: self.index.session.clone(),
        };
        Ok((scan, plan))
    }

    /// The same file with another reading of it.
    pub(crate) fn with_index<T>(&self, index: Index, source: T) -> Transcript<T> {
        let (name, fallback_time) = (self.name.clone(), self.fallback_time);
        Transcript { index, source, name, fallback_time, subagents: None, form: None }
    }

    /// The bytes of a row as the agent wrote it.
    pub(crate) fn row_bytes(&self, row: &Row) -> io::Result<Vec<u8>> {
        self.with_source(|source| source.bytes(row.offset, row.len as usize))
    }

    /// Reads rows as the agent wrote them.
    pub(crate) fn with_source<T>(&self, read: impl FnOnce(&dyn Source) -> T) -> T {
        let source = self.source.as_source();
        match self.form {
            Some(form) => read(&rewritten::Rows { source, form }),
            None => read(source),
        }
    }

    fn status(&self, plan: &Plan) -> Status {
        let turns = self.index.rows.iter().any(|row| row.kind().is_turn());
        if self.index.rows.is_empty() {
            Status::Unreadable
        } else if !turns && self.was_never_spoken_in() {
            Status::Empty
        } else if !turns {
            Status::Unrecoverable
        } else if plan.is_empty() {
            Status::Healthy
        } else {
            Status::Corrupted
        }
    }

    /// Whether nothing in a file without turns shows that there were any: no broken line, no row that follows one that is not
    /// here, and none of the rows by which the agent remembers what was said.
    fn was_never_spoken_in(&self) -> bool {
        let remembers = |row: &Row| matches!(row.kind(), Kind::Summary | Kind::LastPrompt);
        self.index.broken.is_empty()
            && self.index.dangling.is_empty()
            && !self.index.rows.iter().any(remembers)
    }

    fn orphan_count(&self) -> u64 {
        let kinds = |no: RowNo| self.index.rows[no as usize].kind();
        self.index
            .dangling
            .iter()
            .filter(|(no, _)| kinds(*no).in_tree() || kinds(*no) == Kind::Progress)
            .count() as u64
    }

    /// What is worth knowing though no repair changes it.
    fn notes(&self) -> Vec<Finding> {
        const JUNK: u32 = 10 << 20;
        let mut notes = Vec::new();
        let mut note = |class: Class, rows: Vec<u64>, repair: &str| {
            let count = rows.len() as u64;
            let rows = rows.into_iter().take(100).collect();
            notes.push(Finding {
                class,
                rows,
                count,
                loses: "nothing".to_owned(),
                repair: repair.to_owned(),
            });
        };
        let rows = || self.index.rows.iter().zip(0..);
        let junk = rows().filter(|(row, _)| row.len > JUNK);
        let junk: Vec<u64> = junk.map(|(_, no)| self.index.line_of(no)).collect();
        if !junk.is_empty() {
            note(Class::A5, junk, "nothing: they are large, not broken");
        }
        let turns = rows().any(|(row, _)| row.kind().is_turn());
        if !turns && !self.index.rows.is_empty() && !self.was_never_spoken_in() {
            note(Class::A6, vec![1], "the vault's copy is put back, where there is one");
        }
        if let (Some(name), Some(inner)) =
            (self.name.as_deref().filter(|name| is_uuid(name)), &self.index.session)
            && name != inner
            && rows().all(|(row, _)| row.uuid == 0 || row.is(Flags::FOREIGN_SESSION))
        {
            note(Class::D5, vec![1], "nothing: resume it by the file's name");
        }
        notes
    }
}

/// How many rows lie between the last row with a place in the conversation and its root.
fn chain_depth(tree: &Tree<'_>) -> u64 {
    let last = tree.numbers().rev().find(|no| {
        let row = tree.row(*no);
        row.uuid != 0 && !row.is(Flags::SIDECHAIN) && (row.kind().in_tree() || row.kind() == Kind::Progress)
    });
    last.map_or(0, |last| tree.walk(last).len() as u64)
}

/// The plan for a file that another program wrote anew: its rows get lines of their own. What else is wrong is named, and
/// mended in the next round.
fn rewrite(form: Form, later: Plan) -> Plan {
    let (before, repair) = form.words();
    let finding = Finding {
        class: Class::A13,
        rows: vec![1],
        count: 1,
        loses: String::new(),
        repair: format!("{before}: {repair}"),
    };
    let change = Change {
        class: Class::A13,
        row: 1,
        what: "file".to_owned(),
        before: Some(before.to_owned()),
        after: Some("one row per line".to_owned()),
    };
    let findings = std::iter::once(finding).chain(later.findings).collect();
    Plan { findings, changes: vec![change], rewritten: Some(form), ..Plan::default() }
}

/// What each class costs, in words.
fn loses(class: Class, loss: Loss) -> String {
    let every_turn = "every further turn: the API refuses the request";
    match class {
        Class::A1 => "the next row, which would be glued on".to_owned(),
        Class::A2 | Class::A3 | Class::A4 => "the rows on that line; on some agents all behind it".to_owned(),
        Class::A8 => "the whole conversation on older agents".to_owned(),
        Class::A9 | Class::C1 | Class::C2 | Class::C3 | Class::C4 => every_turn.to_owned(),
        Class::C5 | Class::C6 | Class::C7 | Class::C8 | Class::C9 | Class::C10 | Class::C11 => {
            every_turn.to_owned()
        }
        Class::A10 => "the first row on some agents".to_owned(),
        Class::A11 => "nothing but space".to_owned(),
        _ if loss.older.max(loss.newer) == 0 => "no prompt today".to_owned(),
        _ => format!("{} of {} prompts", loss.older.max(loss.newer), loss.prompts),
    }
}

/// Which of these ids are rows of a subagent's file (B3). Each file is read once, whatever the number of ids.
fn subagent_ids(folder: &Path, ids: &[u128]) -> Vec<u128> {
    const KEY: &[u8] = b"\"uuid\":\"";
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let asked: HashSet<u128> = ids.iter().copied().collect();
    let key = memchr::memmem::Finder::new(KEY);
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let Some(bytes) = files::read(&path).ok() else { continue };
        for at in key.find_iter(&bytes) {
            let text =
                bytes.get(at + KEY.len()..at + KEY.len() + 37).and_then(|text| text.strip_suffix(b"\""));
            found.extend(text.and_then(canonical).filter(|id| asked.contains(id)));
        }
    }
    found
}

pub(crate) fn is_uuid(name: &str) -> bool {
    crate::json::is_uuid_text(name.as_bytes())
}

/// Lets one type hold a file or borrowed bytes.
pub trait AsSource {
    /// The source itself.
    fn as_source(&self) -> &dyn Source;
}

impl AsSource for File {
    fn as_source(&self) -> &dyn Source {
        self
    }
}

impl AsSource for &[u8] {
    fn as_source(&self) -> &dyn Source {
        self
    }
}

impl Source for &[u8] {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_exact_at(offset, buffer)
    }
}

/// Whether the class alone makes a session one that only a copy can help.
pub fn needs_copy(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.class.recipe() == Recipe::Vault)
}

/// Repairs bytes in memory, again and again until nothing is left to do. Returns the bytes and every change.
///
/// # Errors
/// None in practice: memory does not fail to be read.
pub fn repair_bytes(bytes: &[u8], name: Option<&str>) -> io::Result<(Vec<u8>, Vec<Plan>)> {
    let mut bytes = bytes.to_vec();
    let mut plans = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let (_, plan) = Transcript::of(&bytes, name).examine()?;
        if plan.is_empty() {
            break;
        }
        bytes = plan.apply_to_bytes(&bytes);
        plans.push(plan);
    }
    Ok((bytes, plans))
}

/// One round mends nearly everything; what a round uncovers (a row that was torn off gets an id, then a place)
/// takes another; rows of another session, a changed order and ids that two rows share take one each before that. More
/// means that two recipes disagree, and the repair is refused.
pub const MOST_ROUNDS: usize = 9;
