//! What agents' panes showed: `snapshots/<session-id>/<stamp>-<why>.zst`, one compressed file each, the newest few.
//!
//! A file holds a line that says what it is, and the text behind it. It is written whole or not at all; one that cannot be
//! read is passed over, and the one before it counts.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::mac::{Key, Subject};

/// The version of a snapshot.
pub const SCHEMA: u32 = 1;

/// What a snapshot was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A turn ended.
    Stop,
    /// Time had passed.
    Timer,
    /// The agent was about to be ended.
    Kill,
    /// A newer program knows.
    #[serde(other)]
    Unknown,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Why::Stop => "stop",
            Why::Timer => "timer",
            Why::Kill => "kill",
            Why::Unknown => "unknown",
        }
    }
}

/// What a pane showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The conversation.
    pub session: SessionKey,
    /// When it was taken.
    pub at: Timestamp,
    /// What for.
    pub why: Why,
    /// `session:window.pane`.
    pub pane: String,
    /// Whether it is one screen only: a program that draws full screen leaves no history.
    pub screen_only: bool,
    /// The text, without secrets.
    pub text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    schema: u32,
    session_id: SessionKey,
    at: Timestamp,
    why: Why,
    #[serde(default)]
    pane: String,
    #[serde(default)]
    screen_only: bool,
    /// Over the text. Snapshots of 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

/// Where snapshots are, and how many stay.
#[derive(Debug, Clone)]
pub struct Shelf {
    /// The folder.
    pub folder: PathBuf,
    /// How many of a conversation stay.
    pub keep: usize,
    /// How long they stay.
    pub keep_for: Duration,
    /// The machine's key, where it is here: what it seals may be told to an agent.
    pub key: Option<Key>,
}

/// Screens repeat themselves: the fastest level makes a tenth of them.
const LEVEL: i32 = 1;

/// No snapshot of ours is larger; a file that says so is none of ours.
const LARGEST: usize = 64 << 20;

impl Shelf {
    fn of(&self, session: &SessionKey) -> PathBuf {
        self.folder.join(session.as_str())
    }

    /// Keeps a snapshot, unless it shows what the newest one shows; whether it did. The oldest make room for it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, snapshot: &Snapshot) -> Result<bool, durable::Error> {
        let newest = self.latest(&snapshot.session);
        if newest.is_some_and(|newest| newest.text == snapshot.text && newest.pane == snapshot.pane) {
            return Ok(false);
        }
        let folder = self.of(&snapshot.session);
        durable::private_dir(&folder)?;
        let mut at = snapshot.at;
        let path = loop {
            let path = folder.join(format!("{}-{}.zst", stamp(at), snapshot.why.word()));
            if !path.exists() {
                break path;
            }
            at = at.checked_add(SignedDuration::from_millis(1)).unwrap_or(at);
        };
        let packed = pack(snapshot, self.key.as_ref())
            .map_err(|error| durable::Error::new("compress", &path, error))?;
        durable::replace_unsynced(&path, &packed)?;
        self.thin(&folder)?;
        Ok(true)
    }

    /// Lets go of all but the newest snapshots of a conversation.
    fn thin(&self, folder: &Path) -> Result<(), durable::Error> {
        for path in files(folder).iter().rev().skip(self.keep.max(1)) {
            durable::remove(path)?;
        }
        Ok(())
    }

    /// Every snapshot of a conversation, oldest first.
    pub fn list(&self, session: &SessionKey) -> Vec<PathBuf> {
        files(&self.of(session))
    }

    /// When the newest snapshot of a conversation was taken, by its name.
    pub fn newest_at(&self, session: &SessionKey) -> Option<Timestamp> {
        taken_at(self.list(session).last()?)
    }

    /// The newest snapshot of a conversation that can be read.
    pub fn latest(&self, session: &SessionKey) -> Option<Snapshot> {
        let read = |path: &PathBuf| read(path).ok().filter(|snapshot| snapshot.session == *session);
        self.list(session).iter().rev().find_map(read)
    }

    /// The newest snapshot of a conversation that this machine took: one that was edited or brought here is for people only.
    pub fn latest_genuine(&self, session: &SessionKey) -> Option<Snapshot> {
        let key = self.key.as_ref()?;
        let genuine = |path: &PathBuf| {
            let (snapshot, mac) = read_sealed(path).ok()?;
            let code = key.code(Subject::Snapshot(session), snapshot.text.as_bytes());
            (snapshot.session == *session && mac == Some(code)).then_some(snapshot)
        };
        self.list(session).iter().rev().find_map(genuine)
    }

    /// Removes what is older than it may be; how many went. Nothing goes that seems to come from the future: then the
    /// clock is wrong, and nobody knows how old anything is.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn prune(&self, now: Timestamp) -> Result<usize, durable::Error> {
        let oldest = SignedDuration::try_from(self.keep_for).ok().and_then(|keep| now.checked_sub(keep).ok());
        let Some(oldest) = oldest else { return Ok(0) };
        let folders = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        // Somebody may have pointed us to a folder that holds more than ours.
        let ours = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            SessionKey::parse(name).is_ok_and(|id| id.id().is_uuid())
        };
        let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).filter(ours).collect();
        let all: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
        if all.iter().filter_map(|path| taken_at(path)).any(|at| at > now) {
            return Ok(0);
        }
        let old = |path: &&PathBuf| taken_at(path).is_some_and(|at| at < oldest);
        let mut gone = 0;
        for path in all.iter().filter(old) {
            durable::remove(path)?;
            gone += 1;
        }
        for folder in folders {
            for leftover in leftovers(&folder, oldest) {
                durable::remove(&leftover)?;
            }
            durable::remove_empty_dir(&folder)?;
        }
        Ok(gone)
    }
}

