//! The decision record of a restore: `decisions/<restore>.json`, written before anything is done and again with each outcome.
//!
//! It says of each pane what was weighed, what was decided and what came of it, and holds what taking the restore back
//! needs. One that was never finished shows how far a restore came that was killed.

use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::StateDir;
use store::durable;
use store::mac::{Key, Origin, Subject};

use crate::decide::Act;
use crate::outcome::{Outcome, Restored};
use crate::pane_match::{Match, MatchedBy};
use crate::plan::{PaneStep, Plan, Weighed};

/// The version of a decision record.
const SCHEMA: u32 = 1;

/// Records that are kept.
const KEEP: usize = 50;

/// What a restore decided and did.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// The version of the record.
    pub schema: u32,
    /// Which restore.
    pub restore_id: String,
    /// When it began.
    pub at: Timestamp,
    /// What asked for it.
    pub by: String,
    /// Whether it came to its end.
    pub finished: bool,
    /// When it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Timestamp>,
    /// Every pane that it concerned.
    pub panes: Vec<PaneDecision>,
    /// Whether this machine wrote it. Any other one is shown, and nothing is done because of it.
    #[serde(skip)]
    pub is_genuine: bool,
}

/// What was decided about one pane, and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneDecision {
    /// Its mark: two lives of a server may have a pane of the same name.
    #[serde(default)]
    pub mark: String,
    /// The pane at the time of the save.
    pub pane: String,
    /// Its conversation.
    #[serde(default)]
    pub session_id: Option<SessionKey>,
    /// The conversations that it may have been: its user is asked which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<SessionKey>,
    /// What was decided.
    pub act: Value,
    /// Why.
    pub reason: String,
    /// What was weighed.
    #[serde(default)]
    pub evidence: Value,
    /// The conversation that a fresh agent in its place would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh_id: Option<SessionKey>,
    /// The words its agent was started with.
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// The server's socket.
    pub socket: PathBuf,
    /// Whether the pane was made by this restore.
    pub made: bool,
    /// What came of it.
    #[serde(default)]
    pub outcome: Option<Value>,
    /// Why that.
    #[serde(default)]
    pub outcome_reason: Option<String>,
    /// The conversation its agent is in now: a fresh one has another.
    #[serde(default)]
    pub now_in: Option<SessionKey>,
    /// When its agent was back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_at: Option<Timestamp>,
    /// Where it is now, as tmux names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now_at: Option<String>,
    /// The pane: `%4`. Of one that is yet to be made it is known afterwards.
    #[serde(default)]
    pub id: Option<String>,
    /// The process of its server, and when that started: a pane's id means something in this life only.
    #[serde(default)]
    pub server: Option<(u32, i64)>,
}

impl PaneDecision {
    /// Whether it is about a conversation: its own, one that it may be, or the one that is in it now.
    pub fn is_about(&self, session: &SessionKey) -> bool {
        let known = [&self.session_id, &self.now_in].into_iter().flatten();
        known.chain(&self.candidates).any(|known| known == session)
    }

    /// Adds that its user has said which conversation it is, where that was the question.
    pub fn note_choice(&mut self, session: &SessionKey) {
        let says = format!("{} was here: its user chose it", session.short());
        let chosen =
            serde_json::to_value(Weighed { rung: Some(MatchedBy::Choice), says }).unwrap_or_default();
        if let (true, Value::Array(evidence)) = (self.candidates.contains(session), &mut self.evidence)
            && !evidence.contains(&chosen)
        {
            evidence.push(chosen);
        }
    }

    /// Adds what came of it.
    pub fn note(&mut self, restored: &Restored) {
        self.outcome = serde_json::to_value(restored.outcome).ok();
        self.outcome_reason = Some(restored.reason.clone());
        self.now_in.clone_from(&restored.session_id);
        self.back_at = restored.back_at;
        self.now_at = Some(restored.pane.clone()).filter(|_| restored.id.is_some());
        self.id.clone_from(&restored.id);
    }

    /// Whether it is an agent's pane, and not one that only gets its shell back.
    pub fn is_agents(&self) -> bool {
        let has_agent = self.session_id.is_some() || !self.candidates.is_empty();
        has_agent && serde_json::from_value(self.act.clone()).ok() != Some(Act::Shell)
    }

    /// What came of it, where this version knows the word.
    pub fn known_outcome(&self) -> Option<Outcome> {
        serde_json::from_value(self.outcome.clone()?).ok()
    }

