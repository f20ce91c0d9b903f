//! `cargo xtask deny`: licences, doubled crates and where crates come from.

use anyhow::Result;

use crate::{tools, workspace};

/// Runs cargo-deny, built into `target/tools` where it is missing. Advisories are left out: their database is fetched
/// from elsewhere at every run, and a check that depends on the network fails for the wrong reasons.
pub(crate) fn run() -> Result<()> {
    let tools = workspace::target().join("tools");
    let ours = tools.join("bin/cargo-deny");
    let program = if tools::there("cargo-deny") {
        "cargo-deny".into()
    } else {
        if !ours.exists() {
            let root = tools.display().to_string();
            // Unoptimised: it runs for a second and would be built for minutes.
            let install = ["install", "--locked", "--debug", "--root", &root, "cargo-deny"];
            workspace::check(workspace::cargo(&install).env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
        }
        ours
    };
    let mut check = std::process::Command::new(program);
    check.args(["deny", "check", "licenses", "bans", "sources"]).current_dir(workspace::root());
    workspace::check(&mut check)
}
