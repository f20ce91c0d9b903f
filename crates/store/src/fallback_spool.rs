//! Where the hot path turns when the state directory cannot be written: a full disk, a read-only file system.
//!
//! A folder of ours in the runtime directory, mostly in memory and so not full when the disk is. What lands there is taken
//! over by the next settle that can write.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::durable::{self, Sync};
use crate::files;

/// The refuge of one state directory.
#[derive(Debug, Clone)]
pub struct FallbackSpool(PathBuf);

/// A log is begun anew at this size: it holds a line for each thing that went wrong, and the newest matter.
const LARGEST_LOG: u64 = 1 << 20;

impl FallbackSpool {
    /// The refuge of a state directory: below `$XDG_RUNTIME_DIR`, else below the folder for temporary files.
    pub fn of(state: &Path, runtime: Option<&Path>, temporary: &Path) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let base =
            runtime.map_or_else(|| temporary.join(format!("rekindle-{user}")), |run| run.join("rekindle"));
        Self(base.join(format!("{:016x}", fnv(state.as_os_str().as_encoded_bytes()))))
    }

    /// Where events go.
    pub fn spool(&self) -> PathBuf {
        self.0.join("spool")
    }

    /// Makes it and makes sure of it: in a folder that everybody may write to, a stranger could have been first.
    ///
    /// # Errors
    /// It cannot be made, or is not ours alone.
    pub fn open(&self) -> Result<(), durable::Error> {
        self.walk(durable::private_dir_below)
    }

    /// Makes sure of it without making it: nothing is read from a folder that another user can write to.
    ///
    /// # Errors
    /// It is not there, or is not ours alone.
    pub fn check(&self) -> Result<(), durable::Error> {
        self.walk(|_| Ok(()))
    }

    /// From the root down, each folder before anything is made in it: through a link or folder of another user, even
    /// making a folder would act where that user wants.
    fn walk(&self, make: impl Fn(&Path) -> Result<(), durable::Error>) -> Result<(), durable::Error> {
        let spool = self.spool();
        let mut folders: Vec<&Path> =
            spool.ancestors().filter(|folder| !folder.as_os_str().is_empty()).collect();
        folders.reverse();
        let above = folders.len().saturating_sub(OWN_FOLDERS);
        for (at, folder) in folders.into_iter().enumerate() {
            let missing = || look(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if missing() {
                make(folder)?;
            }
            if at < above { trusted(folder, 0)? } else { own(folder)? }
        }
        Ok(())
    }

    /// The log of this refuge.
    pub fn log(&self) -> PathBuf {
        self.0.join("hot.log")
    }
}

/// `rekindle/<hash>/spool`, or `rekindle-<user>/<hash>/spool`.
const OWN_FOLDERS: usize = 3;

/// The kernel gives up at 40 links, too.
const MOST_LINKS: usize = 40;

fn look(folder: &Path) -> Result<Metadata, durable::Error> {
    std::fs::symlink_metadata(folder).map_err(|error| durable::Error::new("look at", folder, error))
}

