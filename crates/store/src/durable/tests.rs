use super::*;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn replaced_files_are_private_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    replace(&path, b"one").unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_replacement_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    replace(&path, b"one").unwrap();
    let failed = replace_with(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("no more"))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn mode_and_time_are_kept_where_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    replace_like(&path, Kept { mode: Some(0o640), mtime: Some(then) }, |out| out.write_all(b"x")).unwrap();
    assert_eq!(mode(&path), 0o640);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then);
}

#[test]
fn copies_are_exact_and_overwrite_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a"), dir.path().join("b"));
    replace(&from, &[0, 255, 10, 13]).unwrap();
    assert_eq!(copy_exact(&from, &to).unwrap(), 4);
    assert_eq!(fs::read(&to).unwrap(), [0, 255, 10, 13]);
    assert!(copy_exact(&from, &to).is_err());
}

#[test]
fn both_exchanges_keep_both_inodes() {
    for swap in [exchange, exchange::by_link] {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        replace(&a, b"old").unwrap();
        replace(&b, b"new").unwrap();
        let ino = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = (ino(&a), ino(&b));
        swap(&a, &b).unwrap();
        assert_eq!((ino(&b), ino(&a)), before);
        assert_eq!(fs::read(&a).unwrap(), b"new");
        assert_eq!(fs::read(&b).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}

#[test]
fn appends_grow_and_report_where_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    append(&path, b"one\n", Sync::No).unwrap();
    let mut appender = Appender::open(&path).unwrap();
    assert_eq!(appender.length(), 4);
    appender.write(b"two\n").unwrap();
    appender.sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_block_is_overwritten_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("block");
    assert!(overwrite_block(&path, b"a long text").unwrap());
    assert!(overwrite_block(&path, b"short").unwrap());
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!((text.trim_end(), text.len(), mode(&path)), ("short", 4096, 0o600));
    assert!(!overwrite_block(&path, &[b'x'; 4097]).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn removing_what_is_gone_is_fine() {
    let dir = tempfile::tempdir().unwrap();
    remove(&dir.path().join("a")).unwrap();
    remove_tree(&dir.path().join("b")).unwrap();
}

#[test]
fn links_overwrite_nothing_and_only_empty_folders_go() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, link) = (dir.path().join("folder"), dir.path().join("link"));
    private_dir(&folder).unwrap();
    symlink(&folder, &link).unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), folder);
    assert!(symlink(dir.path(), &link).is_err());
    replace(&folder.join("a"), b"").unwrap();
    assert!(!remove_empty_dir(&folder).unwrap());
    remove(&folder.join("a")).unwrap();
    assert!(remove_empty_dir(&folder).unwrap());
    assert!(!remove_empty_dir(&folder).unwrap());
}
