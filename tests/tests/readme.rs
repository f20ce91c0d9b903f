//! Every example of the README is run and shows what stands there. `UPDATE_README=1` writes what is shown into it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use lab::base::Base;
use lab::believed::{Body, Said};
use lab::home::Home;
use lab::readme::{Scene, beginning_with, examples};
use lab::talk::{self, dangling, set_age, talk};
use lab::{Lab, texts};
use serde_json::{Value, json};

/// The first command of every example, by the scene that runs it.
const CONVERSATIONS: [&str; 7] = [
    "rekindle up",
    "rekindle repair 5c1d --dry-run",
    "rekindle branches e83b",
    "rekindle show e83b",
    "rekindle vault sync",
    "rekindle init",
    "rekindle doctor",
];
const AGENTS: [&str; 3] = ["rekindle", "rekindle name work:0.0 cart", "rekindle trust"];
const RESTORE: [&str; 1] = ["rekindle restore --yes"];

#[test]
fn every_example_is_run() {
    let first = |example: lab::readme::Example| example.steps[0].line.clone();
    let mut there: Vec<String> = examples().unwrap().into_iter().map(first).collect();
    let mut run: Vec<&str> = CONVERSATIONS.into_iter().chain(AGENTS).chain(RESTORE).collect();
    there.sort();
    run.sort_unstable();
    assert_eq!(there, run);
}

/// Commands within sentences exist, with their options.
#[test]
fn every_command_in_a_sentence_exists() {
    let home = Home::new().unwrap();
    let text = fs::read_to_string(texts::workspace().join("README.md")).unwrap();
    let prose: String = text.split("```").step_by(2).collect();
    let mut seen = 0;
    for line in texts::quoted(&prose, "rekindle ") {
        let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--help"]).collect();
        let done = home.rekindle(&words).unwrap();
        assert!(done.success(), "{line}: {}", done.words());
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

/// A machine of which only what the home has matters.
struct Desk {
    home: Home,
    env: Vec<(String, String)>,
}

impl Desk {
    fn new() -> Desk {
        let home = Home::new().unwrap();
        let env = home.env();
        let desk = Desk { env: env.into_iter().filter(|(name, _)| name != "PATH").collect(), home };
        desk.link("rekindle", lab::program().canonicalize().unwrap());
        for name in ["bash", "sh", "tmux", "git", "sleep", "cat"] {
            let places =
                ["/usr/local/bin", "/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(name));
            if let Some(place) = places.into_iter().find(|place| place.exists()) {
                desk.link(name, place);
            }
        }
        desk.home.pretend_agent("2.1.325").unwrap();
        desk
    }

    fn link(&self, name: &str, to: PathBuf) {
        std::os::unix::fs::symlink(to, self.home.bin().join(name)).unwrap();
    }

    fn run(&self, line: &str) {
        let done = lab::process::run(&mut self.shell(line), lab::rekindle::DEADLINE).unwrap();
        assert!(done.success(), "{line}: {}", done.words());
    }

    fn check(&self, line: &str) {
        beginning_with(line).unwrap().check(self).unwrap();
    }

    /// Puts a transcript of `~/shop` down, with prompts that somebody could have typed.
    fn put(&self, session: &str, base: Base, prompts: &[&str]) -> PathBuf {
        let path = self.transcript(session);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, spoken(base, prompts).bytes()).unwrap();
        set_age(&path, 2 * 3600 + 1000).unwrap();
        path
    }

    fn shop(&self) -> PathBuf {
        self.home.home().join("shop")
    }

    fn transcript(&self, session: &str) -> PathBuf {
        self.home.slug(&self.shop()).join(format!("{session}.jsonl"))
    }
}

impl Scene for Desk {
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.home.home());
        command.env_clear().envs(self.env.iter().cloned()).env("PATH", self.home.bin());
        command
    }

    fn as_seen(&self, text: String) -> String {
        let seen = |path: PathBuf| path.to_string_lossy().into_owned();
        let text = text.replace(&seen(self.home.state()), "~/.local/state/rekindle");
        let folder = self.home.slug(&self.home.home());
        let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = text.replace(&folder, "-home-me");
        text.replace(&seen(self.home.home()), "~")
    }
}

