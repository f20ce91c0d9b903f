//! Slash commands and skills say what is true: they are all documented, and what they tell an agent to run exists.

use std::fs;

use lab::home::Home;
use lab::rekindle::DEADLINE;
use lab::{process, texts};

#[test]
fn every_slash_command_and_skill_is_documented_and_nothing_else() {
    let doc = fs::read_to_string(texts::workspace().join("docs/wiring.md")).unwrap();
    let mut documented = texts::quoted(&doc, "/rekindle:");
    documented.extend(texts::quoted(&doc, "skills/"));
    documented.retain(|name| !name.contains('*'));
    let mut documented: Vec<String> = documented.into_iter().map(str::to_owned).collect();
    documented.sort();
    documented.dedup();
    let name = |path: String| match path.strip_prefix("commands/") {
        Some(file) => format!("/rekindle:{}", file.trim_end_matches(".md")),
        None => path.trim_end_matches("/SKILL.md").to_owned(),
    };
    let mut there: Vec<String> = texts::all().unwrap().into_iter().map(name).collect();
    there.sort();
    assert_eq!(documented, there);
}

/// A command with `--help` behind it is understood as far as that, or refused.
#[test]
fn what_they_tell_an_agent_to_run_exists() {
    let home = Home::new().unwrap();
    let mut seen = 0;
    for path in texts::all().unwrap() {
        let text = fs::read_to_string(texts::workspace().join(&path)).unwrap();
        for line in texts::quoted(&text, "rekindle ") {
            let words = line.replace("COMMAND", "scan").replace(" \"short name\"", " x").replace('"', "");
            let words: Vec<&str> = words.split_whitespace().skip(1).collect();
            let words = words.iter().map(|word| if *word == "N" { "1" } else { word });
            let words: Vec<&str> = words.chain(["--help"]).collect();
            // What a note or a task is about is one word to the program.
            let words = match words.first() {
                Some(&("task" | "note")) => vec![words[0], "--help"],
                _ => words,
            };
            let done = home.rekindle(&words).unwrap();
            assert!(done.success(), "{path}: {line}: {}", done.words());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn an_agent_that_asks_about_itself_is_told_that_it_lives() {
    const SESSION: &str = "5b5b5b5b-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
    let home = Home::new().unwrap();
    home.put_talk(SESSION, 3).unwrap();
    let mut command = home.rekindle_command(&["recover", "--preview"]);
    let living = process::run(command.env("CLAUDE_CODE_SESSION_ID", SESSION), DEADLINE).unwrap();
    assert!(living.success(), "{}", living.words());
    assert!(living.stdout.contains("It is running: nothing broke off"), "{}", living.stdout);
    assert!(!living.stdout.contains("You take over"), "{}", living.stdout);
    // A fresh agent, which would take over, is told that the other one is gone.
    let fresh = home.rekindle(&["recover", SESSION, "--preview"]).unwrap();
    assert!(fresh.success() && fresh.stdout.contains("That session broke off"), "{}", fresh.words());
    let told = home.rekindle_json(&["recover", SESSION, "--preview"]).unwrap();
    assert_eq!(told["alive"], false);
}
