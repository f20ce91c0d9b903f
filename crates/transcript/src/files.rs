//! Opens files whose path came from outside: a hook's event, a registry, a record, the command line.
//!
//! Such a path can name anything. Opening a FIFO waits for a writer that may never come, reading `/dev/zero` never ends, and
//! opening some devices acts on them. So only regular files are opened, and **nothing here waits or reads without end**.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

/// Why a path is not opened although something is there. It stands inside an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no regular file.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It belongs to another user.
    #[error("it belongs to another user (uid {0})")]
    OtherUser(u32),
    /// It is too large to be held in memory.
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        let kind = match refusal {
            Refusal::NotRegular(DIRECTORY) => io::ErrorKind::IsADirectory,
            Refusal::NotRegular(_) => io::ErrorKind::InvalidInput,
            Refusal::OtherUser(_) => io::ErrorKind::PermissionDenied,
            Refusal::TooLarge => io::ErrorKind::FileTooLarge,
        };
        io::Error::new(kind, refusal)
    }
}

const DIRECTORY: &str = "a directory";

/// Records, settings, manifests and caches are a thousand times smaller.
pub const LARGEST: u64 = 1 << 30;

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is no regular file ([`Refusal`]).
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path.as_ref())
}

/// Opens a regular file that belongs to this user, or to root.
///
/// # Errors
/// As for [`open`], and where it belongs to another user.
pub fn open_own(path: impl AsRef<Path>) -> io::Result<File> {
    let file = open(path)?;
    check_owner(&file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file as these options say.
///
/// # Errors
/// As for [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Looked at first, because opening a device can act on it, and again once it is open, because it may have changed.
    match std::fs::metadata(path) {
        Ok(meta) => check_regular(&meta)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let options = without_waiting(options);
    for _ in 0..LEASE_ATTEMPTS {
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_lease(),
            opened => return opened.and_then(regular),
        }
    }
    options.open(path).and_then(regular)
}

/// Opens a file or folder for reading, whatever it is, without waiting: for its metadata, not for its content.
///
/// # Errors
/// It cannot be opened.
pub fn open_any(path: &Path) -> io::Result<File> {
    without_waiting(OpenOptions::new().read(true)).open(path)
}

fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
}

fn regular(file: File) -> io::Result<File> {
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Another process can hold a lease on a file for a moment, and gives it up when it is asked: two seconds are plenty.
const LEASE_ATTEMPTS: u32 = 100;

#[expect(clippy::disallowed_methods, reason = "a poll interval: nothing tells when a lease is given up")]
fn wait_for_lease() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Whether this is a regular file.
///
/// # Errors
/// It is something else.
pub fn check_regular(meta: &Metadata) -> Result<(), Refusal> {
    let kind = meta.file_type();
    Err(Refusal::NotRegular(match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => DIRECTORY,
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () if kind.is_symlink() => "a symbolic link",
        () => "a device",
    }))
}

/// Whether this belongs to the user, or to root, which can do anything anyway.
///
/// # Errors
/// It belongs to another user.
pub fn check_owner(meta: &Metadata) -> Result<(), Refusal> {
    let owner = meta.uid();
    let ours = owner == rustix::process::geteuid().as_raw() || owner == 0;
    if ours { Ok(()) } else { Err(Refusal::OtherUser(owner)) }
}

/// Reads a regular file whole.
///
/// # Errors
/// As for [`open`], and where it is larger than [`LARGEST`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_all(open(path)?)
}

/// Reads a regular file of this user whole.
///
/// # Errors
/// As for [`open_own`] and [`read`].
pub fn read_own(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_all(open_own(path)?)
}

/// Reads a regular file of text whole.
///
/// # Errors
/// As for [`read`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    text(read(path)?)
}

/// Reads a regular file of text of this user whole.
///
/// # Errors
/// As for [`read_own`] and [`read_to_string`].
pub fn read_own_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    text(read_own(path)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn read_all(file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > LARGEST {
        return Err(Refusal::TooLarge.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // It may grow meanwhile.
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(Refusal::TooLarge.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