/// Gives the turns of a conversation these prompts, the times of yesterday, and the newest agent.
fn spoken(mut base: Base, prompts: &[&str]) -> Base {
    for (turn, prompt) in (0..).zip(prompts) {
        if let Ok(row) = base.ask(turn) {
            base[row]["message"]["content"] = (*prompt).into();
        }
    }
    let rows = base.rows();
    for row in &rows {
        base[*row]["version"] = "2.1.325".into();
    }
    let end = Timestamp::now() - SignedDuration::from_mins(18 * 60 + 10);
    for (number, row) in (0..).zip(rows.iter().rev()) {
        let at = end - SignedDuration::from_secs(37 * number);
        if !base[*row]["timestamp"].is_null() {
            base[*row]["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string().into();
        }
    }
    base
}

const PROMPTS: [&str; 5] = [
    "Add codes for discounts",
    "Write a test for expired ones",
    "Show the discount in the cart",
    "Round the total",
    "Update the docs",
];

/// Two processes wrote into one conversation: one turn hangs beside the live branch.
fn forked(session: &str, desk: &Desk) -> Base {
    let mut base = talk(session, &desk.shop(), 5);
    let parent = base.uuid(base.reply(2).unwrap());
    let rows = talk::turn_rows(session, &desk.shop(), 9, &parent);
    let behind = base.ask(4).unwrap();
    let made: Vec<_> = rows.into_iter().map(|row| base.make(row)).collect();
    base.insert_before(behind, &made).unwrap();
    base[made[0]]["message"]["content"] = "Add an admin page for codes".into();
    base
}

#[test]
fn conversations() {
    let desk = Desk::new();
    let shop = desk.shop();
    fs::create_dir_all(&shop).unwrap();
    let broken = "5c1d9a3e-6b0f-4c57-9a41-0d2f8e7b1c33";
    desk.put(broken, dangling(broken, &shop, 5, 3).unwrap(), &PROMPTS);
    let torn = "8f20b7c4-1d3e-4f6a-8b92-5c7d9e0f1a44";
    let path = desk.put(torn, talk(torn, &shop, 4), &PROMPTS);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&[0; 64][..], &bytes[..bytes.len() - 40]].concat()).unwrap();
    set_age(&path, 2 * 3600 + 1000).unwrap();
    let refused = "c47e0d19-3a5b-4c7d-9e1f-2b4c6d8e0f55";
    let mut base = talk(refused, &shop, 3);
    let ask = base.ask(1).unwrap();
    base[ask]["message"]["content"] = "".into();
    desk.put(refused, base, &["Sort the cart by price", "", "Say thanks after the order"]);
    let fork = "e83b5d21-7c9e-4a0b-8d1f-3e5f7a9b1c66";
    desk.put(fork, forked(fork, &desk), &PROMPTS);
    let swept = "2e7d4c81-9f0a-4d1b-8b36-7c5e1a0f9555";
    desk.put(
        swept,
        talk(swept, &shop, 4),
        &["Send receipts as PDF", "Translate them", "Add a logo", "Test it"],
    );
    let whole = "94b1c0de-2f4a-4b6c-8d0e-1f3a5b7c9d77";
    desk.put(whole, talk(whole, &shop, 2), &["Speed up the search", "Cache it"]);

    desk.check("rekindle up");
    desk.check("rekindle repair 5c1d --dry-run");
    desk.check("rekindle branches e83b");
    desk.check("rekindle show e83b");
    fs::remove_file(desk.transcript(swept)).unwrap();
    desk.check("rekindle vault sync");
    fs::write(desk.home.config().join("settings.json"), "{}").unwrap();
    desk.check("rekindle init");
    desk.run("rekindle repair --all; rekindle vault sync");
    desk.check("rekindle doctor");
}

