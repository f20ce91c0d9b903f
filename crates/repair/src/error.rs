//! What can go wrong, and what is refused on purpose.

use std::path::{Path, PathBuf};

use agents::claude::{Holder, MAY_BE_IN_IT};

/// The machine failed us.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed.
    #[error("read {}", path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Writing failed; nothing was changed by half.
    #[error(transparent)]
    Write(#[from] store::durable::Error),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] store::StateDirError),
    /// Another repair holds the session.
    #[error("wait for another repair of this session")]
    Lock(#[from] store::lock::LockError),
    /// The vault failed.
    #[error("use the vault")]
    Vault(#[from] vault::Error),
    /// The operation could not be written down.
    #[error(transparent)]
    Operation(#[from] store::operations::Error),
    /// A record could not be written as JSON.
    #[error("write the repair's record")]
    Record(#[from] serde_json::Error),
}

impl Error {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Read { path: path.to_path_buf(), source }
    }
}

/// Why nothing was done, though everything worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A process owns the conversation.
    Owned(Holder),
    /// Whether one does cannot be told.
    OwnerUnknown(String),
    /// The file changes while it is being looked at.
    Changing,
    /// The disk has no room for the copy.
    NoSpace {
        /// Where.
        path: PathBuf,
        /// How many bytes are needed.
        needed: u64,
        /// How many there are.
        free: u64,
    },
    /// The file is another user's: what we write would be ours, and lock them out.
    Foreign {
        /// Whose it is.
        uid: u32,
    },
    /// The repaired file did not pass its own scan; the file is as it was.
    NotProven(String),
    /// Some version of the agent would reach less than before, or what was rewound; the file is as it was.
    Harmful(Box<transcript::Harm>),
    /// The conversation went another way since.
    Diverged(String),
    /// Rows were added to a transcript since it was put back where none was: the undo would take them away with it.
    SaidSince {
        /// How many bytes.
        bytes: u64,
    },
    /// A record names what is not rekindle's to change, or a backup is not what was kept.
    NotOurs(String),
    /// Damage in the vault leaves a doubt about what the file last held.
    Doubtful(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Owned(holder) => {
                let unsure = holder.evidence == MAY_BE_IN_IT;
                let owns = if unsure { "may be writing it" } else { "owns it" };
                write!(f, "process {} {owns} ({})", holder.pid, holder.evidence)?;
                if let Some(pane) = &holder.pane {
                    write!(f, ", in tmux {pane}")?;
                }
                if let Some(since) = holder.since_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
                {
                    write!(f, ", since {}", since.strftime("%Y-%m-%d %H:%M UTC"))?;
                }
                if unsure {
                    let pid = holder.pid;
                    return write!(
                        f,
                        "; quit that agent (`ps -p {pid}` shows it) and try again, or repair a copy with `rekindle repair ID --as-copy`"
                    );
                }
                write!(f, "; end that agent first")
            }
            Refusal::OwnerUnknown(why) => write!(f, "it cannot be told whether an agent owns it: {why}"),
            Refusal::Changing => {
                write!(f, "the file changes while it is read; try again when its agent rests")
            }
            Refusal::NoSpace { path, needed, free } => {
                write!(f, "{} has {free} bytes free and {needed} are needed; make room first", path.display())
            }
            Refusal::Foreign { uid } => write!(f, "it belongs to user {uid}; run this as that user"),
            Refusal::NotProven(why) => {
                write!(f, "the result was not whole ({why}), so the file stays as it is")
            }
            Refusal::Harmful(harm) => {
                write!(
                    f,
                    "the repair would make it worse: {harm}. The file stays as it is; add `--as-copy` to repair a copy"
                )
            }
            Refusal::Diverged(why) | Refusal::NotOurs(why) => f.write_str(why),
            Refusal::SaidSince { bytes } => {
                write!(f, "{bytes} bytes were added since it was put back: the transcript stays")
            }
            Refusal::Doubtful(why) => {
                write!(
                    f,
                    "the vault's copy may not be all of it: {why}; `rekindle vault restore ID --provable` puts that back"
                )
            }
        }
    }
}
