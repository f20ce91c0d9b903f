//! Tool calls and their results (C1–C3), server tools (C10), and who speaks first.

use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{ByHash, MINT, NONE, RowNo, Tool, ToolRole};
use crate::json::{Node, Outline, encode};
use crate::time;
use crate::tree::RowSet;

use super::row_text::{id_value, new_row};
use super::runs::Runs;
use super::{Mend, NewRow};

/// Where each row stands on the walk.
struct Places(Vec<u32>);

impl Places {
    fn new(walk: &[RowNo], rows: usize) -> Places {
        let mut places = vec![u32::MAX; rows];
        for (at, no) in walk.iter().enumerate() {
            places[*no as usize] = u32::try_from(at).unwrap_or(u32::MAX);
        }
        Places(places)
    }

    fn of(&self, no: RowNo) -> Option<usize> {
        self.0.get(no as usize).filter(|at| **at != u32::MAX).map(|at| *at as usize)
    }
}

impl Mend<'_> {
    /// Finds blocks without their other half and marks the rows they are in.
    pub(super) fn pairs(&mut self, walk: &[RowNo], request: &RowSet) -> io::Result<()> {
        let (mut calls, mut results): (ByHash<RowNo>, ByHash<RowNo>) = Default::default();
        let index = self.tree.index;
        let sent = |mend: &Self, no: RowNo| request.contains(no) && mend.tree.is_main(no);
        for tool in index.tools.iter().filter(|tool| tool.role == ToolRole::Call) {
            if !sent(self, tool.row) {
                continue;
            }
            if let Some(first) = calls.get(&tool.id) {
                self.found(Class::C3, tool.row, "the first call stays");
                let in_one_row = *first == tool.row;
                let fixes = &mut self.edit(tool.row).fixes;
                fixes.add(Class::C3);
                if in_one_row {
                    fixes.repeated_calls = true;
                } else {
                    fixes.unpaired.push(tool.id);
                }
            } else {
                calls.insert(tool.id, tool.row);
            }
        }
        let places = Places::new(walk, index.rows.len());
        // Whoever speaks on the walk, but for results: a reply by its number, anybody else by one that no reply has.
        let speakers = Runs::new(walk, |no| {
            let row = self.tree.row(no);
            let counts = row.kind().is_turn() && !row.is(Flags::HAS_RESULT);
            let is_reply = row.kind() == Kind::Assistant;
            counts.then(|| if is_reply { u64::from(row.reply()) } else { u64::MAX })
        });
        for tool in index.tools.iter().filter(|tool| tool.role == ToolRole::Result) {
            if !sent(self, tool.row) {
                continue;
            }
            let known =
                calls.get(&tool.id).is_some_and(|call| self.follows(&speakers, &places, *call, tool.row));
            if known && !results.contains_key(&tool.id) {
                results.insert(tool.id, tool.row);
            } else {
                self.found(Class::C2, tool.row, "the result goes aside");
                let fixes = &mut self.edit(tool.row).fixes;
                fixes.add(Class::C2);
                fixes.unpaired.push(tool.id);
            }
        }
        self.unanswered(walk, &results)?;
        self.server_tools(walk, &places);
        Ok(())
    }

    /// Whether a result stands where the API looks for it: behind its call and before anybody else speaks.
    fn follows(&self, speakers: &Runs, places: &Places, call: RowNo, result: RowNo) -> bool {
        let Some(result_at) = places.of(result) else {
            // Beside the walk: agents that put it back put it behind its call.
            let parent = self.tree.parent[result as usize];
            return parent != NONE && self.tree.row(parent).reply() == self.tree.row(call).reply();
        };
        let reply = self.tree.row(call).reply();
        let call_at = places.of(call).filter(|at| *at > result_at).unwrap_or(usize::MAX);
        let other = speakers.first_other(result_at + 1, u64::from(reply));
        other >= call_at || other >= speakers.len()
    }

    /// C1: a call on the walk without a result, though the conversation went on.
    fn unanswered(&mut self, walk: &[RowNo], results: &ByHash<RowNo>) -> io::Result<()> {
        let replies = Runs::new(walk, |no| {
            let row = self.tree.row(no);
            (row.kind().is_turn() && !row.is(Flags::HAS_RESULT)).then(|| u64::from(row.reply()))
        });
        for (at, no) in walk.iter().enumerate() {
            let row = self.tree.row(*no);
            if row.kind() != Kind::Assistant || !row.is(Flags::HAS_CALL) {
                continue;
            }
            let went_on = replies.first_other(0, u64::from(row.reply())) < at;
            let open: Vec<u64> = self
                .tree
                .index
                .tools_of(*no)
                .iter()
                .filter(|tool| tool.role == ToolRole::Call && !results.contains_key(&tool.id))
                .map(|tool| tool.id)
                .collect();
            let dropped = self.edits.get(no).is_some_and(|edit| edit.fixes.classes.contains(&Class::C3));
            if open.is_empty() || !went_on || dropped {
                continue;
            }
            self.found(Class::C1, *no, "a result that says it was lost is added");
            let id = self.add_result(*no, &open)?;
            // The next row of the walk follows the result, unless it is another part of the same reply.
            if let Some(next) = at.checked_sub(1).map(|at| walk[at])
                && !(self.tree.row(next).kind() == Kind::Assistant
                    && self.tree.row(next).reply() == row.reply())
            {
                self.edit(next).parent = Some((Class::C1, Some(id)));
            }
        }
        Ok(())
    }

    fn add_result(&mut self, call: RowNo, open: &[u64]) -> io::Result<u128> {
        let model = self.row_bytes(call)?;
        let mut content = Vec::new();
        if let Some(outline) = Outline::parse(&model) {
            let blocks = outline.get("message").and_then(|message| message.get("content"));
            for block in blocks.map(Outline::items).unwrap_or_default() {
                let Some(Node::String(id)) = block.get("id").map(|id| &id.node) else { continue };
                if open.contains(&crate::index::hash(id.raw(&model))) {
                    let mut result = br#"{"tool_use_id":""#.to_vec();
                    result.extend_from_slice(id.raw(&model));
                    result.extend_from_slice(
                        br#"","type":"tool_result","content":"[the result of this tool call was lost]","is_error":true}"#,
                    );
                    content.push(result);
                }
            }
        }
        let parent = self.uuid_of(call);
        let id = Uuid::new_v5(&MINT, format!("result {}", Uuid::from_u128(parent)).as_bytes()).as_u128();
        let mut message = br#"{"role":"user","content":["#.to_vec();
        message.extend(content.join(&b','));
        message.extend_from_slice(b"]}");
        let members = [
            ("parentUuid", id_value(Some(parent))),
            ("type", encode("user")),
            ("message", message),
            ("uuid", id_value(Some(id))),
            ("timestamp", encode(&time::format(self.time_of(call)))),
            ("toolUseResult", encode("Error: [the result of this tool call was lost]")),
            ("sourceToolAssistantUUID", id_value(Some(parent))),
        ];
        if let Some(bytes) = new_row(&model, &members) {
            self.added.entry(call).or_default().push(NewRow { class: Class::C1, bytes });
        }
        Ok(id)
    }

    /// C10: rows of another kind between a server tool's call and its result go behind the pair.
    fn server_tools(&mut self, walk: &[RowNo], places: &Places) {
        let index = self.tree.index;
        if !index.tools.iter().any(|tool| tool.role == ToolRole::ServerResult) {
            return;
        }
        let replies = Runs::new(walk, |no| {
            let row = self.tree.row(no);
            row.kind().is_turn().then(|| u64::from(row.reply()))
        });
        let mut calls: ByHash<Tool> = ByHash::default();
        for result in &index.tools {
            if result.role == ToolRole::ServerCall {
                calls.insert(result.id, *result);
            }
            let answers = result.role == ToolRole::ServerResult;
            let Some(call) = calls.get(&result.id).filter(|call| answers && call.row < result.row) else {
                continue;
            };
            let (Some(upper), Some(lower)) = (places.of(call.row), places.of(result.row)) else { continue };
            if lower >= upper {
                continue;
            }
            let reply = self.tree.row(call.row).reply();
            let between = &walk[lower + 1..upper];
            if replies.first_other(lower + 1, u64::from(reply)) >= upper {
                continue;
            }
            // root … call, x, y, result, next … leaf becomes root … call, result, x, y, next … leaf.
            let (Some(first), Some(last)) = (between.last().copied(), between.first().copied()) else {
                continue;
            };
            self.found(Class::C10, result.row, "the rows between go behind the pair");
            self.set_parent(result.row, Some(call.row), Class::C10);
            self.set_parent(first, Some(result.row), Class::C10);
            if let Some(next) = lower.checked_sub(1).map(|at| walk[at]) {
                self.set_parent(next, Some(last), Class::C10);
            }
        }
    }

    /// A request must begin with the user. Where the first prompt or a compaction's summary was lost, a row says so.
    pub(super) fn first_speaker(&mut self, walk: &[RowNo]) -> io::Result<()> {
        let Some(first) = walk.iter().rev().copied().find(|no| self.speaks(*no)) else { return Ok(()) };
        if self.tree.row(first).kind() != Kind::Assistant {
            return Ok(());
        }
        let boundary = walk.last().copied().filter(|root| self.tree.row(*root).is(Flags::COMPACT_BOUNDARY));
        let model = self.row_bytes(first)?;
        let (class, text) = match boundary {
            Some(_) => (Class::B9, "[the summary of the conversation before this point was lost]"),
            None => (Class::B1, "[the beginning of this conversation was lost]"),
        };
        let name = format!("first {}", Uuid::from_u128(self.uuid_of(first)));
        let mut id = Uuid::new_v5(&MINT, name.as_bytes()).as_u128();
        // The compaction keeps rows behind its summary by the summary's id: the new row takes it.
        if let Some(boundary) = boundary
            && let Some(anchor) = self.anchor(boundary)?
            && self.tree.index.find(anchor).is_none()
        {
            id = anchor;
        }
        let mut message = br#"{"role":"user","content":"#.to_vec();
        message.extend(encode(text));
        message.push(b'}');
        let mut members = vec![
            ("parentUuid", id_value(boundary.map(|boundary| self.uuid_of(boundary)))),
            ("type", encode("user")),
            ("message", message),
            ("uuid", id_value(Some(id))),
            ("timestamp", encode(&time::format(self.time_of(first).saturating_sub(1)))),
        ];
        if boundary.is_some() {
            members.push(("isCompactSummary", b"true".to_vec()));
        }
        let Some(bytes) = new_row(&model, &members) else { return Ok(()) };
        self.found(class, first, "a row that says so is added before it");
        // The row right behind the boundary, or the first speaker itself, follows the new row.
        let child = match boundary {
            Some(boundary) => walk.iter().rev().copied().find(|no| *no != boundary).unwrap_or(first),
            None => walk.last().copied().unwrap_or(first),
        };
        self.edit(child).parent = Some((class, Some(id)));
        let row = NewRow { class, bytes };
        match boundary {
            Some(boundary) => self.added.entry(boundary).or_default().push(row),
            None => match child.checked_sub(1) {
                Some(before) => self.added.entry(before).or_default().push(row),
                None => self.first.push(row),
            },
        }
        Ok(())
    }

    /// Whether the model hears this row.
    fn speaks(&self, no: RowNo) -> bool {
        let row = self.tree.row(no);
        let placeholder = || self.edits.get(&no).is_some_and(|edit| edit.fixes.keep_turn);
        row.kind().is_turn()
            && !row.is(Flags::API_ERROR)
            && (row.flags.intersects(Flags::SAYS | Flags::HAS_RESULT) || placeholder())
    }

    /// The id of the summary row a boundary expects.
    fn anchor(&self, boundary: RowNo) -> io::Result<Option<u128>> {
        let bytes = self.row_bytes(boundary)?;
        let outline = Outline::parse(&bytes);
        let metadata = outline.as_ref().and_then(|outline| outline.get("compactMetadata"));
        let segment = metadata.and_then(|m| m.get("preservedSegment").or_else(|| m.get("preservedMessages")));
        let anchor = segment.and_then(|segment| segment.get("anchorUuid")).and_then(|id| id.text(&bytes));
        Ok(anchor.map(|id| crate::index::identity(id.as_bytes())))
    }
}
