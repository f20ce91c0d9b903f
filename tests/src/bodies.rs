//! The processes of a round: known by the state directory in their environment, never by name.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::home::Home;

/// A process of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its program.
    pub program: String,
    /// Its arguments, as far as it left them.
    pub arguments: Vec<String>,
}

impl Body {
    /// Whether it is an agent: a native program of the cache, or Node.
    pub fn is_agent(&self) -> bool {
        self.program.ends_with("/claude") || self.program.ends_with("/node")
    }

    /// Whether it is the program under test.
    pub fn is_rekindle(&self) -> bool {
        Path::new(&self.program) == crate::program().canonicalize().unwrap_or_default()
    }

    /// Whether it is this process or below it.
    pub fn is_in(&self, bodies: &[Body], pid: u32) -> bool {
        self.pid == pid || is_above(bodies, pid, self.pid)
    }

    /// Ends it without a word; gone already is fine.
    pub fn kill(&self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Home {
    /// Every live process that was started in this home.
    pub fn bodies(&self) -> Vec<Body> {
        Home::bodies_of(&self.state())
    }

    /// The same, by the state directory alone.
    pub fn bodies_of(state: &Path) -> Vec<Body> {
        let mark = format!("REKINDLE_STATE_DIR={}", state.display()).into_bytes();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter_map(|pid| body(pid, &mark)).collect()
    }

    /// Every agent of this home that no other agent started.
    pub fn agents(&self) -> Vec<Body> {
        let bodies = self.bodies();
        let agents: Vec<Body> = bodies.iter().filter(|body| body.is_agent()).cloned().collect();
        let below = |body: &Body| agents.iter().any(|other| is_above(&bodies, other.pid, body.pid));
        agents.iter().filter(|body| !below(body)).cloned().collect()
    }
}

fn body(pid: u32, mark: &[u8]) -> Option<Body> {
    let folder = Path::new("/proc").join(pid.to_string());
    let environment = fs::read(folder.join("environ")).ok()?;
    environment.split(|byte| *byte == 0).find(|variable| *variable == mark)?;
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // A zombie has ended; only its parent has not looked.
    if state == "Z" || state == "X" {
        return None;
    }
    let program = fs::read_link(folder.join("exe")).ok()?.to_string_lossy().into_owned();
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let arguments = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Some(Body { pid, parent, program, arguments })
}

/// Whether a process stands above another one.
fn is_above(bodies: &[Body], above: u32, below: u32) -> bool {
    let mut at = below;
    while let Some(body) = bodies.iter().find(|body| body.pid == at) {
        if body.parent == above {
            return true;
        }
        at = body.parent;
    }
    false
}
