//! Which conversations wait to be recovered, and where each of them comes back.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use agents::SessionKey;
use jiff::Timestamp;
use store::record::{Machine, SessionRecord, Status, TmuxPlace};
use tmux::{PaneRef, PaneShot};

use crate::pane_match::{Live, Occupant};
use crate::plan::Plan;
use crate::recover_one::Destination;

/// The conversations whose agents are gone without their user's doing, and have not gone on under another id; the newest
/// first. One that its user ended, or whose pane was closed, is none of them.
pub fn crashed<'a>(
    records: impl Iterator<Item = &'a SessionRecord>,
    since: Timestamp,
) -> Vec<&'a SessionRecord> {
    let waits = |record: &&SessionRecord| {
        let passing = record.run().is_some_and(|run| run.is_passing());
        record.status == Status::Crashed && record.next_id.is_none() && !passing && record.last_seen >= since
    };
    let mut found: Vec<&SessionRecord> = records.filter(waits).collect();
    found.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.session_id.cmp(&b.session_id)));
    found
}

/// The conversation in which a crashed one goes on: a fresh agent has taken over its work.
pub fn taken_over_by<'a>(
    session: &SessionKey,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
) -> Option<&'a SessionRecord> {
    let next = |record: &SessionRecord| {
        records.get(record.next_id.as_ref().filter(|_| record.status == Status::Crashed)?)
    };
    // Records could in theory name one another in a circle.
    std::iter::successors(next(records.get(session)?), |record| next(record)).take(records.len()).last()
}

/// What stands at a conversation's place in another life of its server, in the same directory: a shell where its agent should
/// be, an agent that knows nothing, as tmux-resurrect leaves them, or a pane that waits for its user. The pane, and the word for why its agent is gone.
pub fn left_in_place<'a>(
    record: &SessionRecord,
    here: &Machine,
    live: &'a Live,
) -> Option<(&'a PaneShot, &'static str)> {
    let place = record.genuine_place(here)?;
    if (live.shot.pid, live.shot.start_time) == (place.server, place.started) {
        return None;
    }
    let same = |pane: &&PaneShot| {
        live.shot.reference(&pane.id).is_some_and(|known| known.as_str() == place.reference)
            && record.cwd.as_deref() == Some(Path::new(&pane.cwd))
    };
    let pane = live.shot.panes().find(same)?;
    let word = match live.occupants.get(&pane.id)? {
        Occupant::Shell => "shell_instead",
        Occupant::Waiting => "waits_in_pane",
        Occupant::Agent { empty: true, .. } => "restored_empty",
        _ => return None,
    };
    Some((pane, word))
}

/// Where a conversation comes back that was in a pane: there, where only a shell is left in it and nobody else comes back in
/// it, else in a new window of its session. `live` is what there is on its server now, `before` what is brought back besides.
/// Nothing where no genuine run was in a pane.
pub fn own_place(
    record: &SessionRecord,
    here: &Machine,
    live: Option<&Live>,
    before: &Plan,
) -> Option<Destination> {
    let place = record.genuine_place(here)?;
    let taken = before.seated(&place.socket);
    let own =
        live.and_then(|live| own_pane(place, live).or_else(|| Some(left_in_place(record, here, live)?.0)));
    Some(match own.filter(|pane| !taken.contains(&pane.id)) {
        Some(pane) => Destination::Pane {
            pane: pane.id.clone(),
            reference: place.reference.clone(),
            in_front: Some(pane.command.clone()).filter(|command| !command.is_empty()),
        },
        None => {
            let session = PaneRef::session_in(&place.socket, &place.reference);
            new_window(&place.socket, session, live, before)
        }
    })
}

/// The pane itself, in the same life of its server, where only a shell is left in it.
fn own_pane<'a>(place: &TmuxPlace, live: &'a Live) -> Option<&'a PaneShot> {
    let same_life = (live.shot.pid, live.shot.start_time) == (place.server, place.started);
    let free = matches!(live.occupants.get(&place.pane), Some(Occupant::Shell | Occupant::Waiting));
    live.shot.panes().find(|pane| same_life && free && pane.id == place.pane)
}

/// A new window of a session, which is made where it is not there.
pub fn new_window(socket: &Path, session: &str, live: Option<&Live>, before: &Plan) -> Destination {
    let there = live.and_then(|live| live.shot.sessions.iter().find(|known| known.name == session));
    let windows = there.into_iter().flat_map(|there| &there.windows).map(|link| link.index);
    let last = windows.chain(before.numbers(socket, session)).max();
    Destination::Window {
        session: session.to_owned(),
        there: there.map(|there| there.id.clone()),
        index: last.map_or(0, |last| last + 1),
    }
}
