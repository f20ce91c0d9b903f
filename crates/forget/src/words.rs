//! What was said in a conversation, as something that can be found again in other texts.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use agents::SessionKey;
use agents::claude::{ConfigDir, find_session};
use store::SessionText;
use store::record::SessionRecord;
use transcript::{Buffer, Transcript};
use vault::Key;

use crate::Eraser;

/// So many words in a row are nobody else's by chance; fewer are common phrases.
const RUN: usize = 4;
/// A shorter text may stand anywhere.
const SHORTEST: usize = 8;
/// So many characters in a row of a script that has no blanks between words are nobody else's by chance.
const GLYPHS: usize = 8;
/// So many of them are enough in a text about the conversation.
const FEW_GLYPHS: usize = 4;
/// A word that is at least so long is known by its beginning in a text about the conversation: it may have been cut.
const BEGINNING: usize = 12;

/// The runs of words of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Words {
    runs: HashSet<u64>,
    /// Whole texts of fewer words than a run, beginnings of long words, and short runs of characters.
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
            for glyphs in without_blanks(line) {
                self.runs.extend(pieces(glyphs, GLYPHS).map(|piece| hash(&[piece])));
                self.short.extend(pieces(glyphs, FEW_GLYPHS).map(|piece| hash(&[piece])));
            }
            if words.len() < RUN {
                if line.trim().len() >= SHORTEST {
                    self.short.insert(hash(&words));
                }
                self.short.extend(words.iter().filter_map(|word| beginning(word)));
                continue;
            }
            self.runs.extend(words.windows(RUN).map(hash));
        }
    }

    /// Whether a text holds something that was said.
    pub(crate) fn are_in(&self, text: &str, about: About) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let long = words.windows(RUN).any(|run| self.runs.contains(&hash(run)));
        let glyphs = |count: usize, known: &HashSet<u64>| {
            without_blanks(text)
                .any(|glyphs| pieces(glyphs, count).any(|piece| known.contains(&hash(&[piece]))))
        };
        let short = || {
            (1..RUN).any(|length| words.windows(length).any(|run| self.short.contains(&hash(run))))
                || words.iter().filter_map(|word| beginning(word)).any(|word| self.short.contains(&word))
                || glyphs(FEW_GLYPHS, &self.short)
        };
        long || glyphs(GLYPHS, &self.runs) || (about == About::It && short())
    }
}

/// The parts of a text in scripts that put no blanks between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
fn without_blanks(text: &str) -> impl Iterator<Item = &str> {
    let has_none = |letter: char| {
        matches!(letter,
            '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
    };
    text.split(move |letter| !has_none(letter)).filter(|part| !part.is_empty())
}

/// Every piece of so many characters.
fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    (0..starts.len().saturating_sub(count)).map(move |at| &text[starts[at]..starts[at + count]])
}

/// How a long word begins.
fn beginning(word: &str) -> Option<u64> {
    let end = word.char_indices().nth(BEGINNING)?.0;
    Some(hash(&[&word[..end]]))
}

impl Eraser<'_> {
    /// Everything that was said, from the transcript, the vault, and what is known of the conversation.
    pub(crate) fn words(
        &self,
        config: &ConfigDir,
        keys: &[Key],
        session: &SessionKey,
        record: Option<&SessionRecord>,
    ) -> Words {
        let mut words = Words::default();
        let found = find_session(std::slice::from_ref(config), session.id().as_str()).unwrap_or_default();
        for file in found.iter().filter(|file| file.session == *session.id()) {
            if let Ok(transcript) = Transcript::open(&file.path, &mut Buffer::default()) {
                hear(&transcript, &mut words);
            }
        }
        // Every generation of every file: a turn may be in an older one only, or in a subagent's.
        for key in keys {
            let conversation = self.vault().conversation(key).ok().flatten();
            for file in conversation.iter().flat_map(|conversation| &conversation.files) {
                for generation in file.generations.iter().filter(|_| file.name.ends_with(".jsonl")) {
                    let mut bytes = Vec::new();
                    // Of one that cannot be read whole, what could be read is heard.
                    let _ = self.vault().read(key, &file.name, Some(generation.number), &mut bytes);
                    hear(&Transcript::of(&bytes, None), &mut words);
                }
            }
        }
        let instances = self.settler.state.instances();
        for text in [SessionText::Note, SessionText::Summary] {
            words.add(&text.read(&self.settler.state, session).unwrap_or_default());
        }
        let known = [
            instances.join(format!("restore/context-cache/{session}.txt")),
            self.settler.state.status_cache(session),
        ];
        for path in known {
            words.add(&String::from_utf8_lossy(&store::files::read(path).unwrap_or_default()));
        }
        if let Some(record) = record {
            // A name that is only the directory's is not the conversation's.
            let directory = record.project_dir.as_deref().and_then(Path::file_name);
            let name = record.name.as_deref().filter(|name| directory.is_none_or(|dir| dir != *name));
            let texts =
                [name, record.task.as_deref(), record.given.name.as_deref(), record.given.task.as_deref()];
            texts.into_iter().flatten().for_each(|text| words.add(text));
            if let Some(untrusted) = &record.untrusted_words {
                let given = &untrusted.given;
                let texts = [&untrusted.name, &untrusted.task, &given.name, &given.task];
                texts.into_iter().flatten().for_each(|text| words.add(text));
            }
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

    #[test]
    fn a_text_without_blanks_is_found_where_it_was_cut_in_the_middle() {
        let mut words = Words::default();
        words.add("请把商店的结账页面重写一遍,不要动登录页面");
        words.add("fix-the-checkout-page-of-the-shop");
        let check = |text: &str, about: About, expect: bool| {
            assert_eq!(words.are_in(text, about), expect, "{text}");
        };
        check("请把商店的结账页面重…", About::Anything, true);
        check("任务:结账页面重写一遍", About::It, true);
        check("结账页面…", About::It, true);
        check("结账页面…", About::Anything, false);
        check("登录", About::It, false);
        check("今天天气很好,我们去公园散步吧", About::It, false);
        check("fix-the-checkout-pa…", About::It, true);
        check("fix-the-checkout-pa…", About::Anything, false);
        check("fix-the-login", About::It, false);
    }
}
