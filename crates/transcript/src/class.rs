//! The names of damage: one id for everything that can be wrong with a transcript (docs/damage.md).

use serde::{Serialize, Serializer};

macro_rules! classes {
    ($($id:ident $title:literal $recipe:ident;)*) => {
        /// One kind of damage. The ids are what users see and what `docs/damage.md` explains.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Class { $(#[doc = $title] $id,)* }

        impl Class {
            /// Every class, in the order of the catalogue.
            pub const ALL: &[Class] = &[$(Class::$id),*];

            /// The id as shown to users, such as `B7`.
            pub fn id(self) -> &'static str {
                match self { $(Class::$id => stringify!($id),)* }
            }

            /// What is wrong, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Class::$id => $title,)* }
            }

            /// What is done about it.
            pub fn recipe(self) -> Recipe {
                match self { $(Class::$id => Recipe::$recipe,)* }
            }
        }
    };
}

/// Who mends a class of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipe {
    /// The repairer rewrites the file.
    File,
    /// Only a copy from the vault helps.
    Vault,
    /// The user has to choose; nothing is done by itself.
    Choice,
    /// Reported; the file is fine as it is.
    Report,
}

classes! {
    A1 "torn tail: the last row was cut off" File;
    A2 "splice: a torn row with a whole one glued on" File;
    A3 "glued: two whole rows on one line" File;
    A4 "NUL bytes outside of any row" File;
    A5 "junk: very large rows that no conversation needs" Report;
    A6 "stub: only metadata is left of the conversation" Vault;
    A7 "overwritten: rows that stood here are only in the vault" Vault;
    A8 "malformed row: the message is not one" File;
    A9 "lone surrogate: half a character that the API refuses" File;
    A10 "line ends: a byte order mark before the first row" File;
    A11 "bloat: the same row many times" File;
    A12 "bad timestamp: missing or no date" File;
    A13 "rewritten: another program wrote the file in a form of its own" File;
    B1 "dangling parent: the row before it is not in the file" File;
    B2 "elided parent: the chain runs through a progress row" File;
    B3 "parent in a subagent's file" File;
    B4 "a stop hook's progress row in the chain" File;
    B5 "ring: rows are their own ancestors" File;
    B6 "one uuid on several rows" File;
    B7 "stranded branch: turns that no resume reaches" File;
    B8 "leaf: versions of the agent would resume different ends" File;
    B9 "compaction: its boundary leads nowhere" File;
    B10 "parallel tools: results beside the chain" Report;
    B11 "rewind: turns the user gave up" Report;
    B12 "false root: a row in the middle has no parent" File;
    B13 "no parentUuid key" File;
    B14 "foreign id: the uuid is none" File;
    B15 "order: rows stand before the rows they follow" File;
    B16 "rows of another session" File;
    C1 "a tool call without its result" File;
    C2 "a tool result without its call" File;
    C3 "one tool call id twice" File;
    C4 "a thinking block the API refuses" File;
    C5 "empty text" File;
    C6 "a picture that is none" File;
    C7 "a picture too large" File;
    C8 "a request too large" File;
    C9 "U+0000 in text" File;
    C10 "rows between a server tool's call and its result" File;
    C11 "the conversation is longer than the model's context" Choice;
    D1 "not saved: the agent inherited another agent's environment" Report;
    D2 "disk full" Report;
    D3 "deleted" Vault;
    D4 "the project's directory moved" Report;
    D5 "file name and session id differ" Report;
    D6 "a process owns it" Report;
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
