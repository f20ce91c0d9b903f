//! A transcript in 48 bytes per row: who it is, whom it follows, when, where in the file, and what is odd.

use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Read};
use std::sync::OnceLock;

use hashbrown::HashTable;
use uuid::Uuid;

use crate::facts::{Block, Facts, Kind, ParentField};
use crate::flags::Flags;
use crate::image::Picture;
use crate::json::decode;
use crate::lines::{self, Buffer, Line};
use crate::respelled::Spellings;
use crate::rewritten::{self, Form};
use crate::salvage::{Piece, salvage};
use crate::time::Time;
use crate::torn::Torn;
use crate::visits::visit;

/// A row's number in file order.
pub(crate) type RowNo = u32;

/// Stands for "no row".
pub(crate) const NONE: RowNo = RowNo::MAX;

/// Ids that are no UUIDs get one by this name space, the same at every run (B14).
pub(crate) const MINT: Uuid = Uuid::from_u128(0x7265_6b69_6e64_5c65_8d1e_b6d1_5a0c_2f11);

/// How far back a parent is looked for before it is left for the end. Nearly every parent is the row before.
const NEAR: usize = 6;

/// A file with more lines that are no rows, and hardly any that are, was most likely written anew: each such line would
/// take more memory than it is long.
const MOST_BROKEN: usize = 4_096;

/// One row. Two fields are packed, for memory is the limit of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The id, or zero for rows that have none.
    pub(crate) uuid: u128,
    pub(crate) offset: u64,
    /// Milliseconds since 1970; `i64::MIN` where there is no date.
    pub(crate) time: i64,
    pub(crate) len: u32,
    /// The row it follows, or [`NONE`]: a root, or dangling (see [`Index::dangling`]).
    pub(crate) parent: RowNo,
    pub(crate) flags: Flags,
    /// 29 bits of the reply's id, 3 of the kind.
    packed: u32,
}

impl Row {
    pub(crate) fn kind(&self) -> Kind {
        const KINDS: [Kind; 8] = [
            Kind::User,
            Kind::Assistant,
            Kind::System,
            Kind::Attachment,
            Kind::Progress,
            Kind::Summary,
            Kind::LastPrompt,
            Kind::Other,
        ];
        KINDS[(self.packed & 7) as usize]
    }

    /// Tells rows of one reply from those of another; zero for rows that are no reply.
    pub(crate) fn reply(&self) -> u32 {
        self.packed >> 3
    }

    pub(crate) fn is(&self, flag: Flags) -> bool {
        self.flags.contains(flag)
    }

    /// Whether every version keeps this row in its tree.
    pub(crate) fn in_tree(&self) -> bool {
        self.uuid != 0 && self.kind().in_tree()
    }
}

/// A tool block, in file order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) id: u64,
    pub(crate) row: RowNo,
    pub(crate) role: ToolRole,
}

/// Which end of a pair a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolRole {
    Call,
    Result,
    ServerCall,
    ServerResult,
}

/// Every tool call and result: its id, and its row; sorted.
pub(crate) struct Pairs {
    pub(crate) calls: Vec<(u64, RowNo)>,
    pub(crate) results: Vec<(u64, RowNo)>,
}

/// A line that is no row.
#[derive(Debug, Clone)]
pub(crate) struct BrokenLine {
    /// Its number, from 1.
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) ended: bool,
    pub(crate) pieces: Vec<Piece>,
    /// What is left of the row that was torn on it.
    pub(crate) torn: Option<Torn>,
}

/// What a `last-prompt` row says of the leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checkpoint {
    pub(crate) row: RowNo,
    pub(crate) leaf: Option<u128>,
    /// The user went back on purpose: binding, whatever was written before.
    pub(crate) explicit: bool,
}

