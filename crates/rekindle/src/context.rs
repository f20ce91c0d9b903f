//! What the environment says: the only place that reads it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use repair::{OpenOperation, Paths, Repairer, Target, TargetError};
use sessions::{Account, Desktop, Settler, Snapper};
use store::config::Config;
use store::fallback_spool::FallbackSpool;
use store::mac::Key;
use store::machine_key::MachineKey;
use store::operations::Effect;
use store::snapshots::Shelf;
use tmux::Listing;

use crate::exit::{Exit, Failure};
use crate::output::say;

/// A server answers within milliseconds; one that does not is not waited for.
pub(crate) const TMUX_DEADLINE: Duration = Duration::from_secs(2);

/// The newest one is what a recovery reads; a few more are for people who look back some turns.
const KEPT_SNAPSHOTS: usize = 12;

/// Everything a command needs.
pub(crate) struct Context {
    pub(crate) repairer: Repairer,
    pub(crate) config: Config,
    /// For paths as users write them.
    pub(crate) home: Option<PathBuf>,
    pub(crate) around: Paths,
}

impl Context {
    /// The places that the environment names, and the home directory where there is one.
    pub(crate) fn paths() -> Result<(Paths, Option<PathBuf>), Failure> {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        // Only what the environment says, as agents and hooks have it: the list of users may need libraries of its machine,
        // which a program that is one file cannot load.
        let home = std::env::var_os("HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        if home.is_none() && !(set("CLAUDE_CONFIG_DIR") && set("REKINDLE_STATE_DIR")) {
            return Err(Failure::new(Exit::Failed, "there is no home directory")
                .hint("set HOME, or CLAUDE_CONFIG_DIR and REKINDLE_STATE_DIR"));
        }
        // Where all that matters is named, nothing is looked for in a home.
        let base = home.as_deref().unwrap_or(Path::new("/nonexistent"));
        Ok((Paths::new(base, |name| std::env::var_os(name)), home))
    }

    /// The account of the agent around this program, by its environment.
    pub(crate) fn own_account(&self) -> Option<ConfigDir> {
        let set = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        set.or_else(|| Some(self.home.as_deref()?.join(".claude"))).map(ConfigDir::new)
    }

    /// The state directory as it would be if `REKINDLE_STATE_DIR` did not name one.
    pub(crate) fn usual_state(around: &Paths) -> PathBuf {
        let others = |name: &str| std::env::var_os(name).filter(|_| name != "REKINDLE_STATE_DIR");
        Paths::new(&around.home, others).state
    }

    /// The configuration; keys that mean nothing and a template that cannot be used are said.
    pub(crate) fn configuration(around: &Paths) -> Result<Config, Failure> {
        let config = around.config()?;
        for key in &config.unknown {
            say(&format!("rekindle: {}: {key} is no setting; it is ignored", around.config.display()));
        }
        // On the day of a crash it would be too late to find out.
        if let Err(failure) = crate::briefing::template(&config, around) {
            let (path, why) = (around.config.display(), failure.message());
            say(&format!("rekindle: {path}: recovery.prompts.template: {why}"));
        }
        Ok(config)
    }

    pub(crate) fn load() -> Result<Context, Failure> {
        Context::load_with(Paths::repairer)
    }

    /// The same, for a command that only looks: it works where the state directory cannot be made.
    pub(crate) fn load_to_read() -> Result<Context, Failure> {
        Context::load_with(Paths::reader)
    }

    fn load_with(
        open: impl FnOnce(&Paths, &Config) -> Result<Repairer, repair::Error>,
    ) -> Result<Context, Failure> {
        let (around, home) = Context::paths()?;
        let config = Context::configuration(&around)?;
        let repairer = open(&around, &config)?;
        // Every list shows what every command takes back.
        let (state, configs) = (repairer.state.clone(), repairer.configs.clone());
        agents::short_ids::known_by(move || repair::short_ids(&state, &configs));
        Ok(Context { repairer, config, home, around })
    }

