//! What rekindle knows was said in a conversation, and no copy of it holds.

use std::path::Path;

use agents::SessionId;
use agents::claude::ConfigDir;
use store::record::Spoken;
use transcript::{Buffer, Transcript};
use vault::Conversation;

use crate::{Error, PutBack, Refusal, Repairer};

impl Repairer {
    /// What was put back, with what is missing from it.
    pub(crate) fn weighed(
        &self,
        back: Result<PutBack, Refusal>,
        session: &SessionId,
        conversation: &Conversation,
        doubt: Option<String>,
    ) -> Result<Result<PutBack, Refusal>, Error> {
        let back = match back {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(back) => back,
        };
        let doubt = doubt.or_else(|| back.doubt.clone());
        self.weigh(back, session, &conversation.config, doubt).map(Ok)
    }

    /// Keeps with a transcript that was put back what is known to be missing from it: `doubt`, and what its record says was
    /// said last, where that is not in it.
    fn weigh(
        &self,
        back: PutBack,
        session: &SessionId,
        config: &Path,
        doubt: Option<String>,
    ) -> Result<PutBack, Error> {
        let is_copy = back.session != *session;
        let unfound = if is_copy { None } else { self.unfound(session, config, &back.path) };
        let missing: Vec<String> = doubt.into_iter().chain(unfound).collect();
        if missing.is_empty() {
            return Ok(back);
        }
        let missing = missing.join("; ");
        if !is_copy {
            self.note_missing(session, &missing)?;
        }
        Ok(PutBack { doubt: Some(missing), ..back })
    }

    /// The last prompt or reply on record, where the transcript does not hold it.
    fn unfound(&self, session: &SessionId, config: &Path, path: &Path) -> Option<String> {
        let record = self.record_of(session, &ConfigDir::new(config))?;
        let mut buffer = Buffer::default();
        let transcript = Transcript::open(path, &mut buffer).ok()?;
        let is_lost = |spoken: &&Spoken| {
            let id = spoken.uuid.as_deref().and_then(number);
            id.is_some_and(|id| !transcript.ids().any(|known| known == id))
        };
        let words = |what: &str, spoken: &Spoken| {
            let at = spoken.at.map(|at| at.strftime(" of %Y-%m-%d %H:%M:%S UTC").to_string());
            let at = at.unwrap_or_default();
            format!("the last {what} that rekindle knows of{at} is in no copy, and stays missing")
        };
        let prompt = record.last_prompt.as_ref().filter(is_lost).map(|spoken| words("prompt", spoken));
        prompt.or_else(|| record.last_reply.as_ref().filter(is_lost).map(|spoken| words("reply", spoken)))
    }
}

/// The id of a row, as transcripts count them.
fn number(uuid: &str) -> Option<u128> {
    let digits: String = uuid.chars().filter(|c| *c != '-').collect();
    if digits.len() == 32 { u128::from_str_radix(&digits, 16).ok() } else { None }
}
