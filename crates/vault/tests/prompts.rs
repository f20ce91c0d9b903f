//! The agent's list of prompts: a forgotten conversation's are in no byte of its mirror, and everything else stays.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the agent does not write durably either, and a test that cannot go on panics"
)]

mod world;

use std::fs;
use std::path::PathBuf;

use vault::{Event, Key, prompts_of};
use world::{FORK, ID, World, at, events, rows};

const SECRET: &str = "purple elephants";

fn prompt(session: &str, text: &str) -> String {
    format!("{{\"display\":\"{text}\",\"timestamp\":1,\"sessionId\":\"{session}\"}}\n")
}

fn history(world: &World) -> Key {
    Key::new(&world.config, None)
}

fn folder(world: &World) -> PathBuf {
    world.state().join("vault/conversations").join(history(world).as_str())
}

fn mirrored(world: &World, generation: Option<u32>) -> String {
    let mut out = Vec::new();
    world.vault.read(&history(world), "history.jsonl", generation, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn put(world: &World, rows: &[String]) {
    world.put(&world.config.history(), rows.concat().as_bytes());
    world.sync();
}

fn forget(world: &World, id: &str) {
    let key = world.key(id);
    world.vault.begin_forgetting(&key, None, at(5)).unwrap();
    world.vault.erase(&key, at(5)).unwrap();
    world.vault.end_forgetting(&key).unwrap();
}

/// Whether a frame anywhere in the mirror of the history, named by a line or not, holds the words.
fn is_somewhere(world: &World) -> bool {
    let data = fs::read(folder(world).join("data")).unwrap();
    (0..data.len()).any(|at| {
        let mut frame = Vec::new();
        let decoder = zstd::Decoder::with_buffer(&data[at..]).unwrap().single_frame();
        let _ = std::io::copy(&mut { decoder }, &mut frame);
        String::from_utf8_lossy(&frame).contains(SECRET)
    })
}

#[test]
fn prompts_of_a_forgotten_conversation_leave_every_version() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 4, 1));
    let (ours, theirs) = (prompt(ID, SECRET), prompt(FORK, &format!("what did {ID} say?")));
    put(&world, &[theirs.clone(), ours.clone()]);
    put(&world, &[theirs.clone(), ours.clone(), theirs.clone()]);
    put(&world, &[ours.clone(), theirs.clone()]);
    assert!(is_somewhere(&world));
    let losses = world.vault.status().unwrap().losses;
    forget(&world, ID);
    assert!(!is_somewhere(&world));
    let blank = format!("{}\n", " ".repeat(ours.len() - 1));
    assert_eq!(mirrored(&world, Some(1)), [theirs.clone(), blank.clone(), theirs.clone()].concat());
    assert_eq!(mirrored(&world, Some(2)), [blank.clone(), theirs.clone()].concat());
    world.verify();
    // The agent's own file still has them, and the next syncs leave them out.
    assert!(events(&world.sync()).is_empty());
    let mut more = vec![ours.clone(), theirs.clone(), prompt(ID, &format!("{SECRET} again")), theirs.clone()];
    put(&world, &more);
    assert!(!is_somewhere(&world));
    assert!(mirrored(&world, None).ends_with(&theirs));
    assert_eq!(world.vault.status().unwrap().losses, losses, "leaving them out is no loss");
    // A real loss is one still.
    more.truncate(1);
    world.put(&world.config.history(), more.concat().as_bytes());
    assert_eq!(events(&world.sync()), [Event::Truncated]);
    world.verify();
}

#[test]
fn what_an_earlier_version_left_is_unfinished_and_goes_with_the_next_run() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 4, 1));
    put(&world, &[prompt(FORK, "stays"), prompt(ID, SECRET)]);
    forget(&world, ID);
    // As an earlier version left it: the tombstone knows nothing of prompts, and the mirror has them.
    let forgotten = world.state().join("vault/forgotten");
    let tombstone = fs::read_dir(&forgotten).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&tombstone).unwrap();
    fs::remove_file(&tombstone).unwrap();
    fs::remove_dir_all(folder(&world)).unwrap();
    put(&world, &[prompt(FORK, "stays"), prompt(ID, SECRET)]);
    fs::remove_dir_all(world.folder(ID)).unwrap();
    fs::write(&tombstone, text.replace(",\"promptsErased\":true", "")).unwrap();
    assert!(is_somewhere(&world));
    assert_eq!(world.vault.status().unwrap().unfinished, [world.key(ID)]);
    // A sync in between is no loss of the agent's file.
    put(&world, &[prompt(FORK, "stays"), prompt(ID, SECRET), prompt(FORK, "more")]);
    assert_eq!(world.vault.status().unwrap().losses, []);
    forget(&world, ID);
    assert!(!is_somewhere(&world));
    assert_eq!(world.vault.status().unwrap().unfinished, []);
    assert!(mirrored(&world, None).contains("more"));
}

#[test]
fn a_damaged_mirror_of_the_prompts_keeps_no_word_either() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 4, 1));
    put(&world, &[prompt(ID, SECRET)]);
    put(&world, &[prompt(FORK, "stays")]);
    let data = folder(&world).join("data");
    let mut bytes = fs::read(&data).unwrap();
    bytes[20] ^= 1;
    fs::write(&data, bytes).unwrap();
    forget(&world, ID);
    assert!(!is_somewhere(&world));
    assert_eq!(mirrored(&world, None), prompt(FORK, "stays"));
    world.verify();
}

#[test]
fn prompts_are_counted_by_the_session_that_their_row_names() {
    let bytes = [prompt(ID, "one"), prompt(FORK, ID), prompt(ID, "two"), format!("half {ID}\n")].concat();
    assert_eq!(prompts_of(&ID.parse().unwrap(), bytes.as_bytes()), 2);
}
