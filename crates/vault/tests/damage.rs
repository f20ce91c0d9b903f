//! Decay and torn writes: found, named, and survived.

#![expect(clippy::disallowed_methods, reason = "damage is not written durably")]

mod world;

use std::fs;

use vault::{DamagedPlace, Error, Event, VerifyReport};
use world::{FORK, ID, World, events, rows};

fn a_life() -> World {
    let world = World::new();
    let path = world.path(ID);
    let bytes = rows(ID, 1_500, 1);
    world.put(&path, &bytes[..bytes.len() / 2]);
    world.sync();
    world.append(&path, &bytes[bytes.len() / 2..]);
    world.sync();
    world.put(&path, &rows(ID, 200, 2));
    world.sync();
    world.put(&path.with_extension("").join("subagents/agent-1.jsonl"), &rows(ID, 50, 3));
    world.sync();
    world
}

fn finds(report: &VerifyReport) -> bool {
    !report.is_clean() || !report.torn.is_empty()
}

#[test]
fn every_flipped_bit_is_found() {
    let world = a_life();
    world.verify();
    for name in ["data", "manifest.jsonl"] {
        let path = world.folder(ID).join(name);
        let good = fs::read(&path).unwrap();
        // A step that is prime to eight, so that every bit position comes up; the ends in full.
        let bits = good.len() * 8;
        let step = (bits / 300).max(1) | 1;
        let ends = (0..64).chain(bits - 64..bits);
        for bit in (0..bits).step_by(step).chain(ends) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            let report = world.vault.verify().unwrap();
            assert!(finds(&report), "bit {bit} of {name} was not noticed");
        }
        fs::write(&path, &good).unwrap();
    }
    world.verify();
}

#[test]
fn damage_names_what_it_touches() {
    let world = a_life();
    world.put(&world.path(FORK), &rows(FORK, 1_500, 1));
    world.sync();
    let path = world.folder(ID).join("data");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let report = world.vault.verify().unwrap();
    let mine = report.damage.iter().find(|damage| damage.key == world.key(ID)).unwrap();
    assert!(matches!(&mine.place, DamagedPlace::Data { offset: 0, .. }));
    let touched = &mine.touches[0];
    assert_eq!((touched.generation, touched.bytes.0, touched.rows.0), (1, 0, 0));
    assert!(touched.file.ends_with(&format!("{ID}.jsonl")) && touched.rows.1 > 10);
    assert!(report.damage.iter().any(|damage| damage.key == world.key(FORK)), "the fork shares the frame");
    let file = format!("projects/-work/{ID}.jsonl");
    let read = world.vault.read(&world.key(ID), &file, Some(1), &mut Vec::new());
    assert!(matches!(read, Err(Error::Frame { frame: 0, from: 0, .. })), "{read:?}");
    // The file is still there in full: one sync of it makes a sound copy again.
    world.put(&world.path(ID), &rows(ID, 3_000, 1));
    world.sync();
    assert_eq!(world.read(ID, None), rows(ID, 3_000, 1));
}

#[test]
fn a_manifest_torn_at_any_byte_of_its_last_line_is_superseded() {
    let world = World::new();
    let (old, new) = (rows(ID, 300, 1), rows(ID, 600, 1));
    world.put(&world.path(ID), &old);
    world.sync();
    let folder = world.folder(ID);
    let manifest = folder.join("manifest.jsonl");
    let before = fs::read(&manifest).unwrap();
    let head = fs::read(folder.join("head")).unwrap();
    world.append(&world.path(ID), &new[old.len()..]);
    world.sync();
    let after = fs::read(&manifest).unwrap();
    assert!(after.starts_with(&before));
    for end in before.len()..after.len() {
        fs::write(&manifest, &after[..end]).unwrap();
        // It is written after the line: what is killed there leaves the older one.
        fs::write(folder.join("head"), &head).unwrap();
        let report = world.vault.verify().unwrap();
        assert!(report.is_clean(), "torn at {end}: {:?}", report.damage);
        assert_eq!(world.read(ID, None), if end + 1 == after.len() { new.clone() } else { old.clone() });
        // Going on from there costs a few syncs of the disk each: at every thirteenth byte, and near the end.
        if !(end - before.len()).is_multiple_of(13) && after.len() - end > 5 {
            continue;
        }
        // What a killed sync leaves: the cache does not know, and says so.
        fs::write(world.state().join("cache/vault-touched"), format!("{}\n", world.key(ID))).unwrap();
        let expect: &[Event] = if end + 1 == after.len() { &[] } else { &[Event::Appended] };
        assert_eq!(events(&world.sync()), expect, "torn at {end}");
        assert_eq!(world.read(ID, None), new);
        let report = world.vault.verify().unwrap();
        assert!(!finds(&report), "after {end}: {report:?}");
    }
}

