//! What the state directory holds, and letting go of it: looked at again under the locks of everybody who adds to it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use store::lock::{Lock, LockError};
use store::{StateDir, durable};
use vault::{OnlyHere, Vault};

use crate::exit::{Exit, Failure};
use crate::output::{bytes, count};

/// A settle or a mirror of a giant conversation is done within this.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the state directory holds.
#[derive(Default)]
pub(super) struct Held {
    pub(super) conversations: usize,
    stored: u64,
    history: bool,
    pub(super) only_here: OnlyHere,
}

impl Held {
    /// Looks at a directory as it is; where there is no vault none is made.
    pub(super) fn look(state: Option<&StateDir>) -> Result<Held, Failure> {
        let Some(state) = state else { return Ok(Held::default()) };
        let history = state.has_history();
        let Some(vault) = vault_of(state)? else { return Ok(Held { history, ..Held::default() }) };
        let all = vault.list()?;
        let stored = all.iter().map(|conversation| conversation.stored).sum();
        Ok(Held { conversations: all.len(), stored, history, only_here: vault.only_here()? })
    }

    pub(super) fn words(&self, dry_run: bool, forget_vault: bool) -> String {
        let what = count(self.conversations as u64, "conversation", "conversations");
        let would = if dry_run { "would be" } else { "will be" };
        let history = if self.history { " and its git history" } else { "" };
        let lost = if self.only_here.is_empty() {
            "Every conversation in it also exists outside of it.".to_owned()
        } else if forget_vault {
            format!("What exists nowhere else: {}.", lost(&self.only_here))
        } else {
            let lost = lost(&self.only_here);
            return format!(
                "cannot be removed: its vault holds what exists nowhere else: {lost}. Keep it with --keep-data, or remove it for good with --forget-vault."
            );
        };
        format!("{would} removed, with the vault ({what}, {}){history}. {lost}", bytes(self.stored))
    }
}

/// A vault that may go.
pub(super) fn may_go(only_here: &OnlyHere) -> Result<(), Failure> {
    if only_here.is_empty() {
        return Ok(());
    }
    let lost = lost(only_here);
    Err(Failure::new(Exit::Refused, format!("the vault holds what exists nowhere else: {lost}"))
        .hint("keep it with --keep-data, or remove it for good with --forget-vault; nothing was changed"))
}

/// Everybody who adds to the state is kept out, as long as this lives.
pub(super) struct Alone {
    _locks: Vec<Lock>,
    /// What is in the vault alone, now that nothing is added any more.
    pub(super) only_here: OnlyHere,
}

impl Alone {
    /// Waits until nobody works in the state directory, and looks again.
    pub(super) fn wait(state: &StateDir) -> Result<Alone, Failure> {
        Alone::wait_for(state, PATIENCE)
    }

    fn wait_for(state: &StateDir, patience: Duration) -> Result<Alone, Failure> {
        durable::private_dir(&state.locks())?;
        let until = Instant::now() + patience;
        let rest = || until.saturating_duration_since(Instant::now());
        let mut locks = Vec::new();
        for path in lock_paths(state) {
            locks.push(Lock::acquire(&path, rest()).map_err(busy)?);
        }
        let only_here = match vault_of(state)? {
            Some(vault) => {
                let (lock, only_here) = vault.shut(rest()).map_err(|error| match error {
                    vault::Error::Lock(error) => busy(error),
                    error => Failure::from(error),
                })?;
                locks.push(lock);
                only_here
            }
            None => OnlyHere::default(),
        };
        Ok(Alone { _locks: locks, only_here })
    }
}

/// The locks of restoring, settling, mirroring, the git history, ticks and saves, and of the repairs: those leave copies in the
/// vault. A restore settles while it runs, so its locks come first.
fn lock_paths(state: &StateDir) -> Vec<PathBuf> {
    let there = |prefix: &'static str| {
        let there = std::fs::read_dir(state.locks()).into_iter().flatten().flatten();
        let named = there.filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix));
        named.map(|entry| entry.path())
    };
    let mut paths = vec![store::saves::restore_lock(state, None)];
    paths.extend(there("restore-"));
    paths.push(sessions::lock_path(state));
    paths.extend(["mirror", "git", "tick", "saves"].map(|name| state.locks().join(name)));
    paths.extend(there("repair-"));
    paths
}

fn vault_of(state: &StateDir) -> Result<Option<Vault>, Failure> {
    if !state.vault().exists() {
        return Ok(None);
    }
    Ok(Some(Vault::open(state)?))
}

fn busy(error: LockError) -> Failure {
    match error {
        LockError::Held { path } => {
            let at = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Failure::new(Exit::Refused, format!("another rekindle is at work still (the lock {at})"))
                .hint("try again when it is done; nothing was changed")
        }
        error => Failure::from(error),
    }
}

/// What would be lost, in words.
fn lost(only_here: &OnlyHere) -> String {
    let OnlyHere { conversations, backups, trash } = only_here;
    let parts = [
        (conversations.len(), "conversation", "conversations"),
        (*backups, "copy from before a repair", "copies from before a repair"),
        (*trash, "thing in its trash", "things in its trash"),
    ];
    let parts = parts.iter().filter(|(number, ..)| *number > 0);
    parts.map(|(number, one, many)| count(*number as u64, one, many)).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_adds_to_the_state_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open(root.path().join("state")).unwrap();
        Vault::open(&state).unwrap();
        durable::private_dir(&state.locks()).unwrap();
        let repair = "locks/repair-66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
        let named = ["restore", "restore-1-2", "settle", "mirror", "git", "tick", "saves"];
        let named = named.map(|name| format!("locks/{name}"));
        for name in named.iter().map(String::as_str).chain([repair, "vault/lock"]) {
            let held = Lock::try_shared(&state.path().join(name)).unwrap();
            let refused = Alone::wait_for(&state, Duration::ZERO).err().unwrap();
            assert!(refused.message().contains("at work still"), "{name}: {}", refused.message());
            drop(held);
            assert!(Alone::wait_for(&state, Duration::ZERO).is_ok(), "{name}");
        }
    }
}
