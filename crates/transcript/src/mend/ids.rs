//! Step 3, ids: rows whose id is none (B14) and rows without a `parentUuid` (B13).

use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::MINT;

use super::Mend;

impl Mend<'_> {
    pub(super) fn ids(&mut self) -> io::Result<()> {
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            if !row.kind().in_tree() || self.tree.gone.contains(no) {
                continue;
            }
            if row.is(Flags::FOREIGN_UUID) {
                // The index already knows the row by the id that is minted from its own.
                self.found(Class::B14, no, "the row gets a UUID made from its id");
                self.edit(no).uuid = Some((Class::B14, row.uuid));
                self.renamed.insert(row.uuid, row.uuid);
            } else if row.uuid == 0 && row.is(Flags::HAS_MESSAGE) {
                self.found(Class::B14, no, "the row gets a UUID made from its text");
                let fresh = Uuid::new_v5(&MINT, &self.row_bytes(no)?).as_u128();
                self.edit(no).uuid = Some((Class::B14, fresh));
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
                && let Some(earlier) = self.tree.nearest_earlier(no)
            {
                self.found(Class::B13, no, "it follows the row before it");
                self.set_parent(no, Some(earlier), Class::B13);
            }
        }
        Ok(())
    }

    /// Marks a row whose other fields may name a renamed id.
    fn edit_references(&mut self, no: crate::index::RowNo) {
        self.edit(no).references = true;
    }
}
