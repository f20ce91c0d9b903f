//! Claude Code: where its files are.

mod find;
mod places;
mod walk;

pub use find::{FindError, TranscriptFile, find_session};
pub use places::{ConfigDir, config_dirs, slug};
pub use walk::{Kind, Root, Source, Trouble, TroubleKind, Walk, walk};
