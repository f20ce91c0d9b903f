//! Damage to a transcript, one case each: what happened, how the file looks after it, what a resume must still reach.

mod bytes;
mod healthy;
mod order;
mod place;
mod request;
mod rewritten;
mod shapes;
mod stranded;
mod tree;
mod worse;

use std::path::PathBuf;

use anyhow::Result;
use transcript::Class;

use crate::base::Base;
use crate::conversation::{Recall, Story};
use crate::home::Home;

/// How a healthy conversation becomes a broken one.
#[derive(Debug, Clone, Copy)]
pub enum Damage {
    /// Its rows are changed.
    Rows(fn(&mut Base) -> Result<()>),
    /// Its bytes are others.
    Bytes(fn(&mut Base) -> Result<Vec<u8>>),
    /// Something happens to the file or around it; the result is where the file is, or was.
    Place(fn(&Place<'_>) -> Result<PathBuf>),
}

/// The paths of a conversation.
#[derive(Debug)]
pub struct Place<'a> {
    /// The home it lies in.
    pub home: &'a Home,
    /// Its id.
    pub session: &'a str,
    /// Its transcript, healthy.
    pub file: PathBuf,
}

/// What happened before the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// `rekindle vault sync` saw the healthy conversation.
    Synced,
}

/// One way in which a conversation breaks, or does not.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The classes of damage it stands for.
    pub classes: &'static [Class],
    /// What happened, in a sentence.
    pub what: &'static str,
    /// The conversation it happened to.
    pub story: Story,
    /// How.
    pub damage: Damage,
    /// What happened before.
    pub before: Before,
    /// The turns whose prompts must reach the model after a repair.
    pub asks: Vec<u8>,
    /// The turns whose replies must.
    pub replies: Vec<u8>,
    /// Other words that must.
    pub must: &'static [&'static str],
    /// Words that must not: turns the user gave up, what a compaction removed.
    pub never: &'static [&'static str],
    /// Whether the repair must leave every byte as it is.
    pub unchanged: bool,
    /// Whether the repair must make the file smaller than half.
    pub shrinks: bool,
    /// Whether a turn after the repair must be remembered by the resume after that.
    pub goes_on: bool,
    /// A folder under the home's root that the report of a repair tells to recreate and resume in.
    pub recreate: Option<&'static str>,
    /// The one version that a sample runs it on; without it, every version.
    pub sample: Option<&'static str>,
}

impl Case {
    fn new(name: &'static str, classes: &'static [Class], what: &'static str, damage: Damage) -> Case {
        Case {
            name,
            classes,
            what,
            story: Story::Plain,
            damage,
            before: Before::Nothing,
            asks: (0..8).collect(),
            replies: (0..8).collect(),
            must: &[],
            never: &[],
            unchanged: false,
            shrinks: false,
            goes_on: false,
            recreate: None,
            sample: None,
        }
    }

    fn rows(
        name: &'static str,
        classes: &'static [Class],
        what: &'static str,
        make: fn(&mut Base) -> Result<()>,
    ) -> Case {
        Case::new(name, classes, what, Damage::Rows(make))
    }

    fn bytes(
        name: &'static str,
        classes: &'static [Class],
        what: &'static str,
        make: fn(&mut Base) -> Result<Vec<u8>>,
    ) -> Case {
        Case::new(name, classes, what, Damage::Bytes(make))
    }

    fn place(
        name: &'static str,
        classes: &'static [Class],
        what: &'static str,
        make: fn(&Place<'_>) -> Result<PathBuf>,
    ) -> Case {
        Case::new(name, classes, what, Damage::Place(make))
    }

    fn asks(mut self, asks: impl IntoIterator<Item = u8>) -> Case {
        self.asks = asks.into_iter().collect();
        self
    }

    fn replies(mut self, replies: impl IntoIterator<Item = u8>) -> Case {
        self.replies = replies.into_iter().collect();
        self
    }

    fn turns(self, turns: impl IntoIterator<Item = u8> + Clone) -> Case {
        self.asks(turns.clone()).replies(turns)
    }

    fn must(mut self, words: &'static [&'static str]) -> Case {
        self.must = words;
        self
    }

    fn never(mut self, words: &'static [&'static str]) -> Case {
        self.never = words;
        self
    }

    fn of(mut self, story: Story) -> Case {
        self.story = story;
        self
    }

    fn synced(mut self) -> Case {
        self.before = Before::Synced;
        self
    }

    fn unchanged(mut self) -> Case {
        self.unchanged = true;
        self
    }

    fn shrinks(mut self) -> Case {
        self.shrinks = true;
        self
    }

    fn goes_on(mut self) -> Case {
        self.goes_on = true;
        self
    }

    fn recreate(mut self, folder: &'static str) -> Case {
        self.recreate = Some(folder);
        self
    }

    /// In a sample, only this version runs the case: the one that the damage hurts most.
    fn on(mut self, version: &'static str) -> Case {
        self.sample = Some(version);
        self
    }

    /// What a resume misses, or brings that it must not; `None` where the conversation is whole.
    pub fn judge(&self, got: &Recall) -> Option<String> {
        if !got.ok {
            return Some(if got.why.is_empty() { "resume failed".to_owned() } else { got.why.clone() });
        }
        let asks = self.asks.iter().filter(|turn| !got.asks.contains(turn)).map(u8::to_string);
        let replies = self
            .replies
            .iter()
            .filter(|turn| !got.replies.contains(turn))
            .map(|turn| format!("reply {turn}"));
        let words = self.must.iter().filter(|word| !got.text.contains(*word)).map(|word| format!("{word:?}"));
        let lost: Vec<String> = asks.chain(replies).chain(words).collect();
        if !lost.is_empty() {
            return Some(format!("lost: {}", lost.join(", ")));
        }
        let back: Vec<&str> = self.never.iter().copied().filter(|word| got.text.contains(word)).collect();
        (!back.is_empty()).then(|| format!("brought back what was abandoned: {}", back.join(", ")))
    }
}

/// Every turn of the plain story but these.
fn without(left_out: &[u8]) -> Vec<u8> {
    (0..8).filter(|turn| !left_out.contains(turn)).collect()
}

/// Every case, in the order of the catalogue.
pub fn all() -> Vec<Case> {
    [
        healthy::cases(),
        bytes::cases(),
        shapes::cases(),
        rewritten::cases(),
        tree::cases(),
        worse::cases(),
        request::cases(),
        place::cases(),
    ]
    .concat()
}

/// Changes the rows of a transcript that is in its place already.
fn edit(place: &Place<'_>, make: impl FnOnce(&mut Base) -> Result<()>) -> Result<()> {
    let mut base = Base::read(&std::fs::read(&place.file)?, place.session)?;
    make(&mut base)?;
    std::fs::write(&place.file, base.bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use transcript::Recipe;

    use super::*;

    #[test]
    fn every_class_with_a_recipe_has_a_case() {
        let covered: HashSet<Class> = all().iter().flat_map(|case| case.classes).copied().collect();
        let mended = |class: &&Class| matches!(class.recipe(), Recipe::File | Recipe::Vault);
        let missing: Vec<&str> = Class::ALL
            .iter()
            .filter(mended)
            .filter(|class| !covered.contains(class))
            .map(|class| class.id())
            .collect();
        assert!(missing.is_empty(), "no case stands for {missing:?}");
    }

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for case in all() {
            assert!(names.insert(case.name), "{} twice", case.name);
        }
    }
}
