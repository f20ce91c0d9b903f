//! `cargo xtask sandbox`: a throwaway home for trying things by hand, never touching a real `~/.claude`.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use lab::Lab;
use lab::agent::VERSIONS;

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Version of the agent
    #[arg(long, value_name = "VERSION", default_value = VERSIONS[VERSIONS.len() - 1])]
    agent: String,
    /// What to run there; an interactive shell when nothing is given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs a command or a shell in a new home and ends with its status; the home is gone afterwards.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = workspace::program_to_try()?;
    let lab = Lab::new(&args.agent)?;
    lab.home.script("rekindle", &format!("exec '{}' \"$@\"", program.display()))?;
    let mut command = match args.command.split_first() {
        Some((program, rest)) => {
            // By way of env, so that the program is looked up in the sandbox's PATH and not in ours.
            let mut command = Command::new("env");
            command.arg(program).args(rest);
            command
        }
        None => {
            println!("agent {} in {}; leave with exit", args.agent, lab.home.root().display());
            let mut shell = Command::new("bash");
            shell.args(["--noprofile", "--norc", "-i"]);
            shell
        }
    };
    command.env_clear().envs(lab.env()).env("PS1", "sandbox:\\W$ ").current_dir(lab.home.project());
    let status = command.status().context("cannot start the sandbox's command")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
