//! What would be done, as values: one change per file with the text before and after it.

use std::fmt;
use std::path::{Path, PathBuf};

use semver::Version;
use similar::TextDiff;

use crate::record::RecordError;
use crate::settings::SettingsError;

/// What a changed file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The agent's settings.
    Settings,
    /// A slash command of the agent.
    SlashCommand,
    /// A skill of the agent.
    Skill,
    /// Completions of a shell.
    Completion,
    /// The configuration of tmux, and the file of ours that it reads.
    Tmux,
    /// The configuration of rekindle.
    Config,
    /// A unit or an agent of the machine's service manager.
    Service,
    /// A link to a folder of the state directory.
    Link,
    /// A folder that is empty afterwards.
    Folder,
}

impl Part {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Part::Settings => "settings",
            Part::SlashCommand => "command",
            Part::Skill => "skill",
            Part::Completion => "completion",
            Part::Tmux => "tmux",
            Part::Config => "configuration",
            Part::Service => "service",
            Part::Link => "link",
            Part::Folder => "folder",
        }
    }
}

/// One change to one path. A link's text is where it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where, as the user knows it.
    pub path: PathBuf,
    /// What it is.
    pub part: Part,
    /// What is there; `None` where nothing is.
    pub before: Option<Vec<u8>>,
    /// What will be there; `None` where nothing will be.
    pub after: Option<Vec<u8>>,
}

impl Change {
    /// What happens, as a word: `create`, `change` or `remove`.
    pub fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "create",
            (Some(_), Some(_)) => "change",
            (Some(_), None) => "remove",
        }
    }

    /// The change as a unified diff under the name by which the file is shown.
    pub fn diff(&self, shown: &str) -> String {
        let text = |bytes: &Option<Vec<u8>>| {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            // A file from elsewhere must not write on the terminal: only its lines and tabs are shown.
            text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}")
        };
        let (before, after) = (text(&self.before), text(&self.after));
        let name = |there: bool| if there { shown.to_owned() } else { "/dev/null".to_owned() };
        TextDiff::from_lines(&before, &after)
            .unified_diff()
            .context_radius(3)
            .header(&name(self.before.is_some()), &name(self.after.is_some()))
            .to_string()
    }
}

