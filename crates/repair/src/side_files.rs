//! The files beside a transcript: subagents' rows and tool results that were deleted or cut short come back from the vault.

use std::path::Path;

use agents::claude::{ConfigDir, TranscriptFile, walk};
use jiff::Timestamp;
use store::durable::{self, Kept};
use vault::{Conversation, FileKind, MirroredFile, Origination, Relation, Wanted};

use crate::repair::{RepairOutcome, RepairStatus};
use crate::{Error, Repairer};

/// What is to be done about one file.
enum Side {
    /// Nothing is known to be missing.
    Whole,
    /// This generation of the vault has all of it.
    Lost(u32),
    /// It is lost, and the vault's copy cannot be used.
    LeftOut,
}

impl Repairer {
    /// Puts back what went with the transcript: how many files came back, and which did not.
    pub(crate) fn put_back_others(&self, conversation: &Conversation) -> Result<(usize, Vec<String>), Error> {
        let (mut count, mut left_out) = (0, Vec::new());
        for file in side_files(conversation) {
            let path = conversation.config.join(&file.name);
            let number = match self.side(conversation, file, &path)? {
                Side::Whole => continue,
                Side::Lost(number) => number,
                Side::LeftOut => {
                    left_out.push(file.name.clone());
                    continue;
                }
            };
            durable::private_dir(path.parent().unwrap_or(&path))?;
            let kept = std::fs::metadata(&path)
                .map_or(Kept::default(), |meta| Kept { mtime: None, ..Kept::of(&meta) });
            match self.vault.restore_to(&conversation.key, &file.name, Some(number), &path, kept) {
                Ok(_) => count += 1,
                Err(error) if is_damage(&error) => left_out.push(file.name.clone()),
                Err(error) => return Err(error.into()),
            }
        }
        if count > 0 {
            self.note_side_files(conversation)?;
        }
        Ok((count, left_out))
    }

    /// A repair of a transcript mends the files beside it as well.
    pub(crate) fn with_side_files(
        &self,
        file: &TranscriptFile,
        mut outcome: RepairOutcome,
        dry_run: bool,
    ) -> Result<RepairOutcome, Error> {
        let mended = matches!(outcome.status, RepairStatus::Repaired | RepairStatus::AlreadyHealthy);
        let Some(config) = self.config_of(&file.path).filter(|_| mended) else { return Ok(outcome) };
        let key = self.vault.key(config, Some(&file.session));
        let conversation = match self.vault.conversation(&key) {
            Ok(Some(conversation)) => conversation,
            Ok(None) | Err(vault::Error::Foreign { .. }) => return Ok(outcome),
            Err(error) => return Err(error.into()),
        };
        let (count, left_out) =
            if dry_run { self.plan_others(&conversation)? } else { self.put_back_others(&conversation)? };
        outcome.left_out = left_out;
        if count > 0 {
            let files = if count == 1 { "1 other file".to_owned() } else { format!("{count} other files") };
            let done = match (dry_run, count) {
                (true, _) => "would be",
                (false, 1) => "was",
                (false, _) => "were",
            };
            outcome.reason = Some(format!("{files} of the conversation {done} put back from the vault"));
            outcome.status = RepairStatus::Repaired;
        }
        Ok(outcome)
    }

    fn plan_others(&self, conversation: &Conversation) -> Result<(usize, Vec<String>), Error> {
        let (mut count, mut left_out) = (0, Vec::new());
        for file in side_files(conversation) {
            match self.side(conversation, file, &conversation.config.join(&file.name))? {
                Side::Whole => {}
                Side::Lost(_) => count += 1,
                Side::LeftOut => left_out.push(file.name.clone()),
            }
        }
        Ok((count, left_out))
    }

    fn side(&self, conversation: &Conversation, file: &MirroredFile, path: &Path) -> Result<Side, Error> {
        let size = std::fs::metadata(path).ok().map(|meta| meta.len());
        let best = match self.vault.choose(conversation, file, Wanted::Best) {
            Ok(Some(choice)) => choice.generation,
            Ok(None) => return Ok(Side::Whole),
            Err(vault::Error::Doubtful { .. }) => {
                let known = file.best_generation().map_or(0, |best| best.bytes);
                let lost = size.is_none_or(|size| size < known);
                return Ok(if lost { Side::LeftOut } else { Side::Whole });
            }
            Err(error) => return Err(error.into()),
        };
        let Some(size) = size else { return Ok(Side::Lost(best.number)) };
        if size >= best.bytes {
            return Ok(Side::Whole);
        }
        let mut whole = Vec::new();
        match self.vault.read(&conversation.key, &file.name, Some(best.number), &mut whole) {
            Ok(_) => {}
            Err(error) if is_damage(&error) => return Ok(Side::LeftOut),
            Err(error) => return Err(error.into()),
        }
        let there = store::files::read(path).map_err(Error::read(path))?;
        let rows = path.extension().is_some_and(|extension| extension == "jsonl");
        // What holds anything that the vault's version lacks is the agent's own rewriting.
        let is_part = whole.starts_with(&there)
            || rows && self.relation(path, conversation, file, &best)? == Relation::Subset;
        Ok(if is_part { Side::Lost(best.number) } else { Side::Whole })
    }

    /// Tells the vault that these files hold what they lost: else they would be reported as lost for good.
    fn note_side_files(&self, conversation: &Conversation) -> Result<(), Error> {
        let config = ConfigDir::new(&conversation.config);
        let config = self.config_of(&config.projects()).cloned().unwrap_or(config);
        let found = walk(&config).sources;
        for file in side_files(conversation) {
            let path = conversation.config.join(&file.name);
            if let Some(source) = found.iter().find(|source| source.path == path) {
                self.mirror(source, Origination::Ours, Timestamp::now())?;
            }
        }
        if let Some(session) = &conversation.session {
            self.tell("put_back", |entry| {
                entry.with("sessionId", session.as_str()).with("path", conversation.config.to_string_lossy())
            })?;
        }
        Ok(())
    }
}

fn side_files(conversation: &Conversation) -> impl Iterator<Item = &MirroredFile> {
    let beside = |file: &&MirroredFile| matches!(file.kind, FileKind::Subagent | FileKind::ToolResult);
    conversation.files.iter().filter(beside)
}

fn is_damage(error: &vault::Error) -> bool {
    matches!(error, vault::Error::Gap { .. } | vault::Error::Frame { .. })
}