const SHOP: &str = "1a2b3c4d-7e51-4c0f-9d0e-52f3c1a8b6de";
const TILL: &str = "2b3c4d5e-8f62-4d10-8e1f-63a4d2b9c7ef";
const MAIL: &str = "3c4d5e6f-9a73-4e21-9f2a-74b5e3cad8f0";

#[test]
fn agents() {
    let desk = Desk::new();
    let home = &desk.home;
    for (folder, task) in [("shop", SHOP), ("till", TILL), ("mail", MAIL)] {
        let cwd = home.home().join(folder);
        let path = home.slug(&cwd).join(format!("{task}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        fs::write(&path, spoken(talk(task, &cwd, 2), &PROMPTS).bytes()).unwrap();
    }
    let start = |folder: &str, session: &str| {
        let cwd = home.home().join(folder);
        let transcript = home.slug(&cwd).join(format!("{session}.jsonl"));
        let input = json!({"source": "startup", "cwd": cwd, "transcript_path": transcript});
        Said::new("SessionStart", 7300).with(input)
    };
    let then = |event, ago, folder: &str, session: &str, more: Value| {
        let said = start(folder, session);
        let mut input = said.input.clone();
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        Said::new(event, ago).with(input)
    };
    let (_, shop) = home.lookalike("").unwrap();
    let (_, till) = home.lookalike("").unwrap();
    let busy =
        then("UserPromptSubmit", 200, "shop", SHOP, json!({"prompt": "mend the rounding of the cart"}));
    home.said(SHOP, &shop, &[start("shop", SHOP), busy]).unwrap();
    let asks = json!({"notification_type": "permission_prompt"});
    home.said(TILL, &till, &[start("till", TILL), then("Notification", 330, "till", TILL, asks)]).unwrap();
    let stop = then("Stop", 150, "mail", MAIL, json!({}));
    home.said(MAIL, &Body::dead(1), &[start("mail", MAIL), stop]).unwrap();
    for (session, used) in [(SHOP, 42), (TILL, 18), (MAIL, 64)] {
        let input = json!({"session_id": session, "context_window": {"used_percentage": used}});
        fs::write(home.state().join(format!("spool/{session}.status")), input.to_string()).unwrap();
    }
    desk.run("rekindle settle");
    for (session, task) in [(SHOP, "mend the rounding"), (TILL, "receipts as PDF"), (MAIL, "bounces")] {
        desk.run(&format!("rekindle task {session} '{task}'"));
    }
    desk.check("rekindle");
    desk.check("rekindle name work:0.0 cart");

    // The record of the crashed one is edited by hand.
    let record = home.state().join(format!("session-health/{MAIL}.lock"));
    let mut edited: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    edited["runs"][0]["argv"] = json!(["claude", "--model", "opus"]);
    fs::write(&record, edited.to_string()).unwrap();
    desk.check("rekindle trust");
}

/// The one example that needs a real agent: it says itself that it is back.
#[test]
fn restore() {
    let lab = Lab::new(lab::agent::VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    let session = "aedfdb22-4c6e-4a8b-9c0d-1e2f3a4b5c88";
    lab.window(&format!("exec claude --session-id {session} 'round the totals'")).unwrap();
    lab.idle_at("work:1.0", "round the totals").unwrap();
    assert!(lab.rekindle(&["name", session, "shop"]).unwrap().success());
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[session]).unwrap();
    lab.home.script("rekindle", &format!("exec '{}' \"$@\"", lab::program().display())).unwrap();
    beginning_with(RESTORE[0]).unwrap().check(&Bench(lab)).unwrap();
}

/// A lab with a real agent.
struct Bench(Lab);

impl Scene for Bench {
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).env_clear().envs(self.0.env()).current_dir(self.0.home.home());
        command
    }

    fn as_seen(&self, text: String) -> String {
        text.replace(&*self.0.home.home().to_string_lossy(), "~")
    }
}
