//! What is going wrong right now and would be found out too late: an agent that saves nothing, a disk nearly full.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::record::{Doing, SessionRecord, Status};

use crate::machine_state::{Life, MachineState};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// An agent works, and nothing of its turn is on disk.
    NotSaving,
    /// An agent works, and its transcript has not grown for a while.
    Stalled,
    /// An agent was started with what another agent sets for its children: it may save nothing.
    ChildVariables,
    /// Two live agents write one conversation.
    TwoAgents,
    /// A disk is nearly full.
    DiskFull,
    /// The agent is about to delete conversations.
    Cleanup,
    /// The vault cannot copy a conversation.
    NotMirrored,
}

/// One alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alarm {
    /// What is wrong.
    pub kind: AlarmKind,
    /// With which conversation; nothing for what concerns all.
    pub session: Option<SessionKey>,
    /// What is wrong and what to do, in a sentence.
    pub text: String,
}

impl AlarmKind {
    /// Whether a person should be called: work is being lost.
    pub fn is_urgent(self) -> bool {
        matches!(
            self,
            AlarmKind::NotSaving
                | AlarmKind::ChildVariables
                | AlarmKind::TwoAgents
                | AlarmKind::DiskFull
                | AlarmKind::NotMirrored
        )
    }
}

/// A transcript, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Growth {
    /// When it last grew; nothing where it is not there.
    pub grown: Option<Timestamp>,
    /// Whether there is nothing to write: a tool has not answered yet, or the user broke the turn off.
    pub at_rest: bool,
}

/// How long an agent may work without a word on disk.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// The prompt's own row may be written shortly before the hook runs.
const SLACK: SignedDuration = SignedDuration::from_secs(5);

/// Alarms about agents.
pub fn of_agents(
    records: &BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
    growth: &HashMap<SessionKey, Growth>,
    now: Timestamp,
) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    for record in records.values().filter(|record| record.status == Status::Active) {
        let Some(run) = record.run() else { continue };
        if world.life(run) != Life::Alive {
            continue;
        }
        let name = record.name.as_deref().unwrap_or(&record.short_id);
        let mut raise = |kind, text: String| {
            alarms.push(Alarm { kind, session: Some(record.session_id.clone()), text });
        };
        if let Some(kind) = saves_nothing(record, growth.get(&record.session_id).copied(), now) {
            let text = match kind {
                AlarmKind::NotSaving => {
                    format!("{name} works and nothing of this turn is saved: its conversation would be lost")
                }
                _ => format!("{name} works and its transcript has not grown for a minute"),
            };
            raise(kind, text);
        }
        let variables = world.proc(run.pid, run.proc_start).map(|process| process.child_variables.join(", "));
        if let Some(variables) = variables.filter(|variables| !variables.is_empty() && !run.nested) {
            raise(
                AlarmKind::ChildVariables,
                format!(
                    "{name} was started with {variables} of another agent and may save nothing: start it from a clean shell"
                ),
            );
        }
        let alive = record.runs.iter().filter(|run| run.ended_at.is_none() && world.life(run) == Life::Alive);
        if alive.count() > 1 {
            raise(AlarmKind::TwoAgents, format!("two agents write the conversation {name}: end one of them"));
        }
    }
    alarms
}

/// Whether a busy agent leaves nothing on disk.
pub(crate) fn saves_nothing(
    record: &SessionRecord,
    growth: Option<Growth>,
    now: Timestamp,
) -> Option<AlarmKind> {
    let activity = record.activity.filter(|activity| activity.state == Doing::Busy)?;
    if now.duration_since(activity.since) < PATIENCE {
        return None;
    }
    let growth = growth.unwrap_or_default();
    match growth.grown {
        None => Some(AlarmKind::NotSaving),
        Some(grown) if grown.duration_since(activity.since) < -SLACK => Some(AlarmKind::NotSaving),
        Some(grown) if now.duration_since(grown) >= PATIENCE && !growth.at_rest => Some(AlarmKind::Stalled),
        Some(_) => None,
    }
}

/// What is left on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can be written.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

/// Enough for some turns of every agent; below it agents begin to lose rows.
const LEAST_FREE: u64 = 500_000_000;

/// An alarm where a file system is nearly full.
pub fn of_space(path: &Path, space: Space) -> Option<Alarm> {
    // A small file system is not full because it is small.
    let least = LEAST_FREE.min(space.total / 20);
    (space.total > 0 && space.free < least).then(|| Alarm {
        kind: AlarmKind::DiskFull,
        session: None,
        text: format!(
            "{} MB are left for {}: make room, or conversations are lost",
            space.free / 1_000_000,
            path.display()
        ),
    })
}

/// Asks the file system of a path.
pub fn space(path: &Path) -> Option<Space> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(Space { free: stat.f_bavail * stat.f_frsize, total: stat.f_blocks * stat.f_frsize })
}

