//! Agents in panes of a real tmux, with hooks that call the program, and what the program remembers of them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use crate::Lab;
use crate::process::{self, Finished, wait_until};

/// An agent's cold start took seven seconds on a loaded machine; a turn takes two.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The events that every agent under test knows; one that is unknown would silence them all (measured on 2.1.100).
pub const EVENTS: [&str; 7] =
    ["SessionStart", "UserPromptSubmit", "Stop", "Notification", "PreCompact", "SubagentStop", "SessionEnd"];

impl Lab {
    /// Puts the program's hooks into the agent's settings, as `init` does.
    pub fn wire(&self) -> Result<()> {
        let program = crate::program();
        let hook = |event: &&str| {
            let command = format!("'{}' hook {event}", program.display());
            ((*event).to_owned(), json!([{"hooks": [{"type": "command", "command": command}]}]))
        };
        let hooks: Map<String, Value> = EVENTS.iter().map(hook).collect();
        let settings = json!({"permissions": {"allow": ["Bash"]}, "hooks": hooks});
        fs::write(self.home.config().join("settings.json"), settings.to_string())?;
        // `init` makes the key that hooks seal their lines with; so does any command that may write.
        let settled = self.rekindle(&["settle"])?;
        ensure!(settled.success(), "cannot settle: {}", settled.words());
        Ok(())
    }

    /// A tmux command in this lab's environment.
    pub fn tmux(&self, words: &[&str]) -> Result<Finished> {
        let mut command = self.home.tmux().command();
        command.env_clear().envs(self.env()).current_dir(self.home.project()).args(words);
        process::run(&mut command, PATIENCE)
    }

    /// The program in this lab's environment, as from a shell beside the agents.
    pub fn rekindle(&self, words: &[&str]) -> Result<Finished> {
        let mut command = self.home.rekindle_command(words);
        command.env_clear().envs(self.env());
        process::run(&mut command, PATIENCE)
    }

    /// Ends the server with everything in it, and waits until these conversations are known to have crashed, and their agents
    /// write no more.
    pub fn crash(&self, sessions: &[&str]) -> Result<()> {
        let pids = |session: &&str| {
            let record = self.record(session).unwrap_or_default();
            let runs = record["runs"].as_array().cloned().unwrap_or_default();
            runs.into_iter().filter_map(|run| run["pid"].as_u64())
        };
        let agents: Vec<u64> = sessions.iter().flat_map(pids).collect();
        self.tmux(&["kill-server"])?;
        let crashed =
            |session: &&str| self.record(session).is_some_and(|record| record["status"] == "crashed");
        let all = || self.home.rekindle(&["settle"]).is_ok() && sessions.iter().all(crashed);
        ensure!(wait_until(PATIENCE, all), "not all crashed: {:?}", self.short_records());
        let gone = || !agents.iter().any(|pid| process::runs(*pid));
        ensure!(wait_until(PATIENCE, gone), "agents outlive their server: {agents:?}");
        Ok(())
    }

    /// Starts the server with a shell in one pane, `work:0.0`; the rest of the environment is this lab's.
    pub fn shell(&self) -> Result<()> {
        self.tmux(&[
            "new-session",
            "-d",
            "-s",
            "work",
            "-x",
            "120",
            "-y",
            "40",
            "exec bash --norc --noprofile",
        ])?;
        Ok(())
    }

    /// Opens another pane with a command, and returns its id.
    pub fn split(&self, command: &str) -> Result<String> {
        let done = self.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:0", command])?;
        Ok(done.stdout.trim().to_owned())
    }

    /// Opens another window, `work:N.0`, with a command, and returns its pane's id.
    pub fn window(&self, command: &str) -> Result<String> {
        let done = self.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", command])?;
        Ok(done.stdout.trim().to_owned())
    }

    /// Opens another window with a shell, and returns its pane's id.
    pub fn another_shell(&self) -> Result<String> {
        self.window("exec bash --norc --noprofile")
    }

    /// Waits for the agent in this place to have ended a turn that began with these words, and returns its record.
    pub fn idle_at(&self, place: &str, after: &str) -> Result<Value> {
        self.record_where(&format!("idle at {place} after {after}"), |record| {
            let transcript = record["transcriptPath"].as_str().unwrap_or_default();
            record["place"]["ref"] == place
                && record["status"] == "active"
                && record["activity"]["state"] == "idle"
                && !record["lastPrompt"].is_null()
                && fs::read_to_string(transcript).is_ok_and(|rows| rows.contains(after))
        })
        .with_context(|| format!("{place} shows {}", self.screen(place)))
    }

