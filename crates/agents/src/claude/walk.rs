use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, stat, statat};
use rustix::io::Errno;

use super::ConfigDir;
use crate::{SessionId, Stamp};

/// What a file is to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The rows of a conversation.
    Transcript,
    /// The rows of a subagent, or what describes it (`.meta.json`).
    Subagent,
    /// Output of a tool that was too long for its row.
    ToolResult,
    /// The prompts of all sessions of a configuration directory.
    History,
}

/// One file of the agent that is worth keeping.
#[derive(Debug, Clone)]
pub struct Source {
    /// The configuration directory it belongs to.
    pub config: ConfigDir,
    /// The conversation it belongs to; history belongs to none.
    pub session: Option<SessionId>,
    /// Where it is, inside `config`.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// What `stat` said when it was found.
    pub stamp: Stamp,
}

impl Source {
    /// The path as seen from its configuration directory.
    pub fn relative(&self) -> &Path {
        self.path.strip_prefix(self.config.path()).unwrap_or(&self.path)
    }
}

/// Something that could not be looked at: never the same as nothing being there.
#[derive(Debug)]
pub struct Trouble {
    /// What was looked at.
    pub path: PathBuf,
    /// Why it could not be.
    pub kind: TroubleKind,
}

/// Why a path could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TroubleKind {
    /// The system refused.
    #[error("read it: {0}")]
    Unreadable(#[source] io::Error),
    /// A link leads back to a folder above it.
    #[error("follow it: the link leads in a circle")]
    Loop,
    /// A device, a pipe, or a folder named like a transcript.
    #[error("read it: it is no regular file")]
    NotAFile,
    /// The name is no text, or cannot be a session id.
    #[error("keep it: its name is not usable")]
    Name,
}

/// Whether the root of a configuration directory's transcripts could be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// Listed.
    Read,
    /// There is none: a fresh installation, or one that is not mounted.
    Missing,
    /// It is there and could not be listed.
    Unreadable,
}

/// Everything that is worth keeping in one configuration directory.
#[derive(Debug)]
pub struct Walk {
    /// The directory.
    pub config: ConfigDir,
    /// Whether `projects/` could be listed.
    pub root: Root,
    /// What was found, in no order.
    pub sources: Vec<Source>,
    /// What could not be looked at.
    pub troubles: Vec<Trouble>,
}

// Real trees are two deep; this only ends chains of links that never repeat a folder.
const DEEPEST: usize = 16;
// Files of our own half-done writes.
const OURS: &[u8] = b".rekindle-";

/// Lists a configuration directory in one pass: one `getdents` per folder, one `stat` per file, nothing opened.
pub fn walk(config: &ConfigDir) -> Walk {
    let mut found = Found::default();
    found.history(config);
    let projects = config.projects();
    let root = match open_dir(rustix::fs::CWD, &projects) {
        Ok(fd) => match list(fd, &projects, &mut found.troubles) {
            Some(slugs) => {
                let parts: Vec<Found> =
                    slugs.entries.par_iter().map(|slug| walk_project(config, &slugs, slug)).collect();
                parts.into_iter().for_each(|part| found.add(part));
                Root::Read
            }
            None => Root::Unreadable,
        },
        Err(Errno::NOENT) => Root::Missing,
        Err(error) => {
            found.trouble(projects, errno(error));
            Root::Unreadable
        }
    };
    Walk { config: config.clone(), root, sources: found.sources, troubles: found.troubles }
}

#[derive(Default)]
struct Found {
    sources: Vec<Source>,
    troubles: Vec<Trouble>,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.sources.extend(other.sources);
        self.troubles.extend(other.troubles);
    }

    fn trouble(&mut self, path: PathBuf, kind: TroubleKind) {
        self.troubles.push(Trouble { path, kind });
    }

    fn history(&mut self, config: &ConfigDir) {
        let path = config.history();
        match stat(&path) {
            Ok(stat) if is_file(&stat) => {
                let stamp = Stamp::of_stat(&stat);
                self.sources.push(Source {
                    config: config.clone(),
                    session: None,
                    path,
                    kind: Kind::History,
                    stamp,
                });
            }
            Ok(_) => self.trouble(path, TroubleKind::NotAFile),
            Err(Errno::NOENT) => {}
            Err(error) => self.trouble(path, errno(error)),
        }
    }
}

struct Listing {
    fd: OwnedFd,
    path: PathBuf,
    entries: Vec<Entry>,
}

struct Entry {
    name: Box<CStr>,
    file_type: FileType,
}

impl Entry {
    fn os(&self) -> &OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }
    fn may_be_dir(&self) -> bool {
        matches!(self.file_type, FileType::Directory | FileType::Symlink | FileType::Unknown)
    }
}

fn list(fd: OwnedFd, path: &Path, troubles: &mut Vec<Trouble>) -> Option<Listing> {
    let mut entries = Vec::new();
    let read = Dir::read_from(&fd).and_then(|mut dir| {
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            let bytes = name.to_bytes();
            if bytes != b"." && bytes != b".." && !bytes.starts_with(OURS) {
                entries.push(Entry { name: name.into(), file_type: entry.file_type() });
            }
        }
        Ok(())
    });
    match read {
        Ok(()) => Some(Listing { fd, path: path.to_path_buf(), entries }),
        Err(error) => {
            troubles.push(Trouble { path: path.to_path_buf(), kind: errno(error) });
            None
        }
    }
}

