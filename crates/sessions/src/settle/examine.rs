//! What the agents' files and the machine say of the records: what is known, and what is going wrong.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use agents::SessionKey;
use agents::claude::ConfigDir;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::record::{Activity, Doing, SessionRecord, Status};
use store::{SessionText, spool};
use transcript::Ending;

use super::{Settled, Settler};
use crate::alarm::{self, Alarm, AlarmKind, Sweep};
use crate::complete::{complete_forgotten, complete_run, complete_talk, first_line};
use crate::derive;
use crate::ending::{ending, refused};
use crate::machine_state::MachineState;

impl Settler {
    /// What transcripts and registries say about the conversations with news.
    pub(super) fn complete(
        &self,
        records: &mut BTreeMap<SessionKey, SessionRecord>,
        world: &MachineState,
        settled: &mut Settled,
    ) -> HashMap<SessionKey, Ending> {
        let mut endings = HashMap::new();
        for (id, record) in records.iter_mut() {
            let busy = record.activity.filter(|activity| activity.state == Doing::Busy);
            let waiting = record.activity.filter(|activity| activity.state == Doing::Waiting);
            let version_known = record.run().is_none_or(|run| run.claude_version.is_some());
            let unsettled =
                record.status == Status::Active && (busy.is_some() || waiting.is_some() || !version_known);
            if !settled.touched.contains(id) && !unsettled {
                continue;
            }
            // Files that 0.1.0 named by eight characters; one that cannot be moved is read where it is.
            for text in [SessionText::Note, SessionText::Summary] {
                let _ = text.adopt(&self.state, id);
            }
            let talk = record.transcript_path.as_deref().and_then(ending);
            if talk.is_none() {
                settled.troubles.extend(record.transcript_path.as_deref().and_then(refused));
            }
            let status = spool::status_of(&self.state, record).and_then(|bytes| StatusInput::read(&bytes));
            let version = status.as_ref().and_then(|status| status.version.clone());
            let version = version.or_else(|| talk.as_ref().and_then(|talk| talk.version.clone()));
            complete_run(record, world, &self.accounts, version.as_deref());
            if let Some(used) = status.and_then(|status| status.used) {
                record.context_used = Some(used);
            }
            if let Some(talk) = talk {
                let newest = talk.newest_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
                // The user has answered, or broken the turn off: only the transcript tells.
                if let (Some(waiting), Some(newest)) = (waiting, newest)
                    && newest > waiting.since
                {
                    record.activity = Some(Activity { state: Doing::Busy, since: newest });
                }
                if talk.interrupted
                    && let (Some(busy), Some(newest)) = (busy, newest)
                    && newest >= busy.since
                {
                    record.activity = Some(Activity { state: Doing::Idle, since: newest });
                }
                if settled.forgotten.contains(id) {
                    complete_forgotten(record, &talk);
                    continue;
                }
                if let Some(summary) = complete_talk(record, &talk) {
                    let path = SessionText::Summary.path(&self.state, id);
                    // Derived: what cannot be written now is written at the next turn.
                    let _ = derive::write(&path, format!("{}\n", summary.trim_end()).as_bytes());
                }
                endings.insert(id.clone(), talk);
            }
            if record.task.is_none() {
                // What a user gave and took back again: the summary still says it.
                let summary = SessionText::Summary.read(&self.state, id);
                record.task = summary.as_deref().and_then(first_line);
            }
        }
        endings
    }

    pub(super) fn alarms(
        &self,
        records: &BTreeMap<SessionKey, SessionRecord>,
        world: &MachineState,
        now: Timestamp,
    ) -> Vec<Alarm> {
        let busy = records.values().filter(|record| {
            record.status == Status::Active
                && record.activity.is_some_and(|activity| activity.state == Doing::Busy)
        });
        let growth = busy
            .filter_map(|record| {
                Some((record.session_id.clone(), alarm::growth(record.transcript_path.as_deref()?)))
            })
            .collect();
        let mut alarms = alarm::of_agents(records, world, &growth, now);
        let places = std::iter::once(self.state.path()).chain(self.configs.iter().map(ConfigDir::path));
        let mut full: Vec<Alarm> =
            places.filter_map(|path| alarm::of_space(path, alarm::space(path)?)).collect();
        // One file system mostly holds all of them.
        full.truncate(1);
        alarms.extend(full);
        alarms.extend(self.sweeps(now));
        alarms.extend(alarm::of_unmirrored(&vault::unmirrored(&self.state, now), records));
        alarms
    }

    /// Brings the alarms of a settlement up to date with what was mirrored after it; whether one came or went.
    pub fn look_at_mirror(&self, settled: &mut Settled, now: Timestamp) -> bool {
        let current = alarm::of_unmirrored(&vault::unmirrored(&self.state, now), &settled.records);
        let is_other = |alarm: &Alarm| alarm.kind != AlarmKind::NotMirrored;
        let before: Vec<&Alarm> = settled.alarms.iter().filter(|alarm| !is_other(alarm)).collect();
        if before.into_iter().eq(&current) {
            return false;
        }
        settled.alarms.retain(is_other);
        settled.alarms.extend(current);
        true
    }

    /// What the agents will delete soon. Every transcript is looked at for it, so the answer is kept for some hours.
    fn sweeps(&self, now: Timestamp) -> Vec<Alarm> {
        let path = self.state.cache().join("sweeps.json");
        let kept: Option<Sweeps> =
            store::files::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let configs: Vec<PathBuf> = self.configs.iter().map(|config| config.path().to_path_buf()).collect();
        let sweeps = match kept {
            Some(kept) if now.duration_since(kept.at).abs() < SWEEPS_KEPT && kept.configs == configs => {
                kept.sweeps
            }
            _ => {
                let sweeps: Vec<Sweep> =
                    self.configs.iter().map(|config| alarm::sweep(config, now)).collect();
                let kept = Sweeps { at: now, configs, sweeps: sweeps.clone() };
                // Derived: what cannot be kept is looked up again.
                let _ = derive::write(&path, &serde_json::to_vec(&kept).unwrap_or_default());
                sweeps
            }
        };
        sweeps.iter().filter_map(alarm::of_sweep).collect()
    }
}

/// Far below the three days ahead that a deletion is told.
const SWEEPS_KEPT: SignedDuration = SignedDuration::from_hours(6);

#[derive(Serialize, Deserialize)]
struct Sweeps {
    at: Timestamp,
    configs: Vec<PathBuf>,
    sweeps: Vec<Sweep>,
}

/// What the newest input of a status line says beyond events.
struct StatusInput {
    version: Option<String>,
    used: Option<u32>,
}

impl StatusInput {
    fn read(bytes: &[u8]) -> Option<StatusInput> {
        let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        let used = value["context_window"]["used_percentage"].as_f64();
        Some(StatusInput {
            version: value["version"].as_str().map(str::to_owned),
            used: used.filter(|used| (0.0..=1000.0).contains(used)).map(|used| used.round() as u32),
        })
    }
}
