//! The record of a forgotten conversation: who runs where stays, what was said goes.

use agents::claude::launch::without_prompt;
use semver::Version;

use crate::words::About;
use crate::{Eraser, Error, Subject};

/// Reads the flags of an agent whose version no record has.
const NEWEST: Version = Version::new(u64::MAX, 0, 0);

impl Eraser<'_> {
    pub(crate) fn clear_record(&self, subject: &Subject) -> Result<(), Error> {
        let Some(held) = &subject.held else { return Ok(()) };
        let mut held = held.clone();
        let record = &mut held.record;
        (record.name, record.base_name, record.task) = (None, None, None);
        (record.given.name, record.given.task, record.untrusted_words) = (None, None, None);
        // Hashes of what was said: whoever has the text could tell that it was said here.
        (record.context_hash, record.place_hash, record.summary_source) = (None, None, None);
        record.last_error = None;
        // Its spool is gone; the next one is read from its beginning.
        (record.spool_offset, record.spool_head) = (0, None);
        for run in &mut record.runs {
            // An agent may be started with its first prompt, of which no transcript or copy need be left.
            if let Some(argv) = &mut run.argv {
                let version = run.claude_version.as_deref().and_then(|version| Version::parse(version).ok());
                *argv = without_prompt(argv, &version.unwrap_or(NEWEST));
                let mut first = true;
                argv.retain(|word| std::mem::take(&mut first) || !subject.words.are_in(word, About::It));
            }
        }
        for evidence in &mut record.evidence {
            if subject.words.are_in(&evidence.detail, About::It) {
                evidence.detail = "(forgotten)".to_owned();
            }
        }
        Ok(store::record::store(&self.settler.state, self.settler.key.writing()?, &held)?)
    }
}