    /// Whether its agent came back.
    pub fn is_back(&self) -> bool {
        self.known_outcome().is_some_and(Outcome::is_back)
    }
}

impl DecisionRecord {
    /// What a plan is about to do.
    pub fn of(plan: &Plan, restore_id: String, by: &str, at: Timestamp) -> DecisionRecord {
        let pane = |socket: &PathBuf, step: &PaneStep| PaneDecision {
            mark: step.mark.clone(),
            pane: step.reference.clone(),
            session_id: step.session.clone(),
            candidates: step.asks.as_ref().map(|asks| asks.candidates.clone()).unwrap_or_default(),
            act: serde_json::to_value(step.decision.act).unwrap_or_default(),
            reason: step.decision.reason.clone(),
            evidence: serde_json::to_value(&step.evidence).unwrap_or_default(),
            // Of arguments that hold a secret the record has none: those panes are refused.
            argv: step.words(),
            fresh_id: step.recipe.as_ref().map(|recipe| recipe.session(Act::Fresh).clone()),
            socket: socket.clone(),
            made: step.seat == Match::New,
            outcome: None,
            outcome_reason: None,
            now_in: None,
            back_at: None,
            now_at: None,
            id: match &step.seat {
                Match::There { pane, .. } => Some(pane.clone()),
                _ => None,
            },
            server: None,
        };
        let servers = plan.servers.iter();
        let panes = servers
            .flat_map(|server| server.panes.iter().map(|step| (&server.socket, step)))
            .filter(|(_, step)| step.concerns())
            .map(|(socket, step)| pane(socket, step))
            .collect();
        DecisionRecord {
            finished_at: None,
            schema: SCHEMA,
            restore_id,
            at,
            by: by.to_owned(),
            finished: false,
            undone: None,
            panes,
            is_genuine: true,
        }
    }

    /// Adds what came of some of its panes while it runs.
    pub fn note(&mut self, restored: &[Restored]) {
        for one in restored {
            self.panes.iter_mut().filter(|pane| pane.mark == one.mark).for_each(|pane| pane.note(one));
        }
    }

    /// How many agents are back, and how many were missing.
    pub fn tally(&self) -> (usize, usize) {
        let agents = || self.panes.iter().filter(|pane| pane.is_agents());
        (agents().filter(|pane| pane.is_back()).count(), agents().count())
    }

    /// Whether it never came to its end, and was not taken back either.
    pub fn is_open(&self) -> bool {
        !self.finished && self.undone.is_none()
    }

    /// Adds what came of it.
    pub fn finish(
        &mut self,
        restored: &[Restored],
        now: Timestamp,
        server: impl Fn(&PathBuf) -> Option<(u32, i64)>,
    ) {
        self.finished = true;
        self.finished_at = Some(now);
        for pane in &mut self.panes {
            pane.server = server(&pane.socket);
            let Some(one) = restored.iter().find(|one| one.mark == pane.mark) else { continue };
            pane.note(one);
        }
    }

    /// The pane of this restore in which a conversation waits for its user, alone or as one of several.
    pub fn waiting(
        &mut self,
        server: (u32, i64),
        pane: &str,
        session: &SessionKey,
    ) -> Option<&mut PaneDecision> {
        let open = self.finished && self.undone.is_none();
        self.panes.iter_mut().filter(|_| open).find(|known| {
            known.server == Some(server)
                && known.id.as_deref() == Some(pane)
                && (known.session_id.as_ref() == Some(session) || known.candidates.contains(session))
        })
    }

    /// Writes it down, with this machine's code. The id is a time, never a path.
    ///
    /// # Errors
    /// It cannot be written, or its id is no name of a file.
    pub fn store(&self, state: &StateDir, key: &Key) -> Result<(), durable::Error> {
        let folder = state.decisions();
        let is_name = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        if !is_name(&self.restore_id) || self.restore_id.starts_with('.') {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(durable::Error::new("write a decision record below", &folder, source));
        }
        durable::private_dir(&folder)?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let text = key.seal(Subject::Decision(&self.restore_id), &text);
        durable::replace(&folder.join(format!("{}.json", self.restore_id)), text.as_bytes())?;
        let names = names(state);
        for old in names.iter().take(names.len().saturating_sub(KEEP)) {
            durable::remove(&state.decisions().join(old))?;
        }
        Ok(())
    }
}

/// The files of decision records, the oldest first.
fn names(state: &StateDir) -> Vec<String> {
    let entries = std::fs::read_dir(state.decisions()).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json") && !name.starts_with(durable::TEMPORARY_PREFIX))
        .collect();
    names.sort();
    names
}

