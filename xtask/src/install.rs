//! Puts the program where the shell finds it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder it goes into; cargo's own by default
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = args.to.clone().or_else(cargos).context("HOME is not set; say --to DIR")?;
    let program = workspace::build_program()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (to, new) = (folder.join("rekindle"), folder.join(".rekindle.new"));
    // Renamed into place: one that runs keeps its file, and nobody finds half of one.
    fs::copy(&program, &new)
        .and_then(|_| fs::rename(&new, &to))
        .with_context(|| format!("cannot write {}", to.display()))?;
    println!("{}", to.display());
    Ok(())
}

/// Where cargo installs programs.
fn cargos() -> Option<PathBuf> {
    let place = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let root = place("CARGO_INSTALL_ROOT").or_else(|| place("CARGO_HOME"));
    Some(root.or_else(|| Some(place("HOME")?.join(".cargo")))?.join("bin"))
}
