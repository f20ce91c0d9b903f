//! The vault's copy of a file that is about to be changed, or was changed by us.

use agents::claude::Source;
use jiff::Timestamp;
use vault::Origination;

use crate::{Error, Repairer};

impl Repairer {
    /// Mirrors one file for certain. A conversation that its user had forgotten is not mirrored, and can be repaired all the
    /// same: the plain copy in the backups is made and verified for every change.
    pub(crate) fn mirror(&self, source: &Source, whose: Origination, now: Timestamp) -> Result<(), Error> {
        match self.vault.sync_one(source, whose, now) {
            Ok(_) | Err(vault::Error::Forgotten { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
