//! Building a scene: sessions by one file of commands, agents at once, until each has answered and is bound to its pane.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use uuid::Uuid;

use super::ledger::{Exchange, Talker};
use super::scene::{AgentScene, FOLDERS, PaneScene, Scene, Start, WindowScene};
use super::stage::Stage;
use crate::base::Base;
use crate::process::wait_until;
use crate::talk::{set_age, turn_rows};
use crate::wired::PATIENCE;

/// An agent whose line is known and whose pane is not made yet.
struct Booked {
    agent: AgentScene,
    folder: PathBuf,
    line: String,
    exchanges: Vec<Exchange>,
}

const SHELL: &str = "exec bash --norc --noprofile";

/// Six panes have room, and an agent's screen can be read.
const SIZE: (u32, u32) = (200, 60);

impl Stage {
    /// Builds a scene.
    pub(super) fn set(&mut self, scene: &Scene) -> Result<()> {
        self.lab.wire()?;
        let project = self.lab.home.project();
        let mut folders = vec![project.clone()];
        folders.extend(FOLDERS.map(|name| project.join(name)));
        for folder in &folders {
            fs::create_dir_all(folder)?;
            self.lab.home.trust(folder)?;
        }
        let mut booked = Vec::new();
        let mut script = String::from("set-option -g default-size 200x60\n");
        for (at, session) in scene.sessions.iter().enumerate() {
            // A target that begins with `$` is an id for tmux: the name comes last.
            let target = format!("=scene-{at}");
            for window in &session.windows {
                self.script_window(&mut script, &target, window, &folders, &mut booked)?;
            }
            writeln!(script, "rename-session -t '{target}' {}", quote(&session.name.replace('#', "##")))?;
        }
        if scene.hooked {
            // Read by every server that the program starts; this one, which reads no configuration, is told.
            let lines = self.lab.home.rekindle(&["tmux-conf"])?.stdout;
            let path = self.lab.home.home().join(".tmux.conf");
            fs::write(&path, lines)?;
            writeln!(script, "source-file {}", quote(&path.to_string_lossy()))?;
        }
        let file = self.lab.home.root().join("scene.tmux");
        fs::write(&file, script)?;
        let done = self.lab.tmux(&["start-server", ";", "source-file", &file.to_string_lossy()])?;
        if !done.success() || !done.stderr.is_empty() {
            bail!("tmux refuses the scene: {}", done.words());
        }
        for seat in &booked {
            if seat.agent.typed {
                let pane = self.pane_of(&seat.agent.word)?;
                self.lab.tmux(&["send-keys", "-t", &pane, "-l", "--", &seat.line])?;
                self.lab.tmux(&["send-keys", "-t", &pane, "Enter"])?;
            }
        }
        for seat in booked {
            let talker = self.seated(seat)?;
            self.talkers.push(talker);
        }
        self.observe()
    }

    fn script_window(
        &self,
        script: &mut String,
        session: &str,
        window: &WindowScene,
        folders: &[PathBuf],
        booked: &mut Vec<Booked>,
    ) -> Result<()> {
        let target = quote(&format!("{session}:{}", window.index));
        for (nth, pane) in window.panes.iter().enumerate() {
            let folder = &folders[pane.folder];
            let command = self.book(pane, folder, booked)?;
            let cwd = quote(&folder.to_string_lossy().replace('#', "##"));
            let what = match (nth, window.index) {
                (0, 0) => {
                    let name = session.trim_start_matches('=');
                    format!("new-session -d -s {name} -x {} -y {} -c {cwd}", SIZE.0, SIZE.1)
                }
                (0, _) => format!("new-window -d -t {target} -c {cwd}"),
                _ => format!("split-window -t {target} -c {cwd}"),
            };
            writeln!(script, "{what} {}", quote(&command))?;
            if let Some(agent) = &pane.agent {
                // How the stage finds the pane again; nothing that the program knows of.
                writeln!(script, "set-option -p -t {target} @word {}", quote(&agent.word))?;
            }
            writeln!(script, "select-layout -t {target} {}", window.layout)?;
        }
        match &window.name {
            Some(name) => writeln!(script, "rename-window -t {target} {}", quote(&name.replace('#', "##")))?,
            None => writeln!(script, "set-option -w -t {target} automatic-rename on")?,
        }
        if window.zoomed {
            writeln!(script, "resize-pane -Z -t {target}")?;
        }
        Ok(())
    }

