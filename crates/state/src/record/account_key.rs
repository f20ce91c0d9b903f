//! Which of the records of one id is an account's: two accounts may have a session with the same id.
//!
//! An account is the folder in which its transcripts really lie ([`agents::claude::account`]). A record keeps it once it is
//! known, and it is never computed again: a directory may be away, moved, or a link that points to another account today.

use std::path::{Path, PathBuf};

use agents::claude::pid_domain::PidDomain;
use agents::claude::{account, are_two_accounts, config_of};
use agents::{SessionId, SessionKey};

use super::{RecordError, Run, SessionRecord, keys, load};
use crate::StateDir;

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
    let claims = |record: &&&SessionRecord| match (is_here, &record.account) {
        (true, account) => account.as_ref() == Some(&own),
        (false, _) => record.ran_in(config),
    };
    let mut claiming = records.iter().filter(claims);
    match (claiming.next(), claiming.next()) {
        (Some(only), None) => return Ok(only.session_id.clone()),
        (Some(_), Some(_)) => return Err(SeveralClaims),
        (None, _) => {}
    }
    // Records of 0.1.0, and of sessions that were seen in containers alone, do not know their account.
    let candidates: Vec<&SessionKey> = records
        .iter()
        .filter(|record| record.account.is_none() && record.may_be_of(config))
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
        held.as_ref().is_some_and(|held| held.record.account.as_ref() == Some(&own)) && config.is_dir();
    if is_usual && is_alone {
        return Ok(first);
    }
    let of_id = keys(state)?.into_iter().filter(|key| key.id() == id);
    let held: Vec<_> = of_id.map(|key| load(state, None, &key)).collect::<Result<_, _>>()?;
    let records: Vec<&SessionRecord> = held.iter().flatten().map(|held| &held.record).collect();
    key_among(&records, id, config).map_err(|SeveralClaims| RecordError::Broken {
        path: state.session_health().join(format!("{marked}.lock")),
        why: format!("several records say that they are {}'s session {id}", config.display()),
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
        match &self.account {
            Some(own) => !config.is_dir() || *own == account(config),
            None => self.directory_here().is_none_or(|own| !are_two_accounts(&own, config)),
        }
    }

    /// Learns the account, where it is not known yet and its directory is here.
    pub fn learn_account(&mut self) {
        if self.account.is_none() {
            self.account = self.directory_here().map(|config| account(&config));
        }
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
        let own = self.account.as_ref().filter(|own| own.is_dir());
        Some(match own {
            Some(own) if config.is_dir() && account(&config) != *own => own.clone(),
            _ => config,
        })
    }
}