/// Everything a scan keeps of a file.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) size: u64,
    pub(crate) rows: Vec<Row>,
    pub(crate) tools: Vec<Tool>,
    /// Rows with base64 in them, and how much.
    pub(crate) payloads: Vec<(RowNo, u32)>,
    /// Rows with pictures, and each one's longest side.
    pub(crate) pictures: Vec<(RowNo, u32)>,
    /// Rows whose parent is no row of the file, and the parent's id.
    pub(crate) dangling: Vec<(RowNo, u128)>,
    /// Those of them whose parent is there, its id spelt in another way, and the parent.
    pub(crate) respelled: Vec<(RowNo, RowNo)>,
    spellings: Spellings,
    /// The newest `last-prompt` row since the last compaction (a boundary forgets it, measured on 2.1.325).
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Rows whose time has no zone.
    pub(crate) local_times: Vec<RowNo>,
    /// Whether there is a compaction's summary.
    summaries: bool,
    /// Where the user went back to before the first prompt: the next root is no damage.
    pub(crate) emptied: Vec<RowNo>,
    /// Compaction boundaries. Nobody reads their `logicalParentUuid` (measured), so neither do we.
    pub(crate) boundaries: Vec<RowNo>,
    /// Those of the main conversation.
    pub(crate) main_boundaries: Vec<RowNo>,
    pub(crate) broken: Vec<BrokenLine>,
    /// Whether a byte order mark stands before the first row.
    byte_order_mark: bool,
    /// How many lines were read.
    lines: u64,
    /// From which row on the number of a row's line is this much larger than the row's own number. Nothing where every line
    /// is a row.
    line_shifts: Vec<(RowNo, i64)>,
    /// The most lines that are no rows one behind the other.
    pub(crate) broken_run: u64,
    /// How many there are right before the line that comes.
    run: u64,
    /// Whether nearly all lines are no rows, and the rest was not looked at.
    pub(crate) gave_up: bool,
    /// Whether the last row is whole but its newline is missing.
    pub(crate) open_end: bool,
    /// Where the rows say they were written.
    pub(crate) cwd: Option<String>,
    /// The session id of the first row that has one.
    pub(crate) session: Option<String>,
    by_uuid: HashTable<RowNo>,
    pairs: OnceLock<Pairs>,
    /// The last row with an id, and the id's text.
    last_id: (RowNo, Vec<u8>),
}

impl Index {
    /// Reads a whole transcript. `name` is the session's id by the file's name.
    pub(crate) fn read(source: impl Read, name: Option<&str>, buffer: &mut Buffer) -> io::Result<Index> {
        Index::read_lines(source, name, buffer, MOST_BROKEN)
    }

    /// The same, also where nearly all lines are no rows.
    pub(crate) fn read_all(source: impl Read, name: Option<&str>, buffer: &mut Buffer) -> io::Result<Index> {
        Index::read_lines(source, name, buffer, usize::MAX)
    }

    fn read_lines(
        source: impl Read,
        name: Option<&str>,
        buffer: &mut Buffer,
        most_broken: usize,
    ) -> io::Result<Index> {
        let mut index = Index::default();
        let mut facts = Facts::default();
        let mut session = name.map(str::to_owned);
        index.size = lines::for_each(source, buffer, |line| {
            if !index.gave_up {
                index.line(line, &mut session, &mut facts);
                index.gave_up = index.broken.len() > most_broken && index.broken.len() / 4 > index.rows.len();
            }
        })?;
        index.link();
        Ok(index)
    }

    /// Reads a file that another program wrote anew; each row's place is where it stands in that file.
    pub(crate) fn read_rewritten(form: Form, source: impl Read, name: Option<&str>) -> io::Result<Index> {
        let mut index = Index::default();
        let mut facts = Facts::default();
        let session = name.map(str::to_owned);
        index.size = rewritten::rows(form, source, |offset, len, text| {
            if facts.read(text).is_some() {
                index.row(offset, len, text, &facts, &session);
            }
        })?;
        index.link();
        Ok(index)
    }

    /// The number of a row's line in the file, from 1: what people see. In a file that another program wrote anew rows have no
    /// lines of their own; there it is the number of the row.
    pub(crate) fn line_of(&self, no: RowNo) -> u64 {
        let at = self.line_shifts.partition_point(|(first, _)| *first <= no);
        let shift = at.checked_sub(1).map_or(0, |at| self.line_shifts[at].1);
        (u64::from(no) + 1).saturating_add_signed(shift)
    }

    /// How many lines the file has.
    pub(crate) fn line_count(&self) -> u64 {
        self.lines
    }

    fn line(&mut self, line: Line<'_>, session: &mut Option<String>, facts: &mut Facts) {
        let Line { mut offset, mut bytes, ended } = line;
        self.lines += 1;
        if offset == 0
            && let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf")
        {
            self.byte_order_mark = true;
            (offset, bytes) = (3, rest);
        }
        if facts.read(bytes).is_some() {
            self.row(offset, bytes.len(), bytes, facts, session);
            self.open_end = !ended;
            self.run = 0;
        } else if !bytes.trim_ascii().is_empty() {
            let pieces = salvage(bytes, session.as_deref().or(self.session.as_deref()), facts);
            for piece in &pieces {
                if let Piece::Row(range) = piece {
                    let row = &bytes[range.clone()];
                    if facts.read(row).is_some() {
                        self.row(offset + range.start as u64, row.len(), row, facts, session);
                    }
                }
            }
            self.run += 1;
            self.broken_run = self.broken_run.max(self.run);
            let torn = pieces.iter().find_map(|piece| match piece {
                Piece::Reject(range) => Torn::of(&bytes[range.clone()]),
                _ => None,
            });
            self.broken.push(BrokenLine { line: self.lines, offset, len: bytes.len(), ended, pieces, torn });
        }
    }

