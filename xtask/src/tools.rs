//! What the tests need of the machine, installed where it is missing.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use lab::agent::{Agent, VERSIONS};

use crate::workspace;

/// Each program with the Debian package that has it.
const PROGRAMS: [(&str, &str); 5] =
    [("tmux", "tmux"), ("jq", "jq"), ("strace", "strace"), ("zstd", "zstd"), ("systemd-analyze", "systemd")];

/// Whether a program is on the `PATH`.
pub(crate) fn there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Installs missing programs with apt and missing agents with npm.
pub(crate) fn install() -> Result<()> {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !there(program)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        apt(&missing)?;
    }
    for version in VERSIONS {
        let agent =
            Agent::install(version).context("the tests talk to the real agent, which comes from npm")?;
        println!("agent {} is there", agent.version);
    }
    Ok(())
}

fn apt(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(", "));
    let root = quiet(Command::new("id").arg("-u")).is_some_and(|out| out.trim() == "0");
    let sudo = !root && quiet(Command::new("sudo").args(["-n", "true"])).is_some();
    if !root && !sudo {
        bail!("please install: sudo apt-get install {}", packages.join(" "));
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new(if root { "apt-get" } else { "sudo" });
        if sudo {
            command.args(["-n", "apt-get"]);
        }
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command
    };
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    if workspace::check(&mut apt(&install)).is_ok() {
        return Ok(());
    }
    // A machine that never asked for the package lists knows no package.
    workspace::check(&mut apt(&["update"]))?;
    workspace::check(&mut apt(&install))
}

fn quiet(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}
