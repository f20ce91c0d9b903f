//! The configuration directories that an agent may be started with. The settings in one run code, so a record that this
//! machine did not write never chooses it.

use std::path::{Path, PathBuf};

use agents::SessionKey;
use agents::claude::pid_domain::PidDomain;
use repair::{Repairer, Target};
use store::StateDir;
use store::mac::{Key, Origin};
use store::record::{GenuineRun, Machine, Run, SessionRecord};
use store::spool;

/// The directories that genuine sources name: the command's environment, the home, the configuration, genuine runs, and the
/// sealed starts in a session's own spool.
#[derive(Clone)]
pub struct KnownAccounts {
    dirs: Vec<PathBuf>,
    machine: Machine,
    key: Option<Key>,
}

/// A directory that an agent may be started with. Only [`KnownAccounts`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAccount(PathBuf);

/// A directory that no genuine source names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no genuine record and no setting names its account directory {}, whose settings could run anything", .0.display())]
pub struct UnknownAccount(pub PathBuf);

impl KnownAccount {
    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.0
    }
}

impl KnownAccounts {
    /// Those that the environment and the configuration name (`named`), and those of genuine runs. The user has started an agent
    /// with the directory of a genuine run before, so its settings run nothing new. A run in a container calls its directory by
    /// a path that may be another folder here, so it vouches for its own session alone.
    pub fn of<'a>(
        named: impl IntoIterator<Item = PathBuf>,
        records: impl Iterator<Item = &'a SessionRecord>,
        machine: Machine,
        key: Option<Key>,
    ) -> KnownAccounts {
        let own = PidDomain::own().namespace;
        let is_here = |run: &&Run| run.pid_namespace.is_some() && run.pid_namespace == own;
        let genuine = records.flat_map(|record| &record.runs).filter(is_here);
        let genuine = genuine.filter_map(|run| run.genuine(&machine).and_then(GenuineRun::config_dir));
        let mut dirs: Vec<PathBuf> = named.into_iter().collect();
        for dir in genuine {
            if !dirs.iter().any(|known| known == dir) {
                dirs.push(dir.to_path_buf());
            }
        }
        KnownAccounts { dirs, machine, key }
    }

    /// The account that a session's agent works for: the one that its transcript is in, else the one whose copy the vault has,
    /// else the one that its record names. Nothing where none is known.
    ///
    /// # Errors
    /// No genuine source names that directory.
    pub(crate) fn of_session(
        &self,
        repairer: &Repairer,
        session: &SessionKey,
        record: Option<&SessionRecord>,
    ) -> Result<Option<KnownAccount>, UnknownAccount> {
        let of_vault = || {
            let found = repairer.vaulted_of(session).ok()?;
            found.into_iter().next().filter(|first| first.talks()).map(|first| first.config)
        };
        let config = match repairer.transcript_of(session) {
            Ok(Target::File(file)) => Some(file.config.path().to_path_buf()),
            _ => of_vault().or_else(|| record.and_then(SessionRecord::account_dir)),
        };
        let vouch = |config: PathBuf| {
            self.vouch(config, record).or_else(|UnknownAccount(config)| {
                let sealed = self.sealed_starts(&repairer.state, session);
                is_among(sealed.iter().map(PathBuf::as_path), config)
            })
        };
        config.map(vouch).transpose()
    }

    /// The directories of the starts that this machine's hooks sealed: a record that was edited has them no more.
    fn sealed_starts(&self, state: &StateDir, session: &SessionKey) -> Vec<PathBuf> {
        let path = spool::path(state, session.id());
        let (heard, _) = spool::read(&path, 0, session.id(), self.key.as_ref(), i64::MIN).unwrap_or_default();
        let sealed = heard.into_iter().filter(|read| read.origin == Origin::Genuine);
        let is_here = |domain: &str| {
            let own = PidDomain::own().namespace;
            let namespace = PidDomain::parse(domain).namespace;
            namespace.is_some() && namespace == own && Machine::of_domain(Some(domain)) == self.machine
        };
        let here = sealed.filter(|read| {
            let launch = read.event.launch.as_ref();
            launch.and_then(|launch| launch.pid_domain.as_deref()).is_some_and(is_here)
        });
        here.filter_map(|read| read.event.config_dir()).collect()
    }

    fn vouch(&self, config: PathBuf, record: Option<&SessionRecord>) -> Result<KnownAccount, UnknownAccount> {
        let own = record.map(|record| record.genuine_account_dirs(&self.machine)).unwrap_or_default();
        is_among(own.into_iter().chain(self.dirs.iter().map(PathBuf::as_path)), config)
    }
}

/// The known directory that this is. The directory itself must be the same: one with another's transcripts behind a link has
/// settings of its own.
fn is_among<'a>(
    mut known: impl Iterator<Item = &'a Path>,
    config: PathBuf,
) -> Result<KnownAccount, UnknownAccount> {
    let real = std::fs::canonicalize(&config).ok();
    let is_it =
        |known: &&Path| *known == config || (real.is_some() && std::fs::canonicalize(known).ok() == real);
    match known.find(is_it) {
        Some(known) => Ok(KnownAccount(known.to_path_buf())),
        None => Err(UnknownAccount(config)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn record(provenance: &str, config: &Path, namespace: Option<&str>) -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        let run = json!({"launchedAt": record.created, "pid": 7, "procStart": 9, "provenance": provenance,
            "configDir": config, "pidNamespace": namespace});
        record.runs.push(serde_json::from_value(run).unwrap());
        record
    }

    #[test]
    fn only_genuine_sources_name_an_account() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["home", "used", "contained", "trap/projects"] {
            std::fs::DirBuilder::new().recursive(true).create(path(name)).unwrap();
        }
        std::os::unix::fs::symlink(path("used"), path("link")).unwrap();
        // Another's transcripts behind a link, and settings of its own.
        std::fs::DirBuilder::new().recursive(true).create(path("used/projects")).unwrap();
        std::fs::DirBuilder::new().create(path("shares")).unwrap();
        std::os::unix::fs::symlink(path("used/projects"), path("shares/projects")).unwrap();
        let own = PidDomain::own().namespace;
        let records = [
            record("process", &path("used"), own.as_deref()),
            record("process", &path("contained"), Some("pid:[1]")),
            record("untrusted", &path("trap"), own.as_deref()),
        ];
        let known = KnownAccounts::of([path("home")], records.iter(), Machine::default(), None);
        let check = |config: &str, record: Option<&SessionRecord>, expect: Option<&str>| {
            let vouched = known.vouch(path(config), record);
            assert_eq!(vouched.ok().map(|known| known.0), expect.map(path), "{config}");
        };
        check("home", None, Some("home"));
        check("used", Some(&records[2]), Some("used"));
        check("link", None, Some("used"));
        check("shares", None, None);
        check("trap", Some(&records[2]), None);
        check("trap", None, None);
        check("contained", None, None);
        check("contained", Some(&records[1]), Some("contained"));
    }
}
