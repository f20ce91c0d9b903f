//! A row laid open as a tree of byte ranges, for the few rows that are edited or shown.

use std::ops::Range;

use super::{Cursor, Str, decode};

/// Below this depth values are one opaque range: nothing that is edited lies deeper, and a row of brackets
/// costs no stack.
const DEPTH: usize = 9;

/// A value's range in the row, and its parts.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) range: Range<usize>,
    pub(crate) node: Node,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Object(Vec<Member>),
    Array(Vec<Outline>),
    String(Str),
    Null,
    /// A number, `true` or `false`.
    Scalar,
    /// Too deep to matter.
    Opaque,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) value: Outline,
}

impl Outline {
    /// Lays open the value that `bytes` is, white space around it allowed.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Outline> {
        let mut cursor = Cursor::new(bytes);
        cursor.space();
        let outline = value(&mut cursor, bytes, DEPTH)?;
        cursor.space();
        cursor.at_end().then_some(outline)
    }

    /// The value that counts for `key`: the last one, as `JSON.parse` has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Outline> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    pub(crate) fn members(&self) -> &[Member] {
        match &self.node {
            Node::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Outline] {
        match &self.node {
            Node::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.node, Node::Object(_))
    }

    /// The text of a string value.
    pub(crate) fn text(&self, bytes: &[u8]) -> Option<String> {
        match self.node {
            Node::String(str) => Some(decode(str.raw(bytes)).into_owned()),
            _ => None,
        }
    }

    /// Whether the value is a string equal to `text`.
    pub(crate) fn is_text(&self, bytes: &[u8], text: &str) -> bool {
        match self.node {
            Node::String(str) if !str.escaped => str.raw(bytes) == text.as_bytes(),
            Node::String(str) => decode(str.raw(bytes)) == text,
            _ => false,
        }
    }
}

fn value(cursor: &mut Cursor<'_>, bytes: &[u8], depth: usize) -> Option<Outline> {
    let start = cursor.at();
    let node = match cursor.peek()? {
        _ if depth == 0 => {
            cursor.value()?;
            Node::Opaque
        }
        b'{' => {
            let mut members = Vec::new();
            cursor.object(|cursor, key| {
                let value = value(cursor, bytes, depth - 1)?;
                members.push(Member { key: decode(key.raw(bytes)).into_owned(), value });
                Some(())
            })?;
            Node::Object(members)
        }
        b'[' => {
            let mut items = Vec::new();
            cursor.array(|cursor| {
                items.push(value(cursor, bytes, depth - 1)?);
                Some(())
            })?;
            Node::Array(items)
        }
        b'"' => Node::String(cursor.string()?),
        b'n' => {
            cursor.scalar()?;
            Node::Null
        }
        _ => {
            cursor.scalar()?;
            Node::Scalar
        }
    };
    Some(Outline { range: start..cursor.at(), node })
}
