//! How a user wants the status line: which parts in which order, with which glyphs.

/// One fact on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The directory, shortened with `~`.
    Dir,
    /// The git branch with its changes.
    Branch,
    /// The model.
    Model,
    /// Tokens in the context and how full it is.
    Context,
    /// The time of day.
    Clock,
    /// Use of the five-hour and the weekly quota, and when they reset.
    Quota,
    /// The account in use.
    Slot,
    /// What the session cost, and what it costs per hour.
    Cost,
    /// Tokens the model has written.
    Tokens,
    /// The last prompt and its age.
    Prompt,
    /// The session's name.
    Name,
    /// How long ago the vault took the conversation in.
    Vault,
    /// The agent's version.
    Version,
    /// The beginning of the session's id.
    Session,
}

/// How the whole status line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Dense: a sign or a short word before each part.
    #[default]
    Design,
    /// In words that need no legend, in ASCII.
    Plain,
}

/// What stands before a part, in the preset `design`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Pictures.
    #[default]
    Emoji,
    /// ASCII words.
    Plain,
}

/// How the account is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotForm {
    /// `{S1}`
    #[default]
    Short,
    /// `{S1/S2/S3}`, the one in use highlighted
    All,
    /// `{S1:95%}`
    Percent,
    /// `{1}`
    Minimal,
}

/// How the time of day is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// `13:14`
    #[default]
    Hours24,
    /// `1:14pm`
    Hours12,
}

/// How a user wants the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Dense, or in words.
    pub preset: Preset,
    /// Pictures or words.
    pub glyphs: Glyphs,
    /// Whether warnings have colours: the terminal's own sixteen, so that they suit every theme.
    pub colour: bool,
    /// The parts of each line, in order.
    pub lines: Vec<Vec<Part>>,
    /// Whether notices stand below.
    pub notices: bool,
    /// How the account is shown.
    pub slot: SlotForm,
    /// How the time of day is written.
    pub clock: Clock,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            preset: Preset::Design,
            glyphs: Glyphs::Emoji,
            colour: true,
            lines: Preset::Design.lines(),
            notices: true,
            slot: SlotForm::Short,
            clock: Clock::Hours24,
        }
    }
}

impl Preset {
    /// The parts of each line, where the user has not chosen any.
    pub fn lines(self) -> Vec<Vec<Part>> {
        use Part::*;
        let first = vec![Dir, Branch, Model, Context, Clock];
        match self {
            Preset::Design => vec![first, vec![Quota, Slot, Cost, Tokens], vec![Prompt]],
            Preset::Plain => vec![first, vec![Quota, Slot, Cost], vec![Vault, Prompt]],
        }
    }
}

impl Style {
    /// The spelling of signs: the preset `plain` has no pictures.
    pub(crate) fn signs(&self) -> Glyphs {
        match self.preset {
            Preset::Design => self.glyphs,
            Preset::Plain => Glyphs::Plain,
        }
    }
}

impl Glyphs {
    /// What stands before a part's value. Every picture here is two columns wide wherever it is shown at all.
    pub(crate) fn before(self, part: Part) -> &'static str {
        let (picture, word) = match part {
            Part::Dir => ("📁:", "dir:"),
            Part::Branch => ("🌿:", "git:"),
            Part::Model => ("🤖:", "model:"),
            Part::Context => ("🧠:", "ctx:"),
            Part::Clock => ("🕐:", "time:"),
            // The quotas have a sign each, the slot has its braces.
            Part::Quota | Part::Slot => ("", ""),
            Part::Cost => ("💰:", "cost:"),
            Part::Tokens => ("💬:", "out:"),
            Part::Prompt => ("💬:", "last:"),
            Part::Name => ("📛:", "name:"),
            Part::Vault => ("📦:", "vault:"),
            Part::Version => ("🔖:", "ver:"),
            Part::Session => ("🆔:", "id:"),
        };
        self.pick(picture, word)
    }

    /// One of two spellings.
    pub(crate) fn pick(self, picture: &'static str, word: &'static str) -> &'static str {
        match self {
            Glyphs::Emoji => picture,
            Glyphs::Plain => word,
        }
    }
}
