//! `hook` beside `/bin/true`, with the settle that it starts.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::measure;
use super::report::Line;

/// Enough for a median that does not move.
const TIMES: usize = 200;

/// A settle of a thousand sessions takes a tenth of a second; longer than this it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a hook takes beside nothing at all, and whether many sessions make it slower.
pub(super) fn lines(program: &Path) -> [Line; 3] {
    let (one, many) = (Desk::new(program, 1), Desk::new(program, 1000));
    let measured = |desk: &Result<Desk<'_>>, event: &str| -> Result<(Duration, Duration)> {
        desk.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?.measure(event)
    };
    let line = |what: &str, wanted, bound: f64, figures: Result<(Duration, Duration)>| {
        Line::of(what.to_owned(), wanted, || {
            let (nothing, ours) = figures?;
            let ratio = ours.as_secs_f64() / nothing.as_secs_f64();
            Ok((
                time(ours),
                format!("`/bin/true`: {}", time(nothing)),
                format!("{ratio:.2} times"),
                ratio < bound,
            ))
        })
    };
    [
        line(
            "`hook UserPromptSubmit`, median of 200",
            "under 3 times",
            3.0,
            measured(&one, "UserPromptSubmit"),
        ),
        line("the same, 1,000 sessions on record", "under 3 times", 3.0, measured(&many, "UserPromptSubmit")),
        line(
            "`hook SessionStart`, which reads and keeps the most",
            "under 3 times",
            3.0,
            measured(&one, "SessionStart"),
        ),
    ]
}

/// A home in which agents have sent events.
struct Desk<'a> {
    program: &'a Path,
    _root: tempfile::TempDir,
    home: PathBuf,
}

impl<'a> Desk<'a> {
    fn new(program: &'a Path, sessions: usize) -> Result<Desk<'a>> {
        // In no work tree: the settle of one event asks git about it, and the next event would be measured beside that.
        let root = tempfile::Builder::new().prefix("rk-").tempdir()?;
        let home = root.path().to_path_buf();
        for folder in ["state", "run"] {
            fs::create_dir_all(home.join(folder))?;
        }
        let desk = Desk { program, _root: root, home };
        // Nothing settles while they are made, and then everything at once.
        fs::write(desk.home.join("state/paused"), "{}")?;
        for session in 0..sessions {
            let input = desk.input("SessionStart", session)?;
            measure::run_as_is(&mut desk.command(desk.program, &["hook", "SessionStart"], &input)?)?;
        }
        fs::remove_file(desk.home.join("state/paused"))?;
        let nothing = desk.input("none", 0)?;
        measure::run_as_is(&mut desk.command(desk.program, &["settle"], &nothing)?)?;
        let records = fs::read_dir(desk.home.join("state/session-health"))?.count();
        ensure!(records == sessions, "{records} of {sessions} sessions are on record");
        Ok(desk)
    }

    fn input(&self, event: &str, session: usize) -> Result<PathBuf> {
        let id = format!("38781704-d577-4a61-adde-{session:012x}");
        let input = json!({
            "session_id": id, "hook_event_name": event, "cwd": self.home, "permission_mode": "default",
            "transcript_path": self.home.join(format!(".claude/projects/p/{id}.jsonl")), "source": "startup",
            "prompt": "continue please, and look at the tests of the parser first",
        });
        let path = self.home.join("input.json");
        File::create(&path)?.write_all(input.to_string().as_bytes())?;
        Ok(path)
    }

    fn command(&self, program: &Path, arguments: &[&str], input: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", &self.home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("REKINDLE_STATE_DIR", self.home.join("state"))
            .env("XDG_RUNTIME_DIR", self.home.join("run"));
        command.stdin(Stdio::from(File::open(input)?));
        Ok(command)
    }

    /// In turn, each hook with the settle of the one before it done: both are there, none in the other's way.
    fn measure(&self, event: &str) -> Result<(Duration, Duration)> {
        let input = self.input(event, 0)?;
        let spool = self.home.join("state/spool/38781704-d577-4a61-adde-000000000000.jsonl");
        let events = || fs::read_to_string(&spool).map(|text| text.matches(event).count());
        let before = events()?;
        let (mut nothing, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            nothing.push(measure::run_as_is(&mut self.command(Path::new("/bin/true"), &[], &input)?)?.wall);
            ours.push(measure::run_as_is(&mut self.command(self.program, &["hook", event], &input)?)?.wall);
            self.wait_for_settle()?;
        }
        ensure!(events()? >= before + TIMES, "events are missing in the spool");
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[TIMES / 2]
        };
        Ok((median(nothing), median(ours)))
    }

    fn wait_for_settle(&self) -> Result<()> {
        let spool = |name: &str| self.home.join("state").join(name);
        let start = Instant::now();
        let settled = || -> Option<bool> {
            let known: serde_json::Value =
                serde_json::from_slice(&fs::read(spool("cache/settled.json")).ok()?).ok()?;
            let id = "38781704-d577-4a61-adde-000000000000";
            let length = fs::metadata(spool(&format!("spool/{id}.jsonl"))).ok()?.len();
            // Only then: a settle that is about to begin would take this for another one at work.
            Some(known[id] == length && File::open(spool("locks/settle")).ok()?.try_lock().is_ok())
        };
        while settled() != Some(true) {
            ensure!(start.elapsed() < PATIENCE, "settle does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

fn time(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
