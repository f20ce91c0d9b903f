//! The help of a command, as people read it.

use anyhow::{Result, ensure};

use crate::home::Home;
use crate::process;
use crate::rekindle::DEADLINE;

/// The help in 80 columns; nothing of it may be wider, and every command shows an example.
pub fn help(words: &[&str]) -> Result<String> {
    let home = Home::new()?;
    let mut command = home.rekindle_command(words);
    let done = process::run(command.arg("--help").env("COLUMNS", "80"), DEADLINE)?;
    ensure!(done.success() && done.stderr.is_empty(), "{words:?} --help: {}", done.words());
    let wide: Vec<&str> = done.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    ensure!(wide.is_empty(), "{words:?} is too wide: {wide:#?}");
    ensure!(words.is_empty() || done.stdout.contains("Example"), "{words:?} shows no example");
    Ok(done.stdout)
}
