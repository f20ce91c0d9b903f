//! Commands that run on without the agent that started them, known by the environment it gave them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::process::{Child, Command, Stdio};

use agents::claude::process::Processes;
use agents::claude::{Belongs, Gone, Survivor, survivors};

/// A command that ends with this value.
struct Running(Child);

impl Running {
    fn start(variables: &[(&str, &str)], folder: &Path) -> Running {
        let mut command = Command::new("sleep");
        command.arg("600");
        Running::spawn(command, variables, folder)
    }

    fn spawn(mut command: Command, variables: &[(&str, &str)], folder: &Path) -> Running {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
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

/// What the test below starts: this very program, which waits for its end.
#[test]
#[ignore = "started by another test"]
fn waits() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A hook of ours works on for a moment, whatever the file of the program is called.
#[test]
fn a_process_of_this_program_is_no_command_of_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let session = [("CLAUDE_CODE_SESSION_ID", "of-the-survivors-test-of-hooks")];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "waits", "--ignored"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let hook = Running::spawn(command, &session, &folder);
    let other = Running::start(&session, &folder);
    let gone = Gone {
        pid: 4_100_002,
        start_ticks: 1,
        sessions: &["of-the-survivors-test-of-hooks"],
        pane: None,
        tmux: None,
        cwd: None,
    };
    let processes = Processes::look();
    assert!(processes.get(hook.0.id()).is_some());
    let found: Vec<u32> = survivors(&processes, &gone).iter().map(|one| one.pid).collect();
    assert_eq!(found, [other.0.id()]);
}
