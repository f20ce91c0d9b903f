//! What an attachment must have so that every agent can put it into a request (A8).
//!
//! One that lacks it keeps older agents from resuming at all, wherever it stands (measured).

use crate::facts::text;
use crate::json::Cursor;

/// What a member of an attachment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shape {
    /// Missing, null, a number or a truth value.
    #[default]
    Nothing,
    Text,
    Object,
    /// A list of anything but null.
    List,
}

/// The members that agents read without looking whether they are there.
#[derive(Debug, Default)]
struct Members {
    content: Shape,
    /// Of whichever kind-specific list or object there is: `skills`, `files`, `response`, `blockingError`, `memories`.
    own: Shape,
    added: Shape,
    removed: Shape,
}

/// Reads an attachment; whether all agents can.
pub(crate) fn is_whole(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Option<bool> {
    if cursor.peek()? != b'{' {
        cursor.value()?;
        return Some(false);
    }
    let mut kind = None;
    let mut members = Members::default();
    cursor.object(|cursor, key| {
        match key.raw(bytes) {
            b"type" => kind = text(cursor)?,
            b"content" => members.content = shape(cursor)?,
            b"files" => members.own = list_of(cursor, bytes, &[(b"uri", b'"'), (b"diagnostics", b'[')])?,
            b"memories" => members.own = list_of(cursor, bytes, &[(b"path", b'"')])?,
            b"skills" | b"response" | b"blockingError" => {
                members.own = shape(cursor)?;
            }
            b"addedLines" | b"addedBlocks" => members.added = shape(cursor)?,
            b"removedNames" | b"removedTypes" => members.removed = shape(cursor)?,
            _ => cursor.value()?,
        }
        Some(())
    })?;
    Some(match kind.map_or(&b""[..], |kind| kind.raw(bytes)) {
        b"file" | b"nested_memory" => matches!(members.content, Shape::Object | Shape::Text),
        b"selected_lines_in_ide" => members.content == Shape::Text,
        b"todo_reminder" | b"task_reminder" | b"hook_additional_context" => members.content == Shape::List,
        b"invoked_skills" | b"diagnostics" | b"relevant_memories" => members.own == Shape::List,
        b"async_hook_response" | b"hook_blocking_error" => members.own == Shape::Object,
        b"deferred_tools_delta" | b"agent_listing_delta" | b"mcp_instructions_delta" => {
            members.added == Shape::List && members.removed == Shape::List
        }
        _ => true,
    })
}

/// A list whose items all have these members, each by its name and how its value begins.
fn list_of(cursor: &mut Cursor<'_>, bytes: &[u8], needed: &[(&[u8], u8)]) -> Option<Shape> {
    if cursor.peek()? != b'[' {
        cursor.value()?;
        return Some(Shape::Nothing);
    }
    let mut shape = Shape::List;
    cursor.array(|cursor| {
        if cursor.peek()? != b'{' {
            shape = Shape::Nothing;
            return cursor.value();
        }
        let mut there = 0;
        cursor.object(|cursor, key| {
            let begins = cursor.peek()?;
            there +=
                usize::from(needed.iter().any(|(name, first)| key.raw(bytes) == *name && begins == *first));
            cursor.value()
        })?;
        if there < needed.len() {
            shape = Shape::Nothing;
        }
        Some(())
    })?;
    Some(shape)
}

fn shape(cursor: &mut Cursor<'_>) -> Option<Shape> {
    let shape = match cursor.peek()? {
        b'"' => Shape::Text,
        b'{' => Shape::Object,
        b'[' => {
            let mut shape = Shape::List;
            cursor.array(|cursor| {
                if cursor.peek()? == b'n' {
                    shape = Shape::Nothing;
                }
                cursor.value()
            })?;
            return Some(shape);
        }
        _ => Shape::Nothing,
    };
    cursor.value()?;
    Some(shape)
}
