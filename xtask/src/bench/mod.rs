//! `cargo xtask bench`: speed and memory, each beside a reference in the same run.
//!
//! The references are what any machine has: `cat`, `zstd -1`, `/bin/true`. A figure without one says more of the machine
//! than of the program.

mod corpus;
mod growth;
mod hook;
mod measure;
mod redaction;
mod report;
mod restoring;
mod rows;
mod saving;
mod statusline;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;
use corpus::Corpus;
use measure::{Cost, median};
use report::{Line, Write};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the figures into docs/benchmarks.md, too
    #[arg(long)]
    write: bool,
    /// Small corpora, for trying the benchmark itself
    #[arg(long)]
    quick: bool,
    /// Size of the large file in gigabytes
    #[arg(long, value_name = "GB", default_value_t = 5)]
    gigabytes: u64,
    /// Only what agents wait for: no corpus is made
    #[arg(long, conflicts_with = "write")]
    hot: bool,
    /// Only scans: their speed, and how it grows with the rows
    #[arg(long, conflicts_with = "hot")]
    scan: bool,
    /// Measure this program instead of the one built here
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Measures everything and prints a table.
pub(crate) fn run(args: &Args) -> Result<()> {
    if cfg!(debug_assertions) {
        // A corpus of gigabytes takes minutes to make without optimisation.
        let mut again = workspace::cargo(&["run", "--release", "--quiet", "--package", "xtask", "--"]);
        return workspace::check(again.args(std::env::args_os().skip(1)));
    }
    let program = match &args.program {
        Some(given) => given.canonicalize()?,
        None => workspace::build_program()?,
    };
    let bench = Bench { program: program.clone() };
    let scans = || -> Result<Vec<Line>> {
        let size = if args.quick { 30_000_000 } else { 400_000_000 };
        let bounds = [(1 << 10, Bound::SMALL_ROWS), (1 << 12, Bound::ROWS), (1 << 14, Bound::ROWS)];
        let mut lines = Vec::new();
        for (row, bound) in bounds {
            lines.push(bench.scan(&corpus::parallel(row, size)?, bound));
        }
        lines.extend(growth::lines(if args.quick { 10_000 } else { 100_000 }));
        Ok(lines)
    };
    if args.scan {
        return report::show(&scans()?, if args.write { Write::These } else { Write::Nothing });
    }
    let hot = hook::lines(&program).into_iter().chain(statusline::lines(&program));
    let hot: Vec<Line> = hot.chain([saving::line(&program), restoring::line(&program)]).collect();
    if args.hot {
        return report::show(&hot, Write::Nothing);
    }
    let small = if args.quick { 1000 } else { 10_000 };
    let mixed = if args.quick { corpus::mixed(100, 60_000_000)? } else { corpus::mixed(300, 600_000_000)? };
    let many = corpus::small(small)?;
    let big = corpus::big(if args.quick { 200_000_000 } else { args.gigabytes * 1_000_000_000 })?;
    let first = bench.scan(&mixed, Bound::ROWS);
    let lines = [
        bench.scan_again(&many),
        bench.memory(&big),
        bench.sync(&mixed),
        bench.sync_again(&many),
        bench.start(),
    ];
    let lines = [first].into_iter().chain(scans()?).chain(lines).chain(redaction::redact(&mixed));
    report::show(&lines.chain(hot).collect::<Vec<_>>(), if args.write { Write::All } else { Write::Nothing })
}

/// How many times the reference something may cost.
#[derive(Clone, Copy)]
struct Bound {
    times: f64,
    words: &'static str,
}

impl Bound {
    const ROWS: Bound = Bound { times: 4.0, words: "at most 4 times" };
    /// Each row has a cost of its own, whatever its size.
    const SMALL_ROWS: Bound = Bound { times: 7.0, words: "at most 7 times" };
}

struct Bench {
    program: PathBuf,
}

