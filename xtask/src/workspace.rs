//! The workspace: where it is, and building its program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The workspace's root.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A cargo command at the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command with this terminal; an error when it fails.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        bail!("{name} {} failed: {status}", words.join(" "));
    }
    Ok(())
}

/// The program to try: `$REKINDLE_PROGRAM` where it names one, else the release build.
pub(crate) fn program_to_try() -> Result<PathBuf> {
    match std::env::var_os("REKINDLE_PROGRAM") {
        Some(given) => PathBuf::from(given).canonicalize().context("REKINDLE_PROGRAM names no program"),
        None => build_program(),
    }
}

/// Builds the release program and tells where it is.
///
/// On Linux it is linked whole where the C library can be: one file then runs on every distribution, and a hook starts half
/// a millisecond earlier (docs/benchmarks.md). That is said for the program alone, because macros are libraries of the
/// compiler and cannot be linked so.
pub(crate) fn build_program() -> Result<PathBuf> {
    let mut words = vec!["rustc", "--release", "--package", "rekindle", "--bin", "rekindle"];
    if links_whole() {
        words.extend(["--", "-C", "target-feature=+crt-static"]);
    }
    check(&mut cargo(&words))?;
    Ok(target().join("release").join("rekindle"))
}

/// Whether the C library is there as a part of a program. The compiler echoes a name that it does not find.
fn links_whole() -> bool {
    let found = || Command::new("cc").arg("-print-file-name=libc.a").output().ok();
    cfg!(all(target_os = "linux", target_env = "gnu"))
        && found().is_some_and(|said| said.stdout.starts_with(b"/"))
}
