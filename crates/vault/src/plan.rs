//! What has become of a file since it was last read: decided before anything is written.

use std::path::Path;

use agents::Stamp;

use crate::compare::{Common, Content, common, same_tail};
use crate::error::reading;
use crate::event::Event;
use crate::frame::Codec;
use crate::manifest::Origin;
use crate::replay::{FileState, Generation};
use crate::vault::Vault;
use crate::{Error, Key};

/// How closely a file is compared with what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// An append to a large file is believed if inode and last 64 KiB are the same.
    Tail,
    /// Every byte is read: what is stored afterwards is what is there.
    Whole,
}

// Up to this, reading all of a file that grew costs 2 ms and finds edits further up; beyond it, the tail must do.
const CHEAP: u64 = 4 * 1024 * 1024;

/// The file in question.
pub(crate) struct Subject<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) key: &'a Key,
    pub(crate) file: &'a mut dyn Content,
    pub(crate) path: &'a Path,
    pub(crate) stamp: Stamp,
}

pub(crate) enum Plan {
    /// Nothing to do.
    Unchanged,
    /// Keep this much of the newest generation and store the rest of the file.
    Store { event: Event, generation: u32, keep_frames: usize, keep_bytes: u64 },
}

pub(crate) fn plan(
    subject: &mut Subject<'_>,
    codec: &mut Codec,
    before: Option<&FileState>,
    depth: Depth,
) -> Result<Plan, Error> {
    let Some((before, newest)) = before.and_then(|before| Some((before, before.newest()?))) else {
        return Ok(Plan::Store { event: Event::New, generation: 1, keep_frames: 0, keep_bytes: 0 });
    };
    let common = shared(subject, codec, newest, depth)?;
    let (old_size, new_size) = (newest.size(), subject.stamp.size);
    let extends = common.bytes == old_size && !newest.gap;
    let doubted = newest.suspect && !makes_good(newest, subject.stamp);
    if extends && new_size == old_size && before.gone.is_none() && (!newest.suspect || doubted) {
        return Ok(Plan::Unchanged);
    }
    let grown = if before.gone.is_some() { Event::Returned } else { Event::Appended };
    let (event, generation, keep_frames) = if extends {
        // The open tail is superseded; all before it stays.
        let open = newest.open && new_size > old_size && !newest.frames.is_empty();
        (grown, newest.number, newest.frames.len() - usize::from(open))
    } else if common.bytes == new_size {
        (Event::Truncated, newest.number + 1, common.frames)
    } else {
        (Event::Overwritten, newest.number + 1, common.frames)
    };
    let keep_bytes = newest.frames[..keep_frames].iter().map(|frame| u64::from(frame.raw)).sum();
    let stands = event.is_loss() || newest.event.is_loss();
    let event = if stands && holds_all(subject, codec, before)? { Event::Returned } else { event };
    Ok(Plan::Store { event, generation, keep_frames, keep_bytes })
}

/// Whether a file shows that the lost lines held no more of it than it has: the very file that was read last, untouched, or
/// one that has more than was known. One with no more may be a copy of what was provable, and what goes on from such a copy
/// proves nothing either.
pub(crate) fn makes_good(newest: &Generation, now: Stamp) -> bool {
    let Origin { dev, ino, size, mtime_ns, ctime_ns, .. } = newest.source;
    let untouched = now == Stamp { dev, ino, size, mtime_ns, ctime_ns };
    !newest.doubted && (untouched || now.size > newest.size())
}

// ARCHITECTURE.md: an append only if device and inode match, the file is no shorter and its last 64 KiB are the same.
fn shared(
    subject: &mut Subject<'_>,
    codec: &mut Codec,
    newest: &Generation,
    depth: Depth,
) -> Result<Common, Error> {
    let (old, new) = (&newest.source, subject.stamp);
    let same_file = (old.dev, old.ino) == (new.dev, new.ino);
    let sound = !newest.gap && !newest.suspect;
    // Of the same length is no append: something else has touched it, and only reading it tells what.
    let candidate = depth == Depth::Tail && same_file && sound && new.size > old.size && new.size > CHEAP;
    if candidate && same_tail(subject.file, newest).map_err(reading(subject.path))? {
        return Ok(Common { frames: newest.frames.len(), bytes: old.size });
    }
    common(subject.vault, subject.key, codec, (subject.file, subject.path), new.size, newest)
}

// Whether the file has everything again that its largest generation had: then nothing is lost any more.
fn holds_all(subject: &mut Subject<'_>, codec: &mut Codec, before: &FileState) -> Result<bool, Error> {
    let whole = before.generations.iter().filter(|generation| !generation.gap && generation.talks());
    let Some(largest) = whole.max_by_key(|generation| generation.size()) else { return Ok(false) };
    if largest.size() > subject.stamp.size {
        return Ok(false);
    }
    let file: (&mut dyn Content, &Path) = (&mut *subject.file, subject.path);
    let common = common(subject.vault, subject.key, codec, file, subject.stamp.size, largest)?;
    Ok(common.bytes == largest.size())
}
