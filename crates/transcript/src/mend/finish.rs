//! The last step: edits become splices, so that rows nobody edited are copied byte for byte.

use std::io;
use std::ops::Range;

use uuid::Uuid;

use crate::class::Class;
use crate::index::{BrokenLine, RowNo, identity};
use crate::json::{Node, Outline, encode};
use crate::plan::{Change, Finding, Plan, Reject, Splice};
use crate::salvage::Piece;
use crate::time;

use super::message::Mended;
use super::row_text::{id_value, set_member, splice};
use super::{Edit, Mend, Shape, bytes};

/// Fields that refer to another row's id (B14).
const REFERENCES: [&str; 4] = ["leafUuid", "messageId", "logicalParentUuid", "sourceToolAssistantUUID"];

impl Mend<'_> {
    pub(super) fn finish(mut self, leaf: Option<RowNo>) -> io::Result<(Plan, Shape)> {
        let walk = leaf.map(|leaf| self.tree.walk(leaf)).unwrap_or_default();
        let mut plan = Plan { orphans_fixed: self.orphans_fixed, ..Plan::default() };
        if self.tree.index.has_harmful_mark() {
            plan.splices.push(Splice { range: 0..3, with: Vec::new() });
            let (what, before) = ("byte order mark".to_owned(), Some("3 bytes".to_owned()));
            plan.changes.push(Change { class: Class::A10, row: 1, what, before, after: None });
        }
        let first: Vec<u8> = self.first.iter().flat_map(|row| [&row.bytes[..], b"\n"].concat()).collect();
        if !first.is_empty() {
            let start = self.tree.index.first_offset();
            for row in &self.first {
                plan.changes.push(new_row_change(row.class, 0, &row.bytes));
            }
            plan.splices.push(Splice { range: start..start, with: first });
        }
        self.broken_lines(&mut plan)?;
        self.whole_lines(&mut plan)?;
        plan.splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        plan.changes.sort_by_key(|change| change.row);
        plan.findings = std::mem::take(&mut self.findings.0)
            .into_iter()
            .map(|(class, (rows, count, repair))| Finding {
                class,
                rows,
                count,
                loses: String::new(),
                repair: repair.to_owned(),
            })
            .collect();
        Ok((plan, Shape { walk, elsewhere: self.elsewhere }))
    }

    /// Lines that are no rows are written anew, from the rows in them.
    fn broken_lines(&self, plan: &mut Plan) -> io::Result<()> {
        let index = self.tree.index;
        for line in index.broken.iter().filter(|line| !self.another_round || self.must_change(line)) {
            let (class, _) = bytes::name(line);
            let mut with = Vec::new();
            for piece in &line.pieces {
                match piece {
                    Piece::Nothing(_) => {}
                    Piece::Reject(range) => {
                        let range = line.offset + range.start as u64..line.offset + range.end as u64;
                        plan.rejects.push(Reject { class, range });
                    }
                    Piece::Row(range) => {
                        let offset = line.offset + range.start as u64;
                        let no = index.rows.partition_point(|row| row.offset < offset);
                        let Ok(no) = RowNo::try_from(no) else { continue };
                        let bytes = self.row_bytes(no)?;
                        self.row_after(no, bytes, plan, &mut with)?;
                    }
                }
            }
            let end = line.offset + line.len as u64 + u64::from(line.ended);
            plan.changes.push(Change {
                class,
                row: line.line,
                what: "line".to_owned(),
                before: Some(format!("{} bytes", line.len)),
                after: Some(
                    match line.pieces.iter().filter(|piece| matches!(piece, Piece::Row(_))).count() {
                        0 => "nothing".to_owned(),
                        1 => "1 row".to_owned(),
                        rows => format!("{rows} rows"),
                    },
                ),
            });
            plan.splices.push(Splice { range: line.offset..end, with });
        }
        Ok(())
    }

    /// Whether a broken line cannot stay for the next round: it has several rows, or one that changes.
    fn must_change(&self, line: &BrokenLine) -> bool {
        let rows = |offset: u64| self.tree.index.rows.partition_point(|row| row.offset < offset);
        let Range { start, end } = rows(line.offset)..rows(line.offset + line.len as u64);
        let changes = |no: usize| {
            let no = RowNo::try_from(no).unwrap_or(RowNo::MAX);
            self.edits.contains_key(&no) || self.dropped.contains_key(&no) || self.added.contains_key(&no)
        };
        end - start > 1 || (start..end).any(changes)
    }

    fn whole_lines(&self, plan: &mut Plan) -> io::Result<()> {
        let index = self.tree.index;
        let mut touched: Vec<RowNo> =
            self.edits.keys().chain(self.dropped.keys()).chain(self.added.keys()).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        let last = RowNo::try_from(index.rows.len().saturating_sub(1)).unwrap_or(RowNo::MAX);
        let open = |no: RowNo| index.open_end && no == last;
        for no in touched {
            let row = self.tree.row(no);
            let behind = index.broken.partition_point(|line| line.offset <= row.offset);
            let line = behind.checked_sub(1).map(|at| &index.broken[at]);
            let in_broken = line.is_some_and(|line| row.offset < line.offset + line.len as u64);
            if in_broken {
                continue;
            }
            let end = row.offset + u64::from(row.len);
            let old = self.row_bytes(no)?;
            let mut with = Vec::new();
            self.row_after(no, old.clone(), plan, &mut with)?;
            let range = row.offset..end + u64::from(!open(no));
            let same = with.len() == old.len() + 1 && with.starts_with(&old);
            if !same {
                plan.splices.push(Splice { range, with });
            }
        }
        if index.open_end && !plan.splices.iter().any(|splice| splice.range.end == index.size) {
            plan.splices.push(Splice { range: index.size..index.size, with: b"\n".to_vec() });
            plan.changes.push(Change {
                class: Class::A1,
                row: index.line_of(last),
                what: "newline".to_owned(),
                before: Some("missing".to_owned()),
                after: Some("added".to_owned()),
            });
        }
        Ok(())
    }

    /// Appends what will stand where a row stood, with its newline and the rows added behind it.
    fn row_after(&self, no: RowNo, old: Vec<u8>, plan: &mut Plan, with: &mut Vec<u8>) -> io::Result<()> {
        let row_number = self.tree.index.line_of(no);
        if let Some(class) = self.dropped.get(&no) {
            let row = self.tree.row(no);
            plan.rejects.push(Reject { class: *class, range: row.offset..row.offset + u64::from(row.len) });
            plan.changes.push(Change {
                class: *class,
                row: row_number,
                what: String::new(),
                before: Some(short(&old)),
                after: None,
            });
        } else {
            let new = match self.edits.get(&no) {
                Some(edit) => self.edited(no, old, edit, &mut plan.changes),
                None => old,
            };
            with.extend_from_slice(&new);
            with.push(b'\n');
        }
        for added in self.added.get(&no).into_iter().flatten() {
            plan.changes.push(new_row_change(added.class, row_number, &added.bytes));
            with.extend_from_slice(&added.bytes);
            with.push(b'\n');
        }
        Ok(())
    }

    fn edited(&self, no: RowNo, old: Vec<u8>, edit: &Edit, changes: &mut Vec<Change>) -> Vec<u8> {
        let mut row = old;
        let mut set = |row: &mut Vec<u8>, class: Class, key: &str, value: &[u8]| {
            let before = Outline::parse(row).and_then(|o| o.get(key).map(|v| short(&row[v.range.clone()])));
            if before.as_deref() == Some(&*short(value)) {
                return;
            }
            if let Some(new) = set_member(row, key, value) {
                *row = new;
                let after = Some(short(value));
                changes.push(Change {
                    class,
                    row: self.tree.index.line_of(no),
                    what: key.to_owned(),
                    before,
                    after,
                });
            }
        };
        if let Some((class, id)) = edit.uuid {
            set(&mut row, class, "uuid", &id_value(Some(id)));
        }
        if let Some((class, parent)) = edit.parent {
            set(&mut row, class, "parentUuid", &id_value(parent));
        }
        if let Some((class, at)) = edit.time {
            set(&mut row, class, "timestamp", &encode(&time::format(at)));
        }
        if let Some((class, leaf)) = edit.leaf {
            set(&mut row, class, "leafUuid", &id_value(Some(leaf)));
        }
        if let Some(copy) = edit.message_of
            && let Ok(bytes) = self.row_bytes(copy)
            && let Some(message) =
                Outline::parse(&bytes).and_then(|o| o.get("message").map(|m| m.range.clone()))
        {
            set(&mut row, Class::B6, "message", &bytes[message]);
        }
        if edit.references {
            self.rename_references(no, &mut row, changes);
        }
        if let Some(class) = edit.fixes.classes.first().copied()
            && let Some(Mended::Row(new)) = edit.fixes.apply(&row)
            && new != row
        {
            let value = |row: &[u8]| {
                Outline::parse(row).and_then(|o| o.get("message").map(|v| row[v.range.clone()].to_vec()))
            };
            let (before, after) = (value(&row).map(|v| short(&v)), value(&new).map(|v| short(&v)));
            let kind = |row: &[u8]| {
                Outline::parse(row).and_then(|o| o.get("type").map(|v| short(&row[v.range.clone()])))
            };
            let (untyped, typed) = (kind(&row), kind(&new));
            let same_type = untyped == typed;
            if !same_type {
                let what = "type".to_owned();
                changes.push(Change {
                    class,
                    row: self.tree.index.line_of(no),
                    what,
                    before: untyped,
                    after: typed,
                });
            }
            if same_type || before != after {
                let what = "message".to_owned();
                changes.push(Change { class, row: self.tree.index.line_of(no), what, before, after });
            }
            row = new;
        }
        row
    }

    /// Rewrites every field that names a renamed row.
    fn rename_references(&self, no: RowNo, row: &mut Vec<u8>, changes: &mut Vec<Change>) {
        let Some(outline) = Outline::parse(row) else { return };
        let mut found = Vec::new();
        for key in REFERENCES {
            found.extend(outline.get(key));
        }
        let metadata = outline.get("compactMetadata");
        for part in ["preservedSegment", "preservedMessages"] {
            for member in metadata.and_then(|m| m.get(part)).map(Outline::members).unwrap_or_default() {
                found.push(&member.value);
                found.extend(member.value.items());
            }
        }
        let mut ranges: Vec<_> = found
            .into_iter()
            .filter_map(|value| match value.node {
                Node::String(id) => {
                    let id = identity(id.raw(row));
                    let text = encode(&Uuid::from_u128(id).to_string());
                    let renamed = self.renamed.contains_key(&id) && row[value.range.clone()] != text[..];
                    renamed.then(|| (value.range.clone(), text))
                }
                _ => None,
            })
            .collect();
        ranges.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, text) in ranges {
            changes.push(Change {
                class: Class::B14,
                row: self.tree.index.line_of(no),
                what: "reference".to_owned(),
                before: Some(short(&row[range.clone()])),
                after: Some(short(&text)),
            });
            *row = splice(row, range, &text);
        }
    }
}

fn new_row_change(class: Class, row: u64, bytes: &[u8]) -> Change {
    Change { class, row, what: String::new(), before: None, after: Some(short(bytes)) }
}

/// The beginning of a value, for a line of a report.
fn short(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN * 4)]).into_owned();
    let mut chars = text.char_indices();
    match chars.nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
