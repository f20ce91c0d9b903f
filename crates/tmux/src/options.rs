//! What a server's user has set.

use std::path::Path;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::list::tmux;
use crate::quoting;

/// The user options of a server (`@name`), with their values; `None` where it does not answer.
pub fn global_options(socket: &Path, deadline: Duration) -> Option<Vec<(String, String)>> {
    let mut command = tmux(socket);
    command.args(["show-options", "-g"]);
    match run(&mut command, deadline) {
        Ran::Done(output) if output.status.success() => Some(parse(&String::from_utf8_lossy(&output.stdout))),
        _ => None,
    }
}

fn parse(text: &str) -> Vec<(String, String)> {
    let option = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        name.starts_with('@').then(|| (name.to_owned(), quoting::value(value)))
    };
    text.lines().filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_users_set() {
        let text = "base-index 0\n@continuum-restore on\n@resurrect-processes \"ssh claude\"\n@plugin\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            parse(text),
            [
                pair("@continuum-restore", "on"),
                pair("@resurrect-processes", "ssh claude"),
                pair("@plugin", "")
            ]
        );
    }
}
