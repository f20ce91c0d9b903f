//! Forgetting a conversation that left its words in every place that rekindle has.

use std::fs;

use anyhow::{Result, ensure};

use super::{Scene, Subject};
use crate::process::Finished;
use crate::spoken;

/// A conversation of its own: its agent runs, and would own the one of the other subjects, which run beside this one.
const FORGOTTEN: &str = "f0f0f0f0-5eed-4aaa-8aaa-aaaaaaaaaaaa";

pub(super) const FORGET: Subject = Subject {
    name: "vault forget",
    arguments: &["vault", "forget", FORGOTTEN, "--yes"],
    prepare: filled,
    after_kill: is_untouched,
    judge: forgotten,
};

fn filled() -> Result<Scene> {
    let home = spoken::filled(FORGOTTEN)?;
    let bytes = Some(fs::read(home.transcript(FORGOTTEN))?);
    Ok(Scene { old: bytes.clone(), new: bytes, ..Scene::of(home) })
}

/// The agent's own transcript is as it was.
fn is_untouched(scene: &Scene) -> Result<()> {
    let bytes = fs::read(scene.home.transcript(FORGOTTEN)).ok();
    ensure!(bytes == scene.old, "the agent's transcript is another one");
    Ok(())
}

/// No file, frame or git object holds a word of it, and the other conversation's words are still there.
fn forgotten(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    is_untouched(scene)?;
    let left = spoken::places(&scene.home)?;
    ensure!(left.is_empty(), "what was said is still in {left:#?}");
    ensure!(spoken::kept(&scene.home)? > 0, "what another conversation said is gone");
    scene.is_tidy()
}
