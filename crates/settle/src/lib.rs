//! Events become records: who runs where, what became of whom, and everything derived from that.
//!
//! Folding, following, binding and judging are pure: events and a [`World`] in, records and journal entries out. Only
//! [`Settler`] acts.

mod adopt;
mod bind;
mod complete;
mod derive;
mod ending;
mod fold;
mod follow;
mod foreign;
mod heard;
mod newest;
mod note;
mod rest;
mod settle;
mod spools;
mod vaulting;
mod verdict;
pub mod view;
mod world;

pub use bind::{Binding, binding, owners};
pub use complete::Account;
pub use ending::ending;
pub use foreign::is_foreign;
pub use heard::{Heard, What};
pub use newest::newest_transcript;
pub use rest::wait_for_rest;
pub use settle::{Error, Settled, Settler, lock_path};
pub use vaulting::Vaulted;
pub use verdict::{Verdict, verdict};
pub use world::{Entry, Life, Proc, World, socket_of};
