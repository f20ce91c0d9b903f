//! Going to a pane, and exchanging two panes: by their ids, which are theirs for the server's life.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::list::tmux;
use crate::start::{StartError, send};

/// Takes a client of the server to a pane, in whatever session that is. It is the client that shows the window of the pane
/// `from`; where none does, or `from` is unknown (a key binding, a popup), any client. Of several, the one that was active last.
///
/// # Errors
/// No client is attached, or tmux refused.
pub fn go_to(socket: &Path, from: Option<&str>, to: &str, deadline: Duration) -> Result<(), StartError> {
    let what = "go to the pane";
    let mut window = String::new();
    if let Some(from) = from {
        let mut command = tmux(socket);
        command.args(["display-message", "-p", "-t", from, "#{window_id}"]);
        window = send(command, what, deadline)?;
    }
    let mut clients = tmux(socket);
    clients.args(["list-clients", "-F", "#{window_id} #{client_activity} #{client_name}"]);
    let clients = send(clients, what, deadline)?;
    let client = looking(&clients, window.trim())
        .ok_or_else(|| StartError { what, why: "no client is attached to this tmux server".to_owned() })?;
    let mut command = tmux(socket);
    // Which window and which pane of it follow from the id; what is zoomed stays so.
    command.args(["switch-client", "-Z", "-c", client, "-t", to]);
    send(command, what, deadline).map(drop)
}

/// The client that shows a window, else any; of several, the one that was active last.
fn looking<'a>(clients: &'a str, window: &str) -> Option<&'a str> {
    let of = |line: &'a str| {
        let mut words = line.splitn(3, ' ');
        let (at, active, name) = (words.next()?, words.next()?, words.next()?);
        Some((at == window, active.parse::<i64>().unwrap_or_default(), name))
    };
    clients.lines().filter_map(of).max_by_key(|(here, active, _)| (*here, *active)).map(|(_, _, name)| name)
}

/// The command that attaches this terminal to a server, with a pane selected. It replaces nothing: the caller runs it.
///
/// # Errors
/// The pane is gone, or tmux refused.
pub fn attach(socket: &Path, pane: &str, deadline: Duration) -> Result<Command, StartError> {
    // `attach-session` selects window and pane, but leaves another pane of the window zoomed over it.
    let mut select = tmux(socket);
    select.args(["select-pane", "-Z", "-t", pane]);
    send(select, "go to the pane", deadline)?;
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(["attach-session", "-t", pane]);
    // A terminal may have inherited the name of a server that is gone; tmux refuses to attach from inside another one.
    command.env_remove("TMUX");
    Ok(command)
}

/// Puts each of two panes where the other is. What runs in them goes on; who looks at one place goes on looking at it.
///
/// # Errors
/// One of them is gone, or tmux refused.
pub fn exchange(socket: &Path, one: &str, other: &str, deadline: Duration) -> Result<(), StartError> {
    let mut command = tmux(socket);
    command.args(["swap-pane", "-d", "-Z", "-s", one, "-t", other]);
    send(command, "exchange the panes", deadline).map(drop)
}

/// The command that leads a person to a pane, from inside the server `around` or from elsewhere.
pub fn way_to(socket: &Path, pane: &str, around: Option<&Path>) -> String {
    if around == Some(socket) {
        return format!("tmux switch-client -t {pane}");
    }
    attaching(socket, pane)
}

/// The command that leads a person inside another tmux server to a pane: this client leaves, and its terminal attaches.
pub fn way_out_to(socket: &Path, pane: &str) -> String {
    format!("tmux detach-client -E {}", shell_words::quote(&attaching(socket, pane)))
}

fn attaching(socket: &Path, pane: &str) -> String {
    format!("tmux -S {} attach -t {pane}", shell_words::quote(&socket.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_and_was_active_last_is_taken_along() {
        let clients = "@1 30 /dev/pts/1\n@2 10 /dev/pts/2\n@2 20 client 7\n\n@3\n";
        assert_eq!(looking(clients, "@2"), Some("client 7"));
        assert_eq!(looking(clients, "@1"), Some("/dev/pts/1"));
        assert_eq!(looking(clients, "@3"), Some("/dev/pts/1"), "nobody shows it: whoever was active last");
        assert_eq!(looking(clients, ""), Some("/dev/pts/1"), "the window is unknown");
        assert_eq!(looking("\n", "@2"), None, "nobody is attached");
    }

    #[test]
    fn the_way_depends_on_where_one_stands() {
        let socket = Path::new("/run/my tmux/s");
        assert_eq!(way_to(socket, "%4", Some(socket)), "tmux switch-client -t %4");
        assert_eq!(way_to(socket, "%4", None), "tmux -S '/run/my tmux/s' attach -t %4");
        assert_eq!(
            way_to(Path::new("/tmp/tmux-0/a"), "%4", Some(socket)),
            "tmux -S /tmp/tmux-0/a attach -t %4"
        );
        assert_eq!(
            way_out_to(Path::new("/tmp/tmux-0/a"), "%4"),
            "tmux detach-client -E 'tmux -S /tmp/tmux-0/a attach -t %4'"
        );
    }
}
