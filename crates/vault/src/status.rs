//! The vault at a glance.

use std::path::PathBuf;

use agents::SessionId;
use jiff::Timestamp;

use crate::event::Event;
use crate::vault::{Vault, list};
use crate::{Error, Key, seen};

/// The vault at a glance.
#[derive(Debug, Clone)]
pub struct VaultStatus {
    /// Conversations in it.
    pub conversations: usize,
    /// Files in it.
    pub files: usize,
    /// Of those, files that the agent no longer has.
    pub gone: usize,
    /// Versions of files, all together.
    pub generations: usize,
    /// Bytes of the newest versions.
    pub bytes: u64,
    /// Bytes it takes.
    pub stored: u64,
    /// When something was last mirrored.
    pub newest: Option<Timestamp>,
    /// Conversations that were forgotten on purpose.
    pub forgotten: usize,
    /// Things in the trash.
    pub trash: usize,
    /// What was lost and is still only here.
    pub losses: Vec<Loss>,
}

/// A file that lost something which the vault still has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The conversation.
    pub key: Key,
    /// Its session; `None` for the history.
    pub session: Option<SessionId>,
    /// The file.
    pub path: PathBuf,
    /// What happened to it.
    pub event: Event,
    /// The generation in which it now stands; the one before has what was lost. Of a deleted file, the last.
    pub generation: u32,
}

impl Vault {
    /// The vault at a glance.
    pub fn status(&self) -> Result<VaultStatus, Error> {
        let all = self.list()?;
        let files = || all.iter().flat_map(|conversation| &conversation.files);
        let newest = files().filter_map(|file| file.generations.last());
        Ok(VaultStatus {
            conversations: all.len(),
            files: files().count(),
            gone: files().filter(|file| file.gone.is_some()).count(),
            generations: files().map(|file| file.generations.len()).sum(),
            bytes: newest.clone().map(|generation| generation.bytes).sum(),
            stored: all.iter().map(|conversation| conversation.stored).sum(),
            newest: newest.map(|generation| generation.until).max(),
            forgotten: self.forgotten()?.len(),
            trash: list(&self.trash())?.len(),
            losses: self.losses()?,
        })
    }

    /// Every file that lost something and has not got it back, from the cache alone: cheap enough for every scan.
    pub fn losses(&self) -> Result<Vec<Loss>, Error> {
        let cache = seen::load(self)?;
        let lost = cache.iter().filter_map(|(path, entry)| {
            let seen = &entry.value;
            let event = if seen.gone { Event::Deleted } else { seen.standing };
            let key = Key::parse(&seen.key).filter(|_| event.is_loss())?;
            let (session, generation) = (key.session(), seen.generation);
            Some(Loss { key, session, path: path.to_path_buf(), event, generation })
        });
        let mut lost: Vec<Loss> = lost.collect();
        lost.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(lost)
    }
}
