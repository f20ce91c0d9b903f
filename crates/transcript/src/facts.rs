//! One pass over one row: everything the scan needs to know of it, as ranges and flags.
//!
//! Hot: a scan of everything a user has spends its time here. Nothing is allocated per row, values nobody asks
//! for are only checked to be JSON.

use std::borrow::Cow;

use crate::attachment;
use crate::flags::Flags;
use crate::image::Picture;
use crate::json::{Cursor, Str, decode, is_blank};
use crate::time::{self, Time};

/// What the agent says to itself when it goes on by itself (B7b).
const AUTO_CONTINUE: &[u8] = b"Continue from where you left off.";

/// What kind of row it is. New kinds appear every month: unknown ones pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Kind {
    User,
    Assistant,
    System,
    Attachment,
    Progress,
    Summary,
    LastPrompt,
    /// Anything else: metadata, new inventions.
    #[default]
    Other,
}

impl Kind {
    fn of(raw: &[u8]) -> Kind {
        match raw {
            b"user" => Kind::User,
            b"assistant" => Kind::Assistant,
            b"system" => Kind::System,
            b"attachment" => Kind::Attachment,
            b"progress" => Kind::Progress,
            b"summary" => Kind::Summary,
            b"last-prompt" => Kind::LastPrompt,
            _ => Kind::Other,
        }
    }

    /// Rows that every version puts into its tree.
    pub(crate) fn in_tree(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant | Kind::System | Kind::Attachment)
    }

    /// Rows that carry what somebody said.
    pub(crate) fn is_turn(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant)
    }
}

/// What a row says of the row before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ParentField {
    #[default]
    Absent,
    Null,
    Id(Str),
    /// Neither a string nor null: the agent cannot follow it.
    Nonsense,
}

/// A block of a message that must be paired with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Call(Str),
    Result(Str),
    ServerCall(Str),
    ServerResult(Str),
}

/// What one pass over a row's bytes tells.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) uuid: Option<Str>,
    pub(crate) parent: ParentField,
    pub(crate) session: Option<Str>,
    pub(crate) time: Time,
    pub(crate) leaf: Option<Str>,
    pub(crate) cwd: Option<Str>,
    pub(crate) message_id: Option<Str>,
    /// The kind of turn that `message.role` tells.
    role: Option<Kind>,
    pub(crate) flags: Flags,
    /// Length of the `message` value: what the row adds to a request.
    pub(crate) message_len: usize,
    /// Bytes of base64 in it (C8).
    pub(crate) payload: usize,
    pub(crate) blocks: Vec<Block>,
    pub(crate) pictures: Vec<Picture>,
}

