//! Where the hot path turns when the state directory cannot be written: a full disk, a read-only file system.
//!
//! A folder of ours in the runtime directory, mostly in memory and so not full when the disk is. What lands there is taken
//! over by the next settle that can write.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::durable::{self, Sync};

/// The refuge of one state directory.
#[derive(Debug, Clone)]
pub struct Refuge(PathBuf);

/// A log is begun anew at this size: it holds a line for each thing that went wrong, and the newest matter.
const LARGEST_LOG: u64 = 1 << 20;

impl Refuge {
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
        durable::private_dir(&self.spool())?;
        let user = rustix::process::geteuid().as_raw();
        for folder in [self.0.parent().unwrap_or(&self.0), &self.0] {
            let meta =
                std::fs::symlink_metadata(folder).map_err(|e| durable::Error::new("look at", folder, e))?;
            if !meta.is_dir() || meta.uid() != user || meta.mode() & 0o022 != 0 {
                let strange = io::Error::new(io::ErrorKind::PermissionDenied, "it is not ours alone");
                return Err(durable::Error::new("use", folder, strange));
            }
        }
        Ok(())
    }

    /// The log of this refuge.
    pub fn log(&self) -> PathBuf {
        self.0.join("hot.log")
    }
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
        let one = Refuge::of(Path::new("/a"), Some(run), Path::new("/tmp"));
        let two = Refuge::of(Path::new("/b"), Some(run), Path::new("/tmp"));
        assert_ne!(one.spool(), two.spool());
        assert!(one.spool().starts_with("/run/user/1/rekindle"));
        assert!(Refuge::of(Path::new("/a"), None, Path::new("/tmp")).spool().starts_with("/tmp"));
    }

    #[test]
    fn a_strangers_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refuge = Refuge::of(Path::new("/a"), Some(dir.path()), Path::new("/tmp"));
        refuge.open().unwrap();
        let base = dir.path().join("rekindle");
        std::fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(refuge.open().is_err());
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
