//! A whole tmux server at one moment: sessions, windows and panes, asked in one chained command.
//!
//! tmux runs the commands of a chain one after another without looking at its panes in between, so the three lists fit
//! together. Names come back as they are and are never handed to tmux as a format: nothing in them can run.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::build::MARK;
use crate::deadline::{Ran, run};
use crate::fields::{Fields, Form};
use crate::list::tmux;
use crate::own_options::{self, OwnOptions};
use crate::pane::{PaneRef, ServerId};
use crate::refusal::{Refusal, refusal};
use crate::tag::TAG;

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shooting {
    /// Everything about it.
    Taken(Box<ServerSnapshot>),
    /// Nothing listens on the socket.
    Gone,
    /// It cannot be told.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// A tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSnapshot {
    /// The socket it listens on.
    pub socket: PathBuf,
    /// Its process.
    pub pid: u32,
    /// When it started, seconds since 1970 by its own word.
    pub start_time: i64,
    /// Its version, such as `3.3a`: layouts are to be read by it.
    pub version: String,
    /// Its sessions, with the windows that each shows.
    pub sessions: Vec<Session>,
    /// Its windows, each once, however many sessions show it.
    pub windows: Vec<Window>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// `$1`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The group whose windows it shares.
    #[serde(default)]
    pub group: Option<String>,
    /// Where its new windows begin.
    #[serde(default)]
    pub path: String,
    /// How many clients look at it.
    #[serde(default)]
    pub attached: u32,
    /// The windows it shows.
    pub windows: Vec<Link>,
}

/// A window's place in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Its number there.
    pub index: u32,
    /// Which window: `@1`.
    pub window: String,
    /// Whether the session shows it now.
    #[serde(default)]
    pub active: bool,
    /// Whether the session showed it before.
    #[serde(default)]
    pub last: bool,
}

/// A window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// `@1`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How its panes lie, in tmux's own words; without the zoom.
    pub layout: String,
    /// Whether its active pane fills it.
    #[serde(default)]
    pub zoomed: bool,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Whether tmux names it after what runs in it.
    #[serde(default)]
    pub automatic_rename: bool,
    /// Its panes, in the order of the layout.
    pub panes: Vec<PaneShot>,
}

/// A pane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneShot {
    /// `%4`.
    pub id: String,
    /// Its number in the window.
    pub index: u32,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Where its foreground process works.
    #[serde(default)]
    pub cwd: String,
    /// Columns.
    #[serde(default)]
    pub width: u32,
    /// Rows.
    #[serde(default)]
    pub height: u32,
    /// Whether it is the window's active one.
    #[serde(default)]
    pub active: bool,
    /// The command it was started with; empty for a shell.
    #[serde(default)]
    pub start_command: String,
    /// What its foreground process is called.
    #[serde(default)]
    pub command: String,
    /// Its terminal.
    #[serde(default)]
    pub tty: String,
    /// The process it was started with.
    #[serde(default)]
    pub pid: u32,
    /// Whether its process has ended and it stays open all the same.
    #[serde(default)]
    pub dead: bool,
    /// Whether a full-screen program has it.
    #[serde(default)]
    pub alternate: bool,
    /// The conversation it was tagged with.
    #[serde(default)]
    pub tag: Option<String>,
    /// The mark that a restore has left on it: which saved pane it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// What its user has set on it, by names that begin with `@`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl ServerSnapshot {
    /// Which life of which server.
    pub fn id(&self) -> ServerId {
        ServerId { pid: self.pid, started: self.start_time }
    }

    fn give(&mut self, mut options: OwnOptions) {
        for pane in self.windows.iter_mut().flat_map(|window| &mut window.panes) {
            pane.options = options.remove(&pane.id).unwrap_or_default();
        }
    }

    /// Every pane, once.
    pub fn panes(&self) -> impl Iterator<Item = &PaneShot> {
        self.windows.iter().flat_map(|window| &window.panes)
    }

    /// The window with this id.
    pub fn window(&self, id: &str) -> Option<&Window> {
        self.windows.iter().find(|window| window.id == id)
    }

    /// The mark by which a pane of this server is found again in another life of it.
    pub fn mark(&self, pane: &str) -> String {
        format!("{}.{}-{}", self.pid, self.start_time, pane.trim_start_matches('%'))
    }

    /// What a pane is called, by the first session that shows its window.
    pub fn reference(&self, pane: &str) -> Option<PaneRef> {
        let window = self.windows.iter().find(|window| window.panes.iter().any(|known| known.id == pane))?;
        let pane = window.panes.iter().find(|known| known.id == pane)?;
        let (session, link) = self.sessions.iter().find_map(|session| {
            Some((session, session.windows.iter().find(|link| link.window == window.id)?))
        })?;
        Some(PaneRef::at(&self.socket, &session.name, link.index, pane.index))
    }
}

const OF_SERVER: [&str; 3] = ["pid", "start_time", "version"];
const OF_SESSION: [&str; 5] =
    ["session_id", "session_name", "session_group", "session_path", "session_attached"];
const OF_WINDOW: [&str; 11] = [
    "session_id",
    "window_id",
    "window_index",
    "window_active",
    "window_last_flag",
    "window_name",
    "window_layout",
    "window_zoomed_flag",
    "window_width",
    "window_height",
    "automatic-rename",
];
const OF_PANE: [&str; 17] = [
    "window_id",
    "pane_id",
    "pane_index",
    "pane_title",
    "pane_current_path",
    "pane_start_path",
    "pane_width",
    "pane_height",
    "pane_active",
    "pane_start_command",
    "pane_current_command",
    "pane_tty",
    "pane_pid",
    "pane_dead",
    "alternate_on",
    TAG,
    MARK,
];

