//! Mends what a row says, so that the API takes it: blocks go or become a line of text, nothing is reworded.

use crate::class::Class;
use crate::image::Picture;
use crate::index::hash;
use crate::json::{Node, Outline, encode, is_blank, mend_escapes};

use super::row_text::splice;

/// What is to be mended in one row's message.
#[derive(Debug, Default, Clone)]
pub(super) struct Fixes {
    /// Why, in the order found.
    pub(super) classes: Vec<Class>,
    /// C7: pictures with a longer side become text.
    pub(super) longest_side: Option<u32>,
    /// C2, C3: calls and results that go, by the hash of their id.
    pub(super) unpaired: Vec<u64>,
    /// C3: the same call twice in one row.
    pub(super) repeated_calls: bool,
    /// Whether the row stays, with a placeholder, when nothing is left of it.
    pub(super) keep_turn: bool,
}

/// A message after mending.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mended {
    Row(Vec<u8>),
    /// Nothing is left of it.
    Emptied,
}

impl Fixes {
    pub(super) fn add(&mut self, class: Class) {
        if !self.classes.contains(&class) {
            self.classes.push(class);
        }
    }

    fn has(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }

    /// Mends a row; `None` where it is none.
    pub(super) fn apply(&self, row: &[u8]) -> Option<Mended> {
        let mut row = row.to_vec();
        if self.has(Class::A8) {
            row = whole_message(row)?;
        }
        let outline = Outline::parse(&row)?;
        let Some(message) = outline.get("message") else { return Some(Mended::Row(row)) };
        if let Some(content) = message.get("content") {
            match &content.node {
                Node::String(said) if self.has(Class::C5) && is_blank(said.raw(&row)) => {
                    if !self.keep_turn {
                        return Some(Mended::Emptied);
                    }
                    row = splice(&row, content.range.clone(), b"\"(no content)\"");
                }
                Node::Array(items) => match self.blocks(items, &row) {
                    Blocks::Same => {}
                    Blocks::Changed(blocks) if blocks.is_empty() => {
                        if !self.keep_turn {
                            return Some(Mended::Emptied);
                        }
                        row = splice(
                            &row,
                            content.range.clone(),
                            br#"[{"type":"text","text":"(no content)"}]"#,
                        );
                    }
                    Blocks::Changed(blocks) => {
                        let mut array = Vec::from(b"[");
                        array.extend(blocks.join(&b','));
                        array.push(b']');
                        row = splice(&row, content.range.clone(), &array);
                    }
                },
                _ => {}
            }
        }
        if self.has(Class::A9) || self.has(Class::C9) {
            let message = Outline::parse(&row)?.get("message")?.range.clone();
            for at in mend_escapes(&row[message.clone()], self.has(Class::A9), self.has(Class::C9)) {
                let at = message.start + at;
                row[at..at + 6].copy_from_slice(b"\\ufffd");
            }
        }
        Some(Mended::Row(row))
    }

    fn blocks(&self, items: &[Outline], row: &[u8]) -> Blocks {
        let mut changed = items.is_empty() && self.has(Class::C5);
        let mut calls: Vec<u64> = Vec::new();
        let mut kept = Vec::with_capacity(items.len());
        for item in items {
            match self.block(item, row, &mut calls) {
                Fate::Stays => kept.push(row[item.range.clone()].to_vec()),
                Fate::Becomes(bytes) => {
                    changed = true;
                    kept.push(bytes);
                }
                Fate::Goes => changed = true,
            }
        }
        if changed { Blocks::Changed(kept) } else { Blocks::Same }
    }

