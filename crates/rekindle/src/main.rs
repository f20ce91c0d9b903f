//! The program: what was typed becomes a command, a command becomes an exit code.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod briefing;
mod cli;
mod commands;
mod context;
mod exit;
mod hot;
mod kept;
mod operations;
mod output;
mod pane;
mod restoring;
mod survey;
mod watch;
mod zone;

use std::process::ExitCode;

use clap::Parser;

use exit::Failure;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    // Asked for by agents, scripts and prompts all day: answered before the command line is even built.
    if let [flag] = &arguments[..]
        && (flag == "--version" || flag == "-V")
    {
        return output::version();
    }
    if let Some(done) = hot::run(&arguments) {
        return done;
    }
    match cli::Cli::try_parse() {
        Ok(cli) => match commands::run(cli) {
            Ok(exit) => exit.into(),
            Err(failure) => failure.report(),
        },
        Err(error) => Failure::usage(&error),
    }
}