/// The decision records, the newest first; what cannot be read, or lies under another name than its own, is passed over.
pub fn decisions(state: &StateDir, key: Option<&Key>) -> impl Iterator<Item = DecisionRecord> + use<> {
    let (folder, key) = (state.decisions(), key.cloned());
    names(state).into_iter().rev().filter_map(move |name| {
        let text = String::from_utf8(store::files::read_own(folder.join(&name)).ok()?).ok()?;
        let mut record: DecisionRecord = serde_json::from_str(&text).ok()?;
        if name.strip_suffix(".json") != Some(&record.restore_id) {
            return None;
        }
        let origin = key.as_ref().map(|key| key.origin(Subject::Decision(&record.restore_id), &text));
        record.is_genuine = origin == Some(Origin::Genuine);
        Some(record)
    })
}

/// The decision records that this machine wrote, the newest first: what something may be done because of.
pub fn genuine_decisions(
    state: &StateDir,
    key: Option<&Key>,
) -> impl Iterator<Item = DecisionRecord> + use<> {
    decisions(state, key).filter(|record| record.is_genuine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ServerPlan, a_step};

    #[test]
    fn only_what_this_machine_wrote_is_genuine_and_no_id_is_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = Key::create(&dir.path().join("key")).unwrap();
        let record =
            |id: &str| DecisionRecord::of(&Plan::default(), id.to_owned(), "manual", Timestamp::UNIX_EPOCH);
        record("20260101T000000.000Z").store(&state, &key).unwrap();
        let genuine = |key: Option<&Key>| genuine_decisions(&state, key).count();
        assert_eq!((genuine(Some(&key)), genuine(None)), (1, 0));
        let path = state.decisions().join("20260101T000000.000Z.json");
        let text = String::from_utf8(store::files::read_own(&path).unwrap()).unwrap();
        // Under another name it is nobody's, and edited it is shown alone.
        durable::replace(&state.decisions().join("20270101T000000.000Z.json"), text.as_bytes()).unwrap();
        assert_eq!(decisions(&state, Some(&key)).count(), 1);
        durable::replace(&path, text.replace("manual", "edited").as_bytes()).unwrap();
        assert_eq!((decisions(&state, Some(&key)).count(), genuine(Some(&key))), (1, 0));
        for id in ["../r", "/r", "a/b", ".r"] {
            assert!(record(id).store(&state, &key).is_err(), "{id}");
        }
    }

    /// What was there is named at once, what was made when it is there, and each agent has its own time.
    #[test]
    fn each_pane_says_when_its_agent_was_back() {
        let there = Match::There { pane: "%4".to_owned(), rung: MatchedBy::Identity };
        let panes = vec![a_step("a", there), a_step("b", Match::New)];
        let plan = Plan {
            servers: vec![ServerPlan { socket: "/s".into(), sessions: Vec::new(), fills: Vec::new(), panes }],
            ..Plan::default()
        };
        let mut record = DecisionRecord::of(&plan, "r".to_owned(), "manual", Timestamp::UNIX_EPOCH);
        let ids =
            |record: &DecisionRecord| record.panes.iter().map(|pane| pane.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&record), [Some("%4".to_owned()), None]);

        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let back = |step: &PaneStep, id: &str, second: i64| Restored {
            id: Some(id.to_owned()),
            back_at: Some(at(second)),
            ..Restored::of(step, Outcome::Resumed, "")
        };
        let steps = &plan.servers[0].panes;
        record.finish(&[back(&steps[0], "%4", 2), back(&steps[1], "%5", 50)], at(60), |_| Some((1, 2)));
        assert_eq!(ids(&record), [Some("%4".to_owned()), Some("%5".to_owned())]);
        let times: Vec<_> = record.panes.iter().map(|pane| pane.back_at).collect();
        assert_eq!(times, [Some(at(2)), Some(at(50))]);
    }

    #[test]
    fn the_newest_come_first_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let key = Key::create(&dir.path().join("key")).unwrap();
        for at in 0..KEEP + 3 {
            let id = format!("r{at:03}");
            let record = DecisionRecord::of(&Plan::default(), id, "manual", Timestamp::UNIX_EPOCH);
            record.store(&state, &key).unwrap();
        }
        let ids: Vec<String> = decisions(&state, Some(&key)).map(|record| record.restore_id).collect();
        assert_eq!((ids.len(), ids[0].as_str(), ids[KEEP - 1].as_str()), (KEEP, "r052", "r003"));
    }
}
