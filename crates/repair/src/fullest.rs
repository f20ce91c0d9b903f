//! The fullest copy of a conversation: what its file and the vault's generations hold together.
//!
//! An agent whose transcript is deleted or cut under it goes on in a new file, so the vault's older generation and the
//! file are two parts of one conversation. They are joined where `transcript::succession` proves the order. Where it
//! does not, both are kept and the user chooses.

use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, Walk, is_account, walk};
use agents::{SessionId, SessionKey, Stamp};
use store::record::{self, SessionRecord};
use transcript::{Buffer, Doubt, Status, Succession, succession};
use vault::{Conversation, Event, GenerationInfo, Key, MirroredFile};

use crate::examine::{is_main, scan_file};
use crate::{Error, Repairer};

/// What of a conversation is not in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// The file is gone, empty or cut short; this generation of the vault has it all.
    Copy {
        /// The generation.
        generation: u32,
    },
    /// These generations and the file are parts of one conversation.
    Parts {
        /// The generations, oldest first.
        generations: Vec<u32>,
        /// Prompts that a resume reaches again.
        prompts: u64,
        /// Whether rows between two of them are in neither.
        gap: bool,
    },
    /// These generations hold what the file lacks, and the order is not proven.
    Choice {
        /// The generations, oldest first.
        generations: Vec<u32>,
        /// Why.
        doubt: Doubt,
    },
    /// The file is damaged, and so is the vault's copy: it may have held what the file lacks.
    Doubtful,
}

/// What is said where parts of a conversation are joined over rows that are nowhere.
pub(crate) const ROWS_MISSING: &str =
    "at least one row between the vault's rows and the newer ones is in neither, and stays missing";

impl Lost {
    /// What is in no copy at all, where that is known.
    pub fn missing(&self) -> Option<&'static str> {
        matches!(self, Lost::Parts { gap: true, .. }).then_some(ROWS_MISSING)
    }

    /// What a resume of the file alone would lose.
    pub fn loses(&self) -> String {
        let lost = self.only_in_vault();
        match self.missing() {
            Some(missing) => format!("{lost}; {missing}"),
            None => lost,
        }
    }

    fn only_in_vault(&self) -> String {
        match self {
            Lost::Copy { .. } => "rows that only the vault has".to_owned(),
            Lost::Parts { prompts: 0, .. } => "rows that only the vault still has".to_owned(),
            Lost::Parts { prompts: 1, .. } => "the prompt that only the vault still has".to_owned(),
            Lost::Parts { prompts, .. } => format!("{prompts} prompts that only the vault still has"),
            Lost::Choice { .. } => "the other version, which only the vault still has".to_owned(),
            Lost::Doubtful => "what a version that is damaged in the vault may have held".to_owned(),
        }
    }

    /// What a repair does about it.
    pub fn repair(&self, session: &SessionKey) -> String {
        match self {
            Lost::Copy { .. } => "the vault's copy is put back".to_owned(),
            Lost::Parts { generations, .. } => {
                format!("the vault's {} put back, with the newer rows behind", versions(generations))
            }
            Lost::Doubtful => {
                let (id, session) = (session.short(), session.id());
                format!(
                    "yours to choose, because the vault's copy is damaged and may have held more: `rekindle vault verify` \
                     says where, `claude --resume {session}` goes on with the file as it is, `rekindle repair {id} --as-copy` \
                     mends a copy of it under a new id"
                )
            }
            Lost::Choice { generations, doubt } => {
                let newest = generations.last().copied().unwrap_or_default();
                let (id, session) = (session.short(), session.id());
                format!(
                    "yours to choose, because {}: `claude --resume {session}` goes on with the file, `rekindle vault \
                     restore {id} --version {newest}` brings the other version back under a new id, `rekindle repair \
                     {id}` keeps both",
                    doubt.words(),
                )
            }
        }
    }

    /// What to do about it, a line for each choice.
    pub fn remedy_lines(&self, session: &SessionKey) -> Vec<String> {
        let Lost::Choice { generations, doubt } = self else { return vec![self.remedy(session)] };
        let newest = generations.last().copied().unwrap_or_default();
        let (id, session) = (session.short(), session.id());
        vec![
            format!("yours to choose, because {}:", doubt.words()),
            format!("  claude --resume {session}  goes on with the file"),
            format!(
                "  rekindle vault restore {id} --version {newest}  brings the other version back under a new id"
            ),
            format!("  rekindle repair {id}  keeps both"),
        ]
    }

    /// The command that deals with it, in a sentence.
    pub fn remedy(&self, session: &SessionKey) -> String {
        match self {
            Lost::Choice { .. } | Lost::Doubtful => self.repair(session),
            _ => format!("`rekindle repair {}` puts it back", session.short()),
        }
    }
}

