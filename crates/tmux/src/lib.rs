//! The places where agents live: tmux, asked in one batch and with a deadline.
//!
//! **Only this crate runs tmux.** A server that does not answer is unknown, which is neither alive nor gone.

mod ask;
mod build;
mod deadline;
mod events;
mod fields;
mod fill;
mod focus;
mod go_to;
mod list;
mod options;
mod own_options;
mod pane;
mod paste;
mod quoting;
mod refusal;
mod scrollback;
mod server_snapshot;
mod sockets;
mod start;
mod tag;
mod variables;
mod version;

pub use ask::{close, pane_pid, press, screen, start_command};
pub use build::{Base, LinkPlan, MARK, PanePlan, SessionPlan, WindowPlan, script};
pub use deadline::{Ran, run, run_with};
pub use events::{HOOK_INDEX, RESURRECT_HOOK, configuration, hooked, save_events, unhook};
pub use fill::{FillPlan, Filled, fill};
pub use focus::{leave_alone, tell_focus};
pub use go_to::{attach, exchange, go_to, way_out_to, way_to};
pub use list::{Listing, list};
pub use options::global_options;
pub use pane::{Pane, PaneRef, Server, ServerId};
pub use paste::{PasteError, Sight, leave_modes, paste, press_enter, sight, type_line};
pub use scrollback::{ScrollbackError, scrollback};
pub use server_snapshot::{Link, PaneShot, ServerSnapshot, Session, Shooting, Window, shoot};
pub use sockets::{default_socket, sockets};
pub use start::{
    Birth, Habits, RESTORED, Respawn, StartError, Title, entitle, habits, marked, respawn, source,
};
pub use tag::{TAG, TagError, strip, tag};
pub use variables::has_variable;
pub use version::{Installed, installed, numbers};
