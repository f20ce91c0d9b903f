//! Where tmux keeps the sockets of a user's servers.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The sockets of all servers of this user that are where tmux puts them: `<base>/tmux-<user>/*`.
pub fn sockets(base: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(base)).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The socket of the server that a plain `tmux` asks, whether it runs or not.
pub fn default_socket(base: &Path) -> PathBuf {
    folder(base).join("default")
}

/// Makes the folder of a socket, where it is the one of this user. A boot may have cleared it, and tmux makes it only for
/// servers that it is told by name, not by path (measured on 3.3a).
pub(crate) fn make_room(socket: &Path) -> Result<(), String> {
    let Some(folder) = socket.parent().filter(|folder| folder.ends_with(folder_name())) else {
        return Ok(());
    };
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(told(error)),
        _ => {}
    }
    // As tmux itself is about the folder: who could write here could be the server.
    let meta = folder.symlink_metadata().map_err(told)?;
    if meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(format!("{} is not a folder of this user alone", folder.display()))
}

fn folder(base: &Path) -> PathBuf {
    base.join(folder_name())
}

fn folder_name() -> String {
    format!("tmux-{}", rustix::process::geteuid().as_raw())
}