/// Something the user should know before saying yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A configuration directory of a slot is not there.
    Absent(PathBuf),
    /// No agent was used with this directory yet.
    NeverUsed(PathBuf),
    /// Events are left out for an agent that does not know them.
    LeftOut {
        /// The settings.
        settings: PathBuf,
        /// The events.
        events: Vec<&'static str>,
        /// The oldest agent, where one is known.
        oldest: Option<(Version, PathBuf)>,
    },
    /// All hooks are turned off in these settings.
    HooksDisabled(PathBuf),
    /// The settings have comments or trailing commas, which agents do not read.
    NotPlainJson(PathBuf),
    /// A status line of a shape that cannot be kept.
    OddStatusLine(PathBuf),
    /// A status line was there and is called by ours.
    StatusLineKept(PathBuf),
    /// Something stands where ours would go.
    Foreign(PathBuf),
    /// A file of ours that its user changed.
    Changed(PathBuf),
    /// A folder stands where a link would go.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Where the link would lead.
        target: PathBuf,
    },
    /// A folder cannot be moved in: the state directory has something of the same name.
    NotAdopted {
        /// The folder.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Slash commands and skills call the program by its name, and `PATH` does not have it.
    NotOnPath,
    /// A shell is there, and no folder of its completions.
    NoPlace(&'static str),
    /// A record is newer, broken or gone, and what is ours is told by its shape.
    ByShape(PathBuf),
    /// A record cannot be read: what `init` moved into the state directory is not known.
    RecordDamaged(PathBuf),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Absent(path) => write!(f, "{} is not there: passed over", path.display()),
            Note::NeverUsed(path) => {
                write!(f, "no agent was used here yet: {} will be made", path.display())
            }
            Note::LeftOut { settings, events, oldest } => {
                write!(f, "{}: left out {}", settings.display(), events.join(", "))?;
                match oldest {
                    Some((version, place)) => {
                        write!(f, "; agent {version} does not know them ({})", place.display())
                    }
                    None => write!(f, "; which agents use it cannot be told, and old ones do not know them"),
                }
            }
            Note::HooksDisabled(path) => {
                write!(f, "{} turns all hooks off (disableAllHooks): ours will not run", path.display())
            }
            Note::NotPlainJson(path) => write!(
                f,
                "{} has comments or trailing commas: no agent known to us reads such a file, so none of its settings holds",
                path.display()
            ),
            Note::OddStatusLine(path) => {
                write!(f, "{}: the status line is no command, and stays as it is", path.display())
            }
            Note::StatusLineKept(path) => {
                write!(f, "{}: your status line stays, and ours is shown with it", path.display())
            }
            Note::Foreign(path) => write!(f, "{} is not ours: it stays", path.display()),
            Note::Changed(path) => write!(f, "{} was changed since: it stays", path.display()),
            Note::Folder { path, target } => {
                write!(f, "{} is a folder: --adopt moves it to {}", path.display(), target.display())
            }
            Note::NotAdopted { path, name } => {
                write!(f, "{} stays: {name} is in the state directory too", path.display())
            }
            Note::NotOnPath => {
                write!(f, "rekindle is not on PATH: slash commands and skills will not find it")
            }
            Note::NoPlace(shell) => write!(f, "{shell}: no folder for completions of your own was found"),
            Note::ByShape(path) => {
                write!(f, "{}: there is no record of what was there before", path.display())
            }
            Note::RecordDamaged(path) => write!(
                f,
                "{} is damaged: rekindle finds its links and files by their shape, and cannot tell what `init --adopt` moved into the state directory",
                path.display()
            ),
        }
    }
}

/// Why nothing was planned, and so nothing done.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A settings file that cannot be edited safely.
    #[error("change {}: cannot {source}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SettingsError,
    },
    /// A file that its user does not want to be written.
    #[error("change {}: it is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A link that leads nowhere.
    #[error("change {}: it is a link to nothing", path.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// Something that cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A record that cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A file as it stands, its links resolved.
pub(crate) struct Standing {
    pub(crate) real: PathBuf,
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Reads a file that shall be changed, by way of its links.
pub(crate) fn stand(path: &Path) -> Result<Standing, PlanError> {
    let unreadable = |source| PlanError::Unreadable { path: path.to_path_buf(), source };
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if std::fs::symlink_metadata(path).is_ok() {
                return Err(PlanError::DanglingLink { path: path.to_path_buf() });
            }
            return Ok(Standing { real: resolve_folder(path), bytes: None });
        }
        Err(error) => return Err(unreadable(error)),
    };
    let meta = std::fs::metadata(&real).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(unreadable(std::io::Error::other("it is no file")));
    }
    let bytes = store::files::read(&real).map_err(unreadable)?;
    Ok(Standing { real, bytes: Some(bytes) })
}

/// Whether a file, or the folder it lies in, refuses to be written.
pub(crate) fn writable(real: &Path) -> Result<(), PlanError> {
    let read_only = || PlanError::ReadOnly { path: real.to_path_buf() };
    // Mode bits are the user's word, also to root, whom the system lets write anything.
    let closed = |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly());
    let there = real.ancestors().skip(1).find(|above| above.exists());
    let barred = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err();
    if closed(real) || there.is_some_and(|folder| closed(folder) || barred(folder)) {
        return Err(read_only());
    }
    Ok(())
}

/// A path that is not there, with the links in what is there of it resolved.
fn resolve_folder(path: &Path) -> PathBuf {
    for above in path.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(above), path.strip_prefix(above)) {
            return real.join(rest);
        }
    }
    path.to_path_buf()
}

/// The folders above a path that are not there, the deepest first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|above| !above.exists()).map(Path::to_path_buf).collect()
}
