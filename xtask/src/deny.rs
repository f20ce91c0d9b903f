//! `cargo xtask deny`: licences and advisories.

use anyhow::Result;

use crate::{tools, workspace};

/// Runs cargo-deny. It is not installed for you: building it takes longer than all tests together.
pub(crate) fn run() -> Result<()> {
    if !tools::there("cargo-deny") {
        println!("cargo-deny is not installed; `cargo install cargo-deny` gets it");
        return Ok(());
    }
    workspace::check(&mut workspace::cargo(&["deny", "check"]))
}
