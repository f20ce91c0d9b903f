//! What every act needs: where the state is, which agents' directories there are, and the vault.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use agents::claude::ConfigDir;
use jiff::Timestamp;
use store::StateDir;
use store::journal::{Entry, Journal};
use vault::Vault;

use crate::Error;
use crate::operation::Current;

/// The place where transcripts are looked at and mended.
pub struct Repairer {
    /// What rekindle remembers.
    pub state: StateDir,
    /// The agents' configuration directories.
    pub configs: Vec<ConfigDir>,
    /// The mirror of conversations.
    pub vault: Vault,
    /// Where the machine's key lies; without it nothing in the state directory counts as this machine's own word.
    pub(crate) machine_key: Option<PathBuf>,
    /// What the command that runs has changed so far.
    pub(crate) operation: Current,
    /// Files in no agent's folder that the user named in this command.
    pub(crate) named: std::sync::Mutex<Vec<PathBuf>>,
}

impl Repairer {
    /// Opens the repairer over a state directory.
    ///
    /// # Errors
    /// The vault cannot be opened.
    pub fn open(state: StateDir, configs: Vec<ConfigDir>) -> Result<Repairer, Error> {
        let vault = Vault::open(&state)?;
        Ok(Repairer::over(state, configs, vault))
    }

    /// Opens the repairer for a command that only looks: where no vault is, and none can be made, it is empty.
    ///
    /// # Errors
    /// There is a vault, and it cannot be used: what it has would be missing from the answer.
    pub fn open_to_read(state: StateDir, configs: Vec<ConfigDir>) -> Result<Repairer, Error> {
        let vault = match Vault::open(&state) {
            Err(_) if is_absent(&state.vault()) || state.vault().join("conversations").is_dir() => {
                Vault::open_to_read(&state)
            }
            opened => opened?,
        };
        Ok(Repairer::over(state, configs, vault))
    }

    fn over(state: StateDir, configs: Vec<ConfigDir>, vault: Vault) -> Repairer {
        Repairer {
            state,
            configs,
            vault,
            machine_key: None,
            operation: Current::default(),
            named: std::sync::Mutex::default(),
        }
    }

    /// The same, with the machine's key.
    #[must_use]
    pub fn with_key(self, path: &Path) -> Repairer {
        Repairer { machine_key: Some(path.to_path_buf()), ..self }
    }

    /// The configuration directory a transcript lies in, if it is one of ours.
    pub(crate) fn config_of(&self, path: &Path) -> Option<&ConfigDir> {
        self.configs.iter().find(|config| {
            let projects = config.projects();
            let real = std::fs::canonicalize(&projects).unwrap_or(projects);
            path.starts_with(&real) || path.starts_with(config.projects())
        })
    }

    /// Tells the story: one line in the journal.
    pub(crate) fn tell(&self, event: &str, fill: impl FnOnce(Entry) -> Entry) -> Result<(), Error> {
        let entry = fill(Entry::new(Timestamp::now(), event));
        Ok(Journal::at(self.state.journal()).append(&entry)?)
    }
}

/// Whether nothing has this name, not even a link that leads nowhere.
fn is_absent(path: &Path) -> bool {
    matches!(std::fs::symlink_metadata(path), Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}
