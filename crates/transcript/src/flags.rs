//! What is true of a row, one bit each: 64 bytes per row are all the memory a scan may take.

use std::ops::BitOr;

/// A set of facts about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Flags { $($(#[$doc])* pub(crate) const $name: Flags = Flags(1 << $bit);)* }
    };
}

flags! {
    SIDECHAIN = 0;
    META = 1;
    COMPACT_SUMMARY = 2;
    COMPACT_BOUNDARY = 3;
    PRESERVED_SEGMENT = 4;
    STOP_HOOK = 5;
    API_ERROR = 6;
    /// A `last-prompt` row that the user made by going back.
    EXPLICIT = 7;
    HAS_ATTACHMENT = 8;
    NO_TYPE = 9;
    HAS_MESSAGE = 10;
    HAS_CONTENT = 11;
    /// `content` is an empty list.
    NO_BLOCKS = 12;
    /// A8.
    MALFORMED = 13;
    /// A9, inside of `message`.
    LONE_SURROGATE = 14;
    /// C9, inside of `message`.
    NUL_ESCAPE = 15;
    /// C5.
    EMPTY_TEXT = 16;
    /// C4.
    BAD_THINKING = 17;
    /// C6.
    BAD_IMAGE = 18;
    /// Text or a block the model sees.
    SAYS = 19;
    /// A thinking block that is in order.
    THINKS = 20;
    /// A12: missing or no date.
    BAD_TIME = 21;
    /// The `parentUuid` key is missing (B13).
    NO_PARENT_KEY = 22;
    /// The row's `sessionId` is not the file's.
    FOREIGN_SESSION = 23;
    /// The uuid is no UUID (B14).
    FOREIGN_UUID = 24;
    /// A later row with a uuid that an earlier one has (B6, A11).
    REPEATED = 25;
    /// A row of the tree that has no uuid at all: the index knows it by the one it will get (B14).
    NO_UUID = 26;
    HAS_CALL = 27;
    HAS_RESULT = 28;
    /// `parentUuid` is neither a string nor null.
    NONSENSE_PARENT = 29;
    /// The automatic "Continue from where you left off." (B7b).
    AUTO_CONTINUE = 30;
    /// `content` is one string.
    PLAIN_TEXT = 31;
}

impl Flags {
    /// What a repeated `message` key makes void.
    pub(crate) const OF_MESSAGE: Flags =
        Flags(Flags::HAS_MESSAGE.0 | Flags::LONE_SURROGATE.0 | Flags::NUL_ESCAPE.0 | Flags::OF_CONTENT.0);
    /// What a repeated `content` key makes void.
    pub(crate) const OF_CONTENT: Flags = Flags(
        Flags::HAS_CONTENT.0
            | Flags::NO_BLOCKS.0
            | Flags::MALFORMED.0
            | Flags::EMPTY_TEXT.0
            | Flags::BAD_THINKING.0
            | Flags::BAD_IMAGE.0
            | Flags::SAYS.0
            | Flags::THINKS.0
            | Flags::AUTO_CONTINUE.0
            | Flags::PLAIN_TEXT.0,
    );

    /// Both together, for constants.
    pub(crate) const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    pub(crate) fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn insert(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    pub(crate) fn remove(&mut self, other: Flags) {
        self.0 &= !other.0;
    }

    pub(crate) fn set(&mut self, other: Flags, on: bool) {
        if on { self.insert(other) } else { self.remove(other) }
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
