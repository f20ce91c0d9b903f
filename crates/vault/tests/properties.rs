//! Random lives of files: whatever happens between syncs, every version that a sync saw comes back byte for byte.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the agent does not write durably either"
)]

mod world;

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use vault::SyncOptions;
use world::{World, at, rows};

#[derive(Debug, Clone)]
enum Step {
    Append { file: usize, count: usize, torn: bool },
    Truncate { file: usize, part: usize },
    Rewrite { file: usize, count: usize },
    EditInside { file: usize, part: usize },
    Replace { file: usize },
    Delete { file: usize },
    Fork { from: usize, to: usize },
    Sync,
    SyncOne { file: usize },
    LoseCache,
    Collect,
}

const FILES: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let file = 0..FILES;
    prop_oneof![
        4 => (file.clone(), 1..600usize, any::<bool>()).prop_map(|(file, count, torn)| Step::Append { file, count, torn }),
        1 => (file.clone(), 0..100usize).prop_map(|(file, part)| Step::Truncate { file, part }),
        1 => (file.clone(), 0..300usize).prop_map(|(file, count)| Step::Rewrite { file, count }),
        1 => (file.clone(), 0..100usize).prop_map(|(file, part)| Step::EditInside { file, part }),
        1 => file.clone().prop_map(|file| Step::Replace { file }),
        1 => file.clone().prop_map(|file| Step::Delete { file }),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Step::Fork { from, to }),
        6 => Just(Step::Sync),
        2 => file.prop_map(|file| Step::SyncOne { file }),
        1 => Just(Step::LoseCache),
        1 => Just(Step::Collect),
    ]
}

fn id(file: usize) -> String {
    format!("{file:08}-0000-4000-8000-000000000000")
}

/// The versions that were seen, and what is there now.
#[derive(Default)]
struct Model {
    now: BTreeMap<usize, Vec<u8>>,
    seen: BTreeMap<usize, Vec<Vec<u8>>>,
}

impl Model {
    fn see(&mut self, file: usize) {
        if let Some(content) = self.now.get(&file) {
            self.seen.entry(file).or_default().push(content.clone());
        }
    }

    /// A seen version is kept if some generation begins with it: appends extend a generation, nothing else does.
    fn check(&self, world: &World) {
        for (file, versions) in &self.seen {
            let id = id(*file);
            let conversation = world.conversation(&id);
            let generations: Vec<Vec<u8>> =
                conversation.files[0].generations.iter().map(|g| world.read(&id, Some(g.number))).collect();
            for (number, version) in versions.iter().enumerate() {
                assert!(
                    generations.iter().any(|generation| generation.starts_with(version)),
                    "version {number} of file {file} ({} bytes) is lost",
                    version.len()
                );
            }
            assert_eq!(generations.last(), versions.last(), "the newest of file {file}");
        }
        world.verify();
    }
}

fn run(steps: Vec<Step>) {
    let mut world = World::new();
    let mut model = Model::default();
    let mut second = 0;
    for (number, step) in steps.into_iter().enumerate() {
        let seed = number as u64 + 100;
        match step {
            Step::Append { file, count, torn } => {
                let mut more = rows(&id(file), count, seed);
                if torn {
                    more.pop();
                }
                let content = model.now.entry(file).or_default();
                // Of larger files only the tail is compared, and an edit further up is `sync_one`'s to find.
                if content.len() > 3_000_000 {
                    continue;
                }
                content.extend_from_slice(&more);
                if world.path(&id(file)).exists() {
                    world.append(&world.path(&id(file)), &more);
                } else {
                    world.put(&world.path(&id(file)), content);
                }
            }
            Step::Truncate { file, part } => {
                if let Some(content) = model.now.get_mut(&file) {
                    content.truncate(content.len() * part / 100);
                    let open = fs::OpenOptions::new().write(true).open(world.path(&id(file))).unwrap();
                    open.set_len(content.len() as u64).unwrap();
                }
            }
            Step::Rewrite { file, count } => {
                let content = rows(&id(file), count, seed);
                world.put(&world.path(&id(file)), &content);
                model.now.insert(file, content);
            }
            Step::EditInside { file, part } => {
                if let Some(content) = model.now.get_mut(&file).filter(|content| !content.is_empty()) {
                    let at = (content.len() - 1) * part / 100;
                    content[at] ^= 0x20;
                    world.put(&world.path(&id(file)), content);
                }
            }
            Step::Replace { file } => {
                if let Some(content) = model.now.get(&file) {
                    let aside = world.dir.path().join("aside");
                    fs::write(&aside, content).unwrap();
                    fs::rename(&aside, world.path(&id(file))).unwrap();
                }
            }
            Step::Delete { file } => {
                if model.now.remove(&file).is_some() {
                    fs::remove_file(world.path(&id(file))).unwrap();
                }
            }
            Step::Fork { from, to } => {
                if let Some(content) = model.now.get(&from).cloned() {
                    let text = String::from_utf8(content).unwrap_or_default();
                    let content = text.replace(&id(from), &id(to)).into_bytes();
                    world.put(&world.path(&id(to)), &content);
                    model.now.insert(to, content);
                }
            }
            Step::Sync => {
                second += 1;
                world.sync_at(second);
                (0..FILES).for_each(|file| model.see(file));
            }
            Step::SyncOne { file } => {
                if model.now.contains_key(&file) {
                    second += 1;
                    let source = world.source(&id(file));
                    let copy = world.vault.sync_one(&source, vault::Origination::Theirs, at(second)).unwrap();
                    model.see(file);
                    assert_eq!(copy.blake3, blake3::hash(&model.now[&file]).to_hex().to_string());
                }
            }
            Step::Collect => {
                let told = |world: &World| {
                    let all = world.vault.list().unwrap();
                    let files = all.iter().flat_map(|conversation| &conversation.files);
                    files.map(|file| format!("{file:?}")).collect::<Vec<_>>()
                };
                let before = told(&world);
                world.vault.collect(0).unwrap();
                assert_eq!(told(&world), before, "the story has changed");
            }
            Step::LoseCache => {
                fs::remove_dir_all(world.state().join("cache")).unwrap();
                let state = store::StateDir::open(world.state()).unwrap();
                world.vault = vault::Vault::open(&state).unwrap();
            }
        }
    }
    second += 1;
    let last = world.sync_with(&SyncOptions::at(at(second)));
    assert!(last.doubts.is_empty());
    (0..FILES).for_each(|file| model.see(file));
    model.check(&world);
    assert!(world.sync_at(second + 1).events.is_empty(), "a second sync found something to do");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_ever_lost(steps in proptest::collection::vec(step(), 1..30)) {
        run(steps);
    }
}
