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
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = choose_base_strategy().ok();
        let home = base.as_ref().map(|base| base.home_dir().to_path_buf());
        let (agent, state_path) = (variable("CLAUDE_CONFIG_DIR"), variable("REKINDLE_STATE_DIR"));
        let (agent, state_path) = match (&base, agent, state_path) {
            (Some(base), agent, state) => (agent, state.unwrap_or_else(|| default_state(base))),
            (None, Some(agent), Some(state)) => (Some(agent), state),
            (None, ..) => {
                return Err(Failure::new(Exit::Failed, "there is no home directory")
                    .hint("set HOME, or CLAUDE_CONFIG_DIR and REKINDLE_STATE_DIR"));
            }
        };
        let config_path = variable("REKINDLE_CONFIG")
            .or_else(|| base.as_ref().map(|base| base.config_dir().join("rekindle/config.toml")));
        let config = Config::load(config_path.as_deref())?;
        for key in &config.unknown {
            let file = config_path.as_deref().unwrap_or(Path::new("config.toml")).display();
            say(&format!("rekindle: {file}: {key} is no setting; it is ignored"));
        }
        let state = StateDir::open(state_path)?;
        let slots: Vec<PathBuf> =
            config.slots.iter().map(|slot| expand(&slot.config_dir, home.as_deref())).collect();
        let configs = config_dirs(agent.as_deref(), home.as_deref(), &slots);
        let clinic = Clinic::open(state, configs)?;
        Ok(Context { clinic, config, home })
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

fn default_state(base: &impl BaseStrategy) -> PathBuf {
    let state = base.state_dir().unwrap_or_else(|| base.home_dir().join(".local/state"));
    state.join("rekindle")
}

/// `~/x` in the config means the home directory.
fn expand(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}