/// Alarms about conversations that the vault cannot copy, one for each.
pub fn of_unmirrored(
    files: &[vault::Unmirrored],
    records: &BTreeMap<SessionKey, SessionRecord>,
) -> Vec<Alarm> {
    let mut alarms: Vec<Alarm> = Vec::new();
    for file in files {
        let of_file = |record: &&SessionRecord| record.transcript_path.as_deref() == Some(&*file.path);
        let of_id = |record: &&SessionRecord| file.session.as_ref() == Some(record.session_id.id());
        let record = records.values().find(of_file).or_else(|| records.values().find(of_id));
        let session = record.map(|record| record.session_id.clone());
        if session.is_some() && alarms.iter().any(|alarm| alarm.session == session) {
            continue;
        }
        let name = record.map(|record| record.name.clone().unwrap_or_else(|| record.short_id.clone()));
        let name = name.or_else(|| file.session.as_ref().map(|id| id.short().to_owned()));
        let what = match name {
            Some(name) => format!("the vault cannot copy {name}"),
            None => format!("the vault cannot copy {}", file.path.display()),
        };
        let text = format!("{what} ({}): what is said now is only in its transcript", file.why);
        alarms.push(Alarm { kind: AlarmKind::NotMirrored, session, text });
    }
    alarms
}

/// Looks at the transcript of a conversation.
pub fn growth(transcript: &Path) -> Growth {
    let modified = std::fs::metadata(transcript).ok().and_then(|meta| meta.modified().ok());
    let grown = modified.and_then(|time| Timestamp::try_from(time).ok());
    let at_rest =
        crate::ending::ending(transcript).is_some_and(|ending| ending.open_call || ending.interrupted);
    Growth { grown, at_rest }
}

/// Conversations that the agent will delete soon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The agent's configuration directory.
    pub config: PathBuf,
    /// After how many days without a change it deletes a conversation.
    pub days: u64,
    /// How many it will delete within three days.
    pub soon: usize,
}

/// The agent's own default.
const DEFAULT_DAYS: u64 = 30;

/// How far ahead a deletion is told.
const NOTICE: u64 = 3;

/// What `cleanupPeriodDays` will do within the next days.
pub fn sweep(config: &agents::claude::ConfigDir, now: Timestamp) -> Sweep {
    let settings = store::files::read(config.path().join("settings.json")).unwrap_or_default();
    let value: serde_json::Value = serde_json::from_slice(&settings).unwrap_or_default();
    let days = value["cleanupPeriodDays"].as_u64().unwrap_or(DEFAULT_DAYS);
    let old = |mtime_ns: i64| {
        let age = now.as_second().saturating_sub(mtime_ns / 1_000_000_000).max(0);
        u64::try_from(age).unwrap_or_default() / 86_400 + NOTICE >= days
    };
    let walk = agents::claude::walk(config);
    let soon = walk
        .sources
        .iter()
        .filter(|source| source.kind == agents::claude::Kind::Transcript && old(source.stamp.mtime_ns));
    Sweep { config: config.path().to_path_buf(), days, soon: soon.count() }
}

/// An alarm where conversations are about to be deleted.
pub fn of_sweep(sweep: &Sweep) -> Option<Alarm> {
    let text = if sweep.days == 0 {
        format!(
            "cleanupPeriodDays is 0 in {}: the agent keeps no conversation at all",
            sweep.config.display()
        )
    } else if sweep.soon > 0 {
        let (soon, days, config) = (sweep.soon, sweep.days, sweep.config.display());
        let what = if soon == 1 { "1 conversation".to_owned() } else { format!("{soon} conversations") };
        format!(
            "the agent deletes {what} of {config} within {NOTICE} days (cleanupPeriodDays = {days}); the vault keeps what it has"
        )
    } else {
        return None;
    };
    Some(Alarm { kind: AlarmKind::Cleanup, session: None, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::Activity;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn work_without_a_word_on_disk_is_told_after_a_minute() {
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), at(0));
        let grown = |second| Some(Growth { grown: Some(at(second)), at_rest: false });
        let mut check = |state, growth, now, expect| {
            record.activity = Some(Activity { state, since: at(1000) });
            assert_eq!(saves_nothing(&record, growth, at(now)), expect, "{state:?} {growth:?} at {now}");
        };
        check(Doing::Busy, grown(900), 1059, None);
        check(Doing::Busy, grown(900), 1060, Some(AlarmKind::NotSaving));
        check(Doing::Busy, None, 1060, Some(AlarmKind::NotSaving));
        check(Doing::Busy, grown(997), 1040, None);
        check(Doing::Busy, grown(1010), 1071, Some(AlarmKind::Stalled));
        check(Doing::Busy, grown(1050), 1071, None);
        check(Doing::Busy, Some(Growth { grown: Some(at(1010)), at_rest: true }), 1071, None);
        check(Doing::Idle, None, 1100, None);
        // A clock that went back makes nobody late.
        check(Doing::Busy, grown(900), 500, None);
    }

    #[test]
    fn a_small_file_system_is_not_full_because_it_is_small() {
        let check = |free, total, expect: bool| {
            assert_eq!(
                of_space(Path::new("/x"), Space { free, total }).is_some(),
                expect,
                "{free} of {total}"
            );
        };
        check(400_000_000, 1_000_000_000_000, true);
        check(600_000_000, 1_000_000_000_000, false);
        check(50_000_000, 100_000_000, false);
        check(1_000_000, 100_000_000, true);
        check(0, 0, false);
    }

    #[test]
    fn deletions_are_told_three_days_ahead() {
        let sweep = |days, soon| Sweep { config: "/c".into(), days, soon };
        assert!(of_sweep(&sweep(30, 0)).is_none());
        assert!(of_sweep(&sweep(30, 2)).unwrap().text.contains("2 conversations"));
        assert!(of_sweep(&sweep(0, 0)).unwrap().text.contains("no conversation at all"));
    }
}
