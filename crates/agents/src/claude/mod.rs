//! Claude Code: where its files are, and who is writing them.

pub mod chain;
pub mod composer;
mod end;
mod environment;
mod find;
pub mod hook_events;
pub mod launch;
mod managed;
mod owner;
pub mod pid_domain;
mod places;
pub mod process;
pub mod registry;
mod silent;
mod survivors;
pub mod time_namespace;
mod trust;
pub mod versions;
mod walk;

pub use end::{EndError, end};
pub use environment::{CHILD_VARIABLES, launch_variables};
pub use find::{FindError, TranscriptFile, find_session, list_sessions};
pub use managed::{MANAGED_SETTINGS, managed_retention};
pub use owner::{Holder, Owner, Owners, RecordedRun, RunLookup, newest_row_ms};
pub use places::{
    ConfigDir, account, are_two_accounts, config_dirs, config_of, distinct_accounts, is_account, slug,
};
pub use silent::MAY_BE_IN_IT;
pub use survivors::{Belongs, Gone, Survivor, survivors};
pub use trust::is_trusted;
pub use walk::{Kind, Root, Source, Trouble, TroubleKind, Walk, walk};
