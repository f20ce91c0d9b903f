use std::os::unix::fs::PermissionsExt;

use super::*;

const ID: &str = "0d5e1f2a-0000-4000-8000-000000000001";

fn shelf(dir: &tempfile::TempDir) -> Shelf {
    let folder = dir.path().join("snapshots");
    Shelf { folder, keep: 3, keep_for: Duration::from_secs(1000), key: None }
}

fn snapshot(second: i64, text: &str) -> Snapshot {
    Snapshot {
        session: SessionKey::parse(ID).unwrap(),
        at: Timestamp::from_second(second).unwrap(),
        why: Why::Stop,
        pane: "work:0.0".to_owned(),
        screen_only: true,
        text: text.to_owned(),
    }
}

#[test]
fn the_newest_comes_back_and_few_stay() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = shelf(&dir);
    let id = SessionKey::parse(ID).unwrap();
    assert_eq!((shelf.latest(&id), shelf.newest_at(&id)), (None, None));
    for second in 1..=5 {
        assert!(shelf.put(&snapshot(second, &format!("text {second}\n{{}}\n"))).unwrap());
    }
    assert_eq!(shelf.latest(&id), Some(snapshot(5, "text 5\n{}\n")));
    assert_eq!(shelf.newest_at(&id), Some(Timestamp::from_second(5).unwrap()));
    let files = shelf.list(&id);
    assert_eq!(files.len(), 3);
    let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
    let folder = std::fs::metadata(files[0].parent().unwrap()).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, folder & 0o777), (0o600, 0o700));
}

#[test]
fn only_what_this_machine_took_is_genuine() {
    let dir = tempfile::tempdir().unwrap();
    let (id, key) = (SessionKey::parse(ID).unwrap(), Key::create(&dir.path().join("key")).unwrap());
    let brought = shelf(&dir);
    brought.put(&snapshot(1, "brought here")).unwrap();
    let ours = Shelf { key: Some(key), ..brought.clone() };
    assert_eq!(ours.latest_genuine(&id), None);
    ours.put(&snapshot(2, "seen here")).unwrap();
    brought.put(&snapshot(3, "planted")).unwrap();
    assert_eq!(ours.latest(&id).unwrap().text, "planted");
    assert_eq!(ours.latest_genuine(&id).unwrap().text, "seen here");
    assert_eq!(brought.latest_genuine(&id), None, "without a key nothing is genuine");
}

#[test]
fn what_shows_the_same_is_not_kept_again() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = shelf(&dir);
    assert!(shelf.put(&snapshot(1, "same")).unwrap());
    assert!(!shelf.put(&snapshot(2, "same")).unwrap());
    assert!(shelf.put(&snapshot(3, "other")).unwrap());
    // Two within a millisecond are two.
    assert!(shelf.put(&snapshot(3, "and more")).unwrap());
    assert_eq!(shelf.list(&SessionKey::parse(ID).unwrap()).len(), 3);
}

#[test]
fn a_torn_one_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = shelf(&dir);
    shelf.put(&snapshot(1, "whole")).unwrap();
    shelf.put(&snapshot(2, "torn")).unwrap();
    let id = SessionKey::parse(ID).unwrap();
    let newest = shelf.list(&id).pop().unwrap();
    let bytes = std::fs::read(&newest).unwrap();
    for broken in [&bytes[..bytes.len() / 2], b"", &[0; 64]] {
        durable::replace(&newest, broken).unwrap();
        assert_eq!(shelf.latest(&id).unwrap().text, "whole");
    }
}

#[test]
fn old_ones_go_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = shelf(&dir);
    shelf.put(&snapshot(1, "old")).unwrap();
    shelf.put(&snapshot(1500, "young")).unwrap();
    let letters = shelf.folder.join("letters/20200101T000000.000Z-stop.zst");
    durable::private_dir(letters.parent().unwrap()).unwrap();
    durable::replace(&letters, b"dear").unwrap();
    let at = |second| Timestamp::from_second(second).unwrap();
    // By a clock that is behind, nothing is old.
    assert_eq!(shelf.prune(at(1400)).unwrap(), 0);
    assert_eq!(shelf.prune(at(1600)).unwrap(), 1);
    assert_eq!(shelf.latest(&SessionKey::parse(ID).unwrap()).unwrap().text, "young");
    assert_eq!(shelf.prune(at(9000)).unwrap(), 1);
    assert!(!shelf.folder.join(ID).exists() && letters.exists());
}
