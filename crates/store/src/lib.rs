//! What rekindle remembers, and the only way anything is written.
//!
//! **Only [`durable`] writes files.** Everything else in the project goes through it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

pub mod accounts;
pub mod age;
pub mod config;
mod dir;
pub mod durable;
pub mod fallback_spool;
pub mod file_cache;
pub mod journal;
pub mod launch;
pub mod lock;
pub mod mac;
pub mod machine_key;
pub mod operations;
pub mod order;
pub mod pause;
pub mod record;
pub mod saves;
mod session_texts;
pub mod snapshots;
pub mod spool;

pub use agents::files;
pub use dir::{PARTS, StateDir, StateDirError};
pub use session_texts::SessionText;
