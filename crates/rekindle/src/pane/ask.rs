//! The page of a pane in which an agent ran that nobody knows: its user says which conversation it was, or begins anew.
//! Nothing starts by itself.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use agents::SessionKey;

use super::question::{Answer, Candidate, Question};
use super::terminal::Terminal;
use super::wait::{remembered, run_beside};
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// A pane that asks.
pub(super) struct Asking<'a> {
    pub(super) context: Option<Context>,
    pub(super) terminal: Terminal,
    /// The program that a fresh agent is.
    pub(super) program: &'a str,
    /// Its directory.
    pub(super) folder: &'a Path,
    /// The conversations that may have been here.
    pub(super) sessions: &'a [SessionKey],
    /// How many older ones there are.
    pub(super) more: usize,
}

impl Asking<'_> {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let mut news = String::new();
        let place = match &self.context {
            Some(context) => context.short_path(self.folder),
            None => self.folder.display().to_string(),
        };
        loop {
            let candidates: Vec<Candidate> =
                self.sessions.iter().map(|session| self.candidate(session)).collect();
            let missing = Some(self.folder).filter(|folder| !folder.is_dir());
            let (more, program) = (self.more, self.program);
            let page =
                Question { candidates: &candidates, more, program, place: &place, missing, news: &news };
            show(&page)?;
            news = match self.terminal.key(|typed| page.understand(typed)) {
                None => return Ok(Exit::Done),
                Some(Answer::Shell) => return super::become_shell(Some(self.folder)),
                Some(Answer::Fresh) => format!("no agent was started: {}", self.begin()),
                Some(Answer::MakeFolder) => match store::durable::users_dir(self.folder) {
                    Ok(()) => String::new(),
                    Err(error) => format!("cannot {error}: {}", error.source),
                },
                // Whoever succeeds takes this pane, and this program with it.
                Some(Answer::This(at)) => match self.sessions.get(at) {
                    Some(chosen) => {
                        format!("{} was not resumed: {}", chosen.short(), run_beside(&["start"], chosen))
                    }
                    None => String::new(),
                },
            };
        }
    }

    fn candidate(&self, session: &SessionKey) -> Candidate {
        let record = remembered(self.context.as_ref(), session);
        let seen = record.as_ref().map(|record| record.last_seen.to_zoned(crate::zone::local()));
        let seen = seen.map(|seen| seen.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        let (name, task) = record.map(|record| (record.name, record.task)).unwrap_or_default();
        let (name, task) = (name.unwrap_or_default(), task.unwrap_or_default());
        Candidate { session: session.clone(), name, task, seen }
    }

    /// Becomes a fresh agent with a shell behind it; what it says is why it did not.
    fn begin(&self) -> String {
        let Ok(program) = std::env::current_exe() else { return "this program cannot be found".to_owned() };
        let mut command = Command::new(program);
        command.args(["pane", "run", "--", self.program]).current_dir(self.folder);
        command.exec().to_string()
    }
}

fn show(page: &Question<'_>) -> Result<(), Failure> {
    let title = if page.candidates.is_empty() { "a fresh agent?" } else { "which conversation?" };
    let text = page.lines().join("\r\n");
    let mut out = std::io::stdout().lock();
    write!(out, "\x1b[2J\x1b[H\x1b]2;waits: {title}\x07\r\n{text}\r\n")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the pane: {error}")))
}
