//! Repairing a transcript, taking that back, and doing it again.

use std::fs;
use std::io::Write;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{SESSION, Scene, Subject};
use crate::base::GHOST;
use crate::home::Home;
use crate::process::Finished;
use crate::talk;
use crate::trace::{self, Next};

pub(super) const REPAIR: Subject = Subject {
    name: "repair",
    arguments: &["repair", SESSION],
    prepare: wounded,
    after_kill: Scene::is_old_or_new,
    judge: Scene::is_changed_and_undoable,
};

pub(super) const UNDO: Subject = Subject {
    name: "undo",
    arguments: &["undo", SESSION],
    prepare: repaired,
    after_kill: Scene::is_old_or_new,
    judge: undone,
};

pub(super) const UNDO_OF_PUTTING_BACK: Subject = Subject {
    name: "undo of putting back",
    arguments: &["undo", SESSION],
    prepare: put_back,
    after_kill: Scene::is_old_or_new,
    judge: undone,
};

pub(super) const REDO: Subject = Subject {
    name: "redo",
    arguments: &["redo"],
    prepare: undone_repair,
    after_kill: Scene::is_old_or_new,
    judge: redone,
};

pub(super) const REDO_OF_PUTTING_BACK: Subject = Subject {
    name: "redo of putting back",
    arguments: &["redo"],
    prepare: undone_putting_back,
    after_kill: Scene::is_old_or_new,
    judge: redone,
};

pub(super) const SETTLE_OF_KEPT: Subject = Subject {
    name: "settle of a kept file",
    arguments: &["settle"],
    prepare: kept,
    after_kill: Scene::is_old_or_new,
    judge: carried_over,
};

/// Two dangling parents and a torn end: a repair in rounds, with something to reject.
fn wounded() -> Result<Scene> {
    let home = Home::new()?;
    let mut base = talk::dangling(SESSION, &home.project(), 8, 3)?;
    let ask = base.ask(6)?;
    base[ask]["parentUuid"] = GHOST.into();
    let old = [base.bytes(), b"{\"torn\":\"in the mid".to_vec()].concat();
    let (new, _) = transcript::repair_bytes(&old, Some(SESSION)).context("no repair")?;
    home.put(SESSION, &old)?;
    Ok(Scene { old: Some(old), new: Some(new), ..Scene::of(home) })
}

/// A repaired conversation: what undo calls new is what was there before the repair.
fn repaired() -> Result<Scene> {
    let scene = wounded()?;
    scene.ends(&["repair", SESSION], &[0])?;
    Ok(Scene { old: scene.bytes(), new: scene.old, home: scene.home })
}

fn undone(scene: &Scene, again: &Finished) -> Result<()> {
    // Refused: a run that was killed when all was done leaves nothing to take back.
    ensure!(matches!(again.code(), Some(0 | 3)), "ended with {:?}", again.code());
    scene.is(&scene.new)?;
    scene.is_tidy()?;
    scene.ends(&["undo", SESSION], &[3])?;
    scene.is(&scene.new)?;
    // And the repair can be made once more.
    scene.ends(&["repair", SESSION], &[0])?;
    scene.is(&scene.old)
}

/// A conversation that was deleted and put back from the vault.
fn put_back() -> Result<Scene> {
    let scene = super::vault::deleted()?;
    scene.ends(&["vault", "restore", SESSION], &[0])?;
    scene.is(&scene.new)?;
    Ok(Scene { old: scene.new, new: scene.old, home: scene.home })
}

/// A repair that was undone: what redo calls new is what the repair had made.
fn undone_repair() -> Result<Scene> {
    taken_back(repaired()?)
}

fn undone_putting_back() -> Result<Scene> {
    taken_back(put_back()?)
}

fn taken_back(scene: Scene) -> Result<Scene> {
    scene.ends(&["undo", SESSION], &[0])?;
    scene.is(&scene.new)?;
    Ok(Scene { old: scene.new, new: scene.old, home: scene.home })
}

/// The change is made once, `history` shows it once, and it can be undone and made again.
fn redone(scene: &Scene, again: &Finished) -> Result<()> {
    // Refused: a run that was killed when all was done leaves nothing to do again.
    ensure!(matches!(again.code(), Some(0 | 3)), "ended with {:?}", again.code());
    scene.is(&scene.new)?;
    scene.is_tidy()?;
    shows_one_change(scene, "done")?;
    scene.is_undone_once()?;
    shows_one_change(scene, "undone")?;
    scene.ends(&["redo"], &[0])?;
    scene.is(&scene.new)?;
    shows_one_change(scene, "done")
}

/// `history` has one operation with one effect, and both stand like this.
fn shows_one_change(scene: &Scene, state: &str) -> Result<()> {
    let listed: Value = serde_json::from_str(&scene.ends(&["history", "--json"], &[0])?.stdout)?;
    let operations = listed["operations"].as_array().context("no operations")?;
    let effects = operations.iter().flat_map(|operation| operation["effects"].as_array()).flatten();
    let effects: Vec<&Value> = effects.filter(|effect| effect["state"] != "refused").collect();
    let is = |one: &Value| one["state"] == state;
    let well = operations.len() == 1 && is(&operations[0]) && effects.len() == 1 && is(effects[0]);
    let states: Vec<&Value> = effects.iter().map(|effect| &effect["state"]).collect();
    ensure!(well, "history has {} operations, not one that is {state}: {states:?}", operations.len());
    Ok(())
}

/// A repair during which a process had the transcript open; it has written two rows since and is gone.
fn kept() -> Result<Scene> {
    let scene = wounded()?;
    // No settle in the background takes part.
    scene.ends(&["pause"], &[0])?;
    let mut writer = None;
    let done = trace::follow(&mut scene.home.bare_command(&["repair", SESSION]), |call| {
        if call.exchanges_files() && writer.is_none() {
            writer = fs::File::options().append(true).open(scene.transcript()).ok();
        }
        Next::GoOn
    })?;
    ensure!(done.success() && done.stderr.contains("open for writing"), "{}", done.words());
    scene.is(&scene.new)?;
    let whole = talk::talk(SESSION, &scene.home.project(), 8);
    let parent = whole.uuid(whole.reply(7)?);
    let rows = talk::turn_rows(SESSION, &scene.home.project(), 8, &parent);
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    writer.context("no exchange")?.write_all(rows.as_bytes())?;
    let new = scene.new.as_ref().map(|new| [new.as_slice(), rows.as_bytes()].concat());
    Ok(Scene { old: scene.new, new, home: scene.home })
}

/// The late rows are in the transcript once, behind everything else, and the old file is gone.
fn carried_over(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    scene.is(&scene.new)?;
    scene.is_tidy()
}
