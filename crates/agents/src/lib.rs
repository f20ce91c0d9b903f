//! What is true of one kind of agent: its files, its registry, its processes.
//!
//! The library reads no environment and no clock: places are passed in.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

pub mod claude;
mod session_id;
mod session_key;
pub mod short_ids;
mod stamp;

pub use session_id::{BadSessionId, SessionId};
pub use session_key::{SessionKey, is_mark, mark};
pub use stamp::Stamp;
pub use transcript::files;