    /// Begins an operation: what this command changes from now on can be undone together.
    pub(crate) fn begin_operation(&self, command: &str) -> OpenOperation<'_> {
        self.repairer.begin_operation(command, self.config.vault.keep_backups)
    }

    /// Writes down what cannot be undone, as an operation of its own.
    pub(crate) fn note_operation(&self, command: &str, effect: Effect) -> Result<(), Failure> {
        let _operation = self.begin_operation(command);
        Ok(self.repairer.note_effect(effect)?)
    }

    /// What turns events into records.
    pub(crate) fn settler(&self) -> Result<Settler, Failure> {
        let around = &self.around;
        if Key::tighten(&around.machine_key)? {
            let path = around.machine_key.display();
            say(&format!("rekindle: {path} could be read by others; its mode is 0600 now"));
        }
        let account = |slot: &store::config::Slot| Account {
            name: slot.name.clone(),
            config_dir: around.expand(&slot.config_dir),
        };
        Ok(Settler {
            state: self.repairer.state.clone(),
            refuge: refuge(&around.state),
            key: MachineKey::open(&self.repairer.state, &around.machine_key)?,
            configs: self.repairer.configs.clone(),
            accounts: self.config.slots.iter().map(account).collect(),
            keep_map: self.config.restore.keep_map,
            context_limit: self.config.recovery.inject_limit as usize,
            zone: crate::zone::local(),
            sockets: BTreeSet::new(),
            log: self.config.log.enabled,
        })
    }

    /// Refuses where the state directory belongs to another key: a process with another key changes nothing there but the
    /// vault's copies of transcripts (docs/security.md).
    pub(crate) fn may_change(&self) -> Result<(), Failure> {
        let key = MachineKey::look(&self.repairer.state, &self.around.machine_key)?;
        match key.as_ref().map(MachineKey::writing) {
            Some(Err(trouble)) => Err(trouble.into()),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// The machine's key, for what is written with its code.
    pub(crate) fn writing_key(&self) -> Result<Key, Failure> {
        Ok(self.settler()?.key.writing()?.clone())
    }

    /// The machine's key, where it is this state directory's own.
    pub(crate) fn reading_key(&self) -> Option<Key> {
        let found = MachineKey::look(&self.repairer.state, &self.around.machine_key).ok().flatten();
        found.and_then(|key| key.reading().cloned())
    }

    /// What takes snapshots of agents' panes; nothing where that is turned off.
    pub(crate) fn snapper(&self) -> Option<Snapper> {
        let chosen = &self.config.recovery;
        let folder = self.snapshot_folder();
        let key = self.reading_key();
        let shelf = Shelf { folder, keep: KEPT_SNAPSHOTS, keep_for: self.config.restore.keep_map, key };
        chosen.enabled.then_some(Snapper { shelf, lines: chosen.max_context_lines })
    }

    /// Where snapshots of agents' panes are kept.
    pub(crate) fn snapshot_folder(&self) -> PathBuf {
        match self.config.recovery.snapshot_dir.as_str() {
            "" => self.repairer.state.snapshots(),
            given => self.around.expand(Path::new(given)),
        }
    }

    /// A variable that names a place; an empty one counts as unset.
    pub(crate) fn place(name: &str) -> Option<PathBuf> {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The folders of `PATH`.
    pub(crate) fn search_path() -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
    }

    /// The tmux servers of this user: where tmux puts their sockets, and the one this runs in.
    pub(crate) fn sockets() -> BTreeSet<PathBuf> {
        tmux::sockets(&Context::tmux_base()).into_iter().chain(Context::around()).collect()
    }

    /// The tmux server of whoever names none.
    pub(crate) fn default_socket() -> PathBuf {
        tmux::default_socket(&Context::tmux_base())
    }

    fn tmux_base() -> PathBuf {
        Context::place("TMUX_TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// The tmux server this runs in.
    pub(crate) fn around() -> Option<PathBuf> {
        sessions::socket_of(Context::place("TMUX")?.to_str()?)
    }

    /// Whether a tmux server can have a scope of its own: systemd's user manager runs, and what asks it for one is there.
    pub(crate) fn has_scopes() -> bool {
        let runs =
            Context::place("XDG_RUNTIME_DIR").is_some_and(|base| base.join("systemd/private").exists());
        runs && Context::search_path().iter().any(|folder| folder.join("systemd-run").is_file())
    }

    /// The transcript a user means by a target.
    pub(crate) fn target(&self, text: &str) -> Result<Target, Failure> {
        self.repairer.target(text).map_err(|error| self.untold(error))
    }

    /// The conversation a user means by a target, whether its transcript is there or not.
    pub(crate) fn session(&self, text: &str) -> Result<SessionKey, Failure> {
        self.repairer.session(text).map_err(|error| self.untold(error))
    }

    /// Why a target means nothing.
    pub(crate) fn untold(&self, error: TargetError) -> Failure {
        match error {
            TargetError::Unreadable { .. } => Failure::new(Exit::Failed, error.to_string()),
            TargetError::NobodyThere(pane) => self.nobody_in(&pane),
            _ => Failure::new(Exit::Usage, error.to_string()),
        }
    }

    /// A pane without a conversation: there, or not there at all.
    pub(crate) fn nobody_in(&self, text: &str) -> Failure {
        let servers = Context::sockets();
        let listings = servers.iter().map(|socket| tmux::list(socket, TMUX_DEADLINE));
        let found = listings.into_iter().find_map(|listing| match listing {
            Listing::Alive(server) => {
                let is = |pane: &&tmux::Pane| pane.id == text || server.reference(pane).as_str() == text;
                server.panes.iter().find(is).map(|pane| pane.command.clone())
            }
            _ => None,
        });
        match found {
            Some(command) => {
                Failure::new(Exit::Usage, format!("pane {text} has no agent: it runs {command}"))
                    .hint("rekindle status lists the agents and their panes")
            }
            None => Failure::new(Exit::Usage, format!("{text} is no pane here, and none on record"))
                .hint("rekindle map lists the panes"),
        }
    }

    /// The short form of a session of this account: with its mark where several accounts have the id, so that every command takes
    /// it back.
    pub(crate) fn short_in(&self, session: &SessionId, account: Option<&ConfigDir>) -> String {
        self.repairer.key_of(session, account).short()
    }

    /// The same of the session whose transcript is, or was, at this path.
    pub(crate) fn short_at(&self, session: &SessionId, transcript: &Path) -> String {
        self.repairer.key_at(session, transcript).short()
    }

    /// A path as users write it.
    pub(crate) fn short_path(&self, path: &Path) -> String {
        short_path(self.home.as_deref(), path)
    }
}

/// A path as users of this home write it.
pub(crate) fn short_path(home: Option<&Path>, path: &Path) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// A path of the configuration: `~/` is the home, and a relative one begins beside the configuration file.
pub(crate) fn configured(around: &Paths, path: &Path) -> PathBuf {
    let folder = around.config.parent().unwrap_or(Path::new("/"));
    folder.join(around.expand(path))
}

/// The tmux pane around this process, with its server's socket.
pub(crate) fn pane_around() -> Option<(PathBuf, String)> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Some((variable("TMUX").and_then(|tmux| sessions::socket_of(&tmux))?, variable("TMUX_PANE")?))
}

/// Where events wait when a state directory cannot be written.
pub(crate) fn refuge(state: &Path) -> FallbackSpool {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    FallbackSpool::of(state, runtime.as_deref(), &std::env::temp_dir())
}

/// How a person is called, where there is a desktop.
pub(crate) fn desktop() -> Desktop {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("DISPLAY") || set("WAYLAND_DISPLAY") || set("DBUS_SESSION_BUS_ADDRESS") {
        return Desktop::Program("notify-send".into());
    }
    Desktop::None
}