#[test]
fn data_torn_at_any_place_behind_the_manifest_does_not_exist() {
    let world = World::new();
    let (old, new) = (rows(ID, 300, 1), rows(ID, 600, 1));
    world.put(&world.path(ID), &old);
    world.sync();
    let data = world.folder(ID).join("data");
    let manifest = world.folder(ID).join("manifest.jsonl");
    let (data_before, manifest_before) = (fs::read(&data).unwrap(), fs::read(&manifest).unwrap());
    let head = fs::read(world.folder(ID).join("head")).unwrap();
    world.append(&world.path(ID), &new[old.len()..]);
    world.sync();
    let after = fs::read(&data).unwrap();
    for end in (data_before.len()..=after.len()).step_by(97) {
        fs::write(&data, &after[..end]).unwrap();
        fs::write(&manifest, &manifest_before).unwrap();
        fs::write(world.folder(ID).join("head"), &head).unwrap();
        fs::write(world.state().join("cache/vault-touched"), format!("{}\n", world.key(ID))).unwrap();
        world.verify();
        assert_eq!(world.read(ID, None), old);
        world.sync();
        assert_eq!(world.read(ID, None), new);
        world.verify();
    }
}

/// A power cut leaves NULs, half a name or an empty file where the names of touched conversations stood: the cache that they
/// were about is made anew, and the vault goes on.
#[test]
fn names_that_a_power_cut_tore_cost_nothing() {
    let name = |world: &World| world.key(ID).to_string();
    let torn: [fn(&str) -> Vec<u8>; 5] = [
        |name| format!("{}\0\0\0\0\0\n", &name[..name.len() - 6]).into_bytes(),
        |name| name.as_bytes()[..name.len() - 6].to_vec(),
        |name| [&name.as_bytes()[..9], &[0_u8; 40]].concat(),
        |name| [name.as_bytes(), b"\n\xff\xfe\n"].concat(),
        |_| vec![0; 57],
    ];
    for tear in torn {
        let world = World::new();
        let (old, new) = (rows(ID, 300, 1), rows(ID, 600, 1));
        world.put(&world.path(ID), &old);
        world.sync();
        let manifest = world.folder(ID).join("manifest.jsonl");
        let before = fs::read(&manifest).unwrap();
        let head = fs::read(world.folder(ID).join("head")).unwrap();
        world.append(&world.path(ID), &new[old.len()..]);
        world.sync();
        fs::write(&manifest, &before).unwrap();
        fs::write(world.folder(ID).join("head"), head).unwrap();
        fs::write(world.state().join("cache/vault-touched"), tear(&name(&world))).unwrap();
        world.sync();
        assert_eq!(world.read(ID, None), new);
        world.verify();
    }
}

#[test]
fn two_crashes_in_a_row_are_still_only_a_torn_tail() {
    let world = World::new();
    world.put(&world.path(ID), &rows(ID, 30, 1));
    world.sync();
    let manifest = world.folder(ID).join("manifest.jsonl");
    world.append(&manifest, b"{\"schema\":1,\"at\":\"20\n{\"schema\":1,\"sk");
    let report = world.vault.verify().unwrap();
    assert!(report.is_clean() && report.torn.len() == 1, "{report:?}");
    world.append(&world.path(ID), &rows(ID, 3, 2));
    world.sync();
    assert!(!finds(&world.vault.verify().unwrap()));
}

#[test]
fn a_lost_line_is_reported_for_ever_and_the_next_sync_goes_on() {
    let world = World::new();
    let bytes = rows(ID, 900, 1);
    let third = bytes.len() / 3;
    world.put(&world.path(ID), &bytes[..third]);
    world.sync();
    world.append(&world.path(ID), &bytes[third..2 * third]);
    world.sync();
    let manifest = world.folder(ID).join("manifest.jsonl");
    let mut text = fs::read(&manifest).unwrap();
    let last = text.len() - 200;
    text[last] ^= 4;
    fs::write(&manifest, &text).unwrap();
    assert!(!world.vault.verify().unwrap().is_clean());
    world.append(&world.path(ID), &bytes[2 * third..]);
    world.sync();
    assert_eq!(world.read(ID, None), bytes);
    let report = world.vault.verify().unwrap();
    assert!(
        matches!(report.damage[..], [ref one] if matches!(one.place, DamagedPlace::Manifest { line: 3, .. })),
        "{report:?}"
    );
}