    /// Adds a row; `len` is how many bytes of the file it is.
    pub(crate) fn row(
        &mut self,
        offset: u64,
        len: usize,
        bytes: &[u8],
        facts: &Facts,
        session: &Option<String>,
    ) {
        let Ok(no) = RowNo::try_from(self.rows.len()) else { return };
        let shift = self.lines.cast_signed() - i64::from(no) - 1;
        if self.line_shifts.last().map_or(0, |(_, shift)| *shift) != shift && self.lines > 0 {
            self.line_shifts.push((no, shift));
        }
        let mut flags = facts.flags;
        let uuid = match facts.uuid.filter(|id| id.start != id.end) {
            Some(id) => {
                flags.set(Flags::FOREIGN_UUID, canonical(id.raw(bytes)).is_none());
                if flags.contains(Flags::FOREIGN_UUID) {
                    self.spellings.id(no, id.raw(bytes));
                }
                identity(id.raw(bytes))
            }
            None if facts.kind.in_tree() => {
                flags.insert(Flags::NO_UUID);
                Uuid::new_v5(&MINT, bytes).as_u128()
            }
            None => 0,
        };
        match facts.parent {
            ParentField::Absent => flags.insert(Flags::NO_PARENT_KEY),
            ParentField::Nonsense => flags.insert(Flags::NONSENSE_PARENT),
            ParentField::Null | ParentField::Id(_) => {}
        }
        let mut parent = NONE;
        if let (ParentField::Id(id), true) = (facts.parent, uuid != 0)
            && id.start != id.end
        {
            // Nearly every row follows the last one with an id: then its text is the same, and no number is needed.
            if self.last_id.1 == id.raw(bytes) {
                parent = self.last_id.0;
            } else {
                let raw = id.raw(bytes);
                let id = canonical(raw).unwrap_or_else(|| {
                    self.spellings.parent(no, raw);
                    identity(raw)
                });
                match self.rows.iter().rev().take(NEAR).position(|row| row.uuid == id) {
                    Some(back) => parent = no - 1 - u32::try_from(back).unwrap_or_default(),
                    None => self.dangling.push((no, id)),
                }
            }
        }
        if let Some(id) = facts.uuid {
            self.last_id.0 = no;
            self.last_id.1.clear();
            self.last_id.1.extend_from_slice(id.raw(bytes));
        }
        let time = match facts.time {
            Time::At(millis) => millis,
            Time::Local(millis) => {
                self.local_times.push(no);
                millis
            }
            Time::Missing | Time::Bad => {
                flags.insert(Flags::BAD_TIME);
                i64::MIN
            }
        };
        let reply = facts.message_id.map_or(0, |id| hash(id.raw(bytes)));
        let packed = u32::try_from(reply >> 35).unwrap_or_default() << 3 | facts.kind as u32;
        for block in &facts.blocks {
            let (role, id, flag) = match *block {
                Block::Call(id) => (ToolRole::Call, id, Flags::HAS_CALL),
                Block::Result(id) => (ToolRole::Result, id, Flags::HAS_RESULT),
                Block::ServerCall(id) => (ToolRole::ServerCall, id, Flags::default()),
                Block::ServerResult(id) => (ToolRole::ServerResult, id, Flags::default()),
            };
            flags.insert(flag);
            self.tools.push(Tool { id: hash(id.raw(bytes)), row: no, role });
        }
        if facts.payload > 0 {
            self.payloads.push((no, u32::try_from(facts.payload).unwrap_or(u32::MAX)));
        }
        for picture in &facts.pictures {
            if let Picture::Side(side) = picture {
                self.pictures.push((no, *side));
            }
        }
        self.summaries |= flags.contains(Flags::COMPACT_SUMMARY);
        if flags.contains(Flags::COMPACT_BOUNDARY) {
            self.boundaries.push(no);
            self.checkpoint = None;
        }
        let explicit = flags.contains(Flags::EXPLICIT);
        if facts.kind == Kind::LastPrompt && explicit && facts.leaf.is_none() {
            self.emptied.push(no);
        }
        if facts.kind == Kind::LastPrompt && (facts.leaf.is_some() || explicit) {
            self.checkpoint =
                Some(Checkpoint { row: no, leaf: facts.leaf.map(|id| identity(id.raw(bytes))), explicit });
        }
        if let Some(id) = facts.session {
            if self.session.is_none() {
                self.session = Some(decode(id.raw(bytes)).into_owned());
            }
            let ours = session.as_deref().or(self.session.as_deref());
            flags.set(Flags::FOREIGN_SESSION, ours.is_some_and(|ours| ours.as_bytes() != id.raw(bytes)));
        }
        if let Some(cwd) = facts.cwd
            && self.cwd.as_ref().is_none_or(|known| known.as_bytes() != cwd.raw(bytes))
        {
            self.cwd = Some(decode(cwd.raw(bytes)).into_owned());
        }
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        // Doubling would hold up to twice the rows there are; an eighth more keeps within 64 bytes for each.
        if self.rows.len() == self.rows.capacity() && self.rows.len() >= 1 << 16 {
            self.rows.reserve_exact(self.rows.len() / 8);
        }
        self.rows.push(Row { uuid, offset, time, len, parent, flags, packed });
    }

