//! The places where agents live: tmux, asked in one batch and with a deadline.
//!
//! **Only this crate runs tmux.** A server that does not answer is unknown, which is neither alive nor gone.

mod build;
mod deadline;
mod list;
mod options;
mod pane;
mod sockets;
mod tag;
mod version;

pub use build::{Base, MARK, PanePlan, SessionPlan, WindowPlan, script};
pub use deadline::{Ran, run};
pub use list::{Listing, list};
pub use options::global_options;
pub use pane::{Pane, PaneRef, Server, ServerId};
pub use sockets::sockets;
pub use tag::{TAG, TagError, tag, untag};
pub use version::{Installed, installed, numbers};
