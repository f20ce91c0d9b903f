//! Events become records: who runs where, what became of whom, and everything derived from that.
//!
//! Folding, following, binding and judging are pure: events and a [`MachineState`] in, records and journal entries out. Only
//! [`Settler`] acts.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod accept;
mod accounts;
mod adopt;
pub mod alarm;
mod apply_event;
#[cfg(test)]
mod bench;
mod bind;
mod closed;
mod complete;
mod derive;
mod ending;
mod follow;

mod crashed_here;
mod git;
mod history;
mod machine_state;
mod names;
mod newest;
mod note;
mod notify;
mod oom;
mod prepare;
mod rest;
mod settle;
mod snap;
mod spooled_event;
mod spools;
pub mod talk_log;
mod trust;
mod vaulting;
mod verdict;
pub mod view;
mod watch;

pub use accept::Unaccepted;
pub use bind::{Binding, binding, owners};
pub use complete::Account;
pub use ending::ending;
pub use history::{HistoryError, ask_git, git_agreed};
pub use machine_state::{Entry, Life, MachineState, Proc, socket_of};
pub use newest::newest_transcript;
pub use notify::Desktop;
pub use rest::wait_for_rest;
pub use settle::{Error, Settled, Settler, lock_path};
pub use snap::{Snapped, Snapper};
pub use spooled_event::{SpooledEvent, What};
pub use spools::{in_refuge, unsettled};
pub use trust::is_untrusted;
pub use vaulting::Vaulted;
pub use verdict::{Verdict, verdict};
pub use watch::Watched;
