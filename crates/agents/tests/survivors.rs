//! Commands that run on without the agent that started them, known by the environment it gave them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::process::{Child, Command};

use agents::claude::process::Processes;
use agents::claude::{Belongs, Gone, Survivor, survivors};

/// A command that ends with this value.
struct Running(Child);

impl Running {
    fn start(variables: &[(&str, &str)], folder: &Path) -> Running {
        let mut command = Command::new("sleep");
        command.arg("600").env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Running(command.envs(variables.iter().copied()).current_dir(folder).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const PANE: [(&str, &str); 3] = [("CLAUDECODE", "1"), ("TMUX_PANE", "%77"), ("TMUX", "/s-of-this-test,1,0")];

fn found(folder: &Path) -> Vec<Survivor> {
    let gone = Gone {
        pid: 4_100_001,
        start_ticks: 1,
        sessions: &["of-the-survivors-test", "before-the-survivors-test"],
        pane: Some("%77"),
        tmux: Some("/s-of-this-test,1,0"),
        cwd: Some(folder),
    };
    survivors(&Processes::look(), &gone)
}

#[test]
fn a_command_is_known_by_the_environment_that_its_agent_gave_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let named =
        |session: &'static str, pid: &'static str| [("CLAUDE_CODE_SESSION_ID", session), ("CLAUDE_PID", pid)];
    let sure = [
        Running::start(&named("of-the-survivors-test", "4100001"), &folder),
        Running::start(&named("before-the-survivors-test", "9"), &folder),
    ];
    let maybe =
        [Running::start(&named("of-another-one", "4100001"), &folder), Running::start(&PANE, &folder)];
    let _others = [
        Running::start(&named("of-another-one", "9"), &folder),
        Running::start(&PANE[..2], &folder),
        Running::start(&PANE, Path::new("/")),
        Running::start(&[PANE[0], PANE[1], PANE[2], ("CLAUDE_PID", "9")], &folder),
        Running::start(&[], &folder),
    ];
    let found = found(&folder);
    let mut known: Vec<(u32, Belongs)> = found.iter().map(|one| (one.pid, one.belongs)).collect();
    known.sort_by_key(|(pid, _)| *pid);
    let mut expect: Vec<(u32, Belongs)> = sure.iter().map(|one| (one.0.id(), Belongs::Surely)).collect();
    expect.extend(maybe.iter().map(|one| (one.0.id(), Belongs::Maybe)));
    expect.sort_by_key(|(pid, _)| *pid);
    assert_eq!(known, expect);
    assert!(found.iter().all(|one| one.command == ["sleep", "600"]), "{found:?}");
}
