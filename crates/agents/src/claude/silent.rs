//! Agents without a registry entry (before 2.1.100) in the directory of a conversation: which of them may be in it.
//!
//! One that is proven to be in another conversation is not in this one. Arguments alone prove nothing: `/clear` and
//! `/resume` change the conversation of a running agent.

use std::path::Path;

use super::owner::{Owners, RecordedRun, newest_row_ms};
use super::pid_domain::Reach;
use super::process::Process;
use super::slug;
use crate::SessionId;

/// What is known of an agent that may be in a conversation, and may be in another.
pub const MAY_BE_IN_IT: &str = "it is an agent in that directory without a registry entry, the newest row was written since \
                                it started, and nothing tells which conversation it is in";

impl Owners {
    /// An agent that is in no registry, works in the conversation's directory, started before the conversation's newest row
    /// was written, and is not proven to be elsewhere: it may be the writer. The row's own time counts, not the file's:
    /// copies and repairs change that.
    pub(super) fn silent_agent(&self, session: &SessionId, path: &Path) -> Option<&Process> {
        let folder = path.parent()?;
        let (name, projects) = (folder.file_name()?.to_str()?, folder.parent()?);
        let mut nameless = self.processes().all().iter().filter(|process| {
            process.is_agent()
                && !self.is_registered(process.pid)
                && process.cwd().and_then(|cwd| slug(&cwd)).is_some_and(|slug| slug == name)
                && process.works_in(projects) != Some(false)
        });
        let first = nameless.next()?;
        let written = newest_row_ms(path)?;
        std::iter::once(first)
            .chain(nameless)
            .filter(|process| process.started_ms.is_none_or(|started| started <= written))
            .find(|process| !self.is_elsewhere(process, session, folder, written))
    }

    /// Whether an agent is in another conversation of this folder.
    fn is_elsewhere(&self, process: &Process, session: &SessionId, folder: &Path, written: i64) -> bool {
        self.recorded_elsewhere(process, session, folder)
            || self.opened_elsewhere(process, session, folder)
            || wrote_elsewhere(process, session, folder, written)
    }

    /// A record of another conversation says that the agent is in it now: hooks follow `/clear` and `/resume`.
    fn recorded_elsewhere(&self, process: &Process, session: &SessionId, folder: &Path) -> bool {
        let is_it = |run: &RecordedRun| match run {
            RecordedRun::Open { pid, start, domain, genuine } => {
                *genuine
                    && *pid == process.pid
                    && process.has_started_at(*start) == Some(true)
                    && matches!(self.processes().vantage().reach(domain), Reach::Here)
            }
            _ => false,
        };
        let mut others = conversations(folder).filter(|other| other != session);
        others.any(|other| {
            let transcript = folder.join(format!("{other}.jsonl"));
            self.recorded_runs(&other, &transcript).iter().any(is_it)
        })
    }

    /// It has a file open whose path names another conversation of this folder, and none that names this one.
    fn opened_elsewhere(&self, process: &Process, session: &SessionId, folder: &Path) -> bool {
        let open = self.processes().opened_by(process);
        let names =
            |session: &SessionId| open.iter().any(|path| path.to_string_lossy().contains(session.as_str()));
        let config = folder.ancestors().nth(2).unwrap_or(folder);
        open.iter().any(|path| path.starts_with(config))
            && !names(session)
            && conversations(folder).any(|other| names(&other))
    }
}

/// Its arguments name another conversation, and that one was written later than this: the agent is still there.
fn wrote_elsewhere(process: &Process, session: &SessionId, folder: &Path, written: i64) -> bool {
    if process.arguments().iter().any(|argument| argument == "--fork-session") {
        return false; // it writes to a conversation that its arguments do not name
    }
    let others = process.named_sessions().filter_map(|named| SessionId::new(named).ok());
    others
        .filter(|other| other != session)
        .filter_map(|other| newest_row_ms(&folder.join(format!("{other}.jsonl"))))
        .any(|theirs| theirs > written)
}

/// The conversations whose transcripts are in this folder.
fn conversations(folder: &Path) -> impl Iterator<Item = SessionId> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let transcripts = entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    transcripts.filter_map(|path| SessionId::new(path.file_stem()?.to_str()?).ok()).filter(SessionId::is_uuid)
}