fn versions(generations: &[u32]) -> String {
    let numbers: Vec<String> = generations.iter().map(ToString::to_string).collect();
    match numbers.as_slice() {
        [only] => format!("version {only} is"),
        _ => format!("versions {} are", numbers.join(" and ")),
    }
}

/// A conversation, put together from the vault and its file.
pub(crate) struct Fullest {
    /// What is to be in the file; nothing where that is what it holds.
    pub(crate) remade: Option<Remade>,
    /// What is to be kept beside it, under another id.
    pub(crate) beside: Vec<Beside>,
    /// The file as it was read; nothing where there is none.
    pub(crate) read: Option<Stamp>,
    /// Whether some generation cannot be read.
    unread: bool,
    /// Whether the file is damaged, holds all that can be read, and a generation that is missing may have held more.
    doubtful: bool,
}

/// What a file is to hold.
pub(crate) enum Remade {
    /// A generation as it is.
    Copy(GenerationInfo),
    /// Several parts, joined.
    Joined { bytes: Vec<u8>, generations: Vec<u32>, prompts: u64, gap: bool },
}

#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) bytes: Vec<u8>,
    pub(crate) generations: Vec<u32>,
    pub(crate) doubt: Doubt,
}

impl Fullest {
    /// Whether damage of the vault leaves no doubt that this is everything.
    pub(crate) fn is_certain(&self, mirrored: &MirroredFile) -> bool {
        let sure = |number: &u32| mirrored.generation(*number).is_some_and(|it| mirrored.is_certain(it));
        let parts = match &self.remade {
            Some(Remade::Copy(generation)) => vec![generation.number],
            Some(Remade::Joined { generations, .. }) => generations.clone(),
            None => Vec::new(),
        };
        let beside = self.beside.iter().flat_map(|beside| &beside.generations);
        !self.unread && parts.iter().chain(beside).all(sure)
    }

    /// What is lost, where something is.
    pub(crate) fn lost(&self) -> Option<Lost> {
        match &self.remade {
            Some(Remade::Copy(generation)) => Some(Lost::Copy { generation: generation.number }),
            Some(Remade::Joined { generations, prompts, gap, .. }) => {
                Some(Lost::Parts { generations: generations.clone(), prompts: *prompts, gap: *gap })
            }
            None => self
                .beside
                .first()
                .map(|beside| Lost::Choice { generations: beside.generations.clone(), doubt: beside.doubt })
                .or(self.doubtful.then_some(Lost::Doubtful)),
        }
    }
}

/// What the generations up to one of them come to.
#[derive(Clone)]
struct Sum {
    bytes: Vec<u8>,
    /// The generations it is made of; none for the file alone.
    parts: Vec<u32>,
    /// Whether it is exactly one of them.
    pure: bool,
    prompts: u64,
    /// Whether rows between two of its parts are in neither.
    gap: bool,
    beside: Vec<Beside>,
}

/// One version of a file: a generation, or what is there now.
struct Version {
    number: Option<u32>,
    event: Option<Event>,
    bytes: Vec<u8>,
}

impl Repairer {
    /// What of a conversation is not in its file; `None` where nothing is lost, or it is not in the vault.
    ///
    /// # Errors
    /// The vault or the file cannot be read.
    pub fn lost(&self, key: &Key, path: &Path) -> Result<Option<Lost>, Error> {
        let Some((conversation, mirrored)) = self.mirrored(key, path)? else { return Ok(None) };
        Ok(self.fullest(path, &conversation, &mirrored)?.lost())
    }

