//! `cargo xtask test`: every test there is, and what they need.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use lab::agent::VERSIONS;
use lab::recall::Verdict;

use crate::{recall, tools, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out the two older agents and the Node binding
    #[arg(long)]
    quick: bool,
}

/// How many tests of which kind passed and failed.
#[derive(Default, Clone, Copy)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Runs everything to its end, then says how much of it failed.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let begun = Instant::now();
    tools::install()?;
    let program = workspace::build_program()?;
    println!("setup and build: {} min", minutes(begun));
    let mut parts = Vec::new();
    let mut add = |name: &'static str, run: &dyn Fn() -> Result<Count>| -> Result<()> {
        let begun = Instant::now();
        parts.push((name, run()?, minutes(begun)));
        Ok(())
    };
    add("tests", &|| workspace_tests(&program))?;
    add("doc tests", &|| count(workspace::cargo(&["test", "--workspace", "--doc"])))?;
    add("recall", &|| recalls(args.quick))?;
    #[cfg(target_os = "linux")]
    add("chaos", &|| rounds(args.quick))?;
    if !args.quick && workspace::root().join("bindings/node/package.json").exists() {
        add("node binding", &node_binding)?;
    }
    println!();
    for (name, count, minutes) in &parts {
        println!("{name} ({minutes} min): {} passed, {} failed", count.passed, count.failed);
    }
    println!("all of it took {} min", minutes(begun));
    let (passed, failed) =
        parts.iter().fold((0, 0), |sum, (_, count, _)| (sum.0 + count.passed, sum.1 + count.failed));
    println!("{passed} passed, {failed} failed");
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Minutes since then, to a tenth.
fn minutes(begun: Instant) -> String {
    format!("{:.1}", begun.elapsed().as_secs_f64() / 60.0)
}

fn workspace_tests(program: &std::path::Path) -> Result<Count> {
    let arguments: &[&str] = if tools::there("cargo-nextest") {
        &["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass"]
    } else {
        &["test", "--workspace", "--all-targets", "--no-fail-fast"]
    };
    let mut command = workspace::cargo(arguments);
    command.env("REKINDLE_PROGRAM", program);
    count(command)
}

/// Every case is a test on every agent, or on the one that the case names.
fn recalls(quick: bool) -> Result<Count> {
    let agent = if quick { vec![VERSIONS[VERSIONS.len() - 1].to_owned()] } else { Vec::new() };
    let args = recall::Args { agent, sample: !quick, ..recall::Args::default() };
    let records = recall::records(&args)?;
    let passed = records.iter().filter(|record| record.verdict() == Some(&Verdict::Whole)).count();
    Ok(Count { passed, failed: records.len() - passed })
}

/// Every round is a test.
#[cfg(target_os = "linux")]
fn rounds(quick: bool) -> Result<Count> {
    let agent = if quick { vec![VERSIONS[VERSIONS.len() - 1].to_owned()] } else { Vec::new() };
    let records = crate::chaos::records(&crate::chaos::Args::of(lab::chaos::SMOKE, agent))?;
    let passed = records.iter().filter(|record| record.is_well()).count();
    Ok(Count { passed, failed: records.len() - passed })
}

/// It has no packages to install: Node alone builds and tests it.
fn node_binding() -> Result<Count> {
    let node = |arguments: &[&str]| {
        let mut command = Command::new("node");
        command.args(arguments).current_dir(workspace::root()).stdin(Stdio::null());
        command
    };
    workspace::check(&mut node(&["bindings/node/build.mjs"]))?;
    count(node(&["--test", "--test-reporter=tap", "bindings/node/test"]))
}

/// Runs a test program, shows what it says, and adds up its own counts. One that fails without a count is one failure.
fn count(mut command: Command) -> Result<Count> {
    let name = command.get_args().next().map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let errors = child.stderr.take().map(|pipe| std::thread::spawn(move || tally(pipe)));
    let mut sum = child.stdout.take().map(tally).unwrap_or_default();
    if let Some(more) = errors.and_then(|thread| thread.join().ok()) {
        sum = Count { passed: sum.passed + more.passed, failed: sum.failed + more.failed };
    }
    if !child.wait()?.success() && sum.failed == 0 {
        sum.failed = 1;
    }
    Ok(sum)
}

fn tally(pipe: impl std::io::Read) -> Count {
    let mut sum = Count::default();
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        let count = counts(&line);
        sum = Count { passed: sum.passed + count.passed, failed: sum.failed + count.failed };
    }
    sum
}

/// The counts in a summary line of nextest, of cargo's own runner or of Node's; nothing in any other line.
fn counts(line: &str) -> Count {
    let number_before = |word: &str| {
        let words: Vec<&str> = line.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|other| *other == word)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    let number_after = |prefix: &str| line.strip_prefix(prefix)?.trim().parse().ok();
    if line.trim_start().starts_with("Summary [") || line.starts_with("test result:") {
        let exec = number_before("exec").unwrap_or(0);
        return Count {
            passed: number_before("passed").unwrap_or(0),
            failed: number_before("failed").unwrap_or(0) + exec + number_before("timed").unwrap_or(0),
        };
    }
    Count { passed: number_after("# pass ").unwrap_or(0), failed: number_after("# fail ").unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn summaries_are_counted_and_other_lines_are_not() {
        let check = |line: &str| {
            let count = counts(line);
            (count.passed, count.failed)
        };
        assert_eq!(check("     Summary [   0.010s] 3 tests run: 3 passed, 0 skipped"), (3, 0));
        assert_eq!(
            check("     Summary [   1.2s] 5 tests run: 3 passed (1 slow), 2 failed, 0 skipped"),
            (3, 2)
        );
        assert_eq!(check("test result: FAILED. 7 passed; 1 failed; 0 ignored; 0 measured"), (7, 1));
        assert_eq!(check("# pass 12"), (12, 0));
        assert_eq!(check("# fail 2"), (0, 2));
        assert_eq!(check("the doctor said: 3 passed"), (0, 0));
    }
}
