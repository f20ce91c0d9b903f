use std::path::PathBuf;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print the manual page, or write all pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: rekindle man --to ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write one page per command there
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut out = Out::new();
    match &args.to {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            out.bytes(&page);
        }
        Some(folder) => {
            store::durable::private_dir(folder)?;
            for (name, command) in pages(&Cli::command(), "rekindle") {
                let mut page = Vec::new();
                clap_mangen::Man::new(command.display_name(name.clone()))
                    .title(name.clone())
                    .render(&mut page)?;
                let path = folder.join(format!("{name}.1"));
                store::durable::replace(&path, &page)?;
                out.exact_line(&path.display().to_string());
            }
        }
    }
    out.finish()
}

/// A command and all below it, with their full names.
fn pages(command: &clap::Command, name: &str) -> Vec<(String, clap::Command)> {
    let mut found = vec![(name.to_owned(), command.clone())];
    for below in command.get_subcommands() {
        found.extend(pages(below, &format!("{name}-{}", below.get_name())));
    }
    found
}
