//! Step 1a, rows of another session (B16): they go aside.

use std::io;

use crate::class::Class;
use crate::index::RowNo;
use crate::strangers::strangers;

use super::Mend;

impl Mend<'_> {
    /// Whether there were any: then the next round sees what is left.
    pub(super) fn strangers(&mut self) -> io::Result<bool> {
        let Some(strangers) = strangers(&self.tree, self.source)? else { return Ok(false) };
        let aside: Vec<RowNo> = self.tree.numbers().filter(|no| strangers.rows.contains(*no)).collect();
        for no in aside {
            self.found(Class::B16, no, "they go aside");
            self.tree.remove(no);
            self.dropped.insert(no, Class::B16);
        }
        Ok(true)
    }
}