impl Bench {
    /// The program in a corpus, with a state of this name; `fresh` forgets what was there.
    fn command(&self, corpus: &Corpus, state: &str, fresh: bool, arguments: &[&str]) -> Result<Command> {
        let state = corpus.home.with_extension(state);
        if fresh && state.exists() {
            std::fs::remove_dir_all(&state)?;
        }
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", &corpus.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("CLAUDE_CONFIG_DIR", corpus.home.join(".claude")).env("REKINDLE_STATE_DIR", state);
        Ok(command)
    }

    /// Scans with an empty state and sees that every file and all damage was found: a fast scan that misses is none.
    fn check_scan(&self, corpus: &Corpus) -> Result<()> {
        let out = self.command(corpus, "scan", true, &["scan", "--all", "--json"])?.output()?;
        let text = String::from_utf8_lossy(&out.stdout);
        let said: Value = serde_json::from_str(text.trim().lines().last().unwrap_or_default())
            .with_context(|| format!("scan said no JSON: {}", String::from_utf8_lossy(&out.stderr).trim()))?;
        let status: HashMap<&str, &str> = said["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|session| Some((session["sessionId"].as_str()?, session["status"].as_str()?)))
            .collect();
        if status.len() != corpus.files.len() {
            bail!("scan told of {} of {} files", status.len(), corpus.files.len());
        }
        let broken =
            |session: &&String| status.get(session.as_str()).is_some_and(|status| *status != "healthy");
        let found = corpus.damaged.iter().filter(broken).count();
        let alarms = status.values().filter(|status| **status != "healthy").count() - found;
        if found < corpus.damaged.len() || alarms > 0 {
            bail!(
                "scan found {found} of {} damaged files and called {alarms} whole ones broken",
                corpus.damaged.len()
            );
        }
        Ok(())
    }

    /// Sees that the vault holds something of every file.
    fn check_vault(&self, corpus: &Corpus) -> Result<()> {
        let out = self.command(corpus, "vault", false, &["vault", "list", "--json"])?.output()?;
        let text = String::from_utf8_lossy(&out.stdout);
        let session =
            |file: &&PathBuf| file.file_stem().is_some_and(|stem| text.contains(&*stem.to_string_lossy()));
        let held = corpus.files.iter().filter(session).count();
        if held != corpus.files.len() {
            bail!("the vault has {held} of {} conversations", corpus.files.len());
        }
        Ok(())
    }

    fn scan(&self, corpus: &Corpus, bound: Bound) -> Line {
        let what = format!(
            "`scan --all`, {} files, {}, rows of {:.1} kB, warm",
            corpus.files.len(),
            megabytes(corpus.bytes),
            corpus.bytes as f64 / corpus.lines as f64 / 1e3
        );
        Line::of(what, bound.words, || {
            self.check_scan(corpus)?;
            // `cat` reads and writes every byte; /dev/null makes the write free, so this is the strictest reading.
            let reference = median(5, |cost| cost.cpu, || Ok(files("cat", &[], corpus)))?;
            let ours = median(
                5,
                |cost| cost.cpu,
                || self.command(corpus, "scan", true, &["scan", "--all", "--json"]),
            )?;
            let ratio = ours.cpu.as_secs_f64() / reference.cpu.as_secs_f64();
            Ok((
                cpu(&ours),
                format!("`cat`: {}", cpu(&reference)),
                format!("{ratio:.1} times"),
                ratio <= bound.times,
            ))
        })
    }

    fn scan_again(&self, corpus: &Corpus) -> Line {
        let what = format!("`scan --all` again, {} files, nothing changed", corpus.files.len());
        Line::of(what, "under 100 ms", || {
            let reference = median(5, |cost| cost.wall, || Ok(stat_all(&corpus.home)))?;
            self.check_scan(corpus)?;
            let ours = median(
                9,
                |cost| cost.wall,
                || self.command(corpus, "scan", false, &["scan", "--all", "--json"]),
            )?;
            Ok((
                wall(&ours),
                format!("`find -size`: {}", wall(&reference)),
                wall(&ours),
                ours.wall < Duration::from_millis(100),
            ))
        })
    }

    fn memory(&self, corpus: &Corpus) -> Line {
        let what =
            format!("peak memory of `scan`, one file of {}, {} rows", megabytes(corpus.bytes), corpus.lines);
        let limit = (64 << 20) + 64 * corpus.lines + corpus.longest;
        Line::of(what, "64 MB + 64 B per row + the largest row", || {
            self.check_scan(corpus)?;
            let ours =
                measure::run(&mut self.command(corpus, "scan", true, &["scan", "--all", "--json"])?)?;
            let measured = format!("{} in {}", megabytes(ours.memory), wall(&ours));
            Ok((
                measured,
                format!("limit: {}", megabytes(limit)),
                megabytes(ours.memory),
                ours.memory <= limit,
            ))
        })
    }

    fn sync(&self, corpus: &Corpus) -> Line {
        let what = format!("first `vault sync`, {}", megabytes(corpus.bytes));
        Line::of(what, "at least half the speed", || {
            let speed = |cost: &Cost| corpus.bytes as f64 / 1e6 / cost.wall.as_secs_f64();
            let reference = median(3, |cost| cost.wall, || Ok(files("zstd", &["-1", "-q", "-c"], corpus)))?;
            let ours =
                median(3, |cost| cost.wall, || self.command(corpus, "vault", true, &["vault", "sync"]))?;
            self.check_vault(corpus)?;
            let ratio = speed(&ours) / speed(&reference);
            let reference = format!("`zstd -1`: {:.0} MB/s", speed(&reference));
            Ok((format!("{:.0} MB/s", speed(&ours)), reference, format!("{ratio:.2} of it"), ratio >= 0.5))
        })
    }

    fn sync_again(&self, corpus: &Corpus) -> Line {
        let what = format!("`vault sync` again, {} files, nothing changed", corpus.files.len());
        Line::of(what, "under 150 ms", || {
            let reference = median(5, |cost| cost.wall, || Ok(stat_all(&corpus.home)))?;
            measure::run(&mut self.command(corpus, "vault", true, &["vault", "sync"])?)?;
            self.check_vault(corpus)?;
            let ours =
                median(9, |cost| cost.wall, || self.command(corpus, "vault", false, &["vault", "sync"]))?;
            Ok((
                wall(&ours),
                format!("`find -size`: {}", wall(&reference)),
                wall(&ours),
                ours.wall < Duration::from_millis(150),
            ))
        })
    }

    fn start(&self) -> Line {
        Line::of("`rekindle --version`, median of 200".to_owned(), "under 2 times", || {
            let reference = median(200, |cost| cost.wall, || Ok(Command::new("/bin/true")))?;
            let ours = median(
                200,
                |cost| cost.wall,
                || {
                    let mut command = Command::new(&self.program);
                    command.arg("--version");
                    Ok(command)
                },
            )?;
            let ratio = ours.wall.as_secs_f64() / reference.wall.as_secs_f64();
            Ok((
                wall(&ours),
                format!("`/bin/true`: {}", wall(&reference)),
                format!("{ratio:.2} times"),
                ratio < 2.0,
            ))
        })
    }
}

/// A reference program over the corpus's files.
fn files(program: &str, arguments: &[&str], corpus: &Corpus) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).args(&corpus.files);
    command
}

/// Looks at the size of every file, which is the least that noticing a change takes.
fn stat_all(home: &Path) -> Command {
    let mut command = Command::new("find");
    command.arg(home).args(["-name", "*.jsonl", "-size", "+1000000k"]);
    command
}

fn cpu(cost: &Cost) -> String {
    format!("{:.0} ms CPU", cost.cpu.as_secs_f64() * 1e3)
}

fn wall(cost: &Cost) -> String {
    let milliseconds = cost.wall.as_secs_f64() * 1e3;
    if milliseconds < 10.0 { format!("{milliseconds:.2} ms") } else { format!("{milliseconds:.0} ms") }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
