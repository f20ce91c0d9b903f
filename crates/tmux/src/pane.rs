use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What names one life of a tmux server: a new server on the same socket is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServerId {
    /// Its process.
    pub pid: u32,
    /// When it started, seconds since 1970 by its own word.
    pub started: i64,
}

/// A tmux server and its panes at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The socket it listens on.
    pub socket: PathBuf,
    /// Which server.
    pub id: ServerId,
    /// Its version, such as `3.3a`.
    pub version: String,
    /// Every pane of every session.
    pub panes: Vec<Pane>,
}

/// One pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pane {
    /// `%4`: unique for the server's life.
    pub id: String,
    /// Its terminal, such as `/dev/pts/3`.
    pub tty: String,
    /// The process it was started with.
    pub pid: u32,
    /// The session's name.
    pub session: String,
    /// The window's number.
    pub window: u32,
    /// The pane's number in its window.
    pub index: u32,
    /// Where its foreground process works.
    pub cwd: String,
    /// What its foreground process is called.
    pub command: String,
    /// The command it was started with; empty for a shell.
    pub start_command: String,
    /// Its title.
    pub title: String,
    /// Whether its process has ended and it stays open all the same.
    pub dead: bool,
    /// Whether its program draws full screen: what is above the screen was there before it.
    pub alternate: bool,
    /// The conversation it was tagged with.
    pub tag: Option<String>,
}

/// `session:window.pane`, with the socket before it where the server is not the default one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PaneRef(String);

impl PaneRef {
    /// The reference of a pane.
    pub fn of(socket: &Path, pane: &Pane) -> Self {
        Self::at(socket, &pane.session, pane.window, pane.index)
    }

    /// The reference of a place.
    pub fn at(socket: &Path, session: &str, window: u32, pane: u32) -> Self {
        let place = format!("{session}:{window}.{pane}");
        Self(match server_name(socket) {
            None => place,
            Some(name) => format!("{name}//{place}"),
        })
    }

    /// The session in a reference to a pane of this server. Its name may hold slashes, and never a colon: tmux puts `_` there.
    pub fn session_in<'a>(socket: &Path, reference: &'a str) -> &'a str {
        let named = server_name(socket).and_then(|name| reference.strip_prefix(&name)?.strip_prefix("//"));
        let place = named.unwrap_or(reference);
        place.split_once(':').map_or(place, |(session, _)| session)
    }

    /// The reference as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaneRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What tells a server from the default one: its name for `tmux -L`, or its path for `tmux -S`.
fn server_name(socket: &Path) -> Option<String> {
    let usual = socket
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|folder| folder.as_encoded_bytes().starts_with(b"tmux-"));
    match socket.file_name() {
        Some(name) if usual && name == "default" => None,
        Some(name) if usual => Some(name.to_string_lossy().into_owned()),
        _ => Some(socket.to_string_lossy().into_owned()),
    }
}

impl Server {
    /// The pane of this terminal.
    pub fn pane_of_tty(&self, tty: &str) -> Option<&Pane> {
        self.panes.iter().find(|pane| pane.tty == tty)
    }

    /// The pane with this id.
    pub fn pane(&self, id: &str) -> Option<&Pane> {
        self.panes.iter().find(|pane| pane.id == id)
    }

    /// The reference of one of its panes.
    pub fn reference(&self, pane: &Pane) -> PaneRef {
        PaneRef::of(&self.socket, pane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_the_server_unless_it_is_the_default_one() {
        let pane = Pane { session: "work".to_owned(), window: 1, index: 2, ..Pane::default() };
        let check = |socket: &str, expect: &str| {
            assert_eq!(PaneRef::of(Path::new(socket), &pane).as_str(), expect);
        };
        check("/tmp/tmux-1000/default", "work:1.2");
        check("/tmp/tmux-1000/side", "side//work:1.2");
        check("/run/x/my.sock", "/run/x/my.sock//work:1.2");
    }

    #[test]
    fn a_session_may_have_slashes_in_its_name() {
        for socket in ["/tmp/tmux-1000/default", "/tmp/tmux-1000/side", "/run/x/my.sock", "/run/x//y:z/s"] {
            for session in ["work", "a//b", "/", "//x", "side//work"] {
                let reference = PaneRef::at(Path::new(socket), session, 1, 2);
                assert_eq!(
                    PaneRef::session_in(Path::new(socket), reference.as_str()),
                    session,
                    "{reference}"
                );
            }
        }
    }
}
