//! The pause: while its file is there nothing automatic happens. Hooks still write down what agents say.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StateDir;
use crate::durable;

/// The version of the file.
pub const SCHEMA: u32 = 1;

/// Since when everything automatic is paused, and by whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// The version of the file.
    pub schema: u32,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Who paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What for, in their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The pause, where there is one. A file without sense pauses all the same: somebody put it there.
pub fn read(state: &StateDir) -> Option<Pause> {
    match crate::files::read_own(state.paused()) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(Pause::default()),
    }
}

/// Pauses; one that is there already stays and is returned.
///
/// # Errors
/// The file cannot be written.
pub fn set(state: &StateDir, pause: &Pause) -> Result<Option<Pause>, durable::Error> {
    if let Some(before) = read(state) {
        return Ok(Some(before));
    }
    let mut bytes = serde_json::to_vec_pretty(&Pause { schema: SCHEMA, ..pause.clone() }).unwrap_or_default();
    bytes.push(b'\n');
    durable::replace(&state.paused(), &bytes)?;
    Ok(None)
}

/// Ends the pause, and returns the one there was.
///
/// # Errors
/// The file cannot be removed.
pub fn clear(state: &StateDir) -> Result<Option<Pause>, durable::Error> {
    let Some(before) = read(state) else { return Ok(None) };
    durable::remove(&state.paused())?;
    Ok(Some(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pause_stays_until_it_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let pause = |why: &str| Pause { schema: SCHEMA, why: Some(why.to_owned()), ..Pause::default() };
        assert_eq!(clear(&state).unwrap(), None);
        assert_eq!(set(&state, &pause("a")).unwrap(), None);
        assert_eq!(set(&state, &pause("b")).unwrap(), Some(pause("a")));
        assert_eq!(clear(&state).unwrap(), Some(pause("a")));
        assert_eq!(read(&state), None);
    }

    #[test]
    fn a_file_without_sense_pauses_too() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        durable::replace(&state.paused(), b"").unwrap();
        assert_eq!(read(&state), Some(Pause::default()));
    }
}
