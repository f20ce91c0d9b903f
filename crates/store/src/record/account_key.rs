//! Which of the records of one id is an account's: two accounts may have a session with the same id.
//!
//! An account is the folder in which its transcripts really lie ([`agents::claude::account`]). A record keeps it once it is
//! known, and it is never computed again: a directory may be away, moved, or a link that points to another account today.

use std::path::{Path, PathBuf};

use agents::claude::pid_domain::PidDomain;
use agents::claude::{account, are_two_accounts, config_of, is_account};
use agents::{SessionId, SessionKey};
use serde::{Deserialize, Serialize};

use super::{RecordError, Run, SessionRecord, keys, load};
use crate::StateDir;

/// An account, as it was learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The folder in which its transcripts really lie.
    pub dir: PathBuf,
    /// The pid namespace in which that path was seen: in a container it may mean another folder, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
}

impl Account {
    /// The account of a configuration directory that is here.
    pub fn here(config: &Path) -> Account {
        Account { dir: account(config), pid_namespace: PidDomain::own().namespace }
    }
}

/// Several records say that they are this account's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeveralClaims;

/// The key of this account's session with this id, among all records of the id.
///
/// A path that is not here (of a container, of a disk that is not mounted) is known by its very name. Where several accounts
/// have the id and nothing tells, the key has no record.
///
/// # Errors
/// Several records claim the account: one of them was edited or copied.
pub fn key_among(
    records: &[&SessionRecord],
    id: &SessionId,
    config: &Path,
) -> Result<SessionKey, SeveralClaims> {
    let first = SessionKey::first(id.clone());
    if records.is_empty() {
        return Ok(first);
    }
    let (is_here, own) = (config.is_dir(), account(config));
    let marked = SessionKey::of_account(id.clone(), &own);
    let claims = |record: &&&SessionRecord| match is_here {
        true => record.account_here().is_some_and(|own| is_account(own, config)),
        false => record.ran_in(config),
    };
    let mut claiming = records.iter().filter(claims);
    match (claiming.next(), claiming.next()) {
        (Some(only), None) => return Ok(only.session_id.clone()),
        (Some(_), Some(_)) => return Err(SeveralClaims),
        (None, _) => {}
    }
    // Records of 0.1.0 do not know their account, and in a container it is not known by the host's path.
    let candidates: Vec<&SessionKey> = records
        .iter()
        .filter(|record| record.account_here().is_none() && record.may_be_of(config))
        .map(|record| &record.session_id)
        .collect();
    let is_free = |key: &SessionKey| !records.iter().any(|record| record.session_id == *key);
    Ok(match (candidates.as_slice(), records) {
        ([only], _) => (*only).clone(),
        (several, _) if several.contains(&&marked) => marked,
        (several, _) if several.contains(&&first) => first,
        // A path that is not here is the other name of the only one there is.
        (_, [only]) if !is_here => only.session_id.clone(),
        _ if is_here && is_free(&first) => first,
        _ => marked,
    })
}

/// The key of this account's session with this id, from the records in a state directory.
///
/// # Errors
/// A record is there and cannot be read or understood, or several records claim the account.
pub fn key_for(state: &StateDir, id: &SessionId, config: &Path) -> Result<SessionKey, RecordError> {
    let first = SessionKey::first(id.clone());
    let held = load(state, None, &first)?;
    let own = account(config);
    let marked = SessionKey::of_account(id.clone(), &own);
    let is_alone = marked == first || !super::file::exists(state, &marked);
    // The usual case, without a list of all records.
    let is_usual =
        held.as_ref().is_some_and(|held| held.record.account_here() == Some(&own)) && config.is_dir();
    if is_usual && is_alone {
        return Ok(first);
    }
    let of_id = keys(state)?.into_iter().filter(|key| key.id() == id);
    let held: Vec<_> = of_id.map(|key| load(state, None, &key)).collect::<Result<_, _>>()?;
    let records: Vec<&SessionRecord> = held.iter().flatten().map(|held| &held.record).collect();
    key_among(&records, id, config).map_err(|SeveralClaims| RecordError::Broken {
        path: state.session_health().join(format!("{marked}.lock")),
        why: format!(
            "several records say that they are session {id} of {}; move the one away that this machine did not make",
            config.display()
        ),
    })
}

impl SessionRecord {
    /// Whether a run of it had this very configuration directory, or its transcript lies there.
    pub fn ran_in(&self, config: &Path) -> bool {
        let of_transcript = self.transcript_path.as_deref().and_then(config_of);
        let of_runs = self.runs.iter().filter_map(|run| run.config_dir.as_deref());
        of_runs.chain(of_transcript).any(|dir| dir == config)
    }

