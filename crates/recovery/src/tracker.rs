//! Asking a tracker of tasks (beads) what an agent was at, with a deadline.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use context::handoff::{self, Handoff, HandoffError, Issue};
use tmux::{Ran, run};

/// It answers within a second; one that does not is not waited for.
const DEADLINE: Duration = Duration::from_secs(5);

/// So that its answer is a plain list, it starts nothing that stays, and asks nobody.
const VARIABLES: [(&str, &str); 3] =
    [("BD_JSON_ENVELOPE", "0"), ("BEADS_NO_DAEMON", "1"), ("BD_NON_INTERACTIVE", "1")];

/// The tracker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracker {
    program: PathBuf,
    deadline: Duration,
    /// What it has in progress in each directory: many agents work in the same one.
    known: RefCell<BTreeMap<PathBuf, Result<Vec<Issue>, HandoffError>>>,
}

impl Tracker {
    /// The tracker in one of these folders; nothing where there is none.
    pub fn find(folders: &[PathBuf]) -> Option<Tracker> {
        let program = folders.iter().map(|folder| folder.join("bd")).find(|program| program.is_file())?;
        Some(Tracker { program, deadline: DEADLINE, known: RefCell::default() })
    }

    /// What it knows of the work of an agent in this directory, by the agent's names.
    pub fn ask(&self, directory: &Path, names: &[&str]) -> Handoff {
        let unasked = |error: HandoffError| Handoff::Unasked { why: said(&error) };
        match self.in_progress(directory) {
            Ok(issues) => {
                let chosen = Handoff::choose(issues, names);
                let own = matches!(chosen, Handoff::Own(_));
                let words = handoff::show(chosen.issues()).filter(|_| own).unwrap_or_default();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                // The list says the most of it; what only the details say is then missing.
                let shown = if words.is_empty() { Ok(Vec::new()) } else { self.run(directory, &words) };
                chosen.detailed(shown.unwrap_or_default())
            }
            // It says the same where its database cannot be opened.
            Err(HandoffError::Unused) if !is_used(directory) => Handoff::None,
            Err(error) => unasked(error),
        }
    }

    fn in_progress(&self, directory: &Path) -> Result<Vec<Issue>, HandoffError> {
        if let Some(known) = self.known.borrow().get(directory) {
            return known.clone();
        }
        let answer = self.run(directory, &handoff::LIST);
        self.known.borrow_mut().insert(directory.to_path_buf(), answer.clone());
        answer
    }

    fn run(&self, directory: &Path, words: &[&str]) -> Result<Vec<Issue>, HandoffError> {
        if !directory.is_dir() {
            return Err(HandoffError::Refused("its directory is gone".to_owned()));
        }
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(directory).envs(VARIABLES);
        match run(&mut command, self.deadline) {
            Ran::Done(output) => handoff::issues(output.status.success(), &output.stdout, &output.stderr),
            Ran::TooLate => {
                let seconds = self.deadline.as_secs_f32();
                Err(HandoffError::Refused(format!("it did not answer within {seconds} s")))
            }
            Ran::NotStarted(error) => Err(HandoffError::Refused(error.to_string())),
        }
    }
}

fn said(error: &HandoffError) -> String {
    match error {
        HandoffError::Refused(why) => why.clone(),
        HandoffError::Unused => "it finds no database, and there is a .beads folder".to_owned(),
        HandoffError::Unreadable => "it answered something else than its tasks".to_owned(),
    }
}

/// Whether a directory, or one above it, has tasks.
fn is_used(directory: &Path) -> bool {
    directory.ancestors().any(|folder| folder.join(".beads").exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A tracker that says and does this.
    fn tracker(folder: &Path, script: &str) -> Tracker {
        let program = folder.join("bd");
        store::durable::replace(&program, format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Tracker::find(&["/nonexistent".into(), folder.to_path_buf()]).unwrap()
    }

    #[test]
    fn is_asked_in_the_agents_directory_with_words_and_no_shell() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let script = r#"case "$*" in
            "list --status in_progress --json")
              echo "[{\"id\":\"a-1\",\"title\":\"$PWD\",\"assignee\":\"Toast\",\"status\":\"in_progress\"}]" ;;
            "show a-1 --json")
              echo "[{\"id\":\"a-1\",\"title\":\"t\",\"notes\":\"$BEADS_NO_DAEMON\",\"status\":\"in_progress\"}]" ;;
            *) exit 9 ;; esac"#;
        let tracker = tracker(&folder, script);
        let text = tracker.ask(&folder, &["toast"]).text().unwrap();
        assert_eq!(text, "- a-1 t (in progress)\n  Notes: 1");
        let around = tracker.ask(&folder, &["other"]).text().unwrap();
        assert!(around.contains(&format!("- a-1 {} (in progress, Toast)", folder.display())), "{around}");
        assert!(Tracker::find(&["/nonexistent".into()]).is_none());
    }

    #[test]
    fn an_error_is_told_and_no_tracker_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let told = |script: &str| tracker(dir.path(), script).ask(dir.path(), &[]);
        let unasked = |why: &str| Handoff::Unasked { why: why.to_owned() };
        assert_eq!(told("echo 'Error: database is locked' >&2; exit 1"), unasked("database is locked"));
        assert_eq!(told("echo hello"), unasked("it answered something else than its tasks"));
        assert_eq!(told("echo '[]'"), Handoff::None);
        assert_eq!(told("echo 'Error: no beads database found' >&2; exit 1"), Handoff::None);
        store::durable::private_dir(&dir.path().join(".beads")).unwrap();
        let lost = told("echo 'Error: no beads database found' >&2; exit 1");
        assert_eq!(lost, unasked("it finds no database, and there is a .beads folder"));
        let slow = Tracker { deadline: Duration::from_millis(50), ..tracker(dir.path(), "exec sleep 600") };
        assert_eq!(slow.ask(dir.path(), &[]), unasked("it did not answer within 0.05 s"));
        let gone = tracker(dir.path(), "echo '[]'").ask(Path::new("/nonexistent"), &[]);
        assert_eq!(gone, unasked("its directory is gone"));
    }
}
