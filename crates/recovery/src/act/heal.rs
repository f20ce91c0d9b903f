//! What a transcript needs before it is resumed.

use agents::SessionKey;
use agents::claude::TranscriptFile;
use repair::{RepairOptions, RepairStatus, Target, Wanted};

use transcript::Buffer;

use super::Actor;
use crate::decide::Act;
use crate::outcome::Outcome;

impl Actor<'_> {
    /// Mends or puts back the transcript first, where the plan says so.
    pub(super) fn heal(&self, session: &SessionKey, act: Act) -> Result<Outcome, String> {
        match act {
            Act::RepairResume => self.mend(session).map(|()| Outcome::RepairedResumed),
            Act::VaultResume => match self.repairer.restore(
                session.id(),
                self.repairer.account_in_vault(session).as_ref(),
                Wanted::Best,
            ) {
                // Where the account's directory has become another one's, what was put back is not what its agent would read.
                Ok(Some(Ok(_))) => match self.file(session) {
                    Ok(_) => Ok(Outcome::VaultResumed),
                    Err(_) => Err("the directory of its account is another account's now".to_owned()),
                },
                Ok(Some(Err(refusal))) => Err(refusal.to_string()),
                Ok(None) => Err("the vault does not have it".to_owned()),
                Err(error) => Err(format!("cannot {error}")),
            },
            Act::Fresh => Ok(Outcome::FreshWithContext),
            _ => Ok(Outcome::Resumed),
        }
    }

    fn mend(&self, session: &SessionKey) -> Result<(), String> {
        let file = self.file(session)?;
        let outcomes = self.repairer.repair(&[file], RepairOptions { dry_run: false, branch: None }, |_| {});
        match outcomes.into_iter().next() {
            Some(Ok(outcome)) => match outcome.status {
                // What was lost came back under another id: this one is not what its user waits for.
                RepairStatus::Repaired if outcome.resume_id != *session.id() => {
                    Err(outcome.reason.unwrap_or_else(|| "the vault has another version of it".to_owned()))
                }
                RepairStatus::Repaired | RepairStatus::AlreadyHealthy => Ok(()),
                _ => Err(outcome.reason.unwrap_or_else(|| "its transcript cannot be mended".to_owned())),
            },
            Some(Err(error)) => Err(format!("cannot {error}")),
            None => Err("its transcript cannot be mended".to_owned()),
        }
    }

    fn file(&self, session: &SessionKey) -> Result<TranscriptFile, String> {
        match self.repairer.transcript_of(session) {
            Ok(Target::File(file)) => Ok(file),
            Ok(Target::Gone(_)) => Err("its transcript is gone".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// How many rows of a conversation its agent reads back; nothing where there is no transcript.
    pub(super) fn remembered(&self, session: &SessionKey) -> Option<u64> {
        let file = self.file(session).ok()?;
        Some(repair::scan_file(&file.path, &mut Buffer::default()).chain_depth)
    }
}
