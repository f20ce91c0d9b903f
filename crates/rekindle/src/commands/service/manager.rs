//! The service manager: what it is told, and what it says.

use std::process::Command;
use std::time::Duration;

use integrate::service::{Call, Manager, Service};
use repair::Paths;
use serde_json::Value;
use tmux::Ran;

use crate::commands::init::program;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Reloading a manager with hundreds of units takes a second or two.
const DEADLINE: Duration = Duration::from_secs(30);

/// What finds our files, agents and servers again, where the user has set it.
const VARIABLES: [&str; 10] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "TMUX_TMPDIR",
    "REKINDLE_STATE_DIR",
    "REKINDLE_CONFIG",
    "CLAUDE_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
];

/// The service of this user on this machine.
pub(super) fn service(around: &Paths, interval: Duration) -> Result<Service, Failure> {
    let manager = if cfg!(target_os = "macos") { Manager::Launchd } else { Manager::Systemd };
    let config = Context::place("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let config = config.unwrap_or_else(|| around.home.join(".config"));
    let set = |name: &&str| {
        let value = std::env::var(name).ok()?;
        let plain = !value.is_empty() && !value.contains(char::is_control);
        plain.then(|| ((*name).to_owned(), value))
    };
    Ok(Service {
        manager,
        folder: Service::folder(manager, &around.home, &config),
        program: program(&Context::search_path())?,
        interval,
        variables: VARIABLES.iter().filter_map(set).collect(),
        user: rustix::process::getuid().as_raw(),
    })
}

/// Refuses where nobody could start anything.
pub(super) fn is_there(service: &Service) -> Result<(), Failure> {
    let name = match service.manager {
        Manager::Systemd => "systemctl",
        Manager::Launchd => "launchctl",
    };
    if Context::search_path().iter().any(|folder| folder.join(name).is_file()) {
        return Ok(());
    }
    Err(Failure::new(Exit::Refused, format!("there is no {name} on PATH, and nothing was changed"))
        .hint("let something else run `rekindle tick` every five minutes, and `rekindle restore --yes --by boot` at boot"))
}

/// Runs commands one after another; one that is needed and fails ends it.
pub(super) fn run_all(calls: &[Call]) -> Result<(), Failure> {
    for call in calls {
        let done = run(&call.words);
        if let Err(why) = done
            && call.needed
        {
            return Err(Failure::new(Exit::Failed, format!("{} failed: {why}", call.words.join(" ")))
                .hint("the files are written; run it again when your service manager answers"));
        }
    }
    Ok(())
}

/// What a program printed, or why it failed.
fn run(words: &[String]) -> Result<String, String> {
    let Some((name, arguments)) = words.split_first() else { return Err("there is no program".to_owned()) };
    match tmux::run(Command::new(name).args(arguments), DEADLINE) {
        Ran::Done(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ran::Done(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Ran::TooLate => Err("it did not answer in time".to_owned()),
        Ran::NotStarted(error) => Err(error.to_string()),
    }
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether services of this user live on after the last logout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linger {
    On,
    Off,
    /// Nobody says.
    Unknown,
}

impl Linger {
    pub(super) fn as_json(self) -> Value {
        match self {
            Linger::On => true.into(),
            Linger::Off => false.into(),
            Linger::Unknown => Value::Null,
        }
    }
}

pub(super) fn linger(service: &Service) -> Linger {
    if service.manager == Manager::Launchd {
        return Linger::Unknown;
    }
    let user = service.user.to_string();
    let said = run(&words(&["loginctl", "show-user", &user, "--property=Linger", "--value"]));
    match said.as_deref().map(str::trim) {
        Ok("yes") => Linger::On,
        // Of a user who is not logged in it says nothing; there would be a mark.
        Ok("no") => Linger::Off,
        _ => Linger::Unknown,
    }
}

pub(super) fn enable_linger() -> Result<(), Failure> {
    run(&words(&["loginctl", "enable-linger"])).map(drop).map_err(|why| {
        Failure::new(Exit::Partly, format!("loginctl enable-linger failed: {why}"))
            .hint("the units are installed; ask whoever manages the machine")
    })
}

/// What the manager says of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// `enabled`, `disabled`, `static`; nothing where nobody says.
    pub(super) enabled: Option<String>,
    /// `active`, `inactive`, `failed`, `activating`; nothing where nobody says.
    pub(super) active: Option<String>,
    /// How its last run ended: `success`, `exit-code`, `timeout`.
    pub(super) result: Option<String>,
}

/// Asks about a unit.
pub(super) fn ask(service: &Service, name: &str) -> Unit {
    match service.manager {
        Manager::Systemd => {
            let properties = "--property=UnitFileState,ActiveState,Result";
            run(&words(&["systemctl", "--user", "show", properties, name]))
                .map(|said| unit(&said))
                .unwrap_or_default()
        }
        Manager::Launchd => {
            let target = format!("gui/{}/{name}", service.user);
            let active = match run(&words(&["launchctl", "print", &target])) {
                Ok(_) => "active",
                Err(_) => "inactive",
            };
            Unit { active: Some(active.to_owned()), ..Unit::default() }
        }
    }
}

fn unit(said: &str) -> Unit {
    let value = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    Unit { enabled: value("UnitFileState"), active: value("ActiveState"), result: value("Result") }
}

/// When the timer fires next, in microseconds since 1970; nothing where the manager does not say.
pub(super) fn next_tick(service: &Service) -> Option<i64> {
    if service.manager == Manager::Launchd {
        return None;
    }
    let timer = service.files().into_iter().find(|file| file.name.ends_with(".timer"))?.name;
    let said = run(&words(&["systemctl", "--user", "list-timers", "--all", "--output=json", timer])).ok()?;
    // Before systemd 249 this is a table.
    let timers: Value = serde_json::from_str(&said).ok()?;
    timers.get(0)?.get("next")?.as_i64().filter(|next| *next > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_whatever_their_order() {
        let said = "Result=success\nActiveState=active\nUnitFileState=\n";
        let expect =
            Unit { enabled: None, active: Some("active".to_owned()), result: Some("success".to_owned()) };
        assert_eq!(unit(said), expect);
        assert_eq!(unit(""), Unit::default());
    }
}
