//! The vault at a glance.

use std::path::{Path, PathBuf};

use agents::claude::Walk;
use agents::{SessionId, Stamp};
use jiff::Timestamp;
use store::file_cache::Entry;

use crate::event::Event;
use crate::tombstone::DoubtfulTombstone;
use crate::vault::{Vault, list};
use crate::{Conversation, Error, Key, gone, seen};

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
    /// Those of them whose forgetting was interrupted: text of them may still be somewhere.
    pub unfinished: Vec<Key>,
    /// Copies of which something cannot be used, as far as that is known without unpacking them.
    pub unusable: Vec<UnusableCopy>,
    /// Tombstones that are in doubt.
    pub doubtful: Vec<DoubtfulTombstone>,
    /// Things in the trash.
    pub trash: usize,
    /// What was lost and is still only here.
    pub losses: Vec<Loss>,
}

/// A conversation whose copy is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableCopy {
    /// Its name in the vault.
    pub key: Key,
    /// What is wrong, one sentence each.
    pub damage: Vec<String>,
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

fn unusable(conversation: &Conversation) -> Option<UnusableCopy> {
    let cut = conversation.cut.then(|| "its data ends before what its manifest names".to_owned());
    let mut damage: Vec<String> = conversation.damage.iter().cloned().chain(cut).collect();
    damage.extend(conversation.foreign.clone());
    damage.dedup();
    (!damage.is_empty()).then(|| UnusableCopy { key: conversation.key.clone(), damage })
}

impl Vault {
    /// The vault at a glance.
    pub fn status(&self) -> Result<VaultStatus, Error> {
        let all = self.list()?;
        let files = || all.iter().flat_map(|conversation| &conversation.files);
        let forgotten = self.forgotten()?;
        let newest = files().filter_map(|file| file.generations.last());
        Ok(VaultStatus {
            conversations: all.len(),
            files: files().count(),
            gone: files().filter(|file| file.gone.is_some()).count(),
            generations: files().map(|file| file.generations.len()).sum(),
            bytes: newest.clone().map(|generation| generation.bytes).sum(),
            stored: all.iter().map(|conversation| conversation.stored).sum(),
            newest: newest.map(|generation| generation.until).max(),
            forgotten: forgotten.len(),
            doubtful: forgotten.doubtful(),
            unusable: all.iter().filter_map(unusable).collect(),
            unfinished: self
                .tombstones()?
                .into_iter()
                .filter(|tombstone| tombstone.unfinished)
                .map(|tombstone| tombstone.key)
                .collect(),
            trash: list(&self.trash())?.len(),
            losses: self.losses()?,
        })
    }

    /// Every file that lost something and has not got it back, from the cache alone: cheap enough for every scan.
    pub fn losses(&self) -> Result<Vec<Loss>, Error> {
        Ok(self.last_seen()?.losses())
    }

    /// The same, with files that went, became others or became shorter since a sync saw them: these may have lost something.
    pub fn losses_beside<'a>(
        &self,
        now: impl IntoIterator<Item = (&'a Path, Option<Stamp>)>,
    ) -> Result<Vec<Loss>, Error> {
        let seen = self.last_seen()?;
        let mut lost = seen.losses();
        lost.extend(now.into_iter().filter_map(|(path, stamp)| seen.changed(path, stamp)));
        lost.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(lost)
    }

    /// The same for whole listings: files that a sync saw and that are not listed any more are deleted, unless they may only be
    /// out of sight.
    pub fn losses_in(&self, walks: &[Walk]) -> Result<Vec<Loss>, Error> {
        let seen = self.last_seen()?;
        let mut lost = seen.losses();
        let there = walks.iter().flat_map(|walk| &walk.sources);
        lost.extend(there.filter_map(|source| seen.changed(&source.path, Some(source.stamp))));
        let missing = gone::look(&seen.0, walks, false);
        lost.extend(missing.paths().filter_map(|path| seen.changed(path, None)));
        lost.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(lost)
    }

    /// What the last sync saw of every file.
    pub fn last_seen(&self) -> Result<LastSeen, Error> {
        Ok(LastSeen(seen::load(self)?))
    }
}

/// What the last sync saw of every file, to ask about many.
pub struct LastSeen(seen::Cache);

impl LastSeen {
    /// Every file that had lost something.
    pub fn losses(&self) -> Vec<Loss> {
        let lost = self.0.iter().filter_map(|(path, entry)| {
            let event = if entry.value.gone { Event::Deleted } else { entry.value.standing };
            loss(path, &entry.value, event)
        });
        let mut lost: Vec<Loss> = lost.collect();
        lost.sort_by(|one, two| one.path.cmp(&two.path));
        lost
    }

    /// Whether the vault has a file as it was seen, or more of it.
    pub fn holds(&self, seen: Stamp) -> bool {
        let same = |entry: &Entry<seen::Seen>| {
            let known = entry.stamp;
            !entry.value.gone && (known.dev, known.ino) == (seen.dev, seen.ino) && known.size >= seen.size
        };
        self.0.iter().any(|(_, entry)| same(entry))
    }

    /// Whether the newest copy of the file at this path is what is there.
    pub fn is_as_seen(&self, path: &Path, now: Stamp) -> bool {
        self.0.entry(path).is_some_and(|entry| !entry.value.gone && entry.stamp == now)
    }

    /// A file that had lost nothing, and that may have since: it went, is another one, or is shorter.
    pub fn changed(&self, path: &Path, now: Option<Stamp>) -> Option<Loss> {
        let entry = self.0.entry(path)?;
        if entry.value.gone || entry.value.standing.is_loss() {
            return None;
        }
        loss(path, &entry.value, changed(&entry.stamp, now)?)
    }
}

fn loss(path: &Path, seen: &seen::Seen, event: Event) -> Option<Loss> {
    let key = Key::parse(&seen.key).filter(|_| event.is_loss())?;
    let (session, generation) = (key.session(), seen.generation);
    Some(Loss { key, session, path: path.to_path_buf(), event, generation })
}

fn changed(known: &Stamp, now: Option<Stamp>) -> Option<Event> {
    let Some(now) = now else { return Some(Event::Deleted) };
    if (known.dev, known.ino) != (now.dev, now.ino) {
        return Some(Event::Overwritten);
    }
    (now.size < known.size).then_some(Event::Truncated)
}
