//! What a sync stores, and what it notices.

#![expect(clippy::disallowed_methods, reason = "the agent does not write durably either")]

mod world;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agents::claude::{ConfigDir, Kind};
use store::StateDir;
use vault::{Doubt, Error, Event, Origination, Policy, SyncOptions, Vault};
use world::{FORK, ID, World, at, events, rows};

#[test]
fn a_conversation_comes_back_byte_for_byte() {
    let world = World::new();
    // Many frames, no newline at the end, and bytes that no text has.
    let mut bytes = rows(ID, 4_000, 1);
    bytes.extend_from_slice(b"\x00\xff\x02\xffid\x03 torn");
    world.put(&world.path(ID), &bytes);
    let report = world.sync();
    assert_eq!(events(&report), [Event::New]);
    assert_eq!((report.files, report.changed, report.bytes_read), (1, 1, bytes.len() as u64));
    assert!(report.bytes_stored < bytes.len() as u64 / 2);
    assert_eq!(world.read(ID, None), bytes);
    world.verify();
}

#[test]
fn everything_the_vault_writes_is_private() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 10, 1));
    world.sync();
    let mut folders = vec![world.state()];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{folder:?}");
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
            }
        }
    }
}

#[test]
fn what_was_taken_away_from_the_vault_is_mirrored_again() {
    let world = World::new();
    let bytes = rows(ID, 10, 1);
    world.put(&world.path(ID), &bytes);
    world.sync();
    fs::remove_dir_all(world.folder(ID)).unwrap();
    assert_eq!(events(&world.sync()), [Event::New], "the file itself has not changed");
    assert_eq!(world.read(ID, None), bytes);
}

#[test]
fn appends_extend_the_generation_and_store_only_what_is_new() {
    let world = World::new();
    let bytes = rows(ID, 20_000, 1);
    let first = bytes.len() - 10_000;
    world.put(&world.path(ID), &bytes[..first]);
    world.sync();
    let manifest = || fs::metadata(world.folder(ID).join("manifest.jsonl")).unwrap().len();
    let before = manifest();
    world.append(&world.path(ID), &bytes[first..]);
    let report = world.sync();
    assert_eq!(events(&report), [Event::Appended]);
    assert!(report.bytes_read < 1_100_000, "{}", report.bytes_read);
    assert!(manifest() - before < 4_000, "the line repeats what is known: {}", manifest() - before);
    assert_eq!(world.read(ID, None), bytes);
    assert_eq!(world.conversation(ID).files[0].generations.len(), 1);
    assert!(events(&world.sync()).is_empty());
    world.verify();
}

#[test]
fn losses_are_noticed_named_and_undone() {
    let world = World::new();
    let path = world.path(ID);
    let whole = rows(ID, 3_000, 1);
    let stub = format!("{{\"type\":\"mode\",\"sessionId\":\"{ID}\"}}\n").into_bytes();
    let other = rows(ID, 50, 2);
    world.put(&path, &whole);
    world.sync();
    for (content, expect) in [
        (&whole[..whole.len() / 2], Event::Truncated),
        (&other, Event::Overwritten),
        (&stub, Event::Emptied),
        (&whole, Event::Returned),
        (&[][..], Event::Emptied),
    ] {
        world.put(&path, content);
        assert_eq!(events(&world.sync()), [expect]);
        assert_eq!(world.read(ID, None), content);
    }
    let conversation = world.conversation(ID);
    let file = conversation.transcript().unwrap();
    assert_eq!(file.generations.iter().map(|g| g.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(file.best_generation().unwrap().number, 5);
    assert_eq!(world.read(ID, Some(1)), whole);
    assert_eq!(world.vault.losses().unwrap()[0].event, Event::Emptied);

    fs::remove_file(&path).unwrap();
    assert_eq!(events(&world.sync()), [Event::Deleted]);
    assert!(events(&world.sync()).is_empty(), "noted twice");
    assert_eq!(world.vault.losses().unwrap()[0].event, Event::Deleted);
    assert!(world.conversation(ID).transcript().unwrap().gone.is_some());

    world.put(&path, &whole);
    world.vault.sync_one(&world.source(ID), Origination::Ours, at(9)).unwrap();
    assert!(world.vault.losses().unwrap().is_empty());
    let happened: Vec<Event> =
        world.vault.happenings(&ID.parse().unwrap()).unwrap().iter().map(|h| h.event).collect();
    assert_eq!(happened.len(), 7);
    assert_eq!(happened[5], Event::Deleted);
    world.verify();
}

#[test]
fn a_shrink_of_a_stub_repaired_by_us_is_no_loss() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 100, 1));
    world.sync();
    world.put(&world.path(ID), &rows(ID, 90, 1));
    let copy = world.vault.sync_one(&world.source(ID), Origination::Ours, at(1)).unwrap();
    assert_eq!(copy.generation, 2);
    assert_eq!(copy.blake3, blake3::hash(&rows(ID, 90, 1)).to_hex().to_string());
    assert!(world.vault.losses().unwrap().is_empty());
}