    /// What of these conversations is not in their files, whether a sync has seen that or not.
    ///
    /// # Errors
    /// The vault or a file cannot be read.
    pub fn lost_among<K: Clone>(&self, files: &[(K, PathBuf)]) -> Result<Vec<(K, Lost)>, Error> {
        let stamp = |path: &Path| std::fs::metadata(path).ok().map(|meta| Stamp::of(&meta));
        let now = files.iter().map(|(_, path)| (path.as_path(), stamp(path)));
        let mut found = Vec::new();
        for loss in self.vault.losses_beside(now)? {
            if let Err(vault::Error::Foreign { .. }) = self.vault.conversation(&loss.key) {
                continue;
            }
            if let Some((session, path)) = files.iter().find(|(_, path)| *path == loss.path)
                && let Some(lost) = self.lost(&loss.key, path)?
            {
                found.push((session.clone(), lost));
            }
        }
        Ok(found)
    }

    /// Every file that lost something which the vault has, whether a sync has seen that or not. What was lost is told of
    /// transcripts.
    ///
    /// # Errors
    /// The vault or a file cannot be read.
    pub fn losses(&self) -> Result<Vec<(vault::Loss, Option<Lost>)>, Error> {
        let walks: Vec<Walk> = self.configs.iter().map(walk).collect();
        let mut found = Vec::new();
        for loss in self.vault.losses_in(&walks)? {
            // One copy that cannot be used hides no other loss; `vault list` and `vault verify` say what is wrong.
            if let Err(vault::Error::Foreign { .. }) = self.vault.conversation(&loss.key) {
                continue;
            }
            let transcript = loss.session.is_some() && is_main(&loss.path);
            let lost = if transcript { self.lost(&loss.key, &loss.path)? } else { None };
            if lost.is_some() || self.loses(&loss.key, &loss.path, loss.event)? {
                found.push((loss, lost));
            }
        }
        Ok(found)
    }