    /// Sends a signal to the agent of a record, if that still is the process it was.
    pub fn signal(&self, record: &Value, signal: Signal) -> Result<()> {
        let run = record["runs"].as_array().and_then(|runs| runs.last()).context("no run")?;
        let (pid, start) = (run["pid"].as_i64().unwrap_or_default(), run["procStart"].to_string());
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>());
        if fields.and_then(|fields| fields.get(19).map(ToString::to_string)) != Some(start) {
            bail!("{pid} is another process by now");
        }
        kill_process(i32::try_from(pid).ok().and_then(Pid::from_raw).context("no pid")?, signal)?;
        Ok(())
    }

    /// Settles as the user would, again and again, until a session's record fits.
    pub fn settle_until(&self, session: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut found = Value::Null;
        let done = wait_until(PATIENCE, || {
            let settled = self.home.rekindle(&["settle"]).is_ok_and(|done| done.success());
            found = self.record(session).unwrap_or_default();
            settled && fits(&found)
        });
        if !done {
            bail!("{session} is not {what}: {:#?} {:?}", self.short_records(), self.story(session));
        }
        Ok(found)
    }

    /// Waits until the journal's story of a session is this one, and says what it is.
    pub fn story_becomes(&self, session: &str, story: &[&str]) -> Vec<String> {
        wait_until(Duration::from_secs(20), || self.story(session) == story);
        self.story(session)
    }

    /// The session's id on a pane.
    pub fn tag(&self, pane: &str) -> String {
        self.pane(pane, "#{@rekindle_id}").unwrap_or_default()
    }

    /// Types a line into a pane.
    pub fn type_line(&self, pane: &str, text: &str) -> Result<()> {
        // A menu that completes the line shows it too, with more behind it; a long line is wrapped.
        let begin: String = text.chars().take(60).collect();
        let is_it = |line: &&str| {
            if begin == text { line.trim_end().ends_with(text) } else { line.contains(&begin) }
        };
        let shown = || self.screen(pane).lines().filter(is_it).count();
        let before = shown();
        self.tmux(&["send-keys", "-t", pane, "-l", "--", text])?;
        // Typed as one burst, text and Enter count as a paste; the composer must have the text first. A resumed agent shows
        // old lines too, and a screen that scrolls may lose one for the one that came.
        if !wait_until(Duration::from_secs(5), || shown() > before) && !wait_until(PATIENCE, || shown() > 0) {
            bail!("{text:?} does not show: {}", self.screen(pane));
        }
        self.tmux(&["send-keys", "-t", pane, "Enter"])?;
        Ok(())
    }

    /// Asks the agent in a pane something, and returns the messages that it sent with it.
    pub fn probe(&self, pane: &str, word: &str) -> Result<String> {
        self.type_line(pane, word)?;
        let heard = || self.api.requests_with(word).into_iter().find(|request| request.main);
        // An agent loses an Enter while it draws a resumed conversation: it is pressed again until somebody hears.
        for _ in 0..20 {
            if wait_until(Duration::from_secs(5), || heard().is_some()) {
                break;
            }
            self.tmux(&["send-keys", "-t", pane, "Enter"])?;
        }
        let sent = heard().with_context(|| format!("{word} was not sent: {}", self.screen(pane)))?;
        Ok(sent.messages)
    }

    /// What a pane shows.
    pub fn screen(&self, pane: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-t", pane]).map(|done| done.stdout).unwrap_or_default()
    }

    /// A fact about a pane.
    pub fn pane(&self, pane: &str, format: &str) -> Result<String> {
        Ok(self.tmux(&["display-message", "-p", "-t", pane, format])?.stdout.trim().to_owned())
    }

    /// Every session record.
    pub fn records(&self) -> Vec<Value> {
        let entries = fs::read_dir(self.home.state().join("session-health")).into_iter().flatten().flatten();
        let paths =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "lock"));
        paths.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect()
    }

    /// The record of a session.
    pub fn record(&self, session: &str) -> Option<Value> {
        let path = self.home.state().join("session-health").join(format!("{session}.lock"));
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Waits for a record that fits, and returns it.
    pub fn record_where(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut found = None;
        wait_until(PATIENCE, || {
            found = self.records().into_iter().find(&fits);
            found.is_some()
        });
        found.with_context(|| format!("no record is {what}: {:#?}", self.short_records()))
    }

    fn short_records(&self) -> Vec<String> {
        let short = |record: &Value| {
            format!(
                "{} {} {} place {}",
                record["shortId"], record["status"], record["reason"], record["place"]["ref"]
            )
        };
        self.records().iter().map(short).collect()
    }

    /// The map of panes.
    pub fn map(&self) -> Value {
        let path = self.home.state().join("instances/pane-session-map.json");
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// The journal's entries about a session, as `event reason-or-source`.
    pub fn story(&self, session: &str) -> Vec<String> {
        let text = fs::read_to_string(self.home.state().join("journal.jsonl")).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ours = entries.filter(|entry| entry["session"] == session);
        let word = |entry: &Value| {
            let more = ["reason", "source", "pane", "from"].iter().find_map(|key| entry[*key].as_str());
            format!("{} {}", entry["event"].as_str().unwrap_or_default(), more.unwrap_or_default())
        };
        ours.map(|entry| word(&entry).trim().to_owned()).collect()
    }

    /// Where the journal is.
    pub fn journal(&self) -> PathBuf {
        self.home.state().join("journal.jsonl")
    }
}
