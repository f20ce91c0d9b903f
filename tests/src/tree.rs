//! Everything below a folder at one moment, to show that nothing was changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What is known of one entry. Two that are equal are the same bytes, mode and modification time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    mode: u32,
    mtime: (i64, i64),
    size: u64,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Bytes(u64),
    Link(PathBuf),
    Folder,
    Special,
}

/// The folder itself and everything below it, without following links.
pub fn look(folder: &Path) -> Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path).with_context(|| format!("no {}", path.display()))?;
        let kind = meta.file_type();
        let content = if kind.is_dir() {
            for entry in fs::read_dir(&path)? {
                todo.push(entry?.path());
            }
            Content::Folder
        } else if kind.is_symlink() {
            Content::Link(fs::read_link(&path)?)
        } else if kind.is_fifo() || kind.is_char_device() || kind.is_socket() {
            Content::Special
        } else {
            Content::Bytes(checksum(&path)?)
        };
        let mtime = (meta.mtime(), meta.mtime_nsec());
        found.insert(path, Entry { mode: meta.mode(), mtime, size: meta.len(), content });
    }
    Ok(found)
}

/// The same without times and what folders take: what an undoing gives back.
pub fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Entry>> {
    let mut found = look(folder)?;
    for entry in found.values_mut() {
        entry.mtime = (0, 0);
        if entry.content == Content::Folder {
            entry.size = 0;
        }
    }
    Ok(found)
}

/// The names of what differs between two looks. The machine's key and its folders are not counted: the key belongs to the
/// data, not to what `init` wires, and stays as long as they do.
pub fn differing(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let of_key = |name: &&PathBuf| {
        [".config", ".config/rekindle", ".config/rekindle/machine.key"].iter().any(|end| name.ends_with(end))
    };
    changed(before, after).filter(|name| !of_key(name)).map(|name| name.display().to_string()).collect()
}

/// What differs between two looks, for people; empty where nothing does.
pub fn differences(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    changed(before, after)
        .map(|name| format!("{}: {:?} -> {:?}", name.display(), before.get(name), after.get(name)))
        .collect()
}

fn changed<'a>(
    before: &'a BTreeMap<PathBuf, Entry>,
    after: &'a BTreeMap<PathBuf, Entry>,
) -> impl Iterator<Item = &'a PathBuf> {
    let names: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name))
}

/// A checksum of a file, read piece by piece.
fn checksum(path: &Path) -> Result<u64> {
    let mut file = fs::File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&buffer[..read]),
        }
    }
}
