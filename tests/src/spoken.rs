//! A machine on which one conversation left its words in every place that rekindle has, and a search for them that unpacks
//! every compressed frame and every git object.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agents::SessionKey;
use anyhow::{Result, ensure};
use jiff::Timestamp;
use serde_json::json;
use store::snapshots::{Shelf, Snapshot, Why};

use crate::believed::Said;
use crate::home::Home;
use crate::process::{self, wait_until};
use crate::rekindle::DEADLINE;
use crate::talk;

/// What was said, and what must be nowhere once the conversation is forgotten.
pub const SAID: &str = "purple elephants guard the western vault";
const NEEDLE: &[u8] = b"purple elephants";

/// What another conversation said, and what must stay.
pub const KEPT: &str = "green turtles carry the eastern lamp";

/// A fork of the conversation: it holds the same words by right.
pub const FORK: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
/// Another conversation, with other words.
pub const OTHER: &str = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";

/// A transcript in which every prompt has a text.
pub fn said_in(session: &str, home: &Home, turns: u8, said: &str) -> Result<Vec<u8>> {
    let text = String::from_utf8(talk::talk(session, &home.project(), turns).bytes())?;
    Ok(text.replace("ask-0", &format!("{said} ask-0")).into_bytes())
}

/// Writes a file below folders that need not be there.
pub fn write(path: PathBuf, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    Ok(fs::write(path, text)?)
}

/// Such a machine. The conversation's agent runs: choose an id that no other test has.
pub fn filled(session: &str) -> Result<Home> {
    let home = Home::new()?;
    home.configure("[state]\ngit = true\n\n[log]\nenabled = true\n")?;
    home.put(session, &said_in(session, &home, 4, SAID)?)?;
    home.put(OTHER, &said_in(OTHER, &home, 4, KEPT)?)?;
    let (pane, body) = home.lookalike(&format!("--resume {session}"))?;
    home.in_tmux(&["select-pane", "-t", &pane, "-T", SAID])?;
    home.in_tmux(&["send-keys", "-t", &pane, "-l", SAID])?;
    let shell = home.in_tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"])?;
    home.in_tmux(&["set-option", "-p", "-t", &shell, "@rekindle_id", session])?;
    let other = home.in_tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"])?;
    for (pane, text) in [(&shell, SAID), (&other, KEPT)] {
        home.in_tmux(&["send-keys", "-t", pane, "-l", text])?;
        let shown = || home.in_tmux(&["capture-pane", "-p", "-t", pane]).is_ok_and(|all| all.contains(text));
        ensure!(wait_until(DEADLINE, shown), "{pane}");
    }
    let event = |event, input| Said::new(event, 5).with(input);
    let events = [
        event("SessionStart", json!({"source": "startup"})),
        event("UserPromptSubmit", json!({"prompt": SAID})),
        event("Stop", json!({"last_assistant_message": SAID})),
    ];
    home.said(session, &body, &events)?;
    home.settle()?;
    for words in [&["name", session, SAID][..], &["task", session, SAID], &["note", session, SAID], &["save"]]
    {
        let done = home.rekindle(words)?;
        ensure!(done.success(), "{words:?}: {}", done.words());
    }
    let state = home.state();
    // The agent keeps the prompts of all conversations in one file.
    let prompt = |session: &str, said: &str| {
        json!({"display": said, "timestamp": 1, "project": home.project(), "sessionId": session}).to_string()
    };
    let prompts = [prompt(OTHER, KEPT), prompt(session, SAID), prompt(OTHER, "go on"), prompt(session, SAID)];
    write(home.config().join("history.jsonl"), &format!("{}\n", prompts.join("\n")))?;
    ensure!(home.rekindle(&["vault", "sync"])?.success());
    // Another version of it: the first one stays in the vault beside it.
    write(home.config().join("history.jsonl"), &format!("{}\n", prompts[1..].join("\n")))?;
    write(state.join(format!("spool/{session}.status")), &json!({"session_name": SAID}).to_string())?;
    // A fork has the same rows under another id.
    let forked = String::from_utf8(said_in(session, &home, 4, SAID)?)?.replace(session, FORK);
    home.put(FORK, forked.as_bytes())?;
    home.settle()?;
    ensure!(home.rekindle(&["vault", "sync"])?.success());
    write(state.join(format!("vault/backups/{session}/20260101T000000Z/transcript")), SAID)?;
    write(state.join(format!("vault/trash/1~backups~{session}~20250101T000000Z/transcript")), SAID)?;
    write(state.join(format!("cache/launch/00000000-0000-4000-8000-000000000000/{session}.txt")), SAID)?;
    write(state.join(format!("snapshots/context/{session}.md")), SAID)?;
    write(state.join(format!("session-health/{session}.broken-1")), SAID)?;
    // An agent that came after it in its pane: what the pane showed has both.
    let shelf =
        Shelf { folder: state.join("snapshots"), keep: 9, keep_for: Duration::from_secs(900_000), key: None };
    shelf.put(&Snapshot {
        session: SessionKey::parse(OTHER)?,
        at: Timestamp::now(),
        why: Why::Stop,
        pane: "work:0.0".to_owned(),
        screen_only: false,
        text: format!("{SAID}\n"),
    })?;
    let decided = json!({"schema": 1, "panes": [
        {"sessionId": session, "reason": SAID, "evidence": [{"says": SAID}]},
        {"sessionId": OTHER, "reason": KEPT},
    ]});
    write(state.join("decisions/20260101T000000Z.json"), &decided.to_string())?;
    write(state.join("instances/restore/last-restore.json"), &decided.to_string())?;
    let alarm =
        |text: &str| json!({"schema": 1, "at": "2026-01-01T00:00:00Z", "event": "alarm", "text": text});
    let journal = fs::read_to_string(state.join("journal.jsonl"))?;
    write(state.join("journal.jsonl"), &format!("{journal}{}\n{}\n", alarm(SAID), alarm(KEPT)))?;
    write(state.join("log/settle.log"), &format!("2026-01-01 settle: {SAID}\n2026-01-01 settle: {KEPT}\n"))?;
    write(refuge(&home).join(format!("spool/{session}.jsonl")), SAID)?;
    commit(&home)?;
    Ok(home)
}

