//! Step 3, ids: rows whose id is none (B14) and rows without a `parentUuid` (B13).

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;

use super::Mend;

impl Mend<'_> {
    pub(super) fn ids(&mut self) {
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            let linked = row.kind().in_tree() || row.kind() == Kind::Progress;
            if !linked || self.tree.is_gone(no) {
                continue;
            }
            if row.is(Flags::FOREIGN_UUID) {
                // The index already knows the row by the id that is minted from its own.
                self.found(Class::B14, no, "the row gets a UUID made from its id");
                self.edit(no).uuid = Some((Class::B14, row.uuid));
                self.renamed.insert(row.uuid, row.uuid);
            } else if row.is(Flags::NO_UUID) {
                self.found(Class::B14, no, "the row gets a UUID made from its text");
                self.edit(no).uuid = Some((Class::B14, row.uuid));
            }
        }
        if !self.renamed.is_empty() {
            for no in self.tree.numbers() {
                let parent = self.tree.parent[no as usize];
                if self.tree.index.row_at(parent).is_some_and(|row| row.is(Flags::FOREIGN_UUID)) {
                    self.set_parent(no, Some(parent), Class::B14);
                }
                self.edit_references(no);
            }
        }
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            let lacks = row.flags.intersects(Flags::NO_PARENT_KEY | Flags::NONSENSE_PARENT);
            if self.tree.is_main(no)
                && lacks
                && !row.is(Flags::COMPACT_BOUNDARY)
                && let Some(earlier) = self.place(no)
            {
                self.found(Class::B13, no, "it follows the row before it");
                self.set_parent(no, Some(earlier), Class::B13);
            }
        }
    }

    /// Marks a row whose other fields may name a renamed id.
    fn edit_references(&mut self, no: crate::index::RowNo) {
        self.edit(no).references = true;
    }
}