    /// Resolves parents on the whole file: children may stand before them.
    pub(crate) fn link(&mut self) {
        self.resolve();
        self.respelled = std::mem::take(&mut self.spellings).links(self);
        if self.summaries {
            self.boundless_summaries();
        }
        let main = |no: &RowNo| !self.rows[*no as usize].is(Flags::SIDECHAIN);
        self.main_boundaries = self.boundaries.iter().copied().filter(main).collect();
        // One that is there twice, with no other in between, begins nothing new.
        self.main_boundaries.dedup_by_key(|no| self.rows[*no as usize].uuid);
    }

    fn resolve(&mut self) {
        let with_id = self.rows.iter().filter(|row| row.uuid != 0).count();
        let mut by_uuid: HashTable<RowNo> = HashTable::with_capacity(with_id);
        let rows = &mut self.rows;
        let mut repeated = false;
        for no in 0..rows.len() {
            let uuid = rows[no].uuid;
            if uuid == 0 {
                continue;
            }
            let known = by_uuid.find(spread(uuid), |other| {
                visit(1);
                rows[*other as usize].uuid == uuid
            });
            if known.is_some() {
                rows[no].flags.insert(Flags::REPEATED);
                repeated = true;
            } else {
                let no = u32::try_from(no).unwrap_or(NONE);
                by_uuid.insert_unique(spread(uuid), no, |other| spread(rows[*other as usize].uuid));
            }
        }
        self.by_uuid = by_uuid;
        let dangling = std::mem::take(&mut self.dangling);
        for (no, parent) in dangling {
            match self.find(parent) {
                Some(parent) => self.rows[no as usize].parent = parent,
                None => self.dangling.push((no, parent)),
            }
        }
        if repeated {
            for no in 0..self.rows.len() {
                let parent = self.rows[no].parent;
                if parent != NONE && self.rows[parent as usize].is(Flags::REPEATED) {
                    self.rows[no].parent = self.find(self.rows[parent as usize].uuid).unwrap_or(NONE);
                }
            }
        }
    }

    /// A compaction's summary whose boundary was lost begins a segment itself: nothing before it may come back.
    fn boundless_summaries(&mut self) {
        let mut before: Option<RowNo> = None; // the nearest row of the main conversation
        for no in 0..RowNo::try_from(self.rows.len()).unwrap_or(NONE) {
            let row = self.rows[no as usize];
            if !row.in_tree() || row.is(Flags::SIDECHAIN) {
                continue;
            }
            let bounded = before.is_some_and(|before| self.rows[before as usize].is(Flags::COMPACT_BOUNDARY));
            if row.is(Flags::COMPACT_SUMMARY) && row.parent == NONE && !bounded {
                self.boundaries.push(no);
            }
            before = Some(no);
        }
        self.boundaries.sort_unstable();
    }

    /// The row with this id: the first, where there are several.
    pub(crate) fn find(&self, uuid: u128) -> Option<RowNo> {
        let is_it = |no: &RowNo| {
            visit(1);
            self.rows[*no as usize].uuid == uuid
        };
        self.by_uuid.find(spread(uuid), is_it).copied()
    }

    /// Whether the byte order mark does harm: in files over 5 MiB 2.1.100 reads nothing behind it (measured), in
    /// smaller ones every agent passes it over.
    pub(crate) fn has_harmful_mark(&self) -> bool {
        const LARGE: u64 = 5 << 20;
        self.byte_order_mark && self.size > LARGE
    }

