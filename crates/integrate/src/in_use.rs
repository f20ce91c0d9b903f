//! What session records say of configuration directories and the agents in them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agents::claude::versions::{Seen, parse_version};
use semver::Version;
use serde::Deserialize;

/// As long as transcripts count: an agent that was not seen for a month is not in use.
const RECENT: Duration = Duration::from_secs(31 * 86_400);
/// Of the newest records so many are read: enough for a month of forty agents, and some milliseconds.
const MOST_RECORDS: usize = 1_000;

/// A configuration directory that a record names, and the agent that ran there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The directory.
    pub config_dir: PathBuf,
    /// The agent, where the record says.
    pub agent: Option<Seen>,
}

#[derive(Deserialize)]
struct SessionRecord {
    #[serde(default)]
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    config_dir: Option<PathBuf>,
    claude_version: Option<String>,
}

/// What the session records of a state directory say, newest first.
pub fn recorded(state_dir: &Path, now: SystemTime) -> Vec<Recorded> {
    let entries = std::fs::read_dir(state_dir.join("session-health")).into_iter().flatten().flatten();
    let mut records: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "lock"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .filter(|(changed, _)| now.duration_since(*changed).unwrap_or_default() < RECENT)
        .collect();
    records.sort_by(|one, two| two.cmp(one));
    let mut found: Vec<Recorded> = Vec::new();
    for (_, path) in records.into_iter().take(MOST_RECORDS) {
        let bytes = store::files::read(&path).unwrap_or_default();
        let Ok(record) = serde_json::from_slice::<SessionRecord>(&bytes) else { continue };
        let Some(run) = record.runs.into_iter().last() else { continue };
        let Some(config_dir) = run.config_dir else { continue };
        let version: Option<Version> = run.claude_version.as_deref().and_then(parse_version);
        let agent = version.map(|version| Seen { version, place: path });
        let known = found.iter().any(|other| {
            let version = |recorded: &Option<Seen>| recorded.as_ref().map(|seen| seen.version.clone());
            other.config_dir == config_dir && version(&other.agent) == version(&agent)
        });
        if !known {
            found.push(Recorded { config_dir, agent });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::durable::{private_dir, replace};

    #[test]
    fn the_last_run_of_each_record_counts() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("session-health");
        private_dir(&folder).unwrap();
        let run =
            |dir: &str, version: &str| format!(r#"{{"configDir":"{dir}","claudeVersion":"{version}"}}"#);
        let record = |runs: &[String]| format!(r#"{{"runs":[{}],"more":1}}"#, runs.join(","));
        replace(&folder.join("a.lock"), record(&[run("/c", "2.1.31"), run("/c", "2.1.325")]).as_bytes())
            .unwrap();
        replace(&folder.join("b.lock"), record(&[run("/d", "?")]).as_bytes()).unwrap();
        replace(&folder.join("c.lock"), b"{").unwrap();
        replace(&folder.join("d.lock"), record(&[]).as_bytes()).unwrap();
        let mut found = recorded(state.path(), SystemTime::now());
        found.sort_by(|one, two| one.config_dir.cmp(&two.config_dir));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].agent.as_ref().unwrap().version, Version::new(2, 1, 325));
        assert_eq!((found[1].config_dir.as_path(), &found[1].agent), (Path::new("/d"), &None));
        assert_eq!(recorded(state.path(), SystemTime::now() + RECENT * 2), []);
    }
}