/// Reads a snapshot.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn read(path: &Path) -> io::Result<Snapshot> {
    Ok(read_sealed(path)?.0)
}

/// Reads a snapshot with the code that it carries.
fn read_sealed(path: &Path) -> io::Result<(Snapshot, Option<String>)> {
    let damaged = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let packed = crate::files::read_own(path)?;
    let size = zstd::bulk::Decompressor::upper_bound(&packed).unwrap_or(LARGEST).min(LARGEST);
    let plain = zstd::bulk::decompress(&packed, size)?;
    let end = plain.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it has no head"))?;
    let head: Head = serde_json::from_slice(&plain[..end])?;
    let text = String::from_utf8(plain[end + 1..].to_vec()).map_err(|_| damaged("it is no text"))?;
    let snapshot = Snapshot {
        session: head.session_id,
        at: head.at,
        why: head.why,
        pane: head.pane,
        screen_only: head.screen_only,
        text,
    };
    Ok((snapshot, head.mac))
}

fn pack(snapshot: &Snapshot, key: Option<&Key>) -> io::Result<Vec<u8>> {
    let head = Head {
        schema: SCHEMA,
        session_id: snapshot.session.clone(),
        at: snapshot.at,
        why: snapshot.why,
        pane: snapshot.pane.clone(),
        screen_only: snapshot.screen_only,
        mac: key.map(|key| key.code(Subject::Snapshot(&snapshot.session), snapshot.text.as_bytes())),
    };
    let mut plain = serde_json::to_vec(&head)?;
    plain.push(b'\n');
    plain.extend_from_slice(snapshot.text.as_bytes());
    zstd::bulk::compress(&plain, LEVEL)
}

const STAMP: &str = "%Y%m%dT%H%M%S.%3fZ";

fn stamp(at: Timestamp) -> String {
    at.strftime(STAMP).to_string()
}

/// When the snapshot of this name was taken; nothing for files that are no snapshots.
fn taken_at(path: &Path) -> Option<Timestamp> {
    let (stamp, _) = path.file_stem()?.to_str()?.split_once('-')?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S.%fZ", stamp).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

/// The snapshots in a folder, oldest first. Names are times.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = |path: &PathBuf| path.extension().is_some_and(|end| end == "zst") && taken_at(path).is_some();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(ours).collect();
    files.sort();
    files
}

/// What writers that were killed long ago have left.
fn leftovers(folder: &Path, before: Timestamp) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let old = |entry: &std::fs::DirEntry| {
        let changed = entry.metadata().and_then(|meta| meta.modified()).ok();
        changed.and_then(|at| Timestamp::try_from(at).ok()).is_some_and(|at| at < before)
    };
    let ours = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().starts_with(durable::TEMPORARY_PREFIX.as_bytes())
    });
    ours.filter(old).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests;
