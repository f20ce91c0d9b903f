//! What is made from the records: logs, map, registry, contexts, tags of panes.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use agents::SessionKey;
use context::Short;
use jiff::{SignedDuration, Timestamp};
use store::SessionText;
use store::mac::Subject;
use store::record::SessionRecord;
use transcript::Ending;

use super::{Error, Settled, Settler};
use crate::derive::{self, map, registry};
use crate::machine_state::MachineState;
use crate::{bind, talk_log};

/// A server that takes longer is busy with something else; the tags come at the next settle.
const TAG_DEADLINE: Duration = Duration::from_secs(5);

impl Settler {
    pub(super) fn log(
        &self,
        records: &BTreeMap<SessionKey, SessionRecord>,
        endings: &HashMap<SessionKey, Ending>,
        settled: &mut Settled,
    ) {
        for (id, events) in std::mem::take(&mut settled.logged) {
            let Some(record) = records.get(&id).filter(|_| !settled.forgotten.contains(&id)) else {
                continue;
            };
            if let Err(error) = talk_log::write(record, &events, endings.get(&id), &self.zone) {
                settled.troubles.push(format!("cannot {error}: {}", error.source));
            }
        }
    }

    /// Before when what has ended is of no more use.
    pub(super) fn forgets_before(&self, now: Timestamp) -> Timestamp {
        let keep = SignedDuration::try_from(self.keep_map).unwrap_or(SignedDuration::MAX);
        now.checked_sub(keep).unwrap_or(Timestamp::MIN)
    }

    pub(super) fn derive(
        &self,
        records: &BTreeMap<SessionKey, SessionRecord>,
        world: &MachineState,
        endings: &HashMap<SessionKey, Ending>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let folder = self.state.instances();
        let since = self.forgets_before(now);
        let owners = bind::owners(records.values(), world);
        let log = |record: &SessionRecord| {
            talk_log::path(record, &self.zone).filter(|log| self.log && log.exists())
        };
        let panes =
            map::map(records.values(), &owners, &SessionText::Summary.folder(&self.state), since, log);
        derive::write(&folder.join("pane-session-map.json"), &pretty(&panes))?;
        store::accounts::note(&self.state, records.values())?;
        derive::write(&folder.join("registry.json"), &pretty(&registry::registry(records.values(), world)))?;
        for id in endings.keys() {
            let Some(record) = records.get(id) else { continue };
            let summary = SessionText::Summary.read(&self.state, id);
            let context = Short {
                name: record.name.as_deref(),
                session: &id.short(),
                task: record.task.as_deref(),
                last_active: record.last_seen,
                ending: endings.get(id),
                summary: summary.as_deref(),
                zone: &self.zone,
                most: self.context_limit,
            };
            let path = folder.join("restore/context-cache").join(format!("{id}.txt"));
            let text = context.text();
            derive::write(&path, text.as_bytes())?;
            // What an agent is told must be this machine's own word.
            if let Some(key) = self.key.reading() {
                let code = key.code(Subject::Context(id), text.as_bytes());
                derive::write(&path.with_extension("mac"), code.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Puts the ids of their conversations on the panes.
    pub(super) fn tag(
        &self,
        records: &BTreeMap<SessionKey, SessionRecord>,
        world: &MachineState,
        troubles: &mut Vec<String>,
    ) {
        let owners = bind::owners(records.values(), world);
        for server in world.alive_servers() {
            let socket = server.socket.to_string_lossy().into_owned();
            // An agent that outlives its server for a moment is in no pane of the next one, though that has the same numbers.
            let of_this_life = |owner: &SessionRecord| {
                let place = owner.place.as_ref();
                place.is_some_and(|place| (place.server, place.started) == (server.id.pid, server.id.started))
            };
            let wanted = owners.iter().filter(|((at, _), owner)| *at == socket && of_this_life(owner));
            let stale: Vec<(&str, &str)> = wanted
                .filter(|((_, pane), owner)| {
                    let tag = server.pane(pane).and_then(|pane| pane.tag.as_deref());
                    tag != Some(owner.session_id.as_str())
                })
                .map(|((_, pane), owner)| (pane.as_str(), owner.session_id.as_str()))
                .collect();
            if let Err(error) = tmux::tag(&server.socket, &stale, TAG_DEADLINE) {
                troubles.push(error.to_string());
            }
        }
    }
}

fn pretty(value: &serde_json::Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
