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
    /// The id of the call that this is, or that it answers.
    pub call: Option<String>,
    /// Whether a tool says that it failed.
    pub failed: bool,
}

impl<S: AsSource> Transcript<S> {
    /// Visits everything that was said, in the order in which it was. Stops when `visit` says no.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn conversation(&self, mut visit: impl FnMut(Utterance) -> bool) -> io::Result<()> {
        let tree = Tree::new(&self.index);
        let walk = tree.live_end(|no| tree.row(no).time).map(|end| tree.walk(end)).unwrap_or_default();
        let request = tree.request(&walk);
        for no in tree.as_said() {
            let row = tree.row(no);
            let is_turn = row.kind().is_turn() && !row.is(Flags::SIDECHAIN) && !row.is(Flags::REPEATED);
            if !is_turn || row.is(Flags::META) {
                continue;
            }
            let bytes = self.row_bytes(row)?;
            // What a compaction summed up is not lost: it is off the walk by design.
            let before_compaction = walk.last().is_some_and(|root| {
                tree.row(*root).flags.intersects(Flags::COMPACT_BOUNDARY | Flags::COMPACT_SUMMARY)
                    && no < *root
            });
            let stranded = !request.contains(no) && !before_compaction;
            for said in said_in(&tree, no, &bytes, stranded) {
                let silent = said.text.trim().is_empty() && !matches!(said.speaker, Speaker::Call(_));
                if !silent && !visit(said) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Everything that one row says.
pub(crate) fn said_in(tree: &Tree<'_>, no: RowNo, bytes: &[u8], stranded: bool) -> Vec<Utterance> {
    let row = tree.row(no);
    let speaker = match row.kind() {
        Kind::Assistant => Speaker::Agent,
        _ if row.is(Flags::COMPACT_SUMMARY) => Speaker::Summary,
        _ => Speaker::User,
    };
    let at_ms = Some(row.time).filter(|time| *time != i64::MIN);
    let plain = Utterance { speaker, at_ms, text: String::new(), stranded, call: None, failed: false };
    let outline = Outline::parse(bytes);
    let content = outline.as_ref().and_then(|outline| outline.get("message")?.get("content"));
    let mut said = Vec::new();
    match content.map(|content| &content.node) {
        Some(Node::String(_)) => {
            let text = content.and_then(|content| content.text(bytes));
            said.extend(text.map(|text| Utterance { text, ..plain.clone() }));
        }
        Some(Node::Array(items)) => said.extend(items.iter().filter_map(|item| block(item, bytes, &plain))),
        _ => {}
    }
    said
}

fn block(item: &Outline, bytes: &[u8], plain: &Utterance) -> Option<Utterance> {
    let text = |key: &str| item.get(key).and_then(|value| value.text(bytes));
    let says = |text: String| Utterance { text, ..plain.clone() };
    match text("type")?.as_str() {
        "text" => Some(says(text("text")?)),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(Utterance {
            speaker: Speaker::Call(text("name").unwrap_or_default()),
            call: text("id"),
            ..says(item.get("input").map(|input| input_text(input, bytes)).unwrap_or_default())
        }),
        "tool_result" => Some(Utterance {
            speaker: Speaker::Result,
            call: text("tool_use_id"),
            failed: item.get("is_error").is_some_and(|failed| &bytes[failed.range.clone()] == b"true"),
            ..says(item.get("content").map(|content| result_text(content, bytes)).unwrap_or_default())
        }),
        // What the provider's own tools found is of many forms; that it came is all that counts here.
        kind if kind.ends_with("_tool_result") => {
            Some(Utterance { speaker: Speaker::Result, call: text("tool_use_id"), ..says(String::new()) })
        }
        "image" => Some(says("[picture]".to_owned())),
        "document" => Some(says("[document]".to_owned())),
        _ => None,
    }
}

/// The one thing that tells a call from others: its command, file, pattern or description; else all of its input.
fn input_text(input: &Outline, bytes: &[u8]) -> String {
    const TELLING: [&str; 8] =
        ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];
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
