//! What a row says, as text.

use crate::json::{Node, Outline};

/// The text of a user's or assistant's row; empty where it has none.
pub(crate) fn text(row: &[u8]) -> String {
    let Some(outline) = Outline::parse(row) else { return String::new() };
    let Some(content) = outline.get("message").and_then(|message| message.get("content")) else {
        return String::new();
    };
    match &content.node {
        Node::String(_) => content.text(row).unwrap_or_default(),
        Node::Array(items) => {
            let texts = items.iter().filter_map(|item| item.get("text")?.text(row));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
