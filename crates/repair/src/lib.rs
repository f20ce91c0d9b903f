//! Acts on what `transcript` plans: looks for an owner, keeps a copy, swaps the file, carries over late rows, and can
//! take it all back.
//!
//! **No conversation is changed without a verified copy**, and none while somebody owns it or that is unknown.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod account;
mod as_copy;
mod backup;
mod error;
mod examine;
mod fullest;
mod kept;
mod late;
mod lease;
mod leftovers;
mod lookup;
mod mirror;
mod old_backups;
mod operation;
mod paths;
mod put_back;
mod put_back_time;
mod record_paths;
mod redo;
mod repair;
mod repairer;
mod short_ids;
mod side_files;
mod space;
mod swap;
mod target;
mod undo;
mod unfound;

pub use account::{AccountSession, pick};
pub use as_copy::{Copied, CopyOptions};
pub use backup::{Backup, RepairRecord, RepairState, Writer};
pub use error::{Error, Refusal};
pub use examine::{ScanAll, SessionScan, Survey, scan_file};
pub use fullest::Lost;
pub use kept::KeptFile;
pub use lookup::is_pane;
pub use old_backups::{OldBackup, old_backups};
pub use operation::{Change, OpenOperation};
pub use paths::Paths;
pub use put_back::PutBack;
pub use redo::Redone;
pub use repair::{RepairOptions, RepairOutcome, RepairStatus};
pub use repairer::Repairer;
pub use short_ids::short_ids;
pub use target::{Absent, Target, TargetError};
pub use undo::Undone;
pub use vault::Wanted;