#[test]
fn an_edit_in_place_is_seen_by_sync_one_even_behind_an_append() {
    let world = World::new();
    let mut bytes = rows(ID, 3_000, 1);
    world.put(&world.path(ID), &bytes);
    world.sync();
    bytes[5_000] ^= 1;
    bytes.extend_from_slice(&rows(ID, 1, 7));
    world.put(&world.path(ID), &bytes);
    let copy = world.vault.sync_one(&world.source(ID), Origination::Theirs, at(1)).unwrap();
    assert_eq!((copy.generation, copy.size), (2, bytes.len() as u64));
    assert_eq!(world.read(ID, None), bytes);
}

#[test]
fn a_same_size_rewrite_right_after_a_sync_is_not_missed() {
    let world = World::new();
    for round in 0..20 {
        let bytes =
            rows(ID, 10, 1).iter().map(|b| if *b == b'n' { b'a' + round } else { *b }).collect::<Vec<_>>();
        let file = fs::OpenOptions::new().write(true).open(world.path(ID));
        match file {
            Ok(mut file) => std::io::Write::write_all(&mut file, &bytes).unwrap(),
            Err(_) => world.put(&world.path(ID), &bytes),
        }
        world.sync();
        assert_eq!(world.read(ID, None), bytes, "round {round}");
    }
}

#[test]
fn a_fork_shares_the_frames_of_its_origin() {
    let world = World::new();
    let origin = rows(ID, 20_000, 1);
    world.put(&world.path(ID), &origin);
    let first = world.sync();
    let mut fork = rows(FORK, 20_000, 1);
    fork.extend_from_slice(&rows(FORK, 20, 9));
    world.put(&world.path(FORK), &fork);
    let second = world.sync();
    assert!(
        second.bytes_stored * 5 < first.bytes_stored,
        "{} of {}",
        second.bytes_stored,
        first.bytes_stored
    );
    assert_eq!(world.read(FORK, None), fork);
    // The index is derived: without it the next fork is found all the same.
    fs::remove_file(world.state().join("cache/vault-frames")).unwrap();
    let vault = Vault::open(&StateDir::open(world.state()).unwrap()).unwrap();
    let third = "eeeeeeee-4a52-4b51-9a1e-0f6f3a1c2d3e";
    world.put(&world.path(third), &rows(third, 20_000, 1));
    let report = vault.sync(std::slice::from_ref(&world.config), &SyncOptions::at(at(2)), &|_| {}).unwrap();
    assert!(report.bytes_stored * 5 < first.bytes_stored);
    world.verify();
}

#[test]
fn the_same_id_in_two_config_directories_is_two_conversations() {
    let world = World::new();
    let second = ConfigDir::new(world.dir.path().join("slot-2"));
    world.put(&world.path(ID), &rows(ID, 10, 1));
    world.put(&second.projects().join(format!("-work/{ID}.jsonl")), &rows(ID, 10, 2));
    let configs = [world.config.clone(), second];
    world.vault.sync(&configs, &SyncOptions::at(at(0)), &|_| {}).unwrap();
    let found = world.vault.find(&ID.parse().unwrap()).unwrap();
    assert_eq!(found.len(), 2);
    let mut contents = Vec::new();
    for conversation in &found {
        let mut out = Vec::new();
        world.vault.read(&conversation.key, &conversation.files[0].name, None, &mut out).unwrap();
        contents.push(out);
    }
    contents.sort();
    let mut expect = [rows(ID, 10, 1), rows(ID, 10, 2)];
    expect.sort();
    assert_eq!(contents, expect);
}