    /// Whether it may be a session of this account: nothing shows that it is another one's. What a run in a container calls
    /// its directory tells nothing: the same path may be another folder here.
    pub fn may_be_of(&self, config: &Path) -> bool {
        match self.account_here() {
            Some(own) => !config.is_dir() || is_account(own, config),
            None => self.directory_here().is_none_or(|own| !are_two_accounts(&own, config)),
        }
    }

    /// Learns the account, where it is not known yet and its directory is here.
    pub fn learn_account(&mut self) {
        if self.account.is_none() {
            self.account = self.directory_here().map(|config| Account::here(&config));
        }
    }

    /// The folder of its account, where that path means here what it meant when it was learned.
    pub fn account_here(&self) -> Option<&Path> {
        let known = self.account.as_ref()?;
        (known.pid_namespace == PidDomain::own().namespace).then_some(known.dir.as_path())
    }

    /// The configuration directory by a path that means here what it means to the agent: the newest run's in this pid
    /// namespace, or the one that the transcript is in.
    fn directory_here(&self) -> Option<PathBuf> {
        let own = PidDomain::own().namespace;
        let is_here = |run: &&Run| run.pid_namespace.is_some() && run.pid_namespace == own;
        let of_runs = self.runs.iter().rev().filter(is_here).find_map(|run| run.config_dir.clone());
        let transcript = self.transcript_path.as_deref().filter(|path| path.is_file());
        let of_transcript = || transcript.and_then(config_of).map(Path::to_path_buf);
        of_runs.or_else(of_transcript).filter(|config| config.is_dir())
    }

    /// Where its account is now: its configuration directory as the agent was told it or, where that is a link that points to
    /// another account by now, the folder itself.
    pub fn account_dir(&self) -> Option<PathBuf> {
        let config = self.config_dir()?;
        let own = self.account_here().filter(|own| own.is_dir());
        Some(match own {
            Some(own) if config.is_dir() && !is_account(own, &config) => own.to_path_buf(),
            _ => config,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";

    fn id() -> SessionId {
        SessionId::new(ID).unwrap()
    }

    /// Accounts by name, in a folder of their own.
    struct Room(tempfile::TempDir);

    impl Room {
        fn new(accounts: &[&str]) -> Room {
            let room = Room(tempfile::tempdir().unwrap());
            for account in accounts {
                crate::durable::private_dir(&room.path(account).join("projects")).unwrap();
            }
            room
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }
    }

    fn first(config: &Path) -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::first(id()), Timestamp::UNIX_EPOCH);
        record.transcript_path = Some(config.join(format!("projects/-x/{ID}.jsonl")));
        record.account = Some(Account::here(config));
        record
    }

    /// The directory is away (unmounted), a copy of it is used, and then it is back: they are two accounts.
    #[test]
    fn a_copy_is_not_the_account_that_is_away() {
        let room = Room::new(&["own", "copy"]);
        let (own, copy) = (room.path("own"), room.path("copy"));
        let record = first(&own);
        std::fs::rename(&own, room.path("away")).unwrap();
        let marked = SessionKey::of_account(id(), &copy);
        assert_eq!(key_among(&[&record], &id(), &copy), Ok(marked));
        assert_eq!(key_among(&[&record], &id(), &own), Ok(SessionKey::first(id())), "by its name");
    }

    #[test]
    fn a_link_that_points_to_another_account_by_now_is_that_account() {
        let room = Room::new(&["personal", "work"]);
        let link = room.path("link");
        std::os::unix::fs::symlink(room.path("personal"), &link).unwrap();
        let record = first(&link);
        assert_eq!(key_among(&[&record], &id(), &link), Ok(SessionKey::first(id())));
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(room.path("work"), &link).unwrap();
        let marked = SessionKey::of_account(id(), &room.path("work"));
        assert_eq!(key_among(&[&record], &id(), &link), Ok(marked));
        assert_eq!(record.account_dir(), Some(room.path("personal")), "its own is where it was");
    }

    #[test]
    fn in_a_container_the_hosts_path_tells_nothing() {
        let room = Room::new(&["own"]);
        let mut record = first(Path::new("/host/only"));
        record.account =
            Some(Account { dir: "/host/only".into(), pid_namespace: Some("pid:[1]".to_owned()) });
        assert_eq!(key_among(&[&record], &id(), &room.path("own")), Ok(SessionKey::first(id())));
    }

    /// A record that was copied to another name does not hide the genuine one.
    #[test]
    fn two_records_that_claim_one_account_are_neither() {
        let room = Room::new(&["own"]);
        let own = room.path("own");
        let genuine = first(&own);
        let mut stray = first(&own);
        stray.session_id = SessionKey::of_account(id(), &own);
        assert_eq!(key_among(&[&genuine, &stray], &id(), &own), Err(SeveralClaims));
        stray.account = None;
        assert_eq!(key_among(&[&genuine, &stray], &id(), &own), Ok(SessionKey::first(id())));
    }
}
