//! The machine's key, which lies outside of the state directory and goes with it.

use std::path::{Path, PathBuf};

use repair::Paths;
use store::durable;

use crate::context::Context;

/// The key, and whether it goes.
pub(super) struct MachineKey {
    path: PathBuf,
    /// Another state directory whose records carry its mark.
    needed_by: Option<PathBuf>,
}

/// The key of this user, where there is one.
pub(super) fn of(around: &Paths) -> Option<MachineKey> {
    let path = around.machine_key.clone();
    if !path.exists() {
        return None;
    }
    // `REKINDLE_STATE_DIR` may name a second directory; the key is one for all.
    let usual = Context::usual_state(around);
    let needed_by = (usual != around.state && usual.exists()).then_some(usual);
    Some(MachineKey { path, needed_by })
}

impl MachineKey {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn words(&self, dry_run: bool) -> String {
        match &self.needed_by {
            Some(other) => format!("stays: {} needs it", other.display()),
            None if dry_run => "would be removed".to_owned(),
            None => "will be removed".to_owned(),
        }
    }

    /// Removes it where nobody else needs it, and its folder where nothing else is in it.
    pub(super) fn remove(&self) -> Result<(), durable::Error> {
        if self.needed_by.is_some() {
            return Ok(());
        }
        durable::remove(&self.path)?;
        if let Some(folder) = self.path.parent() {
            durable::remove_empty_dir(folder)?;
        }
        Ok(())
    }
}
