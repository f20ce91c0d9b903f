//! A conversation as a person reads it: who said what, when, with which tool.

use std::io;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::RowNo;
use crate::json::{Node, Outline};
use crate::scan::{AsSource, Transcript};
use crate::tree::Tree;

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The agent calls a tool of this name.
    Call(String),
    /// A tool answers.
    Result,
    /// The summary a compaction left of everything before.
    Summary,
}

/// One thing that was said or done.
#[derive(Debug, Clone)]
pub struct Utterance {
    /// Who.
    pub speaker: Speaker,
    /// When, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// What; of a call its input, of a result its output.
    pub text: String,
    /// Whether a resume does not reach it.
    pub stranded: bool,
}

impl<S: AsSource> Transcript<S> {
    /// Visits everything that was said, in file order. Stops when `visit` says no.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn conversation(&self, mut visit: impl FnMut(Utterance) -> bool) -> io::Result<()> {
        let tree = Tree::new(&self.index);
        let walk = tree.live_end(|no| tree.row(no).time).map(|end| tree.walk(end)).unwrap_or_default();
        let request = tree.request(&walk);
        for no in tree.numbers() {
            let row = tree.row(no);
            let is_turn = row.kind().is_turn() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED);
            if !is_turn || row.is(Flags::META) {
                continue;
            }
            let bytes = self.source.as_source().bytes(row.offset, row.len as usize)?;
            // What a compaction summed up is not lost: it is off the walk by design.
            let before_compaction =
                walk.last().is_some_and(|root| tree.row(*root).is(Flags::COMPACT_BOUNDARY) && no < *root);
            let stranded = !request.contains(no) && !before_compaction;
            for (speaker, text) in self.said_in(&tree, no, &bytes) {
                let at_ms = Some(row.time).filter(|time| *time != i64::MIN);
                if !visit(Utterance { speaker, at_ms, text, stranded }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn said_in(&self, tree: &Tree<'_>, no: RowNo, bytes: &[u8]) -> Vec<(Speaker, String)> {
        let row = tree.row(no);
        let plain = match row.kind() {
            Kind::Assistant => Speaker::Agent,
            _ if row.is(Flags::COMPACT_SUMMARY) => Speaker::Summary,
            _ => Speaker::User,
        };
        let outline = Outline::parse(bytes);
        let content = outline.as_ref().and_then(|outline| outline.get("message")?.get("content"));
        let mut said = Vec::new();
        match content.map(|content| &content.node) {
            Some(Node::String(_)) => {
                said.extend(content.and_then(|c| c.text(bytes)).map(|text| (plain, text)));
            }
            Some(Node::Array(items)) => {
                for item in items {
                    said.extend(block(item, bytes, &plain));
                }
            }
            _ => {}
        }
        said.retain(|(speaker, text)| !text.trim().is_empty() || matches!(speaker, Speaker::Call(_)));
        said
    }
}

fn block(item: &Outline, bytes: &[u8], plain: &Speaker) -> Option<(Speaker, String)> {
    let text = |key: &str| item.get(key).and_then(|value| value.text(bytes));
    match text("type")?.as_str() {
        "text" => Some((plain.clone(), text("text")?)),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = item.get("input").map(|input| input_text(input, bytes)).unwrap_or_default();
            Some((Speaker::Call(text("name").unwrap_or_default()), input))
        }
        "tool_result" => Some((Speaker::Result, result_text(item.get("content")?, bytes))),
        "image" => Some((plain.clone(), "[picture]".to_owned())),
        "document" => Some((plain.clone(), "[document]".to_owned())),
        _ => None,
    }
}

/// The one thing that tells a call from others: its command, file, pattern or description; else all of its input.
fn input_text(input: &Outline, bytes: &[u8]) -> String {
    const TELLING: [&str; 7] = ["command", "file_path", "path", "pattern", "url", "query", "description"];
    let telling = TELLING.iter().find_map(|key| input.get(key).and_then(|value| value.text(bytes)));
    telling.unwrap_or_else(|| String::from_utf8_lossy(&bytes[input.range.clone()]).into_owned())
}

fn result_text(content: &Outline, bytes: &[u8]) -> String {
    match &content.node {
        Node::String(_) => content.text(bytes).unwrap_or_default(),
        Node::Array(items) => {
            let parts = items.iter().map(|item| match item.get("text").and_then(|text| text.text(bytes)) {
                Some(text) => text,
                None => "[picture]".to_owned(),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