fn refuse(folder: &Path, why: &'static str) -> durable::Error {
    durable::Error::new("use", folder, io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// A folder that only this user can change.
fn own(folder: &Path) -> Result<(), durable::Error> {
    let meta = look(folder)?;
    let user = rustix::process::geteuid().as_raw();
    match () {
        () if !meta.is_dir() => Err(refuse(folder, "it is a link or a file, not a folder")),
        () if meta.uid() != user => Err(refuse(folder, "it belongs to another user")),
        () if meta.mode() & 0o022 != 0 => Err(refuse(folder, "other users can write to it")),
        () => Ok(()),
    }
}

/// A folder above ours: of the user or of root, and other users cannot put another one in its place. Links lead to such
/// folders.
fn trusted(folder: &Path, links: usize) -> Result<(), durable::Error> {
    let meta = look(folder)?;
    if files::check_owner(&meta).is_err() && !is_unmapped(meta.uid()) {
        return Err(refuse(folder, "it belongs to another user"));
    }
    if meta.is_symlink() {
        if links >= MOST_LINKS {
            return Err(refuse(folder, "its links lead in a circle"));
        }
        let target = std::fs::read_link(folder).map_err(|e| durable::Error::new("look at", folder, e))?;
        let target = folder.parent().unwrap_or(Path::new("/")).join(target);
        let mut all: Vec<&Path> = target.ancestors().collect();
        all.reverse();
        return all.into_iter().try_for_each(|above| trusted(above, links + 1));
    }
    const STICKY: u32 = 0o1000;
    if meta.mode() & 0o002 != 0 && meta.mode() & STICKY == 0 {
        return Err(refuse(folder, "other users can write to it"));
    }
    Ok(())
}

/// Whether this stands for every user outside of our user namespace: root itself looks like that in there.
fn is_unmapped(user: u32) -> bool {
    const OVERFLOW: u32 = 65534;
    const EVERYONE: [&str; 3] = ["0", "0", "4294967295"];
    user == OVERFLOW
        && files::read_to_string("/proc/self/uid_map")
            .is_ok_and(|map| !map.split_ascii_whitespace().eq(EVERYONE))
}

/// Adds a line to a log; one that has grown too large is begun anew, the old one kept beside it.
pub fn log(path: &Path, line: &str) -> Result<(), durable::Error> {
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() > LARGEST_LOG) {
        durable::rename(path, &path.with_extension("log.1"))?;
    }
    durable::append(path, format!("{}\n", line.replace(['\n', '\r'], " ")).as_bytes(), Sync::No)
}

// Enough to keep several state directories apart, and the same in every build.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_directory_has_its_own() {
        let run = Path::new("/run/user/1");
        let one = FallbackSpool::of(Path::new("/a"), Some(run), Path::new("/tmp"));
        let two = FallbackSpool::of(Path::new("/b"), Some(run), Path::new("/tmp"));
        assert_ne!(one.spool(), two.spool());
        assert!(one.spool().starts_with("/run/user/1/rekindle"));
        assert!(FallbackSpool::of(Path::new("/a"), None, Path::new("/tmp")).spool().starts_with("/tmp"));
    }

    #[test]
    fn a_strangers_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refuge = FallbackSpool::of(Path::new("/a"), Some(dir.path()), Path::new("/tmp"));
        refuge.open().unwrap();
        let base = dir.path().join("rekindle");
        std::fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let refused = refuge.open().unwrap_err();
        assert_eq!(refused.source.to_string(), "other users can write to it");
        assert_eq!(refused.path, base);
    }

    #[test]
    fn nothing_is_made_through_a_link_or_in_a_folder_of_another_user() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        let refuge = FallbackSpool::of(Path::new("/a"), Some(dir.path()), Path::new("/tmp"));
        std::os::unix::fs::symlink(&theirs, dir.path().join("rekindle")).unwrap();
        let refused = refuge.open().unwrap_err();
        assert_eq!(refused.source.to_string(), "it is a link or a file, not a folder");
        assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
        // Only root can give a folder away.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&theirs, Some(12345), None).unwrap();
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&theirs, &link).unwrap();
            for runtime in [&theirs, &link] {
                let refuge = FallbackSpool::of(Path::new("/a"), Some(runtime), Path::new("/tmp"));
                let refused = refuge.open().unwrap_err();
                assert_eq!(refused.source.to_string(), "it belongs to another user", "{}", runtime.display());
                assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
            }
        }
    }

    #[test]
    fn looking_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let refuge = FallbackSpool::of(Path::new("/a"), Some(dir.path()), Path::new("/tmp"));
        assert_eq!(refuge.check().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!dir.path().join("rekindle").exists());
        refuge.open().unwrap();
        refuge.check().unwrap();
    }

    #[test]
    fn a_log_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hot.log");
        durable::replace(&path, &vec![b'x'; 1 + (1 << 20)]).unwrap();
        log(&path, "one\ntwo").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one two\n");
        assert!(dir.path().join("hot.log.1").exists());
    }
}
