//! Step 1a, rows of another session (B16): they go aside.

use crate::class::Class;
use crate::index::RowNo;
use crate::strangers::strangers;

use super::Mend;

impl Mend<'_> {
    /// Whether there were any: then the next round sees what is left.
    pub(super) fn strangers(&mut self) -> bool {
        let Some(strangers) = strangers(&self.tree) else { return false };
        let aside: Vec<RowNo> = self.tree.numbers().filter(|no| strangers.contains(*no)).collect();
        for no in aside {
            self.found(Class::B16, no, "they go aside");
            self.tree.remove(no);
            self.dropped.insert(no, Class::B16);
        }
        true
    }
}
