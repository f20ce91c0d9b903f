//! Wires rekindle into agents and shells, and undoes exactly that.
//!
//! A plan is a value: [`init::plan`] and [`uninstall::plan`] read everything and write nothing; [`apply`] and
//! [`uninstall::undo`] do what was planned. docs/wiring.md says what is written where.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod apply;
pub mod completions;
pub mod in_use;
pub mod init;
mod line;
mod links;
mod marker;
pub mod plan;
mod program;
mod record;
pub mod safety;
pub mod service;
pub mod settings;
mod signature;
mod site;
mod texts;
pub mod uninstall;

pub use apply::{ApplyError, apply};
pub use line::{LinePlace, LineWish, TmuxWish};
pub use links::LINKED;
pub use marker::{is_tmux_wired, is_wired};
pub use program::{BadProgram, Program};
pub use record::RecordError;
