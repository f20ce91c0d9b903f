use std::os::unix::fs::FileTypeExt;
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

fn folder(base: &Path) -> PathBuf {
    base.join(format!("tmux-{}", rustix::process::geteuid().as_raw()))
}
