//! Going to a pane, and exchanging two panes: by their ids, which are theirs for the server's life.

use std::path::Path;
use std::time::Duration;

use crate::list::tmux;
use crate::start::{StartError, send};

/// Takes whoever looks at a pane's window to another pane, in whatever session that is. Of several who look, it is the one
/// who was active last.
///
/// # Errors
/// Nobody looks at it, or tmux refused.
pub fn go_to(socket: &Path, from: &str, to: &str, deadline: Duration) -> Result<(), StartError> {
    let what = "go to the pane";
    let mut window = tmux(socket);
    window.args(["display-message", "-p", "-t", from, "#{window_id}"]);
    let window = send(window, what, deadline)?;
    let mut clients = tmux(socket);
    clients.args(["list-clients", "-F", "#{window_id} #{client_activity} #{client_name}"]);
    let clients = send(clients, what, deadline)?;
    let client = looking(&clients, window.trim())
        .ok_or_else(|| StartError { what, why: "nobody looks at this one".to_owned() })?;
    let mut command = tmux(socket);
    // Which window and which pane of it follow from the id; what is zoomed stays so.
    command.args(["switch-client", "-Z", "-c", client, "-t", to]);
    send(command, what, deadline).map(drop)
}

/// The client that looks at a window and was active last.
fn looking<'a>(clients: &'a str, window: &str) -> Option<&'a str> {
    let of = |line: &'a str| {
        let mut words = line.splitn(3, ' ');
        let (at, active, name) = (words.next()?, words.next()?, words.next()?);
        (at == window && !window.is_empty()).then(|| (active.parse::<i64>().unwrap_or_default(), name))
    };
    clients.lines().filter_map(of).max_by_key(|(active, _)| *active).map(|(_, name)| name)
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
        assert_eq!(looking(clients, "@3"), None);
        assert_eq!(looking(" 9 x\n", ""), None, "a pane that is gone has no window");
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
    }
}
