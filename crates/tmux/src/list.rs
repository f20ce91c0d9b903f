//! Everything about a server's panes in one command.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::fields::Form;
use crate::pane::{Pane, Server, ServerId};
use crate::refusal::{Refusal, refusal};
use crate::tag::TAG;

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// It lives.
    Alive(Server),
    /// Nothing listens on the socket.
    Gone,
    /// It cannot be told.
    Unknown {
        /// Why not.
        why: String,
    },
}

const FIELDS: [&str; 15] = [
    "pid",
    "start_time",
    "version",
    "pane_id",
    "pane_tty",
    "pane_pid",
    "session_name",
    "window_index",
    "pane_index",
    "pane_current_path",
    "pane_current_command",
    "pane_start_command",
    "pane_title",
    "pane_dead",
    "alternate_on",
];

/// Lists all panes of the server on this socket. A server is never started by it.
pub fn list(socket: &Path, deadline: Duration) -> Listing {
    let form = Form::new();
    let format = form.ask(FIELDS.iter().copied().chain([TAG]));
    let mut command = tmux(socket);
    command.args(["list-panes", "-a", "-F", &format]);
    match run(&mut command, deadline) {
        Ran::TooLate => Listing::Unknown { why: "tmux did not answer in time".to_owned() },
        Ran::NotStarted(error) => Listing::Unknown { why: format!("tmux cannot be started: {error}") },
        Ran::Done(output) if output.status.success() => match parse(socket, &form, &output.stdout) {
            Some(server) => Listing::Alive(server),
            None => Listing::Unknown { why: "tmux answered in an unknown form".to_owned() },
        },
        Ran::Done(output) => match refusal(&String::from_utf8_lossy(&output.stderr)) {
            Refusal::Gone => Listing::Gone,
            Refusal::Unknown(why) => Listing::Unknown { why },
        },
    }
}

/// A tmux command on a socket, in UTF-8 whatever the locale says.
pub(crate) fn tmux(socket: &Path) -> Command {
    let mut command = Command::new("tmux");
    command.arg("-u").arg("-S").arg(socket);
    command
}

fn parse(socket: &Path, form: &Form, answer: &[u8]) -> Option<Server> {
    let mut fields = form.read(answer);
    let mut server: Option<Server> = None;
    while !fields.is_empty() {
        let id = ServerId { pid: fields.number()?, started: fields.number()? };
        let version = fields.text()?;
        let pane = Pane {
            id: fields.text()?,
            tty: fields.text()?,
            pid: fields.number()?,
            session: fields.text()?,
            window: fields.number()?,
            index: fields.number()?,
            cwd: fields.text()?,
            command: fields.text()?,
            start_command: fields.text()?,
            title: fields.text()?,
            dead: fields.flag()?,
            alternate: fields.flag()?,
            tag: fields.some()?,
        };
        fields.end_of_row()?;
        let server = server.get_or_insert_with(|| Server {
            socket: socket.to_path_buf(),
            id,
            version,
            panes: Vec::new(),
        });
        // A window that is linked into several sessions is listed once for each; the first place counts.
        if server.pane(&pane.id).is_none() {
            server.panes.push(pane);
        }
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-others-11
    #[test]
    fn names_may_hold_any_separator() {
        let form = Form::new();
        let values = [
            "7",
            "99",
            "3.3a",
            "%1",
            "/dev/pts/3",
            "8",
            "a:b\n1:x",
            "0",
            "1",
            "/ü",
            "vim",
            "",
            "t|1:2",
            "",
            "1",
            "abc",
        ];
        let mut line = form.ask(FIELDS.iter().copied().chain([TAG]));
        for (name, value) in FIELDS.iter().copied().chain([TAG]).zip(values) {
            line = line.replacen(&format!("#{{{name}}}"), value, 1);
        }
        let line = format!("{line}\n").into_bytes();
        let twice = [line.clone(), line].concat();
        let server = parse(Path::new("/s"), &form, &twice).unwrap();
        assert_eq!(server.id, ServerId { pid: 7, started: 99 });
        assert_eq!(server.panes.len(), 1);
        let pane = &server.panes[0];
        assert_eq!(
            (pane.session.as_str(), pane.cwd.as_str(), pane.title.as_str()),
            ("a:b\n1:x", "/ü", "t|1:2")
        );
        assert_eq!((pane.tag.as_deref(), pane.alternate, pane.dead), (Some("abc"), true, false));
        assert_eq!(parse(Path::new("/s"), &form, b":7|garbage"), None);
    }

    #[test]
    fn nobody_there_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let nobody = list(&dir.path().join("none"), Duration::from_secs(30));
        assert_eq!(nobody, Listing::Gone);
    }
}