#[test]
fn subagents_tool_results_and_history_are_mirrored_too() {
    let world = World::new();
    let beside = world.path(ID).with_extension("");
    world.put(&world.path(ID), &rows(ID, 10, 1));
    world.put(&beside.join("subagents/agent-1.jsonl"), &rows(ID, 20, 2));
    world.put(&beside.join("tool-results/a.txt"), b"result");
    world.put(&world.config.history(), b"{\"display\":\"hi\"}\n");
    assert_eq!(world.sync().changed, 4);
    assert_eq!(world.conversation(ID).files.len(), 3);
    let all = world.vault.list().unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().any(|conversation| conversation.session.is_none()));
    fs::remove_file(beside.join("tool-results/a.txt")).unwrap();
    assert_eq!(events(&world.sync()), [Event::Deleted]);
    let status = world.vault.status().unwrap();
    assert_eq!((status.conversations, status.files, status.gone, status.losses.len()), (2, 4, 1, 1));
}

#[test]
fn what_is_out_of_sight_is_not_deleted() {
    let world = World::new();
    for n in 0..40 {
        world.put(&world.path(&format!("session-{n:02}")), &rows("x", 2, n));
    }
    world.sync();
    let projects = world.config.projects();
    let aside = world.dir.path().join("aside");
    fs::rename(&projects, &aside).unwrap();
    let report = world.sync();
    assert!(matches!(report.doubts[..], [Doubt::Root { known: 40, .. }]), "{:?}", report.doubts);
    // A fresh, empty root is what a lost mount looks like.
    fs::create_dir(&projects).unwrap();
    let report = world.sync();
    assert!(report.events.is_empty());
    assert!(
        matches!(report.doubts[..], [Doubt::MassDisappearance { gone: 40, known: 40, .. }]),
        "{:?}",
        report.doubts
    );
    fs::remove_dir(&projects).unwrap();
    fs::rename(&aside, &projects).unwrap();
    let report = world.sync();
    assert!(report.events.is_empty() && report.doubts.is_empty());

    for n in 0..12 {
        fs::remove_file(world.path(&format!("session-{n:02}"))).unwrap();
    }
    assert_eq!(world.sync().events, []);
    let believe = SyncOptions { believe_mass_deletion: true, ..SyncOptions::at(at(1)) };
    assert_eq!(world.sync_with(&believe).events.len(), 12);
}

#[test]
fn a_shrink_under_a_live_owner_is_believed_at_the_second_look() {
    let world = World::new();
    let whole = rows(ID, 100, 1);
    world.put(&world.path(ID), &whole);
    world.sync();
    let look =
        |second| world.sync_with(&SyncOptions { owner_alive: &|_| true, ..SyncOptions::at(at(second)) });
    world.put(&world.path(ID), &whole[..500]);
    let report = look(10);
    assert!(report.events.is_empty());
    assert!(matches!(report.doubts[..], [Doubt::Shrinking { to: 500, .. }]), "{:?}", report.doubts);
    assert_eq!(world.read(ID, Some(2)), &whole[..500], "the copy does not wait for the verdict");
    assert!(look(11).events.is_empty(), "one second later is too early");
    // It was the middle of a rewrite after all.
    world.put(&world.path(ID), &whole);
    assert!(look(13).events.is_empty());
    world.put(&world.path(ID), &whole[..500]);
    assert!(look(20).events.is_empty(), "an old sighting must not count");
    assert_eq!(events(&look(22)), [Event::Truncated]);
    assert!(look(30).events.is_empty(), "said once");
    assert_eq!(world.read(ID, Some(1)), whole);
}

