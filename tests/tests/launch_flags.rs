//! The table of flags against what the real agents say of themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::time::Duration;

use agents::claude::launch::{Flag, Value, commands, find, flags};
use lab::agent::{Agent, VERSIONS};
use lab::home::Home;
use lab::process;
use semver::Version;

/// What `claude --help` lists: flags as `names <value>`, and sub-commands.
fn help(version: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let home = Home::new().unwrap();
    let mut command = home.adopt(Agent::install(version).unwrap().command());
    let done = process::run(command.arg("--help"), Duration::from_secs(60)).unwrap();
    assert!(done.success(), "{}", done.words());
    let (flags, subcommands) = done.stdout.split_once("\nCommands:\n").unwrap();
    let (_, flags) = flags.split_once("\nOptions:\n").unwrap();
    // An entry begins in the third column; its description is two blanks away, or on the next line.
    let entries = |text: &str| -> BTreeSet<String> {
        let lines =
            text.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
        lines.map(|line| line.split("  ").next().unwrap_or_default().to_owned()).collect()
    };
    (entries(flags), entries(subcommands))
}

/// F-resume-2
fn the_table_is_the_help(version: &str) {
    let (entries, subcommands) = help(version);
    let at = Version::parse(version).unwrap();
    assert!(
        entries.len() > 40 && subcommands.len() > 5,
        "the help is read wrong: {entries:?} {subcommands:?}"
    );
    let mut wrong = Vec::new();
    for entry in &entries {
        let (names, value) = entry.split_once([' ']).map_or((entry.as_str(), ""), |_| {
            let at = entry.find(['<', '[']).unwrap_or(entry.len());
            (entry[..at].trim(), &entry[at..])
        });
        let expect = match value {
            // `--tmux=classic` stands in its description only.
            "" if names == "--tmux" => Value::Attached,
            "" => Value::None,
            value if value.ends_with("...>") => Value::Variadic,
            value if value.starts_with('<') => Value::Required,
            _ => Value::Optional,
        };
        let names: Vec<&str> = names.split(", ").collect();
        let found = find(names[0], &at);
        if found.as_ref().is_none_or(|flag| flag.names != names || flag.value != expect) {
            wrong.push(format!("{entry}: {found:?}"));
        }
    }
    for entry in &subcommands {
        let names = entry.split(' ').next().unwrap_or_default();
        for name in names.split('|') {
            if !commands(&at).any(|command| command == name) {
                wrong.push(format!("sub-command {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "crates/agents/src/claude/launch/table.rs lacks, for {version}: {wrong:#?}");
}

#[test]
fn the_table_is_the_help_2_1_31() {
    the_table_is_the_help(VERSIONS[0]);
}

#[test]
fn the_table_is_the_help_2_1_100() {
    the_table_is_the_help(VERSIONS[1]);
}

#[test]
fn the_table_is_the_help_2_1_325() {
    the_table_is_the_help(VERSIONS[2]);
}

/// What 2.1.100 has only for accounts with a feature turned on.
const FEATURES: [&str; 1] = ["--advisor"];

/// The help hides some flags; the agent itself says whether it knows them, since it names the first that it does not.
fn hidden_flags_are_known(version: &str) {
    let (entries, _) = help(version);
    let at = Version::parse(version).unwrap();
    let (home, agent) = (Home::new().unwrap(), Agent::install(version).unwrap());
    let hidden =
        |flag: &Flag| !entries.iter().any(|entry| entry.split([',', ' ']).any(|word| word == flag.names[0]));
    let mut flags: Vec<Flag> = flags(&at).filter(hidden).collect();
    flags.retain(|flag| version != VERSIONS[1] || !FEATURES.contains(&flag.names[0]));
    assert!(flags.len() > 10, "hardly anything is hidden: {flags:?}");
    loop {
        let mut command = home.adopt(agent.command());
        for flag in &flags {
            command.arg(flag.names[0]);
            command.args(matches!(flag.value, Value::Required | Value::Variadic).then_some("1"));
        }
        let said = process::run(command.arg("--no-such-flag"), Duration::from_secs(60)).unwrap().words();
        if said.contains("unknown option '--no-such-flag'") {
            return;
        }
        // "option '--thinking <mode>' argument '1' is invalid": known, and picky.
        let picky = |flag: &Flag| flag.names.iter().any(|name| said.contains(&format!("option '{name} <")));
        let before = flags.len();
        flags.retain(|flag| !picky(flag));
        assert!(flags.len() < before, "{version}: {said}");
    }
}

#[test]
fn hidden_flags_are_known_2_1_31() {
    hidden_flags_are_known(VERSIONS[0]);
}

#[test]
fn hidden_flags_are_known_2_1_100() {
    hidden_flags_are_known(VERSIONS[1]);
}

#[test]
fn hidden_flags_are_known_2_1_325() {
    hidden_flags_are_known(VERSIONS[2]);
}
