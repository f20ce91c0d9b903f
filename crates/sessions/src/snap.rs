//! Snapshots of what agents' panes show: after a turn, when time has passed, and before an agent is ended.
//!
//! A transcript says more and is read first. This is for what has none, or one that ends too early.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use store::record::TmuxPlace;
use store::snapshots::{Shelf, Snapshot, Why};
use tmux::{Listing, Pane, Server};

use crate::bind;
use crate::settle::Settled;

/// Takes snapshots.
#[derive(Debug, Clone)]
pub struct Snapper {
    /// Where they go.
    pub shelf: Shelf,
    /// How many lines of history and screen one has at most.
    pub lines: u32,
}

/// What became of snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapped {
    /// The conversations with a new one.
    pub taken: BTreeSet<SessionKey>,
    /// Those whose panes show what they showed.
    pub unchanged: BTreeSet<SessionKey>,
    /// What went wrong without stopping anything.
    pub troubles: Vec<String>,
}

/// A conversation, and the pane that shows it.
type Shown<'a> = (SessionKey, &'a Pane);

/// Long enough for a server on a loaded machine; a server that takes longer is busy with something else.
const DEADLINE: Duration = Duration::from_secs(10);

/// Lines may be long: more than this is not kept of a pane, whatever its lines.
const MOST_BYTES: usize = 4 << 20;

impl Snapper {
    /// Takes snapshots of these conversations, where a live agent is in them: at the end of a turn. `nonce` is new and
    /// random.
    pub fn snapshot(
        &self,
        settled: &Settled,
        sessions: &BTreeSet<SessionKey>,
        now: Timestamp,
        nonce: &str,
    ) -> Snapped {
        let mut snapped = Snapped::default();
        for (server, panes) in self.panes(settled, |session| sessions.contains(session)) {
            self.take(server, &panes, Why::Stop, now, nonce, &mut snapped);
        }
        snapped
    }

    /// Takes snapshots of every agent's pane whose newest one is older than this, and lets go of those past their time:
    /// what a timer does.
    pub fn snapshot_due(
        &self,
        settled: &Settled,
        interval: Duration,
        now: Timestamp,
        nonce: &str,
    ) -> Snapped {
        let mut snapped = Snapped::default();
        let interval = SignedDuration::try_from(interval).unwrap_or(SignedDuration::MAX);
        let due = |session: &SessionKey| {
            let age = self.shelf.newest_at(session).map(|at| now.duration_since(at).abs());
            age.is_none_or(|age| age >= interval)
        };
        for (server, panes) in self.panes(settled, due) {
            self.take(server, &panes, Why::Timer, now, nonce, &mut snapped);
        }
        if let Err(error) = self.shelf.prune(now) {
            snapped.troubles.push(format!("cannot {error}"));
        }
        snapped
    }

    /// Takes a snapshot of a pane whose agent is about to be ended.
    pub fn snapshot_before_kill(
        &self,
        session: &SessionKey,
        place: &TmuxPlace,
        now: Timestamp,
        nonce: &str,
    ) -> Snapped {
        let mut snapped = Snapped::default();
        let server = match tmux::list(&place.socket, DEADLINE) {
            Listing::Alive(server) => server,
            Listing::Gone => return snapped,
            Listing::Unknown { why } => {
                snapped.troubles.push(format!("cannot look at {}: {why}", place.reference));
                return snapped;
            }
        };
        // Another server on the same socket may have a pane of that name.
        let same = (server.id.pid, server.id.started) == (place.server, place.started);
        if let Some(pane) = server.pane(&place.pane).filter(|_| same) {
            self.take(&server, &[(session.clone(), pane)], Why::Kill, now, nonce, &mut snapped);
        }
        snapped
    }

    /// The panes of live agents in conversations that are wanted, server by server.
    fn panes<'a>(
        &self,
        settled: &'a Settled,
        wanted: impl Fn(&SessionKey) -> bool,
    ) -> Vec<(&'a Server, Vec<Shown<'a>>)> {
        let owners = bind::owners(settled.records.values(), &settled.world);
        let mut by_server: BTreeMap<u32, (&Server, Vec<Shown<'_>>)> = BTreeMap::new();
        let owners = owners.into_values().filter(|record| !settled.forgotten.contains(&record.session_id));
        for record in owners.filter(|record| wanted(&record.session_id)) {
            let Some(place) = &record.place else { continue };
            let (_, Some(server)) = settled.world.server(place) else { continue };
            let Some(pane) = server.pane(&place.pane).filter(|pane| !pane.dead) else { continue };
            let of_server = by_server.entry(server.id.pid).or_insert_with(|| (server, Vec::new()));
            of_server.1.push((record.session_id.clone(), pane));
        }
        by_server.into_values().collect()
    }

    fn take(
        &self,
        server: &Server,
        panes: &[Shown<'_>],
        why: Why,
        now: Timestamp,
        nonce: &str,
        snapped: &mut Snapped,
    ) {
        // Above a full screen stands what was there before the agent: not its own (measured: a shell's output).
        for (screen_only, lines) in [(true, 0), (false, self.lines)] {
            let these: Vec<_> = panes.iter().filter(|(_, pane)| pane.alternate == screen_only).collect();
            let ids: Vec<&str> = these.iter().map(|(_, pane)| pane.id.as_str()).collect();
            let texts = match tmux::scrollback(&server.socket, &ids, lines, nonce, DEADLINE) {
                Ok(texts) => texts,
                Err(error) => {
                    snapped.troubles.push(format!("cannot {error}"));
                    continue;
                }
            };
            for (session, pane) in these {
                let Some(text) = texts.get(&pane.id) else { continue };
                let text = redact::redact(bounded(text, self.lines));
                let snapshot = Snapshot {
                    session: session.clone(),
                    at: now,
                    why,
                    pane: server.reference(pane).as_str().to_owned(),
                    screen_only,
                    text: text.into_owned(),
                };
                match self.shelf.put(&snapshot) {
                    Ok(true) => drop(snapped.taken.insert(session.clone())),
                    Ok(false) => drop(snapped.unchanged.insert(session.clone())),
                    Err(error) => snapped.troubles.push(format!("cannot {error}: {}", error.source)),
                }
            }
        }
    }
}

/// The last lines of a text: tmux gives so many lines of history and the whole screen on top of them (measured).
fn bounded(text: &str, lines: u32) -> &str {
    let mut from = text.len().saturating_sub(MOST_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = &text[from..];
    let ends = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    ends.filter(|at| *at < text.len()).nth((lines as usize).saturating_sub(1)).map_or(text, |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-tmux-12
    #[test]
    fn only_the_last_lines_are_kept() {
        let check = |text: &str, lines: u32, expect: &str| assert_eq!(bounded(text, lines), expect);
        check("a\nb\nc", 2, "b\nc");
        check("a\nb\nc\n", 2, "b\nc\n");
        check("a\nb", 5, "a\nb");
        check("", 5, "");
        check("one", 1, "one");
        let long = "ü".repeat(MOST_BYTES);
        assert!(bounded(&long, 9).len() <= MOST_BYTES && bounded(&long, 9).len() > MOST_BYTES - 4);
    }
}