/// Where events wait when the state directory cannot be written.
fn refuge(home: &Home) -> PathBuf {
    let hash =
        home.state().as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    home.root().join(format!("run/rekindle/{hash:016x}"))
}

/// Puts everything that may be committed into the history of the state.
fn commit(home: &Home) -> Result<()> {
    for words in ["add -A instances session-health decisions saves journal.jsonl", "commit -qm all"] {
        let mut git = home.command("git");
        git.current_dir(home.state()).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
        ensure!(process::run(git.args(words.split(' ')), DEADLINE)?.success(), "{words}");
    }
    Ok(())
}

/// Every file of rekindle's, the unpacked frames in it, and every git object; by where it is.
fn everything(home: &Home) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    let mut left = vec![home.state(), home.root().join("run"), home.project().join(".claude")];
    while let Some(path) = left.pop() {
        let name = path.display().to_string();
        if path.is_dir() && !path.is_symlink() {
            if path.join("objects").is_dir() {
                all.push((format!("objects of {name}"), objects(&path)));
            }
            left.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        } else if let Ok(bytes) = fs::read(&path) {
            for at in 0..bytes.len().saturating_sub(3) {
                if bytes[at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                    let mut frame = Vec::new();
                    let reader = zstd::Decoder::with_buffer(&bytes[at..])?.single_frame();
                    // What is no frame has nothing in it, and a torn one has its beginning.
                    let _ = std::io::copy(&mut { reader }, &mut frame);
                    all.push((format!("frame at {at} of {name}"), frame));
                }
            }
            all.push((name, bytes));
        }
    }
    Ok(all)
}

/// The content of every object of a repository, reachable or not.
fn objects(git: &Path) -> Vec<u8> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git).args(["cat-file", "--batch-all-objects", "--batch"]);
    process::run(&mut command, DEADLINE).map(|done| done.stdout.into_bytes()).unwrap_or_default()
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|piece| piece == needle)
}

/// Where the words are, without the fork that holds them by right.
pub fn places(home: &Home) -> Result<Vec<String>> {
    let all = everything(home)?.into_iter();
    let said = all.filter(|(name, bytes)| !name.contains(FORK) && holds(bytes, NEEDLE));
    Ok(said.map(|(name, _)| name).collect())
}

/// In how many places the other conversation's words are.
pub fn kept(home: &Home) -> Result<usize> {
    Ok(everything(home)?.iter().filter(|(_, bytes)| holds(bytes, KEPT.as_bytes())).count())
}
