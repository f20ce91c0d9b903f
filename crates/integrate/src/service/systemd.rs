//! Units of systemd's user manager.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::{Call, Service};

pub(super) const RESTORE: &str = "rekindle-restore.service";
pub(super) const TICK: &str = "rekindle-tick.service";
pub(super) const TIMER: &str = "rekindle-tick.timer";

pub(super) fn texts(service: &Service) -> Vec<(&'static str, String)> {
    let program = started(service.program.path());
    let mut environment = String::new();
    for (name, value) in &service.variables {
        // Nothing of it is expanded but what begins with a percent sign.
        let pair = quoted(&format!("{name}={value}"));
        let _ = writeln!(environment, "Environment={pair}");
    }
    let interval = service.interval.as_secs().max(1);
    let restore = format!(
        "[Unit]\n\
         Description=Bring back tmux sessions and the agents in them (rekindle)\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={program} restore --yes --by boot\n\
         # Refused or failed in part: the report, the panes and the status bar say so.\n\
         SuccessExitStatus=3 4\n\
         {environment}\
         # A tmux server that could not get a scope of its own lives on when this unit is stopped.\n\
         KillMode=process\n\
         TimeoutStartSec=15min\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    );
    let tick = format!(
        "[Unit]\n\
         Description=Save tmux, and what agents said (rekindle)\n\
         After={RESTORE}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} tick\n\
         {environment}\
         KillMode=process\n\
         Nice=10\n\
         TimeoutStartSec=15min\n"
    );
    // Counted from the end of the last tick: a slow one never meets the next.
    let timer = format!(
        "[Unit]\n\
         Description=Save tmux every now and then (rekindle)\n\
         \n\
         [Timer]\n\
         OnStartupSec=1min\n\
         OnUnitInactiveSec={interval}s\n\
         AccuracySec={}s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n",
        (interval / 10).clamp(1, 60)
    );
    vec![(RESTORE, restore), (TICK, tick), (TIMER, timer)]
}

/// The beginning of `ExecStart`. systemd takes no program whose path has quotes or backslashes (measured on 252): such a one
/// is handed to `env`, where it is a word like others, and `$` begins a variable.
fn started(program: &str) -> String {
    if program.contains(['"', '\'', '\\']) {
        return format!("/usr/bin/env {}", quoted(&program.replace('$', "$$")));
    }
    quoted(program)
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{text}\"")
}

fn systemctl(words: &[&str]) -> Call {
    let words = ["systemctl", "--user"].iter().chain(words).map(|word| (*word).to_owned());
    Call { words: words.collect(), needed: true }
}

pub(super) fn enable() -> Vec<Call> {
    vec![
        systemctl(&["daemon-reload"]),
        // Not now: what was closed today stays closed until the next start.
        systemctl(&["enable", RESTORE]),
        systemctl(&["enable", "--now", TIMER]),
    ]
}

pub(super) fn disable() -> Vec<Call> {
    vec![Call { needed: false, ..systemctl(&["disable", "--now", TIMER, RESTORE]) }]
}

pub(super) fn forget() -> Vec<Call> {
    vec![Call { needed: false, ..systemctl(&["daemon-reload"]) }]
}

pub(super) fn links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let link = |target: &str, unit: &str| (folder.join(target).join(unit), folder.join(unit));
    vec![link("default.target.wants", RESTORE), link("timers.target.wants", TIMER)]
}
