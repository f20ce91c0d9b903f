//! What was said in a conversation, as something that can be found again in other texts.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use agents::SessionId;
use agents::claude::{ConfigDir, find_session};
use state::record::SessionRecord;
use transcript::{Buffer, Transcript};
use vault::Key;

use crate::Eraser;

/// So many words in a row are nobody else's by chance; fewer are common phrases.
const RUN: usize = 4;
/// A shorter text may stand anywhere.
const SHORTEST: usize = 8;

/// The runs of words of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Words {
    runs: HashSet<u64>,
    /// Whole texts of fewer words than a run.
    short: HashSet<u64>,
}

/// Whose text it is that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// This conversation's: short texts count as well.
    It,
    /// Anything.
    Anything,
}

fn hash(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

impl Words {
    pub(crate) fn add(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.len() < RUN {
                if line.trim().len() >= SHORTEST {
                    self.short.insert(hash(&words));
                }
                continue;
            }
            self.runs.extend(words.windows(RUN).map(hash));
        }
    }

    /// Whether a text holds something that was said.
    pub(crate) fn are_in(&self, text: &str, about: About) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let long = words.windows(RUN).any(|run| self.runs.contains(&hash(run)));
        let short =
            || (1..RUN).any(|length| words.windows(length).any(|run| self.short.contains(&hash(run))));
        long || (about == About::It && short())
    }
}

impl Eraser<'_> {
    /// Everything that was said, from the transcript, the vault, and what is known of the conversation.
    pub(crate) fn words(
        &self,
        config: &ConfigDir,
        session: &SessionId,
        record: Option<&SessionRecord>,
    ) -> Words {
        let mut words = Words::default();
        let found = find_session(std::slice::from_ref(config), session.as_str()).unwrap_or_default();
        for file in found.iter().filter(|file| file.session == *session) {
            if let Ok(transcript) = Transcript::open(&file.path, &mut Buffer::default()) {
                hear(&transcript, &mut words);
            }
        }
        let key = Key::new(config, Some(session));
        // Every generation of every file: a turn may be in an older one only, or in a subagent's.
        let conversation = self.vault.conversation(&key).ok().flatten();
        for file in conversation.iter().flat_map(|conversation| &conversation.files) {
            for generation in file.generations.iter().filter(|_| file.name.ends_with(".jsonl")) {
                let mut bytes = Vec::new();
                // Of one that cannot be read whole, what could be read is heard.
                let _ = self.vault.read(&key, &file.name, Some(generation.number), &mut bytes);
                hear(&Transcript::of(&bytes, None), &mut words);
            }
        }
        let instances = self.settler.state.instances();
        let short = session.short();
        let known = [
            instances.join(format!("summaries/{short}.txt")),
            instances.join(format!("descriptions/{short}.txt")),
            instances.join(format!("restore/context-cache/{session}.txt")),
            self.settler.state.status_cache(session),
        ];
        for path in known {
            words.add(&String::from_utf8_lossy(&state::files::read(path).unwrap_or_default()));
        }
        if let Some(record) = record {
            // A name that is only the directory's is not the conversation's.
            let directory = record.project_dir.as_deref().and_then(Path::file_name);
            let name = record.name.as_deref().filter(|name| directory.is_none_or(|dir| dir != *name));
            let texts =
                [name, record.task.as_deref(), record.given.name.as_deref(), record.given.task.as_deref()];
            texts.into_iter().flatten().for_each(|text| words.add(text));
        }
        words
    }
}

fn hear<S: transcript::AsSource>(transcript: &Transcript<S>, words: &mut Words) {
    // What cannot be read again cannot be looked for; everything else still is.
    let _ = transcript.conversation(|utterance| {
        words.add(&utterance.text);
        true
    });
}

/// Whether two paths are one folder, whatever links lead there.
pub(crate) fn same_folder(one: &Path, two: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    real(one) == real(two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_is_found_and_a_common_phrase_is_not() {
        let mut words = Words::default();
        words.add("please rewrite the checkout page of the shop\nthank you");
        let check = |text: &str, about: About, expect: bool| {
            assert_eq!(words.are_in(text, about), expect, "{text}");
        };
        check("task: please rewrite the checkout pa…", About::Anything, true);
        check("rewrite the page", About::It, false);
        check("he said thank you to all", About::It, true);
        check("he said thank you to all", About::Anything, false);
    }
}
