//! What `[statusline]` can say. Only the words: what they look like is known to the status line itself.

use toml::Value;

use super::read::Setting;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$word_doc])* $variant,)* }

        impl $name {
            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    )*};
}

words! {
    /// `statusline.preset`: how the whole status line is written.
    Preset {
        /// Dense: a sign before each part.
        Design = "design",
        /// In words that need no legend.
        Plain = "plain",
    }
    /// `statusline.glyphs`: what stands before a part.
    Glyphs {
        /// Pictures.
        Emoji = "emoji",
        /// ASCII words.
        Plain = "plain",
    }
    /// `statusline.slot`: how the account is shown.
    SlotForm {
        /// `{S1}`
        Short = "short",
        /// `{S1/S2/S3}`
        All = "all",
        /// `{S1:95%}`
        Percent = "percent",
        /// `{1}`
        Minimal = "minimal",
    }
    /// `statusline.clock`: how the time of day is written.
    Clock {
        /// `13:14`
        Hours24 = "24h",
        /// `1:14pm`
        Hours12 = "12h",
    }
    /// One fact on a line of the status line.
    Part {
        /// The directory.
        Dir = "dir",
        /// The git branch with its changes.
        Branch = "branch",
        /// The model.
        Model = "model",
        /// How full the context is.
        Context = "context",
        /// The time of day.
        Clock = "clock",
        /// The quotas with their resets.
        Quota = "quota",
        /// The account in use.
        Slot = "slot",
        /// The cost, and the cost per hour.
        Cost = "cost",
        /// Tokens the model has written.
        Tokens = "tokens",
        /// The last prompt with its age.
        Prompt = "prompt",
        /// The session's name.
        Name = "name",
        /// How old the vault's copy is.
        Vault = "vault",
        /// The agent's version.
        Version = "version",
        /// The beginning of the session's id.
        Session = "session",
    }
}

/// `statusline.lines`: the parts of each line, in order; the preset's own where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines(pub Option<Vec<Vec<Part>>>);

impl Preset {
    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Preset::Design => "design",
            Preset::Plain => "plain",
        }
    }
}

impl Setting for Option<Preset> {
    const ALLOWED: &'static str = "\"design\" or \"plain\"";
    fn from_toml(value: &Value) -> Option<Self> {
        Preset::from_word(value.as_str()?).map(Some)
    }
}

impl Setting for Glyphs {
    const ALLOWED: &'static str = "\"emoji\" or \"plain\"";
    fn from_toml(value: &Value) -> Option<Self> {
        Self::from_word(value.as_str()?)
    }
}

impl Setting for SlotForm {
    const ALLOWED: &'static str = "\"short\", \"all\", \"percent\" or \"minimal\"";
    fn from_toml(value: &Value) -> Option<Self> {
        Self::from_word(value.as_str()?)
    }
}

impl Setting for Clock {
    const ALLOWED: &'static str = "\"24h\" or \"12h\"";
    fn from_toml(value: &Value) -> Option<Self> {
        Self::from_word(value.as_str()?)
    }
}

impl Setting for Lines {
    const ALLOWED: &'static str = "a list of lines such as [[\"dir\", \"branch\"], [\"prompt\"]], each of \"dir\", \
        \"branch\", \"model\", \"context\", \"clock\", \"quota\", \"slot\", \"cost\", \"tokens\", \"prompt\", \"name\", \
        \"vault\", \"version\" and \"session\"";
    fn from_toml(value: &Value) -> Option<Self> {
        let part = |word: &Value| Part::from_word(word.as_str()?);
        let line = |line: &Value| line.as_array()?.iter().map(part).collect();
        value.as_array()?.iter().map(line).collect::<Option<_>>().map(|lines| Lines(Some(lines)))
    }
}
