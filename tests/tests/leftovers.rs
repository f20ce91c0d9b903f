//! What a killed repair left beside a transcript is settled by the next command, and nothing of it is lost.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lab::home::Home;
use serde_json::Value;

const SESSION: &str = "66666666-cccc-4ccc-8ccc-cccccccccccc";

fn aside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".rekindle-{SESSION}.swap"))
}

fn backups(home: &Home) -> Vec<PathBuf> {
    let folder = home.state().join("vault/backups").join(SESSION);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

fn names_beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A file at the name of the old one, with a chosen inode where the file system gives it away again.
fn unknown_file(path: &Path, content: &str, wanted: Option<u64>) -> u64 {
    let aside = aside(path);
    for number in 0..200 {
        let candidate = path.with_file_name(format!("candidate-{number}"));
        fs::write(&candidate, content).unwrap();
        let ino = fs::metadata(&candidate).unwrap().ino();
        if wanted.is_none_or(|wanted| wanted == ino) || number == 199 {
            fs::rename(&candidate, &aside).unwrap();
            (0..number).for_each(|number| {
                fs::remove_file(path.with_file_name(format!("candidate-{number}"))).unwrap();
            });
            return ino;
        }
    }
    unreachable!()
}

#[test]
fn files_that_no_record_knows_are_all_kept_though_their_inode_is_used_again() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 3).unwrap();
    let mut contents = BTreeSet::new();
    let mut ino = None;
    for round in 0..3 {
        let content = format!("found in round {round}\n");
        ino = Some(unknown_file(&path, &content, ino));
        contents.insert(content);
        home.repair(&[SESSION]).unwrap();
        assert!(!aside(&path).exists());
    }
    let kept: Vec<String> =
        backups(&home).iter().map(|folder| fs::read_to_string(folder.join("transcript")).unwrap()).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert_eq!(kept.into_iter().collect::<BTreeSet<String>>(), contents);
}

/// Where the file system cannot exchange two files, a hard link and two renames do it; this is a kill between the renames.
#[test]
fn a_kill_within_an_exchange_by_link_loses_no_late_row() {
    let home = Home::new().unwrap();
    let path = home.put_dangling(SESSION, 4, 2).unwrap();
    let old = fs::read(&path).unwrap();
    let link = path.with_file_name(format!(".rekindle-exchange-4711-.rekindle-{SESSION}.swap"));
    fs::hard_link(&path, &link).unwrap();
    home.repair(&[SESSION]).unwrap();
    let record = backups(&home)[0].join("repair.json");
    let mut killed: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    killed["state"] = "intent".into();
    fs::write(&record, killed.to_string()).unwrap();
    let late = "{\"type\":\"mode\",\"mode\":\"late\"}\n";
    fs::write(&link, [old.clone(), late.into()].concat()).unwrap();

    home.repair(&[SESSION]).unwrap();
    assert_eq!(names_beside(&path), [format!("{SESSION}.jsonl")]);
    assert!(fs::read_to_string(&path).unwrap().ends_with(late));
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), [old, late.into()].concat());
}

/// Half-written files of a killed repair go at once: no process has them open.
#[test]
fn half_written_files_of_a_killed_repair_go_with_the_next_one() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 3).unwrap();
    let left = path.with_file_name(".rekindle-Ab12Cd");
    let in_use = path.with_file_name(".rekindle-Ef34Gh");
    fs::write(&left, "half").unwrap();
    let writer = fs::File::create(&in_use).unwrap();
    home.repair(&[SESSION]).unwrap();
    assert!(!left.exists());
    assert!(in_use.exists(), "another repair is writing it");
    drop(writer);
    home.repair(&[SESSION]).unwrap();
    assert!(!in_use.exists());
}
