//! What the environment says: the only place that reads it.

use std::path::{Path, PathBuf};

use agents::claude::config_dirs;
use doctor::{Clinic, Target, TargetError};
use etcetera::{BaseStrategy, choose_base_strategy};
use state::StateDir;
use state::config::Config;

use crate::exit::{Exit, Failure};
use crate::output::say;

/// Everything a command needs.
pub(crate) struct Context {
    pub(crate) clinic: Clinic,
    pub(crate) config: Config,
    /// For paths as users write them.
    pub(crate) home: Option<PathBuf>,
}

impl Context {
    pub(crate) fn load() -> Result<Context, Failure> {
        let base = choose_base_strategy().map_err(|_| {
            Failure::new(Exit::Failed, "there is no home directory")
                .hint("set HOME, or REKINDLE_STATE_DIR and REKINDLE_CONFIG")
        })?;
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config_path =
            variable("REKINDLE_CONFIG").unwrap_or_else(|| base.config_dir().join("rekindle/config.toml"));
        let config = Config::load(Some(&config_path))?;
        for key in &config.unknown {
            say(&format!("rekindle: {}: {key} is no setting; it is ignored", config_path.display()));
        }
        let state_path = variable("REKINDLE_STATE_DIR")
            .or_else(|| base.state_dir().map(|state| state.join("rekindle")))
            .unwrap_or_else(|| base.home_dir().join(".local/state/rekindle"));
        let state = StateDir::open(state_path)?;
        let slots: Vec<PathBuf> =
            config.slots.iter().map(|slot| expand(&slot.config_dir, base.home_dir())).collect();
        let configs = config_dirs(variable("CLAUDE_CONFIG_DIR").as_deref(), Some(base.home_dir()), &slots);
        let clinic = Clinic::open(state, configs)?;
        Ok(Context { clinic, config, home: Some(base.home_dir().to_path_buf()) })
    }

    /// What a user means by a target.
    pub(crate) fn target(&self, text: &str) -> Result<Target, Failure> {
        self.clinic.target(text).map_err(|error| match error {
            TargetError::Unreadable { .. } => Failure::new(Exit::Failed, error.to_string()),
            _ => Failure::new(Exit::Usage, error.to_string()),
        })
    }

    /// A path as users write it.
    pub(crate) fn short_path(&self, path: &Path) -> String {
        match self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

/// `~/x` in the config means the home directory.
fn expand(path: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~").map_or_else(|_| path.to_path_buf(), |rest| home.join(rest))
}
