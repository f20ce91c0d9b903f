//! The forms of secrets, as their providers describe them in public.

mod accounts;
mod commands;
mod files;
mod logins;
mod models;
mod platforms;
mod prompts;
mod services;
mod spoken;

use crate::shape::Shape;

/// Every form there is.
pub(crate) fn all() -> impl Iterator<Item = &'static Shape> {
    models::SHAPES
        .iter()
        .chain(&platforms::SHAPES)
        .chain(&services::SHAPES)
        .chain(&spoken::SHAPES)
        .chain(&commands::SHAPES)
        .chain(&files::SHAPES)
        .chain(&accounts::SHAPES)
        .chain(&logins::SHAPES)
        .chain(&prompts::SHAPES)
}

/// Words that begin a shape and follow a rule: too many to be written down.
pub(crate) fn made() -> impl Iterator<Item = (String, &'static Shape)> {
    files::discord_words().map(|word| (word, &files::DISCORD))
}
