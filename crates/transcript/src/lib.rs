//! Bytes to rows to tree to request: reads, judges and mends agent transcripts.
//!
//! Pure: bytes and paths in, values out; no clock, no environment, nothing is written. **Damage is data**: a broken
//! transcript is a [`Scan`] with findings; an error means that the machine failed us.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod attachment;
mod beside;
mod branches;
mod by_time;
mod class;
mod conversation;
mod copies;
mod ending;
mod facts;
pub mod files;
mod flags;
mod forest;
mod guard;
mod image;
mod index;
pub mod json;
mod lines;
mod mend;
mod models;
mod order;
mod own_prompt;
mod patched;
mod plan;
mod reach;
mod rewound;
mod rewritten;
mod salvage;
mod same_id;
mod scan;
mod skips;
mod source;
mod spoken;
mod strangers;
mod succession;
mod time;
mod tree;
mod visits;
mod walked;
mod written;

pub use branches::{Branch, BranchKind, Forks};
pub use class::{Class, Recipe};
pub use conversation::{Speaker, Utterance};
pub use copies::rename_session;
pub use ending::{Ending, Said, is_prompt};
pub use guard::{Harm, HarmKind};
pub use lines::Buffer;
pub use models::Version;
pub use own_prompt::{RESUMED, TAKES_OVER, is_own_prompt};
pub use plan::{Change, Finding, Plan, Reject};
pub use reach::Loss;
pub use scan::{AsSource, MOST_ROUNDS, Scan, Status, Transcript, needs_copy, repair_bytes};
pub use source::Source;
pub use succession::{Doubt, Joined, Proof, Succession, succession};

/// A row's timestamp in milliseconds since 1970; nothing where it is no date.
pub fn time_ms(text: &str) -> Option<i64> {
    time::parse(text.as_bytes())
}
