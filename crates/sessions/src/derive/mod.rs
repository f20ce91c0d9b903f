//! What is made from the records and comes back when it is deleted.

pub(crate) mod map;
pub(crate) mod registry;

use std::path::Path;

use store::durable;

/// Writes a derived file, if its content is new. Nobody waits for the disk: it can be made again.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), durable::Error> {
    if store::files::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        durable::private_dir(folder)?;
    }
    durable::replace_unsynced(path, bytes)
}