    fn block(&self, item: &Outline, row: &[u8], calls: &mut Vec<u64>) -> Fate {
        if !item.is_object() {
            return match &item.node {
                _ if !self.has(Class::A8) => Fate::Stays,
                Node::String(said) if !is_blank(said.raw(row)) => {
                    Fate::Becomes([br#"{"type":"text","text":"#, &row[item.range.clone()], b"}"].concat())
                }
                _ => Fate::Goes,
            };
        }
        let kind = item.get("type").and_then(|kind| kind.text(row)).unwrap_or_default();
        let raw = |key: &str| match item.get(key).map(|value| &value.node) {
            Some(Node::String(str)) => Some(str.raw(row)),
            _ => None,
        };
        let goes = match kind.as_str() {
            "text" => {
                let nothing = item.get("text").is_none_or(|text| matches!(text.node, Node::Null));
                self.has(Class::C5) && (nothing || raw("text").is_some_and(is_blank))
            }
            "thinking" => {
                let empty = raw("thinking").is_none_or(<[u8]>::is_empty);
                let signed = raw("signature").is_some_and(crate::facts::is_base64);
                self.has(Class::C4) && (empty || !signed)
            }
            "tool_use" => match raw("id").map(hash) {
                None => self.has(Class::A8),
                Some(id) => {
                    let again = calls.contains(&id);
                    calls.push(id);
                    self.has(Class::C3) && (self.unpaired.contains(&id) || self.repeated_calls && again)
                }
            },
            "tool_result" => match raw("tool_use_id").map(hash) {
                None => self.has(Class::A8),
                Some(id) => self.has(Class::C2) && self.unpaired.contains(&id),
            },
            _ => false,
        };
        if goes {
            return Fate::Goes;
        }
        match kind.as_str() {
            "text" if self.has(Class::A8) => member_as_text(item, "text", row),
            "tool_use" if self.has(Class::A8) && !item.get("input").is_some_and(Outline::is_object) => {
                self.with_empty_input(item, row)
            }
            "tool_result" if self.has(Class::A8) && !holds_blocks(item.get("content")) => {
                output_as_text(item, row)
            }
            "tool_result" => self.nested(item, row),
            _ => self.picture(item, row),
        }
    }

    /// A tool's input that is no object: the API refuses it. What it was is in the backup.
    fn with_empty_input(&self, item: &Outline, row: &[u8]) -> Fate {
        let block = &row[item.range.clone()];
        super::row_text::set_member(block, "input", b"{}").map_or(Fate::Stays, Fate::Becomes)
    }

    /// Pictures inside a tool's result.
    fn nested(&self, item: &Outline, row: &[u8]) -> Fate {
        let Some(content) = item.get("content") else { return Fate::Stays };
        let mut out = row[item.range.clone()].to_vec();
        let mut changed = false;
        for inner in content.items().iter().rev() {
            if let Fate::Becomes(bytes) = self.picture(inner, row) {
                let range = inner.range.start - item.range.start..inner.range.end - item.range.start;
                out = splice(&out, range, &bytes);
                changed = true;
            }
        }
        if changed { Fate::Becomes(out) } else { Fate::Stays }
    }

    fn picture(&self, item: &Outline, row: &[u8]) -> Fate {
        let Some(source) = item.get("source") else { return Fate::Stays };
        let Some(Node::String(data)) = source.get("data").map(|data| &data.node) else { return Fate::Stays };
        if !source.get("type").is_some_and(|kind| kind.is_text(row, "base64")) {
            return Fate::Stays;
        }
        let is_image = item.get("type").is_some_and(|kind| kind.is_text(row, "image"));
        let why = match Picture::read(data.raw(row)) {
            Picture::None if is_image && self.has(Class::C6) => "it was no picture",
            Picture::Side(side) if self.longest_side.is_some_and(|limit| side > limit) => "it was too large",
            _ if self.has(Class::C8) => "the request was too large",
            _ => return Fate::Stays,
        };
        let text = format!("[{} removed: {why}]", if is_image { "picture" } else { "document" });
        let mut block = br#"{"type":"text","text":"#.to_vec();
        block.extend(encode(&text));
        block.push(b'}');
        Fate::Becomes(block)
    }
}

enum Blocks {
    Same,
    Changed(Vec<Vec<u8>>),
}

enum Fate {
    Stays,
    Becomes(Vec<u8>),
    Goes,
}

/// Whether a tool's output is what every agent reads: one text, blocks, or nothing.
fn holds_blocks(output: Option<&Outline>) -> bool {
    match output.map(|output| &output.node) {
        None | Some(Node::String(_) | Node::Null) => true,
        Some(Node::Array(items)) => items.iter().all(Outline::is_object),
        Some(_) => false,
    }
}

/// A text that is a number or an object becomes its JSON as text.
fn member_as_text(item: &Outline, key: &str, row: &[u8]) -> Fate {
    let Some(value) = item.get(key) else { return Fate::Stays };
    if matches!(value.node, Node::String(_) | Node::Null) {
        return Fate::Stays;
    }
    let text = encode(&String::from_utf8_lossy(&row[value.range.clone()]));
    let range = value.range.start - item.range.start..value.range.end - item.range.start;
    Fate::Becomes(splice(&row[item.range.clone()], range, &text))
}

/// A tool's output that is a number or an object: 2.1.31 cannot resume because of it (measured). Its JSON becomes the text.
fn output_as_text(item: &Outline, row: &[u8]) -> Fate {
    let Some(output) = item.get("content") else { return Fate::Stays };
    let as_text = |value: &Outline| match value.node {
        Node::String(_) => row[value.range.clone()].to_vec(),
        _ => encode(&String::from_utf8_lossy(&row[value.range.clone()])),
    };
    let as_block = |value: &Outline| {
        if value.is_object() {
            row[value.range.clone()].to_vec()
        } else {
            [&br#"{"type":"text","text":"#[..], &as_text(value), b"}"].concat()
        }
    };
    let text = match &output.node {
        Node::Array(items) => {
            let blocks: Vec<Vec<u8>> =
                items.iter().filter(|item| !matches!(item.node, Node::Null)).map(as_block).collect();
            [b"[", &blocks.join(&b',')[..], b"]"].concat()
        }
        _ => as_text(output),
    };
    let range = output.range.start - item.range.start..output.range.end - item.range.start;
    Fate::Becomes(splice(&row[item.range.clone()], range, &text))
}

/// A8: gives a row the type that its role tells, a reply of one text its block, and a row whose message is none a
/// placeholder with the same id and parent.
fn whole_message(row: Vec<u8>) -> Option<Vec<u8>> {
    let row = typed(row)?;
    let outline = Outline::parse(&row)?;
    let is_reply = outline.get("type").is_some_and(|kind| kind.is_text(&row, "assistant"));
    let message = outline.get("message");
    let content = message.and_then(|message| message.get("content"));
    match content.map(|content| (&content.node, content.range.clone())) {
        Some((Node::String(_), said)) if is_reply => {
            let block = [&br#"[{"type":"text","text":"#[..], &row[said.clone()], b"}]"].concat();
            return Some(splice(&row, said, &block));
        }
        Some((Node::String(_) | Node::Array(_), _)) => return Some(row),
        // One block without its list: what it says is readable.
        Some((Node::Object(_), block)) if is_block(content, &row) => {
            let list = [b"[", &row[block.clone()], b"]"].concat();
            return Some(splice(&row, block, &list));
        }
        _ => {}
    }
    let placeholder: &[u8] = if is_reply {
        br#"{"id":"msg_unreadable","type":"message","role":"assistant","content":[{"type":"text","text":"(this message could not be read)"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}"#
    } else {
        br#"{"role":"user","content":"(this message could not be read)"}"#
    };
    super::row_text::set_member(&row, "message", placeholder)
}

/// Whether this says what kind of block it is.
fn is_block(value: Option<&Outline>, row: &[u8]) -> bool {
    value.and_then(|value| value.get("type")?.text(row)).is_some_and(|kind| !kind.is_empty())
}

/// Gives a row without a type the one that its role tells, where the agent writes it: before the message.
fn typed(row: Vec<u8>) -> Option<Vec<u8>> {
    let outline = Outline::parse(&row)?;
    if outline.get("type").is_some_and(|kind| matches!(kind.node, Node::String(_))) {
        return Some(row);
    }
    let Some(role) = outline.get("message").and_then(|message| message.get("role")) else { return Some(row) };
    let role = row[role.range.clone()].to_vec();
    super::row_text::set_member_before(&row, "type", &role, "message")
}
