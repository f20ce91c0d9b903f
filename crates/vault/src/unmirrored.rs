//! `cache/vault-unmirrored.json`: what the last syncs could not copy. Syncs run where nobody watches, so a failure is kept until
//! a later sync has made the copy: the status line, `status`, `vault status` and `doctor` say it.

use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::ConfigDir;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::{StateDir, durable};

use crate::Error;

const SCHEMA: u32 = 1;

/// A file that grows while it is read is copied by the next sync; past this, none has managed to.
const UNSTEADY: SignedDuration = SignedDuration::from_secs(60);

/// A file whose newest rows the vault does not have, because a sync failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unmirrored {
    /// The file; the vault itself where no file could be copied.
    pub path: PathBuf,
    /// The session it belongs to.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// What failed, as a sentence.
    pub why: String,
    /// When that was first seen.
    pub since: Timestamp,
    /// Whether the next sync is expected to make the copy.
    #[serde(default)]
    pub passes: bool,
}

impl Unmirrored {
    /// Whether a person should know of it.
    pub fn matters(&self, now: Timestamp) -> bool {
        !self.passes || now.duration_since(self.since) >= UNSTEADY
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Written {
    schema: u32,
    files: Vec<Unmirrored>,
}

fn path(cache: &Path) -> PathBuf {
    cache.join("vault-unmirrored.json")
}

fn read(cache: &Path) -> Vec<Unmirrored> {
    let bytes = store::files::read_own(path(cache)).unwrap_or_default();
    let written: Written = serde_json::from_slice(&bytes).unwrap_or_default();
    if written.schema == SCHEMA { written.files } else { Vec::new() }
}

/// The files that the last syncs could not copy, as far as a person should know of them.
pub fn unmirrored(state: &StateDir, now: Timestamp) -> Vec<Unmirrored> {
    read(&state.cache()).into_iter().filter(|one| one.matters(now)).collect()
}

/// Keeps what a sync of these configuration directories could not copy, in place of what earlier ones of them could not.
pub(crate) fn note(
    cache: &Path,
    configs: &[ConfigDir],
    failures: Vec<(PathBuf, Option<SessionId>, &Error)>,
    now: Timestamp,
) {
    let before = read(cache);
    let since =
        |path: &Path| before.iter().find(|one| one.path == path).map_or(now, |one| one.since.min(now));
    let looked_at = |one: &Unmirrored| configs.iter().any(|config| one.path.starts_with(config.path()));
    let is_vault = |one: &Unmirrored| cache.parent().is_some_and(|state| one.path.starts_with(state));
    let mut files: Vec<Unmirrored> =
        before.iter().filter(|one| !looked_at(one) && !is_vault(one) && one.path.exists()).cloned().collect();
    files.extend(failures.into_iter().map(|(path, session, error)| Unmirrored {
        since: since(&path),
        session,
        why: in_words(error),
        passes: matches!(error, Error::Unsteady { .. }),
        path,
    }));
    if files == before {
        return;
    }
    let bytes = serde_json::to_vec(&Written { schema: SCHEMA, files }).unwrap_or_default();
    // Derived: where even this cannot be written, the next sync notes it.
    let _ = durable::private_dir(cache).and_then(|()| durable::replace_unsynced(&path(cache), &bytes));
}

/// An error with everything that caused it.
pub fn in_words(error: &Error) -> String {
    let mut words = format!("cannot {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    words
}
