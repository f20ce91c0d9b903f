//! What is true of one kind of agent: its files, its registry, its processes.
//!
//! The library reads no environment and no clock: places are passed in.

pub mod claude;
mod session_id;
mod stamp;

pub use session_id::{BadSessionId, SessionId};
pub use stamp::Stamp;