#[test]
fn what_is_forgotten_is_erased_and_stays_so() {
    let world = World::new();
    let origin = rows(ID, 5_000, 1);
    world.put(&world.path(ID), &origin);
    world.sync();
    let fork = rows(FORK, 5_000, 1);
    world.put(&world.path(FORK), &fork);
    world.sync();
    let key = world.key(ID);
    world.vault.begin_forgetting(&key, None, at(5)).unwrap();
    world.vault.erase(&key, at(5)).unwrap();
    world.vault.end_forgetting(&key).unwrap();
    assert!(!world.folder(ID).exists());
    assert!(events(&world.sync()).is_empty(), "mirrored again");
    assert!(world.vault.conversation(&world.key(ID)).unwrap().is_none());
    assert!(matches!(
        world.vault.sync_one(&world.source(ID), Origination::Theirs, at(6)),
        Err(Error::Forgotten { .. })
    ));
    assert!(!world.folder(ID).join("data").exists());
    assert_eq!(world.read(FORK, None), fork, "the fork lost what it shared");
    world.verify();
}

#[test]
fn old_losses_go_by_way_of_the_trash_and_forks_keep_what_they_share() {
    let world = World::new();
    let day = 86_400;
    world.put(&world.path(ID), &rows(ID, 5_000, 1));
    world.sync();
    let fork = rows(FORK, 5_000, 1);
    world.put(&world.path(FORK), &fork);
    world.sync();
    let backup = world.vault.backups().join(ID).join("one");
    fs::create_dir_all(&backup).unwrap();
    fs::remove_file(world.path(ID)).unwrap();
    world.sync_at(0);
    let policy = Policy { keep_gone: days(365), keep_backups: days(30), idle: std::time::Duration::MAX };
    let prune = |second| world.vault.prune(&policy, at(second));
    // The backup was made now, which is long before the times of this test.
    assert_eq!(prune(364 * day).unwrap().trashed, []);
    let report = prune(366 * day).unwrap();
    assert_eq!(report.trashed, [world.key(ID)]);
    assert!(!world.folder(ID).exists());
    assert_eq!(world.read(FORK, None), fork);
    world.verify();
    assert_eq!(prune(370 * day).unwrap().erased, 0);
    assert!(prune(374 * day).unwrap().erased >= 1);
    assert!(matches!(prune(300 * day), Err(Error::Clock { .. })), "pruned by a clock that went back");
    assert!(!backup.exists());
}

#[test]
fn a_clock_that_jumps_ahead_lets_nothing_go() {
    let world = World::new();
    let now = jiff::Timestamp::now().as_second();
    let backup = world.vault.backups().join(ID).join("one");
    fs::create_dir_all(&backup).unwrap();
    let thrown = world.vault.backups().with_file_name("trash").join(format!("{now}~backups~x~y"));
    fs::create_dir_all(&thrown).unwrap();
    world.put(&world.path(ID), &rows(ID, 5, 1));
    world.sync_at(now);
    fs::remove_file(world.path(ID)).unwrap();
    world.sync_at(now + 1);
    let policy = Policy { keep_gone: days(365), keep_backups: days(30), idle: Policy::IDLE };
    // Two years, at once; and the clock goes on from there.
    for ahead in [730, 731, 732] {
        let report = world.vault.prune(&policy, at(now + ahead * 86_400)).unwrap();
        assert_eq!((report.trashed.len(), report.backups, report.erased), (0, 0, 0), "{report:?}");
        assert_eq!(report.waiting, 3);
        world.put(&world.path(FORK), &rows(FORK, 5, ahead.unsigned_abs()));
        world.sync_at(now + ahead * 86_400);
    }
    assert!(backup.exists() && thrown.exists());
}

fn days(days: u64) -> std::time::Duration {
    std::time::Duration::from_secs(days * 86_400)
}

