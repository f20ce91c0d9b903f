//! Discovery against real folders: what is found, and what is reported instead of being passed over.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, FindError, Kind, Root, TroubleKind, Walk, find_session, walk};

fn put(root: &Path, relative: &str) -> PathBuf {
    let path = root.join(relative);
    fs::DirBuilder::new().recursive(true).create(path.parent().unwrap()).unwrap();
    fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
    path
}

fn names(walk: &Walk) -> Vec<(String, Kind, Option<String>)> {
    let mut names: Vec<_> = walk
        .sources
        .iter()
        .map(|source| {
            let session = source.session.as_ref().map(ToString::to_string);
            (source.relative().display().to_string(), source.kind, session)
        })
        .collect();
    names.sort();
    names
}

#[test]
fn finds_every_kind_of_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        "history.jsonl",
        "settings.json",
        "projects/-a/s1.jsonl",
        "projects/-a/s1.jsonl.bak",
        "projects/-a/.rekindle-tmp.jsonl",
        "projects/-a/s1/subagents/agent-1.jsonl",
        "projects/-a/s1/subagents/agent-1.meta.json",
        "projects/-a/s1/subagents/deep/agent-2.jsonl",
        "projects/-a/s1/subagents/notes.txt",
        "projects/-a/s1/tool-results/x.txt",
        "projects/-a/memory/MEMORY.md",
        "projects/stray-file",
    ] {
        put(dir.path(), path);
    }
    let walk = walk(&ConfigDir::new(dir.path()));
    assert_eq!(walk.root, Root::Read);
    assert!(walk.troubles.is_empty(), "{:?}", walk.troubles);
    let s1 = Some("s1".to_owned());
    assert_eq!(
        names(&walk),
        [
            ("history.jsonl".into(), Kind::History, None),
            ("projects/-a/s1.jsonl".into(), Kind::Transcript, s1.clone()),
            ("projects/-a/s1/subagents/agent-1.jsonl".into(), Kind::Subagent, s1.clone()),
            ("projects/-a/s1/subagents/agent-1.meta.json".into(), Kind::Subagent, s1.clone()),
            ("projects/-a/s1/subagents/deep/agent-2.jsonl".into(), Kind::Subagent, s1.clone()),
            ("projects/-a/s1/tool-results/x.txt".into(), Kind::ToolResult, s1),
        ]
    );
}

#[test]
fn a_missing_root_is_not_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(walk(&ConfigDir::new(dir.path())).root, Root::Missing);
    put(dir.path(), "projects");
    let on_a_file = walk(&ConfigDir::new(dir.path()));
    assert_eq!(on_a_file.root, Root::Unreadable);
    assert_eq!(on_a_file.troubles.len(), 1);
}

#[test]
fn follows_linked_folders_and_reports_circles_and_what_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let real = tempfile::tempdir().unwrap();
    put(real.path(), "-linked/s1.jsonl");
    put(real.path(), "-b/s2/subagents/agent-1.jsonl");
    symlink(real.path(), dir.path().join("projects")).unwrap();
    symlink(real.path().join("-linked"), real.path().join("-second")).unwrap();
    symlink("-turn", real.path().join("-turn")).unwrap();
    symlink("..", real.path().join("-b/s2/subagents/up")).unwrap();
    symlink("../subagents", real.path().join("-b/s2/subagents/again")).unwrap();
    symlink("nowhere", real.path().join("-b/s3.jsonl")).unwrap();
    fs::create_dir(real.path().join("-b/s4.jsonl")).unwrap();
    let walk = walk(&ConfigDir::new(dir.path()));
    let found: Vec<_> = names(&walk).into_iter().map(|(name, ..)| name).collect();
    assert!(found.contains(&"projects/-linked/s1.jsonl".to_owned()));
    assert!(found.contains(&"projects/-second/s1.jsonl".to_owned()));
    assert!(found.contains(&"projects/-b/s2/subagents/agent-1.jsonl".to_owned()));
    let trouble = |end: &str| {
        let trouble = walk.troubles.iter().find(|trouble| trouble.path.ends_with(end));
        &trouble.unwrap_or_else(|| panic!("no trouble at {end}: {:?}", walk.troubles)).kind
    };
    assert!(matches!(trouble("-turn"), TroubleKind::Loop));
    assert!(matches!(trouble("-b/s2/subagents/again"), TroubleKind::Loop));
    assert!(matches!(trouble("-b/s3.jsonl"), TroubleKind::Unreadable(_)));
    assert!(matches!(trouble("-b/s4.jsonl"), TroubleKind::NotAFile));
}

#[test]
fn a_session_is_found_in_all_its_places_by_id_or_by_a_prefix_of_one_id() {
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    for (root, path) in [
        (&one, "projects/-a/abc1.jsonl"),
        (&one, "projects/-b/abc1.jsonl"),
        (&two, "projects/-a/abc1.jsonl"),
        (&two, "projects/-a/abc123.jsonl"),
        (&two, "projects/-a/xyz.jsonl"),
    ] {
        put(root.path(), path);
    }
    let configs = [ConfigDir::new(one.path()), ConfigDir::new(two.path())];
    assert_eq!(find_session(&configs, "abc1").unwrap().len(), 3);
    let longer = find_session(&configs, "abc12").unwrap();
    assert_eq!(longer.len(), 1);
    assert_eq!(longer[0].source().unwrap().relative(), Path::new("projects/-a/abc123.jsonl"));
    assert_eq!(find_session(&configs, "xy").unwrap()[0].path, two.path().join("projects/-a/xyz.jsonl"));
    assert!(find_session(&configs, "nope").unwrap().is_empty());
    let Err(FindError::Ambiguous { ids, .. }) = find_session(&configs, "abc") else {
        panic!("not ambiguous")
    };
    assert_eq!(ids.len(), 2);
}
