//! Forgetting a conversation that left its words in every place that rekindle has.

use std::fs;

use anyhow::{Result, ensure};

use super::{SESSION, Scene, Subject};
use crate::process::Finished;
use crate::spoken;

pub(super) const FORGET: Subject = Subject {
    name: "vault forget",
    arguments: &["vault", "forget", SESSION, "--yes"],
    prepare: filled,
    after_kill: Scene::is_old_or_new,
    judge: forgotten,
};

/// The agent's own transcript is not touched: it is the old one and the new one.
fn filled() -> Result<Scene> {
    let home = spoken::filled(SESSION)?;
    let bytes = Some(fs::read(home.transcript(SESSION))?);
    Ok(Scene { home, old: bytes.clone(), new: bytes })
}

/// No file, frame or git object holds a word of it, and the other conversation's words are still there.
fn forgotten(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    scene.is(&scene.old)?;
    let left = spoken::places(&scene.home)?;
    ensure!(left.is_empty(), "what was said is still in {left:#?}");
    ensure!(spoken::kept(&scene.home)? > 0, "what another conversation said is gone");
    scene.is_tidy()
}
