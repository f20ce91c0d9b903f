//! The program: what was typed becomes a command, a command becomes an exit code.

mod cli;
mod commands;
mod context;
mod exit;
mod output;

use std::process::ExitCode;

use clap::Parser;

use exit::Failure;

fn main() -> ExitCode {
    // Asked for by scripts and prompts all day: answered before the command line is even built.
    if let [_, flag] = &std::env::args_os().collect::<Vec<_>>()[..]
        && (flag == "--version" || flag == "-V")
    {
        return output::version();
    }
    match cli::Cli::try_parse() {
        Ok(cli) => match commands::run(cli) {
            Ok(exit) => exit.into(),
            Err(failure) => failure.report(),
        },
        Err(error) => Failure::usage(&error),
    }
}
