//! Commands of a crashed agent that run on without it: said to its user, and told to the agent that comes back.

use agents::claude::pid_domain::PidDomain;
use agents::claude::process::Processes;
use agents::claude::{Belongs, Gone, Survivor, survivors};
use context::shorten;
use serde::Serialize;
use store::record::{SessionRecord, Status};

/// A command that still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StillRunning {
    /// Its process.
    pub pid: u32,
    /// What it runs, on a line and without secrets.
    pub command: String,
    /// Whether it is proven to be the agent's; else it may be.
    pub proven: bool,
}

/// As much of a command as tells what it is.
const LONGEST: usize = 160;

impl StillRunning {
    /// In a sentence for the agent.
    pub(crate) fn tells_the_agent(&self) -> String {
        let whose = if self.proven { "you started it" } else { "you may have started it" };
        format!("process {} still runs, and {whose}: {}", self.pid, self.command)
    }

    /// In a sentence for its user.
    pub fn says(&self) -> String {
        let whose = if self.proven { "which it started" } else { "which may be its own" };
        format!("process {} still runs, {whose}: {}", self.pid, self.command)
    }
}

/// The commands that outlive the agent of a conversation; none where another machine, boot or container had it.
pub fn still_running(record: &SessionRecord, processes: &Processes) -> Vec<StillRunning> {
    let Some(run) = record.run().filter(|run| record.status == Status::Crashed && !run.is_passing()) else {
        return Vec::new();
    };
    let lives = processes.get(run.pid).is_some_and(|process| process.start_ticks == run.proc_start);
    let own = PidDomain::own();
    let machine = run.machine_id.as_deref().filter(|id| !id.is_empty());
    let here = run.boot_id.is_some()
        && run.pid_namespace.is_some()
        && (run.boot_id.as_ref(), machine, run.pid_namespace.as_ref())
            == (own.boot.as_ref(), own.machine.as_deref(), own.namespace.as_ref());
    if lives || !here {
        return Vec::new();
    }
    let sessions: Vec<&str> = std::iter::once(&record.session_id)
        .chain(&record.previous_ids)
        .map(|key| key.id().as_str())
        .collect();
    let variable = |name: &str| run.env.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let gone = Gone {
        pid: run.pid,
        start_ticks: run.proc_start,
        sessions: &sessions,
        pane: variable("TMUX_PANE"),
        tmux: variable("TMUX"),
        cwd: run.cwd.as_deref(),
    };
    survivors(processes, &gone).iter().map(told).collect()
}

fn told(survivor: &Survivor) -> StillRunning {
    let command = redact::redact(&asked_for(&survivor.command)).into_owned();
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    StillRunning {
        pid: survivor.pid,
        command: shorten(&line, LONGEST),
        proven: survivor.belongs == Belongs::Surely,
    }
}

/// What the agent had asked for: its tool runs `bash -c "source …; eval 'make serve' …"` (measured on 2.1.31 and 2.1.325).
fn asked_for(command: &[String]) -> String {
    let evaluated = |word: &String| {
        let words = shell_words::split(word).ok()?;
        let at = words.iter().position(|word| word == "eval")?;
        words.get(at + 1).cloned()
    };
    let shell = command.iter().any(|word| word == "-c");
    let script = || command.iter().filter(|word| word.contains("eval ")).find_map(evaluated);
    shell.then(script).flatten().unwrap_or_else(|| shell_words::join(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> StillRunning {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        told(&Survivor { pid: 7, command, belongs: Belongs::Surely })
    }

    #[test]
    fn a_tools_command_is_told_as_the_agent_asked_for_it() {
        let old = "source /h/.claude/shell-snapshots/s.sh && shopt -u extglob 2>/dev/null || true && eval 'make serve' \\< /dev/null && pwd -P >| /tmp/claude-1-cwd";
        assert_eq!(command(&["/bin/bash", "-c", "-l", old]).command, "make serve");
        let new = "source /h/s.sh 2>/dev/null || true && \\builtin shopt -u extglob && { \\builtin unalias -- 'while' ; } && eval 'PGPASSWORD=hunter2 psql\n-c \"select 1\"' < /dev/null";
        assert_eq!(
            command(&["/bin/bash", "-c", new]).command,
            "PGPASSWORD=[redacted: password] psql -c \"select 1\""
        );
        assert_eq!(command(&["node", "server.js", "a b"]).command, "node server.js 'a b'");
        assert_eq!(command(&["sh", "-c", "eval 'unfinished"]).command, "sh -c 'eval '\\''unfinished'");
    }

    #[test]
    fn what_is_not_proven_is_not_said_to_be() {
        let mut one = command(&["sleep", "9"]);
        assert_eq!(one.says(), "process 7 still runs, which it started: sleep 9");
        one.proven = false;
        assert_eq!(one.says(), "process 7 still runs, which may be its own: sleep 9");
    }
}