    /// Where the first row begins.
    pub(crate) fn first_offset(&self) -> u64 {
        if self.byte_order_mark { 3 } else { 0 }
    }

    pub(crate) fn row_at(&self, no: RowNo) -> Option<&Row> {
        self.rows.get(no as usize)
    }

    /// Calls and results by their ids, sorted when they are first asked for.
    pub(crate) fn pairs(&self) -> &Pairs {
        self.pairs.get_or_init(|| {
            let sorted = |role: ToolRole| {
                let of = self.tools.iter().filter(|tool| tool.role == role);
                let mut tools: Vec<(u64, RowNo)> = of.map(|tool| (tool.id, tool.row)).collect();
                tools.sort_unstable();
                tools
            };
            visit(self.tools.len());
            Pairs { calls: sorted(ToolRole::Call), results: sorted(ToolRole::Result) }
        })
    }

    /// The tool blocks of one row.
    pub(crate) fn tools_of(&self, no: RowNo) -> &[Tool] {
        let start = self.tools.partition_point(|tool| tool.row < no);
        let len = self.tools[start..].iter().take_while(|tool| tool.row == no).count();
        visit(1 + len);
        &self.tools[start..start + len]
    }
}

/// An id as a number: canonical UUIDs are themselves, anything else is what would be minted for it.
pub(crate) fn identity(raw: &[u8]) -> u128 {
    canonical(raw).unwrap_or_else(|| Uuid::new_v5(&MINT, raw).as_u128())
}

/// The number of a UUID that is written as we would write it; any other text must be renamed to be linked to.
pub(crate) fn canonical(raw: &[u8]) -> Option<u128> {
    let text: &[u8; 36] = raw.try_into().ok()?;
    if [text[8], text[13], text[18], text[23]] != *b"----" {
        return None;
    }
    let four =
        |at: usize| u64::from(u32::from_be_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]));
    let eight = |first: usize, second: usize| hex8(four(first) << 32 | four(second)).map(u128::from);
    let (a, b, c, d) = (eight(0, 4)?, eight(9, 14)?, eight(19, 24)?, eight(28, 32)?);
    let number = a << 96 | b << 64 | c << 32 | d;
    (number != 0).then_some(number)
}

/// Eight digits as agents write them, in lower case, all at once: every id of every row comes by here.
fn hex8(text: u64) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Letters have bit 6 and count from 1.
    let values = (text & (EACH * 0x0f)) + (text >> 6 & EACH) * 9;
    if values & (EACH * 0xf0) != 0 || text & (EACH * 0x80) != 0 {
        return None;
    }
    // What would be written for these values must be what is there.
    let letters = (values + EACH * 6) >> 4 & EACH;
    if values + EACH * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10) != text {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

/// Mixes all sixteen bytes: ids that a program made up may differ in any few of them alone.
fn spread(uuid: u128) -> u64 {
    mix(mix(uuid as u64) ^ (uuid >> 64) as u64)
}

/// The finish of splitmix64 (public domain, S. Vigna): every bit of the input changes half of the bits of the output.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Maps and sets by numbers that are hashes already, as ids of tools and replies are.
pub(crate) type ByHash<T> = std::collections::HashMap<u64, T, BuildHasherDefault<Hashed>>;
pub(crate) type Hashes = std::collections::HashSet<u32, BuildHasherDefault<Hashed>>;

/// Takes a number for its own hash.
#[derive(Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= hash(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    /// The table looks at the highest and at the lowest bits.
    fn write_u32(&mut self, number: u32) {
        self.0 = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// FNV-1a with a final mix; equal ids must get equal numbers, and nothing hostile is at stake.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_as_we_write_them_are_their_own_number() {
        let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
        assert_eq!(canonical(id.as_bytes()), Some(Uuid::parse_str(id).unwrap().as_u128()));
        for at in 0..36 {
            for byte in 0..=255u8 {
                let mut text = id.as_bytes().to_vec();
                text[at] = byte;
                let plain = !text.iter().any(u8::is_ascii_uppercase);
                let expected = Uuid::try_parse_ascii(&text).ok().filter(|_| plain).map(|id| id.as_u128());
                assert_eq!(canonical(&text), expected, "{}", String::from_utf8_lossy(&text));
            }
        }
        assert_eq!(canonical(&[b'-'; 36]), None);
        assert_eq!(canonical(b"00000000-0000-0000-0000-000000000000"), None);
        assert_eq!(canonical(&id.as_bytes()[..35]), None);
        assert_eq!(canonical(b""), None);
    }
}