/// Takes everything about the server on this socket. A server is never started by it.
pub fn shoot(socket: &Path, deadline: Duration) -> Shooting {
    let form = Form::new();
    let server = format!("v{}", form.ask(OF_SERVER));
    let sessions = format!("s{}", form.ask(OF_SESSION));
    let windows = format!("w{}", form.ask(OF_WINDOW));
    let panes = format!("p{}", form.ask(OF_PANE));
    // Before 3.2 tmux cannot be asked for options in the same breath, and refuses the whole command.
    for with_options in [true, false] {
        let mut command = tmux(socket);
        command.args(["list-sessions", "-F", &sessions, ";", "list-windows", "-a", "-F", &windows]);
        command.args([";", "list-panes", "-a", "-F", &panes, ";", "display-message", "-p", &server]);
        if with_options {
            command.arg(";").args(own_options::ASK);
        }
        match run(&mut command, deadline) {
            Ran::TooLate => return Shooting::Unknown { why: "tmux did not answer in time".to_owned() },
            Ran::NotStarted(error) => {
                return Shooting::Unknown { why: format!("tmux cannot be started: {error}") };
            }
            Ran::Done(output) if output.status.success() => {
                if let Some((mut shot, any_options)) = parse(socket, &form, &output.stdout) {
                    if any_options {
                        let Some(options) = own_options::ask(socket, deadline) else {
                            return Shooting::Unknown {
                                why: "tmux does not list its panes' options".to_owned(),
                            };
                        };
                        shot.give(options);
                    }
                    return Shooting::Taken(Box::new(shot));
                }
            }
            Ran::Done(output) => match refusal(&String::from_utf8_lossy(&output.stderr)) {
                Refusal::Gone => return Shooting::Gone,
                Refusal::Unknown(_) if with_options => {}
                Refusal::Unknown(why) => return Shooting::Unknown { why },
            },
        }
    }
    Shooting::Unknown { why: "tmux answered in an unknown form".to_owned() }
}

/// The answer, and whether any pane has options of its own.
fn parse(socket: &Path, form: &Form, answer: &[u8]) -> Option<(ServerSnapshot, bool)> {
    let mut fields = form.read(answer);
    let mut server = None;
    let mut sessions: Vec<Session> = Vec::new();
    let mut windows: Vec<Window> = Vec::new();
    let mut window_at: HashMap<String, usize> = HashMap::new();
    let mut any_options = false;
    while !fields.is_empty() {
        match fields.letter()? {
            b'v' => server = Some((fields.number()?, fields.number()?, fields.text()?)),
            b's' => sessions.push(Session {
                id: fields.text()?,
                name: fields.text()?,
                group: fields.some()?,
                path: fields.text()?,
                attached: fields.number()?,
                windows: Vec::new(),
            }),
            b'w' => {
                let session = fields.text()?;
                let (link, window) = window(&mut fields)?;
                sessions.iter_mut().find(|known| known.id == session)?.windows.push(link);
                // One that several sessions show is listed for each of them.
                window_at.entry(window.id.clone()).or_insert_with(|| {
                    windows.push(window);
                    windows.len() - 1
                });
            }
            b'p' => {
                let window = windows.get_mut(*window_at.get(&fields.text()?)?)?;
                let pane = pane(&mut fields)?;
                if !window.panes.iter().any(|known| known.id == pane.id) {
                    window.panes.push(pane);
                }
            }
            b'o' => {
                any_options = own_options::any(&fields.rest());
                break;
            }
            _ => return None,
        }
        fields.end_of_row()?;
    }
    let (pid, start_time, version) = server?;
    Some((
        ServerSnapshot { socket: socket.to_path_buf(), pid, start_time, version, sessions, windows },
        any_options,
    ))
}

fn window(fields: &mut Fields<'_>) -> Option<(Link, Window)> {
    let id = fields.text()?;
    let link =
        Link { index: fields.number()?, window: id.clone(), active: fields.flag()?, last: fields.flag()? };
    let window = Window {
        id,
        name: fields.text()?,
        layout: fields.text()?,
        zoomed: fields.flag()?,
        width: fields.number()?,
        height: fields.number()?,
        automatic_rename: fields.flag()?,
        panes: Vec::new(),
    };
    Some((link, window))
}

fn pane(fields: &mut Fields<'_>) -> Option<PaneShot> {
    Some(PaneShot {
        id: fields.text()?,
        index: fields.number()?,
        title: fields.text()?,
        cwd: cwd(fields)?,
        width: fields.number()?,
        height: fields.number()?,
        active: fields.flag()?,
        start_command: fields.text()?,
        command: fields.text()?,
        tty: fields.text()?,
        pid: fields.number()?,
        dead: fields.flag()?,
        alternate: fields.flag()?,
        tag: fields.some()?,
        mark: fields.some()?,
        options: BTreeMap::new(),
    })
}

/// Where a pane works: where it was started, as long as its first process has not begun (measured on 3.3a: a pane that
/// was made a moment ago has no current path).
fn cwd(fields: &mut Fields<'_>) -> Option<String> {
    let (current, start) = (fields.text()?, fields.text()?);
    Some(if current.is_empty() { start } else { current })
}