    /// Puts a conversation together from everything that is there of it.
    pub(crate) fn fullest(
        &self,
        path: &Path,
        conversation: &Conversation,
        mirrored: &MirroredFile,
    ) -> Result<Fullest, Error> {
        let there = read_file(path)?;
        let read = there.as_ref().map(|(_, stamp)| *stamp);
        if read.is_some() && self.is_retargeted(conversation) {
            return Ok(Fullest { remade: None, beside: Vec::new(), read, unread: false, doubtful: false });
        }
        let now = there.as_ref().map(|(bytes, _)| blake3::hash(bytes));
        let mut unreadable = HashSet::new();
        let mut versions = Vec::new();
        for generation in
            mirrored.generations.iter().filter(|generation| generation.talks && !generation.damaged)
        {
            let mut bytes = Vec::new();
            match self.vault.read(&conversation.key, &mirrored.name, Some(generation.number), &mut bytes) {
                Ok(_) => {
                    let (number, event) = (Some(generation.number), Some(generation.event));
                    versions.push(Version { number, event, bytes });
                }
                // The other generations still count, but they may not be everything.
                Err(vault::Error::Gap { .. } | vault::Error::Frame { .. }) => {
                    unreadable.insert(generation.number);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let lacks_versions = mirrored.lacks_versions(|number| unreadable.contains(&number));
        let damaged = mirrored.generations.iter().any(|generation| generation.damaged);
        let unread = damaged || !unreadable.is_empty() || lacks_versions;
        // A healthy file that holds all that can be read is not known to lack anything.
        let doubtful = || {
            let hurt = |status| matches!(status, Status::Corrupted | Status::Empty | Status::Unrecoverable);
            lacks_versions && read.is_some() && hurt(scan_file(path, &mut Buffer::default()).status)
        };
        match (there, versions.last_mut()) {
            // The newest generation, or what has grown from it.
            (Some((bytes, _)), Some(last)) if bytes.starts_with(&last.bytes) => {
                (last.number, last.bytes) = (None, bytes);
            }
            (Some((bytes, _)), _) => versions.push(Version { number: None, event: None, bytes }),
            (None, _) => {}
        }
        let session = conversation.session.as_ref();
        let config = ConfigDir::new(&conversation.config);
        let records = session.and_then(|session| self.record_of(session, &config));
        let in_memory =
            |span: Range<i64>| records.as_ref().is_some_and(|record| lived_through(record, &span));
        let name = session.map(SessionId::as_str);
        let Some(sum) = add_up(versions, name, &in_memory).map_err(Error::read(path))? else {
            return Ok(Fullest { remade: None, beside: Vec::new(), read, unread, doubtful: doubtful() });
        };
        let remade = if sum.parts.is_empty() || now == Some(blake3::hash(&sum.bytes)) {
            None
        } else if let (true, [only]) = (sum.pure, sum.parts.as_slice()) {
            mirrored.generation(*only).cloned().map(Remade::Copy)
        } else {
            let Sum { bytes, parts: generations, prompts, gap, .. } = sum;
            return Ok(Fullest {
                remade: Some(Remade::Joined { bytes, generations, prompts, gap }),
                beside: sum.beside,
                read,
                unread,
                doubtful: false,
            });
        };
        let doubtful = remade.is_none() && sum.beside.is_empty() && doubtful();
        Ok(Fullest { remade, beside: sum.beside, read, unread, doubtful })
    }

    /// Whether the directory of a copy is another account's by now: a link that was pointed elsewhere. What the copy holds
    /// and the file does not was never lost, and belongs into no file of that account.
    pub(crate) fn is_retargeted(&self, conversation: &Conversation) -> bool {
        let (Some(session), config) = (&conversation.session, conversation.config.as_path()) else {
            return false;
        };
        let keys = record::keys(&self.state).unwrap_or_default().into_iter();
        let mut of_id = keys
            .filter(|key| key.id() == session)
            .filter_map(|key| record::load(&self.state, None, &key).ok().flatten());
        of_id.any(|held| {
            held.record.ran_in(config)
                && held.record.account_here().is_some_and(|own| !is_account(own, config))
        })
    }

    pub(crate) fn record_of(&self, session: &SessionId, config: &ConfigDir) -> Option<SessionRecord> {
        record::load(&self.state, None, &self.key_of(session, Some(config)))
            .ok()
            .flatten()
            .map(|held| held.record)
    }
}

/// Adds one version after the other. The file as it is now has no number.
fn add_up(
    versions: Vec<Version>,
    session: Option<&str>,
    in_memory: &dyn Fn(Range<i64>) -> bool,
) -> std::io::Result<Option<Sum>> {
    let mut sums: Vec<Sum> = Vec::new();
    let mut hashes: Vec<blake3::Hash> = Vec::new();
    for version in versions {
        let hash = blake3::hash(&version.bytes);
        let own = |bytes: Vec<u8>, beside: Vec<Beside>| Sum {
            bytes,
            parts: version.number.into_iter().collect(),
            pure: true,
            prompts: 0,
            gap: false,
            beside,
        };
        let next = match sums.last() {
            None => own(version.bytes, Vec::new()),
            Some(_) if version.event == Some(Event::Repaired) => {
                // rekindle wrote it, with nothing left to choose. The bytes of an older version mean an undo: what
                // was lost then is lost again.
                let last = hashes.len() - 1;
                match hashes.iter().position(|known| *known == hash).filter(|at| *at != last) {
                    Some(at) => sums[at].clone(),
                    None => own(version.bytes, Vec::new()),
                }
            }
            Some(before) => match succession(&before.bytes, &version.bytes, session, in_memory)? {
                Succession::Complete => own(version.bytes, before.beside.clone()),
                Succession::CutShort => before.clone(),
                Succession::Continued(joined) => Sum {
                    bytes: joined.bytes,
                    parts: before.parts.iter().copied().chain(version.number).collect(),
                    pure: false,
                    prompts: joined.regained,
                    gap: before.gap || joined.gap,
                    beside: before.beside.clone(),
                },
                // A file that holds its largest version again was put back by hand.
                Succession::Unproven(_) if version.event == Some(Event::Returned) => {
                    own(version.bytes, Vec::new())
                }
                Succession::Unproven(doubt) => {
                    let mut beside = before.beside.clone();
                    beside.push(Beside {
                        bytes: before.bytes.clone(),
                        generations: before.parts.clone(),
                        doubt,
                    });
                    own(version.bytes, beside)
                }
            },
        };
        sums.push(next);
        hashes.push(hash);
    }
    Ok(sums.pop())
}

/// Whether one process of the agent lived through a span of time, in milliseconds since 1970.
fn lived_through(record: &SessionRecord, span: &Range<i64>) -> bool {
    let began: Vec<i64> = record.runs.iter().map(|run| run.launched_at.as_millisecond()).collect();
    began.iter().any(|at| *at <= span.start) && !began.iter().any(|at| *at > span.start && *at <= span.end)
}

fn read_file(path: &Path) -> Result<Option<(Vec<u8>, Stamp)>, Error> {
    let mut file = match store::files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::read(path)(error)),
    };
    let meta = file.metadata().map_err(Error::read(path))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::read(path))?;
    Ok(Some((bytes, Stamp::of(&meta))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use serde_json::json;

    #[test]
    fn an_agent_lived_through_a_loss_if_no_other_began_in_it() {
        let check = |began: &[i64], expect: bool| {
            let at = |second: i64| Timestamp::from_second(second).unwrap();
            let mut record = SessionRecord::new(agents::SessionKey::parse("s").unwrap(), at(0));
            let run = |second: &i64| {
                let run = json!({"launchedAt": at(*second).to_string(), "pid": 1, "procStart": 1});
                serde_json::from_value(run).unwrap()
            };
            record.runs = began.iter().map(run).collect();
            assert_eq!(lived_through(&record, &(20_000..30_000)), expect, "{began:?}");
        };
        check(&[10], true);
        check(&[10, 40], true);
        check(&[10, 25], false);
        check(&[25], false);
        check(&[], false);
    }

    fn version(number: u32, event: Event, turns: &[usize]) -> Version {
        let row = |turn: &usize| {
            let uuid = |turn: usize| format!("{turn:08}-1111-4222-8333-{turn:012}");
            let parent = turn.checked_sub(1).map(uuid);
            let kind = if turn.is_multiple_of(2) { "user" } else { "assistant" };
            let message = json!({"role": kind, "id": format!("m{turn}"), "content": [{"type": "text", "text": format!("{turn}")}]});
            let row = json!({"parentUuid": parent, "isSidechain": false, "type": kind, "message": message,
                "uuid": uuid(*turn), "timestamp": format!("2026-01-01T00:{turn:02}:00.000Z")});
            format!("{row}\n")
        };
        let bytes = turns.iter().map(row).collect::<String>().into_bytes();
        Version { number: Some(number), event: Some(event), bytes }
    }

    fn check(versions: Vec<Version>, parts: &[u32], beside: usize) {
        let sum = add_up(versions, None, &|_| false).unwrap().unwrap();
        assert_eq!((sum.parts.as_slice(), sum.beside.len()), (parts, beside));
    }

    #[test]
    fn versions_add_up() {
        use Event::{New, Overwritten, Repaired, Returned, Truncated};
        let new = || version(1, New, &[0, 1, 2, 3]);
        let newer = || version(2, Overwritten, &[4, 5]);
        let all = || version(3, Repaired, &[0, 1, 2, 3, 4, 5]);
        check(vec![new(), newer()], &[1, 2], 0);
        check(vec![new(), version(2, Truncated, &[0, 1])], &[1], 0);
        check(vec![new(), newer(), all()], &[3], 0);
        // An undo brings the loss back; what was joined again has none.
        check(vec![new(), newer(), all(), version(4, Repaired, &[4, 5])], &[1, 2], 0);
        check(vec![new(), newer(), all(), version(4, Repaired, &[4, 5]), all()], &[3], 0);
        // Another conversation is a choice until rekindle has kept both, or somebody has put the file back.
        let other = || version(2, Overwritten, &[20, 21]);
        let stranger = || {
            let mut other = other();
            other.bytes =
                String::from_utf8(other.bytes).unwrap().replace("00000019", "00000099").into_bytes();
            other
        };
        check(vec![new(), stranger()], &[2], 1);
        let kept = || Version { number: Some(3), event: Some(Repaired), ..stranger() };
        check(vec![new(), stranger(), kept()], &[3], 0);
        check(vec![new(), stranger(), version(3, Returned, &[0, 1, 2, 3])], &[3], 0);
    }
}