    /// What runs in a pane; for an agent, its line and the exchanges it has.
    fn book(&self, pane: &PaneScene, folder: &Path, booked: &mut Vec<Booked>) -> Result<String> {
        let Some(agent) = &pane.agent else { return Ok(SHELL.to_owned()) };
        // Not of the seed: an agent of a round that was broken off may still be in that conversation.
        let id = Uuid::new_v4();
        let mut exchanges = Vec::new();
        let start = match agent.start {
            Start::New => String::new(),
            Start::Named => format!(" --session-id {id}"),
            Start::Resumed(turns) => {
                self.tell_of_old(&id.to_string(), folder, turns, &mut exchanges)?;
                format!(" --resume {id}")
            }
        };
        let number = self.number()?;
        exchanges.push(Exchange { number, complete: false, destroyed: false });
        let line = format!("claude{start} 'ask-{number:02} my word is {}'", agent.word);
        let command = if agent.typed { SHELL.to_owned() } else { format!("exec {line}") };
        booked.push(Booked { agent: agent.clone(), folder: folder.to_path_buf(), line, exchanges });
        Ok(command)
    }

    /// Leaves a conversation of before, which the agent then resumes.
    fn tell_of_old(&self, id: &str, folder: &Path, turns: u8, exchanges: &mut Vec<Exchange>) -> Result<()> {
        let mut base = Base::default();
        let mut parent = Value::Null;
        for _ in 0..turns {
            let number = self.number()?;
            for row in turn_rows(id, folder, number, &parent) {
                parent = row["uuid"].clone();
                base.push(row);
            }
            exchanges.push(Exchange { number, complete: true, destroyed: false });
        }
        let slug = self.lab.home.slug(folder);
        fs::create_dir_all(&slug)?;
        let path = slug.join(format!("{id}.jsonl"));
        fs::write(&path, base.bytes())?;
        set_age(&path, 3600)
    }

    /// Waits until an agent has answered, and the program knows which pane it is in.
    fn seated(&self, seat: Booked) -> Result<Talker> {
        let Booked { agent, folder, exchanges, .. } = seat;
        let pane = self.pane_of(&agent.word)?;
        let slug = self.lab.home.slug(&folder);
        let mut found = None;
        wait_until(PATIENCE, || {
            found = transcript_with(&slug, &agent.word);
            found.is_some()
        });
        let shown = || format!("{} is in no transcript: {}", agent.word, self.lab.screen(&pane));
        let transcript = found.with_context(shown)?;
        let mut talker = Talker {
            word: agent.word,
            session: stem(&transcript),
            transcript,
            pane,
            typed: agent.typed,
            exchanges,
        };
        let in_pane = talker.pane.clone();
        let bound = |record: &Value| {
            let idle = record["activity"]["state"] == "idle" && record["status"] == "active";
            idle && record["place"]["pane"] == in_pane && record["lastReply"].is_object()
        };
        let said = wait_until(PATIENCE, || {
            talker.look();
            talker.owed() == talker.own()
                && self.lab.record(&talker.session).is_some_and(|record| bound(&record))
        });
        if !said {
            let record = self.lab.record(&talker.session).unwrap_or_default();
            let (status, activity) = (&record["status"], &record["activity"]);
            bail!(
                "{} is not ready: {:?} {status} {activity} {}",
                talker.word,
                talker.exchanges,
                record["place"]
            );
        }
        self.log.say(&format!("{} is {} in {}", talker.word, talker.session, talker.pane));
        Ok(talker)
    }

    fn pane_of(&self, word: &str) -> Result<String> {
        let listed = self.lab.tmux(&["list-panes", "-a", "-F", "#{@word} #{pane_id}"])?.stdout;
        let pane = listed.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        Ok(pane.with_context(|| format!("the pane of {word} is not there"))?.to_owned())
    }
}

fn transcript_with(slug: &Path, word: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(slug).ok()?.flatten().map(|entry| entry.path());
    let mut files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.find(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(word)))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Any text as one word of tmux's language.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}
