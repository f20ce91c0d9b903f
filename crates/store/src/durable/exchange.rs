use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{Error, at, folder_of, sync_dir};

/// Begins the third name of a file during an exchange by a hard link; the process id and the second name follow.
pub const EXCHANGE_PREFIX: &str = ".rekindle-exchange-";

/// How two files changed places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchanged {
    /// In one step, by the kernel.
    Atomically,
    /// By a hard link and a rename: `a` never lacked a file, the old one appeared at `b` a moment later.
    ByLink,
}

/// Puts `b` in the place of `a` and the old `a` in the place of `b`, both in one folder; neither inode is lost.
pub fn exchange(a: &Path, b: &Path) -> Result<Exchanged, Error> {
    let done = match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Ok(()) => Exchanged::Atomically,
        // What file systems without it answer (NFS, old FUSE and overlays), and kernels before 3.15.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => by_link(a, b)?,
        Err(error) => return Err(Error::new("exchange", a, error.into())),
    };
    sync_dir(folder_of(a))?;
    if folder_of(a) != folder_of(b) {
        sync_dir(folder_of(b))?;
    }
    Ok(done)
}

pub(super) fn by_link(a: &Path, b: &Path) -> Result<Exchanged, Error> {
    // The old file is reachable under the third name from before the swap until it stands at `b`.
    let name = b.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = folder_of(b).join(format!("{EXCHANGE_PREFIX}{}-{name}", std::process::id()));
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::new("remove", &aside, error));
        }
        _ => {}
    }
    fs::hard_link(a, &aside).map_err(at("link", a))?;
    fs::rename(b, a).map_err(at("replace", a))?;
    fs::rename(&aside, b).map_err(at("move", &aside))?;
    Ok(Exchanged::ByLink)
}