impl Facts {
    /// Reads one row; `None` where the agent could not.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        self.clear();
        u32::try_from(bytes.len()).ok()?; // ranges are kept in 32 bits
        let mut cursor = Cursor::new(bytes);
        cursor.space();
        let mut has_type = false;
        cursor.object(|cursor, key| {
            if key.escaped {
                let name = decode(key.raw(bytes)).into_owned();
                self.member(cursor, bytes, name.as_bytes(), &mut has_type)
            } else {
                self.member(cursor, bytes, key.raw(bytes), &mut has_type)
            }
        })?;
        cursor.space();
        if !cursor.at_end() {
            return None;
        }
        if !has_type {
            self.flags.insert(Flags::NO_TYPE);
            // Only a row with an id and a place in the tree was a turn of the conversation (A8).
            let linked = self.uuid.is_some_and(|id| id.start != id.end) && self.parent != ParentField::Absent;
            if let (true, Some(kind)) = (linked && self.flags.contains(Flags::HAS_CONTENT), self.role) {
                self.kind = kind;
            }
        }
        self.judge();
        Some(())
    }

    fn clear(&mut self) {
        let (mut blocks, mut pictures) =
            (std::mem::take(&mut self.blocks), std::mem::take(&mut self.pictures));
        blocks.clear();
        pictures.clear();
        *self = Facts { blocks, pictures, ..Facts::default() };
    }

    fn member(
        &mut self,
        cursor: &mut Cursor<'_>,
        bytes: &[u8],
        key: &[u8],
        has_type: &mut bool,
    ) -> Option<()> {
        match key {
            b"type" => {
                let kind = text(cursor)?;
                *has_type = kind.is_some();
                self.kind = kind.map_or(Kind::Other, |kind| Kind::of(kind.raw(bytes)));
            }
            b"uuid" => self.uuid = text(cursor)?,
            b"parentUuid" => {
                let null = cursor.peek()? == b'n';
                self.parent = match text(cursor)? {
                    Some(id) => ParentField::Id(id),
                    None if null => ParentField::Null,
                    None => ParentField::Nonsense,
                };
            }
            b"sessionId" => self.session = text(cursor)?,
            b"timestamp" => {
                self.time = match text(cursor)? {
                    Some(at) => time::read(at.raw(bytes)),
                    None => Time::Bad,
                }
            }
            b"leafUuid" => self.leaf = text(cursor)?,
            b"cwd" => self.cwd = text(cursor)?,
            b"subtype" => {
                let subtype = text(cursor)?.map_or(&b""[..], |str| str.raw(bytes));
                self.flags.set(Flags::COMPACT_BOUNDARY, subtype == b"compact_boundary");
                self.flags.set(Flags::STOP_HOOK, subtype == b"stop_hook_summary");
            }
            b"isSidechain" => self.flag(cursor, Flags::SIDECHAIN)?,
            b"isMeta" => self.flag(cursor, Flags::META)?,
            b"isCompactSummary" => self.flag(cursor, Flags::COMPACT_SUMMARY)?,
            b"isApiErrorMessage" => self.flag(cursor, Flags::API_ERROR)?,
            b"explicit" => self.flag(cursor, Flags::EXPLICIT)?,
            b"compactMetadata" => {
                let start = cursor.at();
                cursor.value()?;
                let value = bytes.get(start..cursor.at())?;
                let segment = memchr::memmem::find(value, b"\"preservedSegment\"").is_some();
                self.flags.set(Flags::PRESERVED_SEGMENT, segment);
            }
            b"attachment" => {
                self.flags.set(Flags::HAS_ATTACHMENT, attachment::is_whole(cursor, bytes)?);
            }
            b"message" => self.message(cursor, bytes)?,
            _ => cursor.value()?,
        }
        Some(())
    }

    fn flag(&mut self, cursor: &mut Cursor<'_>, flag: Flags) -> Option<()> {
        self.flags.set(flag, cursor.peek()? == b't');
        cursor.value()
    }

    fn message(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<()> {
        // A second `message` key replaces the first, and all that was read of it.
        self.flags.remove(Flags::OF_MESSAGE);
        self.message_id = None;
        self.role = None;
        self.payload = 0;
        self.blocks.clear();
        self.pictures.clear();
        (cursor.lone_surrogate, cursor.nul_escape) = (false, false);
        let start = cursor.at();
        if cursor.peek()? != b'{' {
            cursor.value()?;
            self.flags.insert(Flags::MALFORMED);
            return Some(());
        }
        self.flags.insert(Flags::HAS_MESSAGE);
        cursor.object(|cursor, key| {
            let name = if key.escaped { decode(key.raw(bytes)) } else { Cow::Borrowed("") };
            match if key.escaped { name.as_bytes() } else { key.raw(bytes) } {
                b"id" => self.message_id = text(cursor)?,
                b"content" => self.content(cursor, bytes)?,
                b"role" => {
                    self.role = text(cursor)?.and_then(|role| match role.raw(bytes) {
                        b"user" => Some(Kind::User),
                        b"assistant" => Some(Kind::Assistant),
                        _ => None,
                    });
                }
                _ => cursor.value()?,
            }
            Some(())
        })?;
        self.message_len = cursor.at() - start;
        self.flags.set(Flags::LONE_SURROGATE, cursor.lone_surrogate);
        self.flags.set(Flags::NUL_ESCAPE, cursor.nul_escape);
        Some(())
    }

    fn content(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<()> {
        self.flags.remove(Flags::OF_CONTENT);
        self.blocks.clear();
        self.pictures.clear();
        self.payload = 0;
        match cursor.peek()? {
            b'"' => {
                let said = cursor.string()?;
                self.flags.insert(Flags::HAS_CONTENT | Flags::PLAIN_TEXT);
                self.flags.set(Flags::EMPTY_TEXT, is_blank(said.raw(bytes)));
                self.flags.set(Flags::SAYS, !is_blank(said.raw(bytes)));
                self.flags.set(Flags::AUTO_CONTINUE, said.raw(bytes) == AUTO_CONTINUE);
            }
            b'[' => {
                self.flags.insert(Flags::HAS_CONTENT | Flags::NO_BLOCKS);
                cursor.array(|cursor| {
                    self.flags.remove(Flags::NO_BLOCKS);
                    if cursor.peek()? == b'{' {
                        self.block(cursor, bytes)
                    } else {
                        self.flags.insert(Flags::MALFORMED);
                        if cursor.peek()? != b'"' {
                            return cursor.value();
                        }
                        // A text without its block.
                        let said = cursor.string()?;
                        if !is_blank(said.raw(bytes)) {
                            self.flags.insert(Flags::SAYS);
                        }
                        Some(())
                    }
                })?;
            }
            _ => cursor.value()?,
        }
        Some(())
    }

    fn block(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<()> {
        let (mut kind, mut id, mut of, mut said, mut thought, mut signature) =
            (None, None, None, None, None, None);
        let (mut input_is_object, mut output_is_text, mut odd_text) = (false, true, false);
        cursor.object(|cursor, key| {
            match key.raw(bytes) {
                b"type" => kind = text(cursor)?,
                b"id" => id = text(cursor)?,
                b"tool_use_id" => of = text(cursor)?,
                b"text" => {
                    odd_text = !matches!(cursor.peek()?, b'"' | b'n');
                    said = text(cursor)?;
                }
                b"thinking" => thought = text(cursor)?,
                b"signature" => signature = text(cursor)?,
                b"input" => {
                    input_is_object = cursor.peek()? == b'{';
                    cursor.value()?;
                }
                b"source" => self.source(cursor, bytes)?,
                b"content" if cursor.peek()? == b'[' => output_is_text = self.nested(cursor, bytes)?,
                b"content" => {
                    // Nothing at all is an empty result; what else is no text, older agents cannot read (measured).
                    output_is_text = matches!(cursor.peek()?, b'"' | b'n');
                    cursor.value()?;
                }
                _ => cursor.value()?,
            }
            Some(())
        })?;
        match kind.map_or(&b""[..], |kind: Str| kind.raw(bytes)) {
            // Older agents cannot read a text that is a number or an object (measured).
            b"text" if odd_text => self.flags.insert(Flags::MALFORMED | Flags::SAYS),
            b"text" => {
                let blank = said.is_none_or(|said: Str| is_blank(said.raw(bytes)));
                self.flags.insert(if blank { Flags::EMPTY_TEXT } else { Flags::SAYS });
                if said.is_some_and(|said| said.raw(bytes) == AUTO_CONTINUE) {
                    self.flags.insert(Flags::AUTO_CONTINUE);
                }
            }
            b"tool_use" => {
                match id {
                    Some(id) if input_is_object => self.blocks.push(Block::Call(id)),
                    Some(id) => {
                        self.blocks.push(Block::Call(id));
                        self.flags.insert(Flags::MALFORMED);
                    }
                    None => self.flags.insert(Flags::MALFORMED),
                }
                self.flags.insert(Flags::SAYS);
            }
            b"tool_result" => match of {
                Some(of) if output_is_text => self.blocks.push(Block::Result(of)),
                Some(of) => {
                    self.blocks.push(Block::Result(of));
                    self.flags.insert(Flags::MALFORMED);
                }
                None => self.flags.insert(Flags::MALFORMED),
            },
            b"server_tool_use" | b"mcp_tool_use" => {
                if let Some(id) = id {
                    self.blocks.push(Block::ServerCall(id));
                }
                self.flags.insert(Flags::SAYS);
            }
            b"thinking" => {
                let empty = thought.is_none_or(|thought: Str| thought.raw(bytes).is_empty());
                let signed = signature.is_some_and(|sign: Str| is_base64(sign.raw(bytes)));
                self.flags.insert(if empty || !signed { Flags::BAD_THINKING } else { Flags::THINKS });
            }
            b"image" | b"document" => self.flags.insert(Flags::SAYS),
            other => {
                if let (true, Some(of)) = (other.ends_with(b"_tool_result"), of) {
                    self.blocks.push(Block::ServerResult(of));
                }
                self.flags.insert(Flags::SAYS);
            }
        }
        Some(())
    }

    /// The blocks inside a tool result. Whether they are blocks.
    fn nested(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<bool> {
        let mut blocks = true;
        cursor.array(|cursor| {
            if cursor.peek()? != b'{' {
                blocks = false;
                return cursor.value();
            }
            cursor.object(|cursor, key| match key.raw(bytes) {
                b"source" => self.source(cursor, bytes),
                _ => cursor.value(),
            })
        })?;
        Some(blocks)
    }

    fn source(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<()> {
        if cursor.peek()? != b'{' {
            return cursor.value();
        }
        let (mut kind, mut media, mut data) = (None, None, None);
        cursor.object(|cursor, key| {
            match key.raw(bytes) {
                b"type" => kind = text(cursor)?,
                b"media_type" => media = text(cursor)?,
                b"data" => data = text(cursor)?,
                _ => cursor.value()?,
            }
            Some(())
        })?;
        let is = |str: Option<Str>, what: &[u8]| str.is_some_and(|str| str.raw(bytes).starts_with(what));
        if let (true, Some(data)) = (is(kind, b"base64"), data) {
            let data = data.raw(bytes);
            self.payload += data.len();
            if !is(media, b"application/") && !is(media, b"text/") {
                let picture = Picture::read(data);
                if picture == Picture::None {
                    self.flags.insert(Flags::BAD_IMAGE);
                }
                self.pictures.push(picture);
            }
        }
        Some(())
    }

    /// What follows from all members together.
    fn judge(&mut self) {
        if self.kind.is_turn() && !self.flags.contains(Flags::HAS_MESSAGE)
            || self.kind.is_turn() && !self.flags.contains(Flags::HAS_CONTENT)
            || self.kind == Kind::Assistant && self.flags.contains(Flags::PLAIN_TEXT)
            || self.kind == Kind::Attachment && !self.flags.contains(Flags::HAS_ATTACHMENT)
            || self.kind.is_turn() && self.flags.contains(Flags::NO_TYPE)
        {
            self.flags.insert(Flags::MALFORMED);
        }
    }
}

/// Reads a value; its range if it is a string.
#[inline(always)]
pub(crate) fn text(cursor: &mut Cursor<'_>) -> Option<Option<Str>> {
    if cursor.peek()? == b'"' {
        cursor.string().map(Some)
    } else {
        cursor.value()?;
        Some(None)
    }
}

pub(crate) fn is_base64(raw: &[u8]) -> bool {
    !raw.is_empty() && raw.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}
