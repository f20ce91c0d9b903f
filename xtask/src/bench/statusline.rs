//! `statusline` beside `/bin/true` and beside the same lines by bash and jq.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::measure;
use super::report::Line;
use crate::workspace;

const SESSION: &str = "38781704-d577-4a61-adde-b05ffab31832";
const SCRIPT: &str = include_str!("statusline.sh");
/// Enough for a quartile that does not move.
const TIMES: usize = 200;

/// A home with a session whose agent asks for its status line.
struct Desk<'a> {
    program: &'a Path,
    home: PathBuf,
}

/// How long a status line takes beside the references, and whether many sessions make it slower.
pub(super) fn lines(program: &Path) -> [Line; 3] {
    let measured = |sessions: usize| -> Result<Figures> { Desk::new(program, sessions)?.measure() };
    let (one, many) = (measured(1), measured(1000));
    let line = |what: &str, wanted, take: &dyn Fn(&Figures, &Figures) -> (String, f64, bool)| {
        Line::of(what.to_owned(), wanted, || {
            let failed = |error: &anyhow::Error| anyhow::anyhow!("{error:#}");
            let (one, many) = (one.as_ref().map_err(failed)?, many.as_ref().map_err(failed)?);
            let (reference, ratio, holds) = take(one, many);
            Ok((time(one.ours), reference, format!("{ratio:.2} times"), holds))
        })
    };
    [
        line("`statusline`, lower quartile of 200", "under 4 times", &|one, _| {
            let ratio = one.ours.as_secs_f64() / one.nothing.as_secs_f64();
            (format!("`/bin/true`: {}", time(one.nothing)), ratio, ratio < 4.0)
        }),
        line("`statusline`, lower quartile of 200", "under a fifth", &|one, _| {
            let ratio = one.ours.as_secs_f64() / one.script.as_secs_f64();
            (format!("bash and jq: {}", time(one.script)), ratio, ratio < 0.2)
        }),
        line("`statusline`, 1,000 sessions on record", "not slower", &|one, many| {
            // Each beside `/bin/true` of its own round, so that the machine's mood counts on both sides.
            let beside = |figures: &Figures| figures.ours.as_secs_f64() / figures.nothing.as_secs_f64();
            let ratio = beside(many) / beside(one);
            (format!("one session: {}", time(one.ours)), ratio, ratio < 1.1)
        }),
    ]
}

struct Figures {
    nothing: Duration,
    ours: Duration,
    script: Duration,
}

impl<'a> Desk<'a> {
    fn new(program: &'a Path, sessions: usize) -> Result<Desk<'a>> {
        let home = workspace::target().join("bench").join(format!("statusline-{sessions}"));
        let _ = fs::remove_dir_all(&home);
        let desk = Desk { program, home };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        for folder in ["project", "state/spool", "state/session-health", "state/cache/statusline"] {
            fs::create_dir_all(desk.home.join(folder))?;
        }
        fs::write(desk.home.join("line.sh"), SCRIPT)?;
        let project = desk.home.join("project");
        let input = json!({
            "session_id": SESSION, "cwd": project, "version": "2.1.325", "exceeds_200k_tokens": false,
            "transcript_path": desk.home.join(".claude/projects/p").join(format!("{SESSION}.jsonl")),
            "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
            "workspace": {"current_dir": project, "project_dir": project, "added_dirs": []},
            "output_style": {"name": "default"}, "thinking": {"enabled": true}, "effort": {"level": "medium"},
            "cost": {"total_cost_usd": 332.12, "total_duration_ms": 150_574_307, "total_api_duration_ms": 93},
            "context_window": {
                "total_input_tokens": 154_000, "total_output_tokens": 8211, "context_window_size": 200_000,
                "current_usage": {"input_tokens": 500, "output_tokens": 7, "cache_creation_input_tokens": 3500,
                    "cache_read_input_tokens": 150_000},
                "used_percentage": 77, "remaining_percentage": 23},
            "rate_limits": {"five_hour": {"used_percentage": 1, "resets_at": now + 14_000},
                "seven_day": {"used_percentage": 75, "resets_at": now + 433_000}},
        });
        fs::write(desk.home.join("input.json"), input.to_string())?;
        let at = jiff::Timestamp::now().to_string();
        let prepared = json!({
            "schema": 1, "settledAt": at, "git": {"branch": "main", "added": 12, "changed": 3},
            "lastPrompt": {"text": "continue please", "at": at},
            "slot": {"id": "slot-1", "position": 1, "names": ["slot-1", "slot-2"]},
        });
        for other in 0..sessions {
            let id =
                if other == 0 { SESSION.to_owned() } else { format!("38781704-d577-4a61-adde-{other:012x}") };
            let state = desk.home.join("state");
            fs::write(state.join("cache/statusline").join(format!("{id}.json")), prepared.to_string())?;
            fs::write(state.join("spool").join(format!("{id}.status")), input.to_string())?;
            fs::write(state.join("spool").join(format!("{id}.jsonl")), format!("\n{input}\n").repeat(20))?;
            fs::write(state.join("session-health").join(format!("{id}.lock")), input.to_string())?;
        }
        Ok(desk)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", &self.home).env("NO_COLOR", "1").env("TZ", "UTC");
        command.env("REKINDLE_STATE_DIR", self.home.join("state")).env("COLUMNS", "200");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LANG", "C.UTF-8");
        command.stdin(Stdio::from(File::open(self.home.join("input.json"))?));
        Ok(command)
    }

    fn ours(&self) -> Result<Command> {
        self.command(self.program, &["statusline"])
    }

    fn script(&self) -> Result<Command> {
        let prepared = format!("state/cache/statusline/{SESSION}.json");
        let mut command = self.command(Path::new("bash"), &["line.sh", &prepared])?;
        command.current_dir(&self.home);
        Ok(command)
    }

    /// In turn, so that all see the same machine; of each the lower quartile: who runs longer is also interrupted more
    /// often by whatever else the machine does, and that is not ours.
    fn measure(&self) -> Result<Figures> {
        self.check()?;
        let mut walls = [const { Vec::new() }; 3];
        for _ in 0..TIMES {
            let commands = [self.command(Path::new("/bin/true"), &[])?, self.ours()?, self.script()?];
            for (mut command, walls) in commands.into_iter().zip(&mut walls) {
                walls.push(measure::run_as_is(&mut command)?.wall);
            }
        }
        let [nothing, ours, script] = walls.map(|mut walls| {
            walls.sort_unstable();
            walls[TIMES / 4]
        });
        Ok(Figures { nothing, ours, script })
    }

    /// A fast line that says something else is none.
    fn check(&self) -> Result<()> {
        let two = |mut command: Command| -> Result<Vec<String>> {
            let out = command.output().context("cannot start bash; is jq installed?")?;
            Ok(String::from_utf8_lossy(&out.stdout).lines().take(2).map(str::to_owned).collect())
        };
        let (ours, script) = (two(self.ours()?)?, two(self.script()?)?);
        ensure!(ours.len() == 2 && ours == script, "the lines differ: {ours:#?} {script:#?}");
        Ok(())
    }
}

fn time(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
