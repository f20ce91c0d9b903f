//! The only module that writes.
//!
//! A file is replaced whole: a temporary one beside it (0600), synced, renamed, the folder synced. After a crash there
//! is the old content or the new one. Records that grow are appended to by single writes.

#![expect(clippy::disallowed_methods, reason = "this module is what the lint points to")]

mod append;
mod block;
mod exchange;

pub use append::{Appender, Sync, append};
pub use block::{overwrite, overwrite_block};
pub use exchange::{EXCHANGE_PREFIX, Exchanged, exchange};

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::files;

/// Begins the name of every temporary file, so that whoever lists a folder can pass it over.
pub const TEMPORARY_PREFIX: &str = ".rekindle-";

/// The system refused a write.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}", path.display())]
pub struct Error {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

impl Error {
    /// An error of this action on this path.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_path_buf(), source }
    }

    /// What kind of refusal it was.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

fn at<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Error + 'a {
    move |source| Error::new(action, path, source)
}

/// Replaces a file's content; readers see the old or the new one, also after a crash.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace_with(path, |out| out.write_all(bytes))
}

/// Replaces a file by what `fill` writes.
pub fn replace_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    replace_like(path, Kept::default(), fill)
}

/// Replaces a file without waiting for the disk: for what comes back by itself, and where waiting would hurt.
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = folder_of(path);
    let mut temporary = private_temporary(folder)?;
    temporary.write_all(bytes).map_err(at("write", path))?;
    temporary.persist(path).map_err(|e| Error::new("replace", path, e.error))?;
    Ok(())
}

fn private_temporary(folder: &Path) -> Result<tempfile::NamedTempFile, Error> {
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        .map_err(at("write into", folder))
}

/// What a replaced file keeps of the one that stood there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kept {
    /// Permission bits; 0600 where none are given.
    pub mode: Option<u32>,
    /// Modification time.
    pub mtime: Option<SystemTime>,
}

impl Kept {
    /// Mode and modification time of a file.
    pub fn of(meta: &Metadata) -> Self {
        Self { mode: Some(meta.permissions().mode() & 0o7777), mtime: meta.modified().ok() }
    }
}

/// Replaces a file by what `fill` writes, with a given mode and modification time.
pub fn replace_like(
    path: &Path,
    kept: Kept,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    write_beside(path, kept, fill)?.persist(path).map_err(|e| Error::new("replace", path, e.error))?;
    sync_dir(folder_of(path))
}

/// Writes a new file; what stands there already stays and is an error.
pub fn create_new(
    path: &Path,
    kept: Kept,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    persist_new(write_beside(path, kept, fill)?, path)
}

/// Writes a synced temporary file in the folder of `path`, for the caller to rename or exchange; dropped, it goes.
pub fn write_beside(
    path: &Path,
    kept: Kept,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<tempfile::NamedTempFile, Error> {
    let folder = folder_of(path);
    let mut temporary = private_temporary(folder)?;
    let mut out = BufWriter::with_capacity(256 * 1024, temporary.as_file_mut());
    fill(&mut out).and_then(|()| out.flush()).map_err(at("write", path))?;
    drop(out);
    set_kept(temporary.as_file(), kept).map_err(at("set mode and time of", path))?;
    temporary.as_file().sync_all().map_err(at("sync", path))?;
    Ok(temporary)
}

/// Gives a temporary file of [`write_beside`] its name; what stands there already stays and is an error.
pub fn persist_new(temporary: tempfile::NamedTempFile, path: &Path) -> Result<(), Error> {
    temporary.persist_noclobber(path).map_err(|e| Error::new("create", path, e.error))?;
    sync_dir(folder_of(path))
}

/// Copies a file byte for byte (0600, same modification time) and makes sure of the length; nothing is overwritten.
pub fn copy_exact(source: &Path, target: &Path) -> Result<u64, Error> {
    let mut input = files::open(source).map_err(at("open", source))?;
    let meta = input.metadata().map_err(at("look at", source))?;
    let kept = Kept { mode: None, mtime: meta.modified().ok() };
    let mut copied = 0;
    create_new(target, kept, |out| {
        // Only as far as it was long at the start: an agent may be appending.
        copied = io::copy(&mut (&mut input).take(meta.len()), out)?;
        if copied == meta.len() {
            Ok(())
        } else {
            Err(io::Error::other("the file shrank while it was copied"))
        }
    })?;
    let written = fs::metadata(target).map_err(at("look at", target))?.len();
    if written != copied {
        return Err(Error::new("copy to", target, io::Error::other("the copy has another length")));
    }
    Ok(copied)
}

/// Writes a file that others have appended to out to the disk, and its entry in the folder.
pub fn sync_file(path: &Path) -> Result<(), Error> {
    let synced = files::open(path).and_then(|file| file.sync_data());
    synced.map_err(at("write out", path))?;
    sync_dir(folder_of(path))
}

/// Makes a folder as its user would, and those above it.
pub fn users_dir(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(at("make", path))
}

/// Makes one folder (0700) below one that is there; one that is there already is fine.
pub fn private_dir_below(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(at("make", path)),
    }
}

/// Makes a folder and those above it, 0700 where they are new.
pub fn private_dir(path: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at("make", path))
}

/// Removes a file; one that is gone already is fine.
pub fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Ok(()) => sync_dir(folder_of(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::new("remove", path, error)),
    }
}

/// Removes a file without waiting for the disk: for what would do no harm if it came back.
pub fn remove_unsynced(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::new("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it; one that is gone already is fine.
pub fn remove_tree(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Ok(()) => sync_dir(folder_of(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::new("remove", path, error)),
    }
}

/// Removes a folder if nothing is in it; whether it went. The disk is not waited for: an empty one that comes back does no
/// harm.
pub fn remove_empty_dir(path: &Path) -> Result<bool, Error> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Ok(false)
        }
        Err(error) => Err(Error::new("remove", path, error)),
    }
}

/// Makes a symbolic link; what stands there already stays and is an error.
pub fn symlink(target: &Path, path: &Path) -> Result<(), Error> {
    std::os::unix::fs::symlink(target, path).map_err(at("link", path))?;
    sync_dir(folder_of(path))
}

/// Moves a file or folder within a file system and syncs both folders.
pub fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(at("move", from))?;
    sync_dir(folder_of(to))?;
    sync_dir(folder_of(from))
}

/// Makes the names in a folder durable.
pub fn sync_dir(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(at("sync", path))
}

/// Makes everything on the file system of `path` durable at once: cheaper than thousands of single syncs.
pub fn sync_filesystem(path: &Path) -> Result<(), Error> {
    let folder = File::open(path).map_err(at("open", path))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&folder).map_err(|e| Error::new("sync the file system of", path, e.into()))?;
    #[cfg(not(target_os = "linux"))]
    folder.sync_all().map_err(at("sync", path))?;
    Ok(())
}

/// Gives a file or folder mode and modification time; neither changes its content.
pub fn set_like(path: &Path, kept: Kept) -> Result<(), Error> {
    let file = files::open_any(path).map_err(at("open", path))?;
    set_kept(&file, kept).map_err(at("set mode and time of", path))
}

fn set_kept(file: &File, kept: Kept) -> io::Result<()> {
    if let Some(mode) = kept.mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    match kept.mtime {
        Some(mtime) => file.set_modified(mtime),
        None => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    files::open_with(OpenOptions::new().append(true).create(true).mode(0o600), path)
}

#[cfg(test)]
mod tests;
