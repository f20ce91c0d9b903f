//! The program: what was typed becomes a command, a command becomes an exit code.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod briefing;
mod cli;
mod commands;
mod context;
mod exit;
mod fast_path;
mod held;
mod kept;
mod label;
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
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    // `rekindle help scan` is `rekindle scan --help`.
    if arguments.first().is_some_and(|first| first == "help") {
        arguments.remove(0);
        arguments.push("--help".into());
    }
    // Asked for by agents, scripts and prompts all day: answered before the command line is even built.
    if let [flag] = &arguments[..]
        && (flag == "--version" || flag == "-V")
    {
        return output::version();
    }
    if let Some(done) = fast_path::run(&arguments) {
        return done;
    }
    let for_scripts = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let program = std::env::args_os().next().unwrap_or_else(|| "rekindle".into());
    match cli::Cli::try_parse_from(std::iter::once(program).chain(arguments)) {
        Ok(cli) => match commands::run(cli) {
            Ok(exit) => exit.into(),
            Err(failure) => failure.report(for_scripts),
        },
        Err(error) => Failure::usage(&error, for_scripts),
    }
}
