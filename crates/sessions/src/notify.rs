//! New alarms go into the journal, and the urgent ones to the desktop, each once.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use store::journal::{Entry, Journal};

use crate::alarm::Alarm;
use crate::derive;
use crate::settle::{Error, Settler};

/// How a person is called.
#[derive(Debug, Clone, Default)]
pub enum Desktop {
    /// By this program, as `notify-send` takes its arguments.
    Program(PathBuf),
    /// By nothing: there is no desktop.
    #[default]
    None,
}

const DEADLINE: Duration = Duration::from_secs(5);

impl Settler {
    /// Tells what is new among the alarms, and that an alarm is over.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn tell_alarms(&self, alarms: &[Alarm], desktop: &Desktop, now: Timestamp) -> Result<(), Error> {
        let path = self.state.cache().join("alarms.json");
        let known: Vec<String> = store::files::read_own(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let key = |alarm: &Alarm| {
            let session = alarm.session.as_ref().map_or("", |session| session.as_str());
            format!("{:?} {session}", alarm.kind)
        };
        let current: Vec<String> = alarms.iter().map(key).collect();
        if known == current {
            return Ok(());
        }
        let journal = Journal::at(self.state.journal());
        for alarm in alarms.iter().filter(|alarm| !known.contains(&key(alarm))) {
            let mut entry = Entry::new(now, "alarm").with("text", alarm.text.clone());
            if let Some(session) = &alarm.session {
                entry = entry.with("session", session.as_str());
            }
            journal.append(&entry)?;
            if let (true, Desktop::Program(program)) = (alarm.kind.is_urgent(), desktop) {
                let mut command = Command::new(program);
                command.args(["--app-name=rekindle", "--urgency=critical", "--", "rekindle", &alarm.text]);
                // Nobody at the desktop is nobody to call: the alarm stands in the journal and in `status`.
                let _ = tmux::run(&mut command, DEADLINE);
            }
        }
        for over in known.iter().filter(|known| !current.contains(known)) {
            journal.append(&Entry::new(now, "alarm_over").with("alarm", over.clone()))?;
        }
        let bytes = serde_json::to_vec(&current).unwrap_or_default();
        Ok(derive::write(&path, &bytes)?)
    }
}
