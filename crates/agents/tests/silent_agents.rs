//! An agent without a registry entry in a conversation's directory: when it may be in it, and what shows that it is not.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use agents::SessionId;
use agents::claude::pid_domain::PidDomain;
use agents::claude::{ConfigDir, MAY_BE_IN_IT, Owner, Owners, RecordedRun, slug};

const THIS: &str = "5e551000-0000-4000-8000-00000000000a";
const OTHER: &str = "5e551000-0000-4000-8000-00000000000b";

/// A home with two conversations of one project.
struct Place {
    root: tempfile::TempDir,
    folder: PathBuf,
}

/// A process that looks like an agent and waits for its standard input to close.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let project = project.canonicalize().unwrap();
        let folder = root.path().join(".claude/projects").join(slug(project.to_str().unwrap()).unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        Place { root, folder }
    }

    fn agent(&self, arguments: &[&str]) -> Agent {
        let mut command = Command::new("bash");
        // The shell itself waits, under the agent's name and with its arguments.
        command.args(["-c", "exec -a claude bash -c 'echo up; read' \"$@\"", "bash"]).args(arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.root.path());
        command.current_dir(self.root.path().join("project"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 3];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        Agent(child)
    }

    /// Writes a conversation; its newest row is so many seconds old.
    fn write(&self, session: &str, age: u64) -> PathBuf {
        let path = self.folder.join(format!("{session}.jsonl"));
        let mut file = File::create(&path).unwrap();
        writeln!(file, "{{\"type\":\"user\",\"sessionId\":\"{session}\"}}").unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(60) - Duration::from_secs(age)).unwrap();
        path
    }

    fn owner(
        &self,
        path: &Path,
        last_run: impl Fn(&SessionId) -> Vec<RecordedRun> + Send + Sync + 'static,
    ) -> Owner {
        let owners = Owners::look(&[ConfigDir::new(self.root.path().join(".claude"))]);
        owners.beside(Box::new(move |session, _| last_run(session))).of(&SessionId::new(THIS).unwrap(), path)
    }
}

fn may_be_in_it(owner: &Owner, agent: &Agent) -> bool {
    matches!(owner, Owner::Process(holder) if holder.pid == agent.0.id() && holder.evidence == MAY_BE_IN_IT)
}

#[test]
fn an_agent_that_nothing_tells_of_may_be_in_it() {
    let place = Place::new();
    let agent = place.agent(&["claude"]);
    let (path, _) = (place.write(THIS, 0), place.write(OTHER, 0));
    let owner = place.owner(&path, |_| Vec::new());
    assert!(may_be_in_it(&owner, &agent), "{owner:?}");
    // What was written before it started is not its own.
    let path = place.write(THIS, 3_600);
    assert_eq!(place.owner(&path, |_| Vec::new()), Owner::Nobody);
}

#[test]
fn an_agent_on_record_elsewhere_is_not_in_it() {
    let place = Place::new();
    let agent = place.agent(&["claude"]);
    let (path, _) = (place.write(THIS, 0), place.write(OTHER, 30));
    let pid = agent.0.id();
    let start = agents::claude::process::Processes::look().get(pid).unwrap().start_ticks;
    let recorded = move |start: u64, genuine: bool| {
        let domain = PidDomain::own();
        move |session: &SessionId| match session.as_str() {
            OTHER => vec![RecordedRun::Open { pid, start, domain: domain.clone(), genuine }],
            _ => Vec::new(),
        }
    };
    assert_eq!(place.owner(&path, recorded(start, true)), Owner::Nobody);
    // A record of an earlier process with the same id says nothing of this one.
    let owner = place.owner(&path, recorded(start + 1, true));
    assert!(may_be_in_it(&owner, &agent), "{owner:?}");
    // Nor does one that was edited.
    let owner = place.owner(&path, recorded(start, false));
    assert!(may_be_in_it(&owner, &agent), "{owner:?}");
}

#[test]
fn an_agent_that_wrote_where_its_arguments_say_is_not_in_it() {
    let place = Place::new();
    let agent = place.agent(&["claude", "--resume", OTHER]);
    let (path, _) = (place.write(THIS, 10), place.write(OTHER, 0));
    assert_eq!(place.owner(&path, |_| Vec::new()), Owner::Nobody);
    // It may have gone on in this one, by `/resume`.
    place.write(OTHER, 30);
    let owner = place.owner(&path, |_| Vec::new());
    assert!(may_be_in_it(&owner, &agent), "{owner:?}");
}

#[test]
fn a_fork_is_not_where_its_arguments_say() {
    let place = Place::new();
    let agent = place.agent(&["claude", "--resume", OTHER, "--fork-session"]);
    let (path, _) = (place.write(THIS, 10), place.write(OTHER, 0));
    let owner = place.owner(&path, |_| Vec::new());
    assert!(may_be_in_it(&owner, &agent), "{owner:?}");
}

#[test]
fn an_agent_that_has_another_conversations_file_open_is_not_in_it() {
    let place = Place::new();
    let (path, other) = (place.write(THIS, 0), place.write(OTHER, 30));
    let mut command = Command::new("bash");
    command
        .args(["-c", "exec -a claude bash -c 'exec 7<\"$1\"; echo up; read' claude \"$1\"", "bash"])
        .arg(&other);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", place.root.path());
    command.current_dir(place.root.path().join("project"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    let _agent = Agent(child);
    assert_eq!(place.owner(&path, |_| Vec::new()), Owner::Nobody);
}
