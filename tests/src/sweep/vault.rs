//! Mirroring conversations into the vault, and putting them back.

use std::fs;

use anyhow::{Result, ensure};

use super::{SESSION, Scene, Subject};
use crate::home::Home;
use crate::process::Finished;
use crate::talk;

pub(super) const SYNC: Subject = Subject {
    name: "vault sync",
    arguments: &["vault", "sync"],
    prepare: changed_since_the_last_sync,
    after_kill: Scene::is_old_or_new,
    judge: mirrored,
};

pub(super) const RESTORE: Subject = Subject {
    name: "vault restore",
    arguments: &["vault", "restore", SESSION],
    prepare: cut_short,
    after_kill: Scene::is_old_or_new,
    judge: Scene::is_changed_and_undoable,
};

pub(super) const RESTORE_DELETED: Subject = Subject {
    name: "vault restore of a deleted one",
    arguments: &["vault", "restore", SESSION],
    prepare: deleted,
    after_kill: Scene::is_old_or_new,
    judge: Scene::is_changed_and_undoable,
};

/// Conversations that the vault has none of, and one that is new, one that went on, and one that was overwritten.
const OTHERS: [&str; 3] = [
    "bbbbbbbb-5eed-4aaa-8aaa-aaaaaaaaaaaa",
    "cccccccc-5eed-4aaa-8aaa-aaaaaaaaaaaa",
    "dddddddd-5eed-4aaa-8aaa-aaaaaaaaaaaa",
];

fn changed_since_the_last_sync() -> Result<Scene> {
    let home = Home::new()?;
    let [new, untouched, overwritten] = OTHERS;
    home.put_talk(SESSION, 3)?;
    home.put_talk(untouched, 4)?;
    home.put_talk(overwritten, 4)?;
    let scene = Scene::of(home);
    scene.ends(&["vault", "sync"], &[0])?;
    let path = scene.home.put_talk(SESSION, 6)?;
    scene.home.put_talk(new, 5)?;
    scene.home.put(overwritten, &talk::talk(new, &scene.home.project(), 2).bytes())?;
    let bytes = Some(fs::read(path)?);
    Ok(Scene { old: bytes.clone(), new: bytes, ..scene })
}

/// The vault is whole, and each conversation comes out of it as it is.
fn mirrored(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    scene.is(&scene.old)?;
    scene.is_tidy()?;
    let [new, untouched, overwritten] = OTHERS;
    for (session, generation) in [(SESSION, None), (new, None), (untouched, None), (overwritten, Some("2"))] {
        let copy = scene.home.root().join(format!("out-{session}"));
        let to = copy.to_string_lossy().into_owned();
        let mut arguments = vec!["vault", "restore", session, "--to", &to];
        arguments.extend(generation.into_iter().flat_map(|number| ["--generation", number]));
        scene.ends(&arguments, &[0])?;
        ensure!(
            fs::read(&copy)? == fs::read(scene.home.transcript(session))?,
            "the vault has another {session}"
        );
        fs::remove_file(&copy)?;
    }
    let copy = scene.home.root().join("out-before");
    let to = copy.to_string_lossy().into_owned();
    scene.ends(&["vault", "restore", overwritten, "--generation", "1", "--to", &to], &[0])?;
    let before = talk::talk(overwritten, &scene.home.project(), 4).bytes();
    ensure!(fs::read(&copy)? == before, "the generation that was overwritten is another one");
    fs::remove_file(&copy)?;
    Ok(())
}

/// A conversation of which the agent's folder has only the beginning.
fn cut_short() -> Result<Scene> {
    let home = Home::new()?;
    let path = home.put_talk(SESSION, 6)?;
    let whole = fs::read(&path)?;
    let scene = Scene::of(home);
    scene.ends(&["vault", "sync"], &[0])?;
    let stub = talk::talk(SESSION, &scene.home.project(), 1).bytes();
    scene.home.put(SESSION, &stub)?;
    Ok(Scene { old: Some(stub), new: Some(whole), ..scene })
}

/// The same, of which the agent's folder has nothing.
pub(super) fn deleted() -> Result<Scene> {
    let scene = cut_short()?;
    fs::remove_file(scene.transcript())?;
    Ok(Scene { old: None, ..scene })
}
