//! Which generation of a file to put back, and whether it is the right one beyond doubt.

use std::io;

use crate::event::Event;
use crate::list::{GenerationInfo, MirroredFile};
use crate::vault::Vault;
use crate::{Conversation, Error};

/// What a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The generation that holds the conversation; refused where damage leaves any doubt about it.
    Best,
    /// The newest one of which every byte can be proven, whatever else was lost: only where a person asked for it.
    Whole,
    /// This one.
    Number(u32),
}

/// A generation to put back.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which one.
    pub generation: GenerationInfo,
    /// Why it may not be everything that the file held, as a sentence for people; `None` where it is.
    pub doubt: Option<String>,
}

impl MirroredFile {
    /// Whether damage of the manifest leaves no doubt that this generation is the one to put back, and all of it.
    pub fn is_certain(&self, generation: &GenerationInfo) -> bool {
        let sound = |it: &GenerationInfo| !it.damaged && !it.suspect;
        let index = self.generations.iter().position(|it| it.number == generation.number);
        let Some((older, later)) = index.map(|index| self.generations.split_at(index)) else { return false };
        // Generations are numbered from 1 and none is ever taken away.
        let numbered = |from: usize, list: &[GenerationInfo]| {
            list.iter().zip(from + 1..).all(|(it, number)| it.number as usize == number)
        };
        // What comes after a loss is only as good as what is known of the versions before it: all of them must be there.
        let all_before = numbered(0, older) && older.len() + 1 == generation.number as usize;
        let history = match generation.event {
            Event::New => all_before,
            event => !event.is_loss() || (older.iter().all(sound) && all_before),
        };
        let from = later.first().map_or(0, |first| first.number as usize);
        history && later.iter().all(sound) && numbered(from.saturating_sub(1), later)
    }
}

impl MirroredFile {
    /// Whether a version that was not made good by a later one is missing or cannot be read: it may have held what no other
    /// one does. `unread` says which versions cannot be read beyond those that the manifest shows.
    pub fn lacks_versions(&self, unread: impl Fn(u32) -> bool) -> bool {
        let healed = |it: &GenerationInfo| matches!(it.event, Event::Repaired | Event::Returned);
        let start = self.generations.iter().rposition(healed);
        let rest = &self.generations[start.unwrap_or(0)..];
        let first = if start.is_some() { rest.first().map_or(1, |it| it.number) } else { 1 };
        let unusable = |it: &GenerationInfo| it.damaged || unread(it.number);
        rest.is_empty() || rest.iter().zip(first..).any(|(it, number)| it.number != number || unusable(it))
    }
}

impl Vault {
    /// Decides which generation of a file to put back. `None`: there is no such generation.
    ///
    /// # Errors
    /// The best one is in doubt ([`Error::Doubtful`]), or the vault cannot be read.
    pub fn choose(
        &self,
        conversation: &Conversation,
        file: &MirroredFile,
        wanted: Wanted,
    ) -> Result<Option<Choice>, Error> {
        let choice = |generation: &GenerationInfo, doubt| Choice { generation: generation.clone(), doubt };
        match wanted {
            Wanted::Number(number) => Ok(file.generation(number).map(|found| {
                let doubt = found.suspect.then(|| doubt(conversation, Some(found)));
                choice(found, doubt)
            })),
            Wanted::Best => match file.best_generation() {
                Some(best) if file.is_certain(best) => Ok(Some(choice(best, None))),
                None if conversation.damage.is_empty() => Ok(None),
                best => Err(Error::Doubtful {
                    key: conversation.key.clone(),
                    file: file.name.clone(),
                    what: doubt(conversation, best),
                }),
            },
            Wanted::Whole => self.newest_whole(conversation, file),
        }
    }

    fn newest_whole(
        &self,
        conversation: &Conversation,
        file: &MirroredFile,
    ) -> Result<Option<Choice>, Error> {
        let best = file.best_generation();
        let others =
            file.generations.iter().rev().filter(|it| best.is_none_or(|best| best.number != it.number));
        let mut unread = false;
        for generation in best.into_iter().chain(others) {
            match self.read(&conversation.key, &file.name, Some(generation.number), &mut io::sink()) {
                Ok(_) => {
                    let certain = !unread && file.is_certain(generation);
                    let doubt = (!certain).then(|| doubt(conversation, Some(generation)));
                    return Ok(Some(Choice { generation: generation.clone(), doubt }));
                }
                Err(Error::Gap { .. } | Error::Frame { .. }) => unread = true,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn doubt(conversation: &Conversation, known: Option<&GenerationInfo>) -> String {
    let why = match conversation.damage.as_slice() {
        [] => "a newer version of it in the vault is damaged".to_owned(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first}, and {} more", rest.len()),
    };
    match known {
        Some(known) => format!(
            "{why}: what is provable is version {} with {} rows, last seen {}; rows and versions after that may be missing",
            known.number,
            known.rows,
            known.until.strftime("%Y-%m-%d %H:%M UTC"),
        ),
        None => format!("{why}: no version of it is provable"),
    }
}
