//! What rekindle remembers, and the only way anything is written.
//!
//! **Only [`durable`] writes files.** Everything else in the project goes through it.

pub mod accounts;
pub mod config;
mod dir;
pub mod durable;
pub mod file_cache;
pub mod journal;
pub mod launch;
pub mod lock;
pub mod pause;
pub mod record;
pub mod refuge;
pub mod saves;
pub mod seal;
pub mod snapshots;
pub mod spool;

pub use dir::{StateDir, StateDirError};
