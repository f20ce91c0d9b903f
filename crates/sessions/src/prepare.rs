//! What the status line shows and has no time to find out: git, the last prompt, the account, notices.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agents::SessionKey;
use context::shorten;
use jiff::Timestamp;
use serde_json::Value;
use statusline::prepared::{self, LastPrompt, Notice, NoticeKind, Prepared, Slot, SlotState};
use store::durable;
use store::record::SessionRecord;
use store::spool;

use crate::alarm::{Alarm, AlarmKind};
use crate::crashed_here::left_here;
use crate::derive;
use crate::ending::ending;
use crate::git;
use crate::settle::{Settled, Settler};

/// As much of a prompt as a wide terminal shows.
const LONGEST_PROMPT: usize = 300;

impl Settler {
    /// Prepares the status lines of conversations with news, and of those whose status line ran since.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn prepare(&self, settled: &Settled, now: Timestamp) -> Result<(), durable::Error> {
        let paused = self.state.paused().exists();
        for session in self.asking(settled) {
            let Some(record) = settled.records.get(&session) else { continue };
            let mut prepared = self.prepared(record, &settled.alarms, paused, now);
            if settled.forgotten.contains(&session) {
                prepared.last_prompt = None;
            }
            prepared.notices.extend(offer(record, &settled.records, now));
            let bytes = serde_json::to_vec(&prepared).unwrap_or_default();
            derive::write(&self.state.status_cache(&session), &bytes)?;
        }
        Ok(())
    }

    fn asking(&self, settled: &Settled) -> BTreeSet<SessionKey> {
        let mut asking = settled.touched.clone();
        let changed = |path: PathBuf| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
        for session in settled.records.keys() {
            let input = changed(self.state.spool().join(format!("{session}.status")));
            if input.is_some() && input > changed(self.state.status_cache(session)) {
                asking.insert(session.clone());
            }
        }
        asking
    }

    fn prepared(&self, record: &SessionRecord, alarms: &[Alarm], paused: bool, now: Timestamp) -> Prepared {
        let input = spool::status_of(&self.state, record);
        let input: Value = input.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let talk = record.transcript_path.as_deref().and_then(ending);
        let last_prompt = talk.and_then(|talk| talk.prompt).map(|prompt| LastPrompt {
            text: shorten(&redact::redact(&prompt.text), LONGEST_PROMPT),
            at: prompt.at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
        });
        Prepared {
            schema: prepared::SCHEMA,
            settled_at: Some(now),
            git: record.cwd.as_deref().and_then(git::look),
            last_prompt,
            slot: self.slot(record, &input),
            notices: self.notices(record, alarms, &input),
            paused,
            name: record.name.clone(),
            vaulted_at: record.vaulted_at,
        }
    }

    fn slot(&self, record: &SessionRecord, input: &Value) -> Option<Slot> {
        let run = record.run()?;
        let id = run.slot_id.clone()?;
        let position = self.accounts.iter().position(|account| account.name == id)?;
        let missing = run.config_dir.as_deref().is_some_and(|config| !config.exists());
        let expired = record.last_error.as_deref().is_some_and(|error| error.contains("authentication"));
        Some(Slot {
            id,
            position: u32::try_from(position + 1).unwrap_or_default(),
            names: self.accounts.iter().map(|account| account.name.clone()).collect(),
            percent: percent(&input["rate_limits"]["five_hour"]["used_percentage"]),
            state: match (missing, expired) {
                (true, _) => SlotState::ConfigMissing,
                (_, true) => SlotState::TokenExpired,
                _ => SlotState::Ok,
            },
        })
    }

    fn notices(&self, record: &SessionRecord, alarms: &[Alarm], input: &Value) -> Vec<Notice> {
        let concerns = |alarm: &&Alarm| {
            let ours = alarm.session.as_ref().is_none_or(|session| *session == record.session_id);
            ours && alarm.kind != AlarmKind::Cleanup
        };
        let mut notices: Vec<Notice> = alarms
            .iter()
            .filter(concerns)
            .map(|alarm| Notice::new(NoticeKind::Alarm, alarm.text.clone()))
            .collect();
        let health = self.state.session_health();
        let running =
            input["version"].as_str().or(record.run().and_then(|run| run.claude_version.as_deref()));
        notices.extend(running.and_then(|running| update(&health, running)));
        notices.extend(recommendation(&health));
        notices
    }
}

/// Says that another conversation crashed where this agent was started by hand.
fn offer(
    record: &SessionRecord,
    records: &BTreeMap<SessionKey, SessionRecord>,
    now: Timestamp,
) -> Option<Notice> {
    let left = left_here(record, records, now)?;
    let name = left.name.as_deref().map(|name| format!("{} ", shorten(name, 30))).unwrap_or_default();
    let short = left.session_id.short();
    let words = format!("{name}{short} crashed here: rekindle recover {short} brings it back");
    Some(Notice::new(NoticeKind::Info, words))
}

fn percent(value: &Value) -> Option<u32> {
    let value = value.as_f64().filter(|value| (0.0..=1000.0).contains(value))?;
    Some(value.round() as u32)
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&store::files::read(path).ok()?).ok()
}

/// A newer version than the one that runs, unless the user does not want to hear of it.
fn update(health: &Path, running: &str) -> Option<Notice> {
    let latest = json(&health.join("latest-version.json"))?["version"].as_str()?.to_owned();
    let dismissed = health.join(format!("ignore-version-{latest}")).exists();
    (!dismissed && newer(&latest, running)).then(|| Notice::update(&latest, running))
}

/// Whether a version is newer than another, by its numbers.
fn newer(a: &str, b: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let plain = version.split(['-', '+']).next().unwrap_or_default();
        plain.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    numbers(a).cmp(&numbers(b)) == Ordering::Greater
}

/// What an outside optimizer recommends.
fn recommendation(health: &Path) -> Option<Notice> {
    let value = json(&health.join("recommended-slot.json"))?;
    let slot =
        value["recommendedSlot"].as_str().filter(|slot| value["currentSlot"].as_str() != Some(slot))?;
    let (current, other) = (percent(&value["currentQuota"])?, percent(&value["recommendedQuota"])?);
    Some(Notice::other_slot(slot, current, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_downgrade_is_not_nagged_about() {
        assert!(newer("2.1.32", "2.1.31"));
        assert!(newer("2.10.0", "2.9.99"));
        assert!(!newer("2.1.31", "2.1.31"));
        assert!(!newer("2.1.31", "2.1.32-beta"));
    }

    #[test]
    fn an_update_is_told_until_it_is_dismissed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(update(dir.path(), "2.1.31"), None);
        durable::replace(&dir.path().join("latest-version.json"), br#"{"version":"2.1.32"}"#).unwrap();
        assert!(update(dir.path(), "2.1.31").unwrap().text.contains("2.1.32"));
        assert_eq!(update(dir.path(), "2.1.33"), None);
        durable::replace(&dir.path().join("ignore-version-2.1.32"), b"").unwrap();
        assert_eq!(update(dir.path(), "2.1.31"), None);
    }
}
