//! Where things are, by what an edge (the program, the Node binding) read from its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, config_dirs};
use store::StateDir;
use store::config::{Config, ConfigError};

use crate::{Error, Repairer};

/// The places that the environment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The home directory.
    pub home: PathBuf,
    /// `config.toml`.
    pub config: PathBuf,
    /// The state directory.
    pub state: PathBuf,
    /// The machine's key: never inside the state directory, which may be shared.
    pub machine_key: PathBuf,
    claude: Option<PathBuf>,
}

impl Paths {
    /// Works them out from a home directory and the variables of an environment. Nothing is looked up.
    pub fn new(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Paths {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification: a relative path is invalid and counts as unset.
        let base = |name: &str, default: &str| {
            given(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(default))
        };
        Paths {
            home: home.to_path_buf(),
            config: given("REKINDLE_CONFIG")
                .unwrap_or_else(|| base("XDG_CONFIG_HOME", ".config").join("rekindle/config.toml")),
            state: given("REKINDLE_STATE_DIR")
                .unwrap_or_else(|| base("XDG_STATE_HOME", ".local/state").join("rekindle")),
            machine_key: base("XDG_CONFIG_HOME", ".config").join("rekindle/machine.key"),
            claude: given("CLAUDE_CONFIG_DIR"),
        }
    }

    /// Reads the configuration.
    ///
    /// # Errors
    /// It is there and cannot be used.
    pub fn config(&self) -> Result<Config, ConfigError> {
        Config::load(Some(&self.config))
    }

    /// Opens the repairer over these places and the slots that the configuration names.
    ///
    /// # Errors
    /// The state directory or the vault cannot be opened.
    pub fn repairer(&self, config: &Config) -> Result<Repairer, Error> {
        let state = StateDir::open(&self.state)?;
        let configs = self.known_configs(&state, config);
        Ok(Repairer::open(state, configs)?.with_key(&self.machine_key))
    }

    /// The same, for a command that only looks: a state directory that cannot be made stops nothing.
    ///
    /// # Errors
    /// The state directory is another user's.
    pub fn reader(&self, config: &Config) -> Result<Repairer, Error> {
        let state = StateDir::open_to_read(&self.state)?;
        let configs = self.known_configs(&state, config);
        Ok(Repairer::open_to_read(state, configs)?.with_key(&self.machine_key))
    }

    fn known_configs(&self, state: &StateDir, config: &Config) -> Vec<ConfigDir> {
        let of_records = if self.claude.is_some() { Vec::new() } else { store::accounts::known(state) };
        self.all_configs(config, of_records)
    }

    /// The agents' configuration directories: what the environment names alone, else the home's and the slots'.
    pub fn configs(&self, config: &Config) -> Vec<ConfigDir> {
        self.all_configs(config, Vec::new())
    }

    /// Every configuration directory that the environment, the home or the configuration names. No record adds one: an agent may
    /// be started with each of them.
    pub fn named_configs(&self, config: &Config) -> Vec<PathBuf> {
        let slots = config.slots.iter().map(|slot| self.expand(&slot.config_dir));
        self.claude.clone().into_iter().chain([self.home.join(".claude")]).chain(slots).collect()
    }

    fn all_configs(&self, config: &Config, of_records: Vec<PathBuf>) -> Vec<ConfigDir> {
        let slots = config.slots.iter().map(|slot| self.expand(&slot.config_dir));
        let extra: Vec<PathBuf> = slots.chain(of_records).collect();
        config_dirs(self.claude.as_deref(), Some(&self.home), &extra)
    }

    /// `~/x` in the configuration means the home directory.
    pub fn expand(&self, path: &Path) -> PathBuf {
        path.strip_prefix("~").map_or_else(|_| path.to_path_buf(), |rest| self.home.join(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], config: &str, state: &str) {
        let variable = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
        };
        let around = Paths::new(Path::new("/home/u"), variable);
        assert_eq!(around.config, Path::new(config));
        assert_eq!(around.state, Path::new(state));
    }

    #[test]
    fn own_variables_come_before_xdg_and_xdg_before_home() {
        let (config, state) = ("/home/u/.config/rekindle/config.toml", "/home/u/.local/state/rekindle");
        check(&[], config, state);
        check(&[("XDG_CONFIG_HOME", ""), ("XDG_STATE_HOME", "relative")], config, state);
        let xdg = [("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s")];
        check(&xdg, "/c/rekindle/config.toml", "/s/rekindle");
        let own = [("REKINDLE_CONFIG", "/x.toml"), ("REKINDLE_STATE_DIR", "/y"), xdg[0], xdg[1]];
        check(&own, "/x.toml", "/y");
    }
}
