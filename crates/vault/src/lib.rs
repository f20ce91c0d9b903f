//! The mirror of conversations: what an agent loses, deletes or overwrites is still here.
//!
//! docs/vault-format.md holds the format, the locking and the crash rules.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod account;
mod belongs;
mod choice;
mod chunk;
mod collect;
mod compare;
mod copy;
mod error;
mod event;
mod forget;
mod frame;
mod gone;
mod head;
mod idle;
mod index;
mod key;
mod list;
mod manifest;
mod only_here;
mod order;
mod placeholder;
mod plan;
mod prompts;
mod prune;
mod put_back;
mod read;
mod replay;
mod seen;
mod status;
mod store;
mod sync;
mod tombstone;
mod unmirrored;
mod vault;
mod verify;
mod worked;

pub use choice::{Choice, Wanted};
pub use copy::Copy;
pub use error::Error;
pub use event::{Event, Happening};
pub use frame::FrameError;
pub use gone::Doubt;
pub use key::Key;
pub use list::{Conversation, GenerationInfo, MirroredFile};
pub use manifest::FileKind;
pub use only_here::OnlyHere;
pub use prompts::prompts_of;
pub use prune::{Policy, PruneReport};
pub use put_back::{Relation, compare_uuid_sets, put_back_mtime};
pub use status::{LastSeen, Loss, UnusableCopy, VaultStatus};
pub use store::Origination;
pub use sync::{Progress, SyncOptions, SyncReport};
pub use tombstone::{DoubtfulTombstone, Forgotten, Tombstone, TombstoneDoubt};
pub use unmirrored::{Unmirrored, in_words, unmirrored};
pub use vault::Vault;
pub use verify::{Damage, DamagedPlace, Touched, VerifyReport};
