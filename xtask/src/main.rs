//! What a developer runs: `cargo xtask test`, `recall`, `soak`, `chaos`, `sweep`, `sandbox`, `bench`, `deny`, `install`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]
#![expect(clippy::disallowed_methods, reason = "writes only build products and throwaway files")]

mod bench;
#[cfg(target_os = "linux")]
mod chaos;
mod deny;
mod install;
mod recall;
mod sandbox;
mod soak;
#[cfg(target_os = "linux")]
mod sweep;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "What a developer runs")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need, then run every test there is
    Test(test::Args),
    /// Resume damaged conversations with the real agent and count what comes back
    Recall(recall::Args),
    /// Repair random damage to random conversations, thousands of times
    Soak(soak::Args),
    /// Kill, cut and fill everything around real agents, restore, and ask each for its conversation
    #[cfg(target_os = "linux")]
    Chaos(chaos::Args),
    /// Kill commands before each system call that changes a file, run them again, and judge what is left
    #[cfg(target_os = "linux")]
    Sweep(sweep::Args),
    /// Try things by hand in a throwaway home with an agent, its API and a private tmux
    Sandbox(sandbox::Args),
    /// Measure speed and memory, each beside a reference in the same run
    Bench(bench::Args),
    /// Check licences and advisories with cargo-deny, where that is installed
    Deny,
    /// Build the program and put it where the shell finds it
    Install(install::Args),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Test(args) => return test::run(&args),
        Task::Sandbox(args) => return sandbox::run(&args),
        Task::Install(args) => install::run(&args)?,
        Task::Recall(args) => recall::run(&args)?,
        Task::Soak(args) => soak::run(&args)?,
        #[cfg(target_os = "linux")]
        Task::Chaos(args) => chaos::run(&args)?,
        #[cfg(target_os = "linux")]
        Task::Sweep(args) => sweep::run(&args)?,
        Task::Bench(args) => bench::run(&args)?,
        Task::Deny => deny::run()?,
    }
    Ok(ExitCode::SUCCESS)
}