fn walk_project(config: &ConfigDir, projects: &Listing, slug: &Entry) -> Found {
    let mut found = Found::default();
    if !slug.may_be_dir() {
        return found;
    }
    let path = projects.path.join(slug.os());
    let fd = match open_dir(projects.fd.as_fd(), slug.name.as_ref()) {
        Ok(fd) => fd,
        // A file among the projects, or a folder that went while we looked.
        Err(Errno::NOTDIR) => return found,
        Err(Errno::NOENT) if slug.file_type != FileType::Symlink => return found,
        Err(error) => {
            found.trouble(path, errno(error));
            return found;
        }
    };
    let Some(folder) = list(fd, &path, &mut found.troubles) else { return found };
    let parts: Vec<Found> = folder
        .entries
        .par_iter()
        // Small folders are not worth a second thread.
        .with_min_len(512)
        .fold(Found::default, |mut part, entry| {
            walk_project_entry(config, &folder, entry, &mut part);
            part
        })
        .collect();
    parts.into_iter().for_each(|part| found.add(part));
    found
}

fn walk_project_entry(config: &ConfigDir, folder: &Listing, entry: &Entry, found: &mut Found) {
    let name = entry.name.to_bytes();
    if let Some(stem) = name.strip_suffix(b".jsonl") {
        let Some(session) = session_of(stem) else {
            found.trouble(folder.path.join(entry.os()), TroubleKind::Name);
            return;
        };
        add_file(config, Some(&session), folder, entry, Kind::Transcript, found);
    } else if entry.may_be_dir() {
        let Some(session) = session_of(name) else { return };
        for (sub, kind) in [("subagents", Kind::Subagent), ("tool-results", Kind::ToolResult)] {
            let inner = Path::new(entry.os()).join(sub);
            let path = folder.path.join(&inner);
            match open_dir(folder.fd.as_fd(), &inner) {
                Ok(fd) => walk_tree(config, &session, (fd, &path), kind, &mut Vec::new(), found),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => found.trouble(path, errno(error)),
            }
        }
    }
}

fn walk_tree(
    config: &ConfigDir,
    session: &SessionId,
    (fd, path): (OwnedFd, &Path),
    kind: Kind,
    above: &mut Vec<(u64, u64)>,
    found: &mut Found,
) {
    let identity = match rustix::fs::fstat(&fd) {
        Ok(stat) => Stamp::of_stat(&stat),
        Err(error) => return found.trouble(path.to_path_buf(), errno(error)),
    };
    let identity = (identity.dev, identity.ino);
    if above.contains(&identity) || above.len() >= DEEPEST {
        return found.trouble(path.to_path_buf(), TroubleKind::Loop);
    }
    above.push(identity);
    if let Some(folder) = list(fd, path, &mut found.troubles) {
        for entry in &folder.entries {
            if wanted(entry.name.to_bytes(), kind) && entry.file_type != FileType::Directory {
                add_file(config, Some(session), &folder, entry, kind, found);
            } else if entry.may_be_dir() {
                let inner = path.join(entry.os());
                match open_dir(folder.fd.as_fd(), entry.name.as_ref()) {
                    Ok(fd) => walk_tree(config, session, (fd, &inner), kind, above, found),
                    Err(Errno::NOTDIR | Errno::NOENT) => {}
                    Err(error) => found.trouble(inner, errno(error)),
                }
            }
        }
    }
    above.pop();
}

fn wanted(name: &[u8], kind: Kind) -> bool {
    match kind {
        Kind::Subagent => name.ends_with(b".jsonl") || name.ends_with(b".meta.json"),
        Kind::ToolResult => true,
        Kind::Transcript | Kind::History => name.ends_with(b".jsonl"),
    }
}

fn add_file(
    config: &ConfigDir,
    session: Option<&SessionId>,
    folder: &Listing,
    entry: &Entry,
    kind: Kind,
    found: &mut Found,
) {
    let path = folder.path.join(entry.os());
    match statat(&folder.fd, entry.name.as_ref(), AtFlags::empty()) {
        Ok(_) if path.to_str().is_none() => found.trouble(path, TroubleKind::Name),
        Ok(stat) if is_file(&stat) => found.sources.push(Source {
            config: config.clone(),
            session: session.cloned(),
            path,
            kind,
            stamp: Stamp::of_stat(&stat),
        }),
        // Tool results may hold folders behind links; only what is named like a transcript must be a file.
        Ok(_) if kind == Kind::ToolResult => {}
        Ok(_) => found.trouble(path, TroubleKind::NotAFile),
        // Gone between listing and looking.
        Err(Errno::NOENT) if entry.file_type != FileType::Symlink => {}
        Err(error) => found.trouble(path, errno(error)),
    }
}

fn open_dir<P: rustix::path::Arg>(at: impl AsFd, path: P) -> Result<OwnedFd, Errno> {
    openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn session_of(stem: &[u8]) -> Option<SessionId> {
    SessionId::new(std::str::from_utf8(stem).ok()?).ok()
}

fn is_file(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn errno(error: Errno) -> TroubleKind {
    if error == Errno::LOOP { TroubleKind::Loop } else { TroubleKind::Unreadable(error.into()) }
}
