//! Whether a process has a file open for writing. The kernel is asked by a read lease, which it grants only while no
//! descriptor for writing is open, in any process, container or namespace; `/proc` then names the process.

use std::fs::File;
use std::path::Path;

use crate::backup::Writer;

/// Whether any process has a file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// None has.
    None,
    /// One has, or several.
    Some,
    /// This file system or this system cannot tell (NFS, FUSE, another user's file).
    Unknown,
}

/// Which signal tells of a lease that is to be given up; missing in `libc`, the same number on every architecture.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Asks for a read lease on a file that is open for reading only, and gives it back at once.
#[cfg(target_os = "linux")]
pub(crate) fn writers(file: &File) -> Writers {
    use std::os::fd::AsRawFd;
    let descriptor = file.as_raw_fd();
    // A process that opens the file while the lease is held makes the kernel send a signal. The default one, SIGIO, would
    // end this process; SIGURG is ignored unless a program asks for it.
    // SAFETY: the call takes numbers, and the descriptor is open as long as `file` is borrowed.
    if unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) } == -1 {
        return Writers::Unknown;
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_RDLCK) } == -1 {
        let refused = std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        return if refused { Writers::Some } else { Writers::Unknown };
    }
    // SAFETY: as above. The kernel drops the lease with the descriptor where this should fail.
    unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) };
    Writers::None
}

/// No such lease is known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn writers(_file: &File) -> Writers {
    Writers::Unknown
}

/// A process that has the file at `path` open for writing, by device and inode.
pub(crate) fn writer(path: &Path, file: &File) -> Option<Writer> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata().ok()?;
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        for descriptor in std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            // By the name first: looking at a file of a file system that does not answer would not come back.
            let same_name = std::fs::read_link(descriptor.path())
                .is_ok_and(|target| target.file_name().is_some() && target.file_name() == path.file_name());
            let same_file = || {
                std::fs::metadata(descriptor.path())
                    .is_ok_and(|open| (open.dev(), open.ino()) == (meta.dev(), meta.ino()))
            };
            if same_name && same_file() && writes(&process.path().join("fdinfo").join(descriptor.file_name()))
            {
                let program = store::files::read_to_string(process.path().join("comm")).unwrap_or_default();
                return Some(Writer { pid, program: program.trim_end().to_owned() });
            }
        }
    }
    None
}

/// Whether a descriptor is open for writing: the last octal digit of its flags is the access mode.
fn writes(fdinfo: &Path) -> bool {
    let text = store::files::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
    flags.is_some_and(|flags| flags.ends_with(['1', '2', '5', '6']))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_descriptor_for_writing_is_seen_and_one_for_reading_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        store::durable::replace(&path, b"row\n").unwrap();
        let file = File::open(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert_eq!((writers(&file), writer(&path, &file)), (Writers::None, None));
        let open = File::options().append(true).open(&path).unwrap();
        assert_eq!(writers(&file), Writers::Some);
        let found = writer(&path, &file).unwrap();
        assert_eq!(found.pid, std::process::id());
        drop(open);
        assert_eq!(writers(&file), Writers::None);
        drop(reader);
    }

    #[test]
    fn no_lease_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        store::durable::replace(&path, b"row\n").unwrap();
        let file = File::open(&path).unwrap();
        for _ in 0..3 {
            assert_eq!(writers(&file), Writers::None);
        }
        // SAFETY: the call takes numbers, and the descriptor is open.
        let lease = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
        assert_eq!(lease, libc::F_UNLCK);
        // A lease that was still held would make this wait for the kernel's deadline of 45 seconds.
        let since = std::time::Instant::now();
        drop(File::options().append(true).open(&path).unwrap());
        assert!(since.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn processes_that_open_the_file_meanwhile_do_not_end_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        store::durable::replace(&path, b"row\n").unwrap();
        let file = File::open(&path).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(File::options().append(true).open(&path).unwrap());
                }
            });
            for _ in 0..20_000 {
                assert_ne!(writers(&file), Writers::Unknown);
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
