//! Prompts whose colon does not follow the word for a password at once. The others are found by that word (`prompt`).

use crate::shape::{Judge, Shape, command, within};

/// The one word up to the end of the line, or to the frame around it.
macro_rules! answer {
    () => {
        r"[ \t]+([^\s]+)[ \t]*(?:\z|\r|\n|\||\xe2[\x94\x95]|\\[nr])"
    };
}

pub(super) static SHAPES: [Shape; 4] = [
    within(
        "password",
        Judge::Password,
        &[
            "passphrase (empty",
            "passphrase again",
            "password again",
            "password (again",
            "passphrase (again",
            "password (hidden",
        ],
        concat!(r"(?i:passphrase|password)[ \t]+(?:again|\([^)\n]{1,60}\)):", answer!()),
    ),
    within(
        "password",
        Judge::Password,
        &["password[defaults", "password [default"],
        concat!(r"(?i:password)[ \t]?\[[^\]\n]{1,60}\]:", answer!()),
    ),
    command(
        "password",
        Judge::Password,
        &["pass phrase"],
        concat!(r"(?i:pass phrase)(?:[ \t]+for[ \t]+[^\s]{1,200})?:", answer!()),
    ),
    command(
        "password",
        Judge::Phrase,
        &["enter passphrase", "enter new passphrase", "enter your passphrase"],
        r"(?i:enter[ \t]+(?:new[ \t]+|your[ \t]+)?passphrase)[^\n:]{0,80}:[ \t]+([a-z]{3,9}(?:[ \t]+[a-z]{3,9}){3,11})[ \t]*(?:\z|\r|\n|\||\xe2[\x94\x95]|\\[nr])",
    ),
];
