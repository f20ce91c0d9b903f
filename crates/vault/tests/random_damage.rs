//! Hundreds of random damages of a vault: what comes back is right, or it does not come back unasked.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "damage is not written durably, and a test that cannot go on panics"
)]

mod world;

use std::fs;
use std::path::PathBuf;

use vault::{Error, Wanted};
use world::{ID, World, rows};

const DAMAGES: u64 = 500;

/// A seeded source of numbers: every failure names its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % (limit.max(1) as u64)).unwrap()
    }
}

/// A conversation that grew in many steps, was emptied and rewritten, with a subagent between; and every state it had.
fn a_life(gone: bool) -> (World, Vec<Vec<u8>>) {
    let world = World::new();
    let path = world.path(ID);
    let subagent = path.with_extension("").join("subagents/agent-1.jsonl");
    let mut states = Vec::new();
    let put = |bytes: &[u8], states: &mut Vec<Vec<u8>>| {
        world.put(&path, bytes);
        world.sync();
        states.push(bytes.to_vec());
    };
    let first = rows(ID, 300, 1);
    for end in [60, 61, 120, 200, 300] {
        put(&rows(ID, end, 1), &mut states);
        if end == 120 {
            world.put(&subagent, &rows(ID, 30, 3));
            world.sync();
        }
    }
    // The same length and other words near its beginning: what a later line keeps of it cannot be told by sizes.
    let mut other = first.clone();
    let word = other.windows(9).position(|bytes| bytes == b"\"message\"").unwrap();
    other[word + 11] ^= 1;
    put(&other, &mut states);
    other.extend_from_slice(&rows(ID, 90, 4));
    put(&other, &mut states);
    other.extend_from_slice(&rows(ID, 40, 5));
    put(&other, &mut states);
    if gone {
        put(b"", &mut states);
        fs::remove_file(&path).unwrap();
        world.sync();
        states.push(other);
    }
    (world, states)
}

fn damage(bytes: &[u8], by_line: bool, dice: &mut Dice) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (at, count) = (dice.below(bad.len()), lines.len());
    let end = (at + 1 + dice.below(80)).min(bad.len());
    match dice.below(if by_line { 12 } else { 5 }) {
        0 | 5 => bad[at] ^= 1 << dice.below(8),
        1 => bad[at..end].fill(0),
        2 => bad[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(13)),
        3 => bad.truncate(at),
        4 => drop(bad.drain(at..end)),
        6 => {
            lines.remove(dice.below(count));
            bad = lines.concat();
        }
        7 => {
            let copy = lines[dice.below(count)].clone();
            lines.insert(dice.below(count + 1), copy);
            bad = lines.concat();
        }
        8 => {
            lines.swap(dice.below(count), dice.below(count));
            bad = lines.concat();
        }
        9 => {
            lines.truncate(dice.below(count));
            bad = lines.concat();
        }
        10 => {
            let from = dice.below(count);
            lines.drain(from..(from + 1 + dice.below(3)).min(count));
            bad = lines.concat();
        }
        _ => {
            let (one, two) = (dice.below(count), dice.below(count));
            let (one, two) = (lines[one].clone(), lines[two].clone());
            bad = [&one[..dice.below(one.len())], &two[dice.below(two.len())..]].concat();
            lines[dice.below(count)] = bad;
            bad = lines.concat();
        }
    }
    bad
}

#[test]
fn five_hundred_random_damages_give_no_wrong_file() {
    let lives = [a_life(false), a_life(true)];
    let (mut refused, mut right) = (0, 0);
    for seed in 0..DAMAGES {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        let (world, states) = &lives[dice.below(2)];
        let name = ["manifest.jsonl", "manifest.jsonl", "manifest.jsonl", "data", "head"][dice.below(5)];
        let path: PathBuf = world.folder(ID).join(name);
        let good = fs::read(&path).unwrap();
        let bad = damage(&good, name == "manifest.jsonl", &mut dice);
        fs::write(&path, &bad).unwrap();
        let told = format!("seed {seed}, {name}");
        let report = world.vault.verify().unwrap();
        let found = !report.is_clean() || !report.torn.is_empty();
        assert_eq!(found, bad != good, "{told}: verify says {report:?}");
        match restore(world, Wanted::Best) {
            Ok(bytes) => {
                right += 1;
                assert!(Some(&bytes) == states.last(), "{told}: a wrong file without a word");
            }
            Err(_) => {
                refused += 1;
                assert_ne!(bad, good, "{told}: refused without damage");
            }
        }
        // Asked for what is left, it is a state that the file really had.
        if let Ok(bytes) = restore(world, Wanted::Whole) {
            assert!(states.contains(&bytes), "{told}: bytes that never were");
        }
        for number in 1..4 {
            if let Ok(bytes) = restore(world, Wanted::Number(number)) {
                assert!(states.contains(&bytes), "{told}: version {number} never was");
            }
        }
        fs::write(&path, &good).unwrap();
    }
    assert!(refused > 100 && right > 100, "{refused} refused, {right} right");
}

fn restore(world: &World, wanted: Wanted) -> Result<Vec<u8>, Error> {
    let unknown = || Error::Unknown { what: "it".to_owned() };
    let conversation = world.vault.conversation(&world.key(ID))?.ok_or_else(unknown)?;
    let file = conversation.transcript().ok_or_else(unknown)?;
    let choice = world.vault.choose(&conversation, file, wanted)?.ok_or_else(unknown)?;
    let mut bytes = Vec::new();
    world.vault.read(&conversation.key, &file.name, Some(choice.generation.number), &mut bytes)?;
    Ok(bytes)
}

/// A line that was cut off leaves its trace although later lines follow: the file it held more of stays in doubt.
#[test]
fn what_was_cut_off_stays_on_record_when_the_vault_goes_on() {
    let world = World::new();
    let path = world.path(ID);
    world.put(&path, &rows(ID, 30, 1));
    world.sync();
    let manifest = world.folder(ID).join("manifest.jsonl");
    let before = fs::read(&manifest).unwrap();
    world.put(&path, &rows(ID, 60, 1));
    world.sync();
    fs::write(&manifest, &before).unwrap();
    fs::remove_file(&path).unwrap();
    world.sync();
    assert!(matches!(restore(&world, Wanted::Best), Err(Error::Doubtful { .. })));
    assert_eq!(restore(&world, Wanted::Whole).unwrap(), rows(ID, 30, 1));
    assert!(!world.vault.verify().unwrap().is_clean());
    // The file comes back, is read whole, and there is no doubt any more.
    world.put(&path, &rows(ID, 60, 1));
    world.sync();
    assert_eq!(restore(&world, Wanted::Best).unwrap(), rows(ID, 60, 1));
}

/// What 0.1.0 wrote has no `head` and no sums: it is read as it was then. A kill between the two writes leaves `head` a line
/// behind, and that is no damage either.
#[test]
fn an_absent_or_older_head_is_no_damage() {
    let world = World::new();
    let path = world.path(ID);
    world.put(&path, &rows(ID, 30, 1));
    world.sync();
    let head = world.folder(ID).join("head");
    let behind = fs::read(&head).unwrap();
    world.put(&path, &rows(ID, 60, 1));
    world.sync();
    for state in [Some(behind), None] {
        match state {
            Some(bytes) => fs::write(&head, bytes).unwrap(),
            None => fs::remove_file(&head).unwrap(),
        }
        world.verify();
        assert_eq!(restore(&world, Wanted::Best).unwrap(), rows(ID, 60, 1));
    }
}
