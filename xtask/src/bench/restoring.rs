//! `restore` beside the same layout made by one `source-file`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::home::Home;
use lab::process::wait_until;
use serde_json::Value;

use super::measure;
use super::report::Line;

const TIMES: usize = 5;
const PANES: usize = 96;
/// Panes of a window.
const TOGETHER: usize = 4;
const PATIENCE: Duration = Duration::from_secs(120);

/// How long it takes until every pane is there and every agent is started; what they say afterwards is waited for apart.
pub(super) fn line(program: &Path) -> Line {
    let what = format!("`restore --max-parallel {PANES}`, {PANES} agents that stand in, median of {TIMES}");
    Line::of(what, "under 2 times", || {
        let desk = Desk::open(program)?;
        let (reference, ours, word) = desk.measure()?;
        let ratio = ours.as_secs_f64() / reference.as_secs_f64();
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        let beside =
            format!("`tmux source-file`: {}; their word after {}", seconds(reference), seconds(word));
        Ok((seconds(ours), beside, format!("{ratio:.2} times"), ratio < 2.0))
    })
}

/// A home with a private tmux, which ends with it, and agents that only say that they are there.
struct Desk<'a> {
    program: &'a Path,
    home: Home,
    ids: Vec<String>,
}

impl<'a> Desk<'a> {
    fn open(program: &'a Path) -> Result<Desk<'a>> {
        let home = Home::new()?;
        home.configure("[restore]\nmin_free_memory = \"1MiB\"\n")?;
        let ids: Vec<String> = (0..PANES).map(|at| format!("{at:08x}-0000-4000-8000-000000000000")).collect();
        for id in &ids {
            home.put_talk(id, 2)?;
        }
        let desk = Desk { program, home, ids };
        desk.stand_in()?;
        // Makes the key that hooks seal their lines with, as `init` does.
        desk.rekindle(&["settle", "--json"])?;
        let agent = |at: usize| format!("exec claude --session-id {}", desk.ids[at]);
        desk.tmux(&["new-session", "-d", "-s", "bench", "-x", "200", "-y", "60", &agent(0)])?;
        desk.source(&desk.layout(agent))?;
        desk.become_all("active")?;
        let saved = desk.rekindle(&["save", "--json"])?;
        ensure!(saved["counts"]["agents"] == PANES, "the save has other agents: {}", saved["counts"]);
        Ok(desk)
    }

    /// What stands in for an agent: it says its word and waits.
    fn stand_in(&self) -> Result<()> {
        let script = self.home.root().join("stand-in");
        let text = format!(
            "while [ $# -gt 0 ]; do case $1 in --resume|--session-id) id=$2; shift;; esac; shift; done\n\
             printf '{{\"session_id\":\"%s\",\"source\":\"resume\",\"cwd\":\"%s\",\"transcript_path\":\"%s\"}}' \
             \"$id\" \"$PWD\" '{}'/\"$id.jsonl\" | '{}' hook SessionStart\nexec -a claude sleep 1000000\n",
            self.home.slug(&self.home.project()).display(),
            self.program.display(),
        );
        fs::write(&script, text)?;
        let line = format!("exec bash -c 'exec -a claude bash \"$0\" \"$@\"' '{}' \"$@\"", script.display());
        self.home.script("claude", &line)
    }

    /// The commands that add all panes but the first to a session.
    fn layout(&self, program: impl Fn(usize) -> String) -> String {
        let mut script = String::new();
        for at in 1..PANES {
            let verb = if at % TOGETHER == 0 { "new-window -a" } else { "split-window" };
            let words = program(at);
            let words = if words.is_empty() { words } else { format!(" '{words}'") };
            script.push_str(&format!("{verb} -d -t 'bench:{{end}}'{words}\n"));
            script.push_str("select-layout -t 'bench:{end}' tiled\n");
        }
        script
    }

    fn tmux(&self, words: &[&str]) -> Result<()> {
        let mut command = self.home.adopt(self.home.tmux().command());
        measure::run(command.args(words)).map(drop)
    }

    fn source(&self, script: &str) -> Result<Duration> {
        let path = self.home.root().join("panes.tmux");
        fs::write(&path, script)?;
        let mut command = self.home.adopt(self.home.tmux().command());
        Ok(measure::run(command.arg("source-file").arg(&path))?.wall)
    }

    fn rekindle(&self, words: &[&str]) -> Result<Value> {
        let output = self.home.adopt(Command::new(self.program)).args(words).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).with_context(|| format!("{words:?} said {said}"))
    }

    /// Waits until every conversation is at work, or has crashed.
    fn become_all(&self, status: &str) -> Result<()> {
        let is = |id: &String| {
            let path = self.home.state().join(format!("session-health/{id}.lock"));
            let record: Value = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())?;
            (record["status"] == status).then_some(())
        };
        let all =
            || self.rekindle(&["settle", "--json"]).is_ok() && self.ids.iter().all(|id| is(id).is_some());
        ensure!(wait_until(PATIENCE, all), "not all agents are {status}");
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<String> {
        let output = self.home.adopt(self.home.tmux().command()).args(words).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Ends the server, and waits until its process is gone: one that is ending still answers.
    fn end_server(&self) -> Result<()> {
        let process = Path::new("/proc").join(self.ask(&["display-message", "-p", "#{pid}"])?);
        self.tmux(&["kill-server"])?;
        ensure!(wait_until(PATIENCE, || !process.exists()), "the server does not end");
        Ok(())
    }

    /// In turn, so that a busy machine is busy for both.
    fn measure(&self) -> Result<(Duration, Duration, Duration)> {
        let (mut reference, mut ours, mut word) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TIMES {
            self.end_server()?;
            self.become_all("crashed")?;
            let parallel = PANES.to_string();
            let done = self.rekindle(&["restore", "--yes", "--json", "--max-parallel", &parallel])?;
            ensure!(done["restored"] == PANES, "{} of {PANES} agents are back", done["restored"]);
            let millis = |value: &Value| Duration::from_millis(value.as_u64().unwrap_or_default());
            ours.push(millis(&done["startedMs"]));
            let panes = done["panes"].as_array().into_iter().flatten();
            word.push(panes.map(|pane| millis(&pane["verifiedMs"])).max().unwrap_or_default());
            self.end_server()?;
            let begun = std::time::Instant::now();
            self.tmux(&["new-session", "-d", "-s", "bench", "-x", "200", "-y", "60"])?;
            self.source(&self.layout(|_| String::new()))?;
            reference.push(begun.elapsed());
            let made = self.ask(&["list-panes", "-a", "-F", "#{pane_id}"])?.lines().count();
            ensure!(made == PANES, "the reference has {made} of {PANES} panes");
            self.become_all("crashed")?;
        }
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[TIMES / 2]
        };
        Ok((median(reference), median(ours), median(word)))
    }
}
