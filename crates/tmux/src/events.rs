//! The events of tmux after which a save would say something new, and the hooks that call rekindle for them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::focus;
use crate::list::tmux;
use crate::quoting::{quote, text, unexpanded};

/// The place of ours in every hook's list. Hooks are lists: at an index of our own those of others stay (measured on 3.3a:
/// only a `set-hook` without any index clears the whole list).
pub const HOOK_INDEX: u32 = 8371;

/// The hooks that tell of a change in what a save holds: sessions, windows, panes, their names, places and sizes.
///
/// Left out, all measured on 3.3a: `window-renamed`, which fires at every command of a shell whose window tmux names by
/// itself (`after-rename-window` fires when somebody names one); `session-window-changed` and `window-pane-changed`, which
/// fire with every look at another window or pane; keys, focus and clients. Nothing tells of a pane's new directory. What
/// those would tell is in the next save, by whatever it is made.
pub fn save_events() -> &'static [&'static str] {
    &[
        "session-created",
        "session-closed",
        "session-renamed",
        "window-linked",
        "window-unlinked",
        "after-rename-window",
        "window-layout-changed",
        "pane-exited",
        "pane-died",
        "client-detached",
    ]
}

/// The shell's line that runs this program, quietly: tmux shows what a hook prints, and that it failed.
fn quietly(program: &str, words: &str) -> String {
    format!("{} {words} >/dev/null 2>&1 || :", shell_words::quote(program))
}

/// `run-shell` with a line of the shell, which tmux expands first.
fn run_shell(line: &str) -> String {
    format!("run-shell -b {}", text(line))
}

/// A file of tmux's configuration that makes a server save and restore by this program, and defines `@rekindle_status`.
///
/// No name, title or path of a pane is in it, nor any format that would bring one in: `#(command)` in a name runs.
pub fn configuration(program: &str) -> String {
    let mut lines = Vec::new();
    let save = run_shell(&quietly(program, "tick --hook"));
    for event in save_events() {
        lines.push(format!("set-hook -g '{event}[{HOOK_INDEX}]' {}", quote(&save)));
    }
    // A hook of the user's own stays.
    let resurrected = quietly(program, "restore --yes --by resurrect");
    let set = format!("set-option -g {RESURRECT_HOOK} {}", quote(&resurrected));
    lines.push(format!("if-shell -F '#{{{RESURRECT_HOOK}}}' '' {}", quote(&set)));
    // A parenthesis would end the command in the middle.
    if !program.contains(['(', ')']) {
        let status = format!("#({} tmux-status)", unexpanded(&shell_words::quote(program)));
        lines.push(format!("set-option -g @rekindle_status {}", quote(&status)));
    }
    // Once in a server's life: what its user closed stays closed when the configuration is read again.
    let restore = run_shell(&quietly(program, "restore --yes --by tmux"));
    let once = format!("set-option -g {ASKED} 1 ; {restore}");
    lines.push(format!("if-shell -F '#{{{ASKED}}}' '' {}", quote(&once)));
    lines.join("\n") + "\n"
}

/// The option of a server that has asked for a restore.
const ASKED: &str = "@rekindle_asked";

/// What tmux-resurrect runs when everything is back, since its version 3.0.0.
pub const RESURRECT_HOOK: &str = "@resurrect-hook-post-restore-all";

/// Takes our hooks and options off a server; whether it called us when something changed.
pub fn unhook(socket: &Path, deadline: Duration) -> bool {
    // A restore sets these by itself, also where no configuration is ours.
    focus::tell_nobody(socket, deadline);
    let hooked = hooked(socket, deadline);
    if hooked {
        let mut command = tmux(socket);
        for event in save_events() {
            command.args(["set-hook", "-gu", &format!("{event}[{HOOK_INDEX}]"), ";"]);
        }
        command.args(["set-option", "-gqu", "@rekindle_status", ";", "set-option", "-gqu", ASKED]);
        run(&mut command, deadline);
        let mut command = tmux(socket);
        command.args(["show-options", "-gqv", RESURRECT_HOOK]);
        if answer(&mut command, deadline).is_some_and(|hook| hook.contains("restore --yes --by resurrect")) {
            let mut command = tmux(socket);
            command.args(["set-option", "-gu", RESURRECT_HOOK]);
            run(&mut command, deadline);
        }
    }
    hooked
}

/// Whether a server calls us when something changes.
pub fn hooked(socket: &Path, deadline: Duration) -> bool {
    let mut command = tmux(socket);
    command.args(["show-hooks", "-g", ";", "show-hooks", "-gw"]);
    let ours = format!("[{HOOK_INDEX}]");
    answer(&mut command, deadline).is_some_and(|hooks| hooks.contains(&ours))
}

fn answer(command: &mut Command, deadline: Duration) -> Option<String> {
    match run(command, deadline) {
        Ran::Done(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-tmux-15
    #[test]
    fn hooks_pass_no_names_and_have_an_index_of_their_own() {
        let made = configuration("/opt/it's #(x)/rekindle");
        let hooks: Vec<&str> = made.lines().filter(|line| line.starts_with("set-hook")).collect();
        assert_eq!(hooks.len(), save_events().len());
        for (hook, event) in hooks.iter().zip(save_events()) {
            assert!(hook.starts_with(&format!("set-hook -g '{event}[8371]' ")), "{hook}");
        }
        // What tmux would expand: only the option that it is asked for.
        let formats = made.replace("##", "").matches('#').count();
        assert_eq!(formats, 3, "two conditions, and the unexpanded path for tmux-resurrect: {made}");
        assert!(!made.contains("@rekindle_status"), "a parenthesis would end it: {made}");
        assert!(configuration("/bin/rekindle").contains("'#(/bin/rekindle tmux-status)'"));
    }
}
