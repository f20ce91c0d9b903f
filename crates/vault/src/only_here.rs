//! What would be lost if the vault went: conversations of which the agent's own files no longer hold everything.

use std::collections::BTreeSet;
use std::time::Duration;

use store::lock::Lock;

use crate::vault::{Vault, list};
use crate::{Conversation, Error, Key};

/// What exists in the vault and nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlyHere {
    /// Conversations that are gone outside, or hold less there.
    pub conversations: BTreeSet<Key>,
    /// Copies that repairs made before they changed something.
    pub backups: usize,
    /// Things in the trash.
    pub trash: usize,
}

impl OnlyHere {
    /// Whether nothing would be lost.
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty() && self.backups == 0 && self.trash == 0
    }
}

impl Vault {
    /// What exists nowhere else, by what is on the disk now.
    pub fn only_here(&self) -> Result<OnlyHere, Error> {
        self.lost_with(self.list()?)
    }

    /// Keeps everybody else out for as long as the lock lives, and looks again: what may be erased is told under it.
    ///
    /// # Errors
    /// Somebody reads or adds still at the deadline, or the vault cannot be read.
    pub fn shut(&self, deadline: Duration) -> Result<(Lock, OnlyHere), Error> {
        let alone = Lock::acquire(&self.lock_path(), deadline)?;
        Ok((alone, self.lost_with(self.describe_all()?)?))
    }

    fn lost_with(&self, all: Vec<Conversation>) -> Result<OnlyHere, Error> {
        let whole = all.into_iter().filter(|conversation| !is_whole_outside(conversation));
        let mut conversations: BTreeSet<Key> = whole.map(|conversation| conversation.key).collect();
        conversations.extend(self.losses()?.into_iter().map(|loss| loss.key));
        let mut backups = 0;
        for session in list(&self.backups())? {
            backups += list(&self.backups().join(session))?.len();
        }
        Ok(OnlyHere { conversations, backups, trash: list(&self.trash())?.len() })
    }
}

/// Whether every file of a conversation is there, as long as the vault has it or longer.
fn is_whole_outside(conversation: &Conversation) -> bool {
    // What cannot be used cannot be compared.
    conversation.foreign.is_none()
        && conversation.files.iter().all(|file| {
            let Some(best) = file.best_generation() else { return true };
            let there = std::fs::metadata(conversation.config.join(&file.name));
            there.is_ok_and(|meta| meta.len() >= best.bytes)
        })
}
