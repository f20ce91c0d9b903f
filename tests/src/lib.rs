//! The laboratory: a loopback API, throwaway homes, the real agent and the real tmux.
//!
//! The judge of a repair is the real agent: a damaged transcript is resumed with `claude --resume`, and what of the
//! conversation reaches the API is counted. Nothing leaves the machine and no account is needed.
#![expect(
    clippy::disallowed_methods,
    reason = "the lab makes and damages throwaway files on purpose; nothing here is a user's"
)]

pub mod agent;
pub mod api;
pub mod base;
pub mod cases;
pub mod conversation;
pub mod home;
pub mod process;
pub mod recall;
pub mod tmux;

pub use conversation::Lab;
