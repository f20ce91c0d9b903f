use std::io;
use std::path::{Path, PathBuf};

use store::durable;
use store::lock::LockError;

use crate::Key;
use crate::frame::FrameError;

/// Why the vault could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a write.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// Another process holds a lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused a read.
    #[error("read {}", path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A stored frame does not give back what was stored.
    #[error("read {file} of {key}: frame {frame}, bytes {from} to {to}, is damaged")]
    Frame {
        /// The conversation.
        key: Key,
        /// The file in it.
        file: String,
        /// Which frame of the generation, counted from 0.
        frame: usize,
        /// Its first byte in the file.
        from: u64,
        /// The byte after its last.
        to: u64,
        /// What is wrong with it.
        #[source]
        source: FrameError,
    },
    /// The manifest has lost what one generation is made of.
    #[error("read {file} of {key}: the manifest of version {generation} is damaged")]
    Gap {
        /// The conversation.
        key: Key,
        /// The file in it.
        file: String,
        /// Which generation.
        generation: u32,
    },
    /// Damage leaves a doubt about what the file last held; nothing is put back unless somebody asks for less.
    #[error("tell what {file} of {key} last held: {what}")]
    Doubtful {
        /// The conversation.
        key: Key,
        /// The file in it.
        file: String,
        /// What is damaged, and what can be had.
        what: String,
    },
    /// Its manifest is another conversation's, or names files that are none of its own: it was edited, or its folder moved.
    #[error("use {key} of the vault: {what}; move that folder out of vault/conversations and sync again")]
    Foreign {
        /// The conversation.
        key: Key,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer version of the program.
    #[error("write {key}: it was written by a newer version")]
    Newer {
        /// The conversation.
        key: Key,
    },
    /// There is no such conversation, file or generation.
    #[error("find {what} in the vault")]
    Unknown {
        /// What was asked for.
        what: String,
    },
    /// The file changed while it was read, twice.
    #[error("copy {}: it changes while it is read", path.display())]
    Unsteady {
        /// The file.
        path: PathBuf,
    },
    /// A user had it forgotten; it is not mirrored again.
    #[error("keep {key}: it was forgotten on purpose")]
    Forgotten {
        /// The conversation.
        key: Key,
    },
    /// The clock is behind what is on record, so no age can be trusted.
    #[error("judge ages: the clock says {now}, and the journal already has {newest}")]
    Clock {
        /// What the clock says.
        now: jiff::Timestamp,
        /// The newest time on record.
        newest: jiff::Timestamp,
    },
    /// A line could not be spelled.
    #[error("write a line of the manifest")]
    Spell(#[from] serde_json::Error),
    /// The compressor refused.
    #[error("compress")]
    Compress(#[source] io::Error),
}

pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |source| Error::Read { path: path.to_path_buf(), source }
}
