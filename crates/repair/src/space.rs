//! Whether the disk has room (D2): a full one drops the agent's writes in silence.

use std::path::Path;

use crate::Refusal;

/// What is left free for everybody else.
const RESERVE: u64 = 16 << 20;

/// Makes sure that `bytes` more fit beside `path`; where that cannot be told, they fit.
pub(crate) fn room_for(path: &Path, bytes: u64) -> Result<(), Refusal> {
    let Ok(disk) = rustix::fs::statvfs(path) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed = bytes.saturating_add(RESERVE);
    if free < needed {
        return Err(Refusal::NoSpace { path: path.to_path_buf(), needed, free });
    }
    Ok(())
}
