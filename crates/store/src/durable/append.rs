use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Error, at, folder_of, open_append, sync_dir};

/// Whether an append must survive a power cut before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Wait for the disk.
    Yes,
    /// The kernel's word is enough: it survives a crash of ours.
    No,
}

/// Appends bytes by a single write, so that concurrent writers of whole lines never mix. A file that was removed between
/// opening and writing is begun anew: nobody would read what went into the removed one.
pub fn append(path: &Path, bytes: &[u8], sync: Sync) -> Result<(), Error> {
    let mut appender = Appender::open(path)?;
    appender.write(bytes)?;
    if appender.file.metadata().map_err(at("look at", path))?.nlink() == 0 {
        appender = Appender::open(path)?;
        appender.write(bytes)?;
    }
    if sync == Sync::Yes { appender.sync() } else { Ok(()) }
}

/// A file that only grows.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    length: u64,
    new: bool,
}

impl Appender {
    /// Opens a file at its end, making it (0600) where there is none.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open_append(path).map_err(at("open", path))?;
        let length = file.metadata().map_err(at("look at", path))?.len();
        Ok(Self { file, path: path.to_path_buf(), length, new: length == 0 })
    }

    /// Where the next byte goes, as long as nobody else appends.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(at("append to", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes what was appended durable, and the name of a new file with it.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.file.sync_data().map_err(at("sync", &self.path))?;
        if self.new {
            sync_dir(folder_of(&self.path))?;
            self.new = false;
        }
        Ok(())
    }
}
