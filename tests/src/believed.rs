//! Agents made by hand: events as hooks leave them, and processes that look like agents. For tests of what is shown, which
//! need known states more than they need an agent.

use std::fs;
use std::process::Command;
use std::time::Duration;

use agents::SessionId;
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::mac::Key;

use crate::home::Home;
use crate::process::{self, Running, wait_until};
use crate::rekindle::DEADLINE;

/// A process that is or was an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its id.
    pub pid: u32,
    /// When it started, in the kernel's ticks.
    pub start: u64,
    /// Its terminal as the kernel numbers it.
    pub tty: u32,
}

impl Body {
    /// A process that is gone. No kernel gives out ids that high.
    pub fn dead(number: u32) -> Body {
        Body { pid: 4_200_000 + number, start: 1, tty: 0 }
    }
}

/// An event of an agent.
pub struct Said<'a> {
    /// Its name, such as `Stop`.
    pub event: &'a str,
    /// How long ago, in seconds.
    pub ago: i64,
    /// More members of its input.
    pub input: Value,
    /// The arguments that its agent was started with.
    pub argv: &'a [&'a str],
}

impl Home {
    /// A tmux command on this home's server, in its environment.
    pub fn in_tmux(&self, words: &[&str]) -> Result<String> {
        let mut command = self.adopt(self.tmux().command());
        let done = process::run(command.args(words), DEADLINE)?;
        anyhow::ensure!(done.success(), "tmux {words:?}: {}", done.words());
        Ok(done.stdout.trim().to_owned())
    }

    /// Opens a window with something that the process table cannot tell from an agent, and returns pane and process.
    pub fn lookalike(&self, arguments: &str) -> Result<(String, Body)> {
        // An agent is known by the name in its arguments. This one waits for a line that nobody types.
        let line = format!("exec -a claude bash --norc -c \"read line\" claude {arguments}");
        let line = format!("exec bash --norc -c '{line}'");
        let format = "#{pane_id} #{pane_pid}";
        let project = self.project();
        let folder = project.to_string_lossy();
        let fresh = self.in_tmux(&["has-session", "-t", "work"]).is_err();
        let mut words = if fresh {
            vec!["new-session", "-d", "-s", "work", "-x", "120", "-y", "40"]
        } else {
            vec!["new-window", "-d", "-t", "work"]
        };
        words.extend(["-P", "-F", format, "-c", &*folder, &line]);
        let said = self.in_tmux(&words)?;
        let (pane, pid) = said.split_once(' ').context("tmux names no pane")?;
        let pid: u32 = pid.parse()?;
        let named = wait_until(Duration::from_secs(30), || {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"claude\0"))
        });
        anyhow::ensure!(named, "process {pid} has not become an agent");
        Ok((pane.to_owned(), body(pid)?))
    }

    /// Starts a program that the process table cannot tell from an agent: it gives this event to its hook, and lives on.
    /// `command` runs the words that are added to it.
    pub fn play_agent(&self, mut command: Command, name: &str, event: &Value) -> Result<Running> {
        let (input, ready) =
            (self.root().join(format!("{name}.event")), self.root().join(format!("{name}.ready")));
        fs::write(&input, event.to_string())?;
        let line = format!(
            "'{}' hook SessionStart < '{}'; touch '{}'; while :; do sleep 0.2; done",
            crate::program().display(),
            input.display(),
            ready.display()
        );
        let named = format!("exec -a claude bash -c \"{line}\"");
        let agent = Running::start(command.args(["bash", "-c", &named]))?;
        anyhow::ensure!(wait_until(DEADLINE, || ready.exists()), "the hook did not come back");
        Ok(agent)
    }

    /// The key that hooks seal their lines with, as `init` makes it.
    fn machine_key(&self) -> Result<Key> {
        Ok(Key::create(&self.home().join(".config/rekindle/machine.key"))?)
    }

    /// Leaves events of an agent in its session's spool, as its hooks do.
    pub fn said(&self, session: &str, body: &Body, events: &[Said<'_>]) -> Result<()> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid")?;
        let mut text = String::new();
        let (key, id) = (self.machine_key()?, SessionId::new(session)?);
        for said in events {
            let at = Timestamp::now() - SignedDuration::from_secs(said.ago);
            let mut input = json!({"session_id": session, "cwd": self.project(), "hook_event_name": said.event,
                "transcript_path": self.transcript(session)});
            for (key, value) in said.input.as_object().into_iter().flatten() {
                input[key] = value.clone();
            }
            let first = said.event == "SessionStart";
            let mut event = json!({"schema": 1, "event": said.event, "at": at.as_millisecond(), "input": input,
                "chain": [{"pid": body.pid, "start": body.start, "tty": body.tty, "comm": "claude",
                    "argv": if first { json!(said.argv) } else { json!([]) }}]});
            if first {
                event["launch"] = json!({"env": [["HOME", self.home()]], "entrypoint": "cli",
                    "bootId": boot.trim(), "pidDomain": format!("linux:{}:{}", machine.trim(), namespace.display())});
            }
            let mut line = event.to_string().into_bytes();
            key.seal_line(&id, &mut line);
            text.push_str(&format!("\n{}\n", String::from_utf8(line)?));
        }
        let folder = self.state().join("spool");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{session}.jsonl"));
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + &text)?;
        Ok(())
    }
}

impl<'a> Said<'a> {
    /// An event without more members.
    pub fn new(event: &'a str, ago: i64) -> Said<'a> {
        Said { event, ago, input: json!({}), argv: &["claude"] }
    }

    /// The same of an agent that was started with these arguments.
    #[must_use]
    pub fn started_with(self, argv: &'a [&'a str]) -> Said<'a> {
        Said { argv, ..self }
    }

    /// The same with members of its input.
    #[must_use]
    pub fn with(mut self, input: Value) -> Said<'a> {
        self.input = input;
        self
    }
}

/// A process by the process table.
pub fn body(pid: u32) -> Result<Body> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(") ").context("an odd process table")?;
    let field = |at: usize| rest.split(' ').nth(at).and_then(|field| field.parse::<u64>().ok());
    let (start, tty) = (field(19).context("no start time")?, field(4).unwrap_or_default());
    Ok(Body { pid, start, tty: u32::try_from(tty)? })
}