#[test]
fn superseded_tails_are_collected_and_nothing_else() {
    let world = World::new();
    let bytes = rows(ID, 400, 1);
    world.put(&world.path(ID), &bytes[..bytes.len() / 4]);
    world.sync();
    for part in 26..=100 {
        world.put(&world.path(ID), &bytes[..bytes.len() * part / 100]);
        world.sync_at(part as i64);
    }
    world.put(&world.path(ID), b"");
    world.sync_at(200);
    let size = || fs::metadata(world.folder(ID).join("data")).unwrap().len();
    let (before, happened) = (size(), world.vault.happenings(&ID.parse().unwrap()).unwrap());
    // Another process collects; what this one has open must not mislead it.
    assert_eq!(world.read(ID, Some(1)), bytes);
    let other = Vault::open(&StateDir::open(world.state()).unwrap()).unwrap();
    let freed = other.collect(1000).unwrap();
    assert_eq!(size(), before - freed);
    assert!(size() * 5 < before, "{} of {before}", size());
    assert_eq!(world.read(ID, Some(1)), bytes);
    assert_eq!(world.vault.happenings(&ID.parse().unwrap()).unwrap(), happened);
    world.verify();
    world.put(&world.path(ID), &bytes);
    assert_eq!(events(&world.sync_at(201)), [Event::Returned]);
    world.verify();
}

#[test]
fn a_sync_with_nothing_to_do_opens_no_conversation() {
    let world = World::new();
    for n in 0..20 {
        world.put(&world.path(&format!("session-{n:02}")), &rows("x", 5, n));
    }
    world.sync();
    world.sync();
    // With every manifest out of reach it still has nothing to say, so it did not look at them.
    let folders: Vec<_> = (0..20).map(|n| world.folder(&format!("session-{n:02}"))).collect();
    let (name, aside) = ("manifest.jsonl", "aside");
    let mut quiet = false;
    for _ in 0..200 {
        // Entries read in the tick of the change are looked at once more; time passes by itself.
        if world.sync().changed == 0 {
            for folder in &folders {
                fs::rename(folder.join(name), folder.join(aside)).unwrap();
            }
            let report = world.sync();
            quiet = report.files == 20
                && report.events.is_empty()
                && folders.iter().all(|folder| !folder.join(name).exists());
            for folder in &folders {
                fs::rename(folder.join(aside), folder.join(name)).unwrap();
            }
        }
        if quiet {
            break;
        }
    }
    assert!(quiet);
}

#[test]
fn a_lost_cache_is_rebuilt_with_all_it_knew() {
    let world = World::new();
    let beside = world.path(ID).with_extension("");
    world.put(&world.path(ID), &rows(ID, 5, 1));
    world.put(&beside.join("tool-results/a.txt"), b"result");
    world.sync();
    fs::remove_dir_all(world.state().join("cache")).unwrap();
    fs::remove_file(beside.join("tool-results/a.txt")).unwrap();
    let vault = Vault::open(&StateDir::open(world.state()).unwrap()).unwrap();
    let report = vault.sync(std::slice::from_ref(&world.config), &SyncOptions::at(at(1)), &|_| {}).unwrap();
    assert_eq!(events(&report), [Event::Deleted]);
    assert_eq!(world.source(ID).kind, Kind::Transcript);
}

#[test]
fn rows_larger_than_any_buffer_work() {
    let world = World::new();
    let mut bytes = rows(ID, 100, 1);
    bytes.extend_from_slice(b"{\"type\":\"progress\",\"x\":\"");
    bytes.extend((0..20_000_000u32).map(|n| b'a' + (n.wrapping_mul(2_654_435_761) >> 28) as u8));
    bytes.extend_from_slice(b"\"}\n");
    bytes.extend_from_slice(&rows(ID, 100, 2));
    world.put(&world.path(ID), &bytes);
    world.sync();
    assert!(world.read(ID, None) == bytes);
}

#[test]
fn two_syncs_at_once_store_everything_once() {
    let world = World::new();
    for n in 0..30 {
        world.put(&world.path(&format!("session-{n:02}")), &rows("x", 200, n));
    }
    let other = Vault::open(&StateDir::open(world.state()).unwrap()).unwrap();
    let configs = [world.config.clone()];
    let run = |vault: &'_ Vault| vault.sync(&configs, &SyncOptions::at(at(0)), &|_| {}).unwrap().changed;
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(&world.vault));
        let two = scope.spawn(|| run(&other));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(one + two, 30);
    for n in 0..30 {
        let id = format!("session-{n:02}");
        assert_eq!(world.read(&id, None), rows("x", 200, n));
        assert_eq!(world.conversation(&id).files[0].generations.len(), 1);
    }
    world.verify();
}
