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
pub mod believed;
pub mod bodies;
pub mod cases;
#[cfg(target_os = "linux")] // ptrace, and processes by their environment
pub mod chaos;
pub mod conversation;
pub mod events;
pub mod help;
pub mod home;
pub mod old_state;
pub mod process;
pub mod readme;
pub mod recall;
pub mod rekindle;
pub mod spoken;
#[cfg(target_os = "linux")] // ptrace
pub mod sweep;
pub mod talk;
pub mod terminal;
pub mod texts;
pub mod tmux;
#[cfg(target_os = "linux")] // ptrace
pub mod trace;
pub mod tree;
pub mod wired;

pub use conversation::Lab;

/// The program under test: `$REKINDLE_PROGRAM`, else the release build of this workspace.
pub fn program() -> std::path::PathBuf {
    let target = || {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here.with_file_name("target"), Into::into)
    };
    std::env::var_os("REKINDLE_PROGRAM").map_or_else(|| target().join("release").join("rekindle"), Into::into)
}
