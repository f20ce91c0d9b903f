//! Step 1, the bytes: lines that are no rows (A1–A4), a mark or a missing newline around them (A10).

use crate::class::Class;
use crate::index::{BrokenLine, RowNo};
use crate::salvage::Piece;

use super::Mend;

impl Mend<'_> {
    /// Names what is wrong with the bytes; the splices come from the index at the end.
    pub(super) fn bytes(&mut self) {
        let index = self.tree.index;
        for line in &index.broken {
            let (class, repair) = name(line);
            self.findings.add(class, line.line, repair);
        }
        if index.has_harmful_mark() {
            self.findings.add(Class::A10, 1, "the byte order mark goes");
        }
        if index.open_end {
            let last = RowNo::try_from(index.rows.len().saturating_sub(1)).unwrap_or(RowNo::MAX);
            self.findings.add(Class::A1, index.line_of(last), "the missing newline is added");
        }
    }
}

/// Which class a broken line belongs to.
pub(super) fn name(line: &BrokenLine) -> (Class, &'static str) {
    let rows = line.pieces.iter().filter(|piece| matches!(piece, Piece::Row(_))).count();
    let torn = line.pieces.iter().any(|piece| matches!(piece, Piece::Reject(_)));
    match (rows, torn) {
        (0, true) if !line.ended => (Class::A1, "the fragment goes aside"),
        (0, true) => (Class::A8, "the line goes aside"),
        (_, true) => (Class::A2, "the whole row is kept, the fragment goes aside"),
        (0 | 1, false) => (Class::A4, "the NUL bytes go, the row is kept"),
        (_, false) => (Class::A3, "each row gets its own line"),
    }
}
