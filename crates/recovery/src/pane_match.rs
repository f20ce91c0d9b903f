//! Where a saved pane is on a server that runs: the same one, one that took its place, or none. Pure.
//!
//! In a server that never died a pane keeps its id, and one that is not there was closed. In another life of the server
//! the search goes down a ladder, and each step says what it went by: what the pane says of itself, its place by name,
//! its directory, its title. A pane is taken only while nothing runs in it that anybody could miss.

use std::collections::{BTreeMap, BTreeSet};

use agents::SessionKey;
use layouts::SavedServer;
use serde::Serialize;
use tmux::{PaneShot, ServerSnapshot};

use crate::likeness::most_alike;
use crate::search_log::SearchLog;

/// What runs in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    /// A shell that waits for its user.
    Shell,
    /// Our own program, which waits to start the pane's agent.
    Waiting,
    /// An agent.
    Agent {
        /// Its conversation, where that is known.
        session: Option<SessionKey>,
        /// Whether nothing was said in it yet.
        empty: bool,
    },
    /// Something else.
    Program {
        /// What it is called.
        name: String,
    },
}

/// A server that runs.
#[derive(Debug, Clone)]
pub struct Live {
    /// Its sessions, windows and panes.
    pub shot: ServerSnapshot,
    /// The marks that restores have left on panes, with the panes.
    pub marks: BTreeMap<String, String>,
    /// What runs in which pane.
    pub occupants: BTreeMap<String, Occupant>,
}

/// What a pane was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// The pane itself says so: its id, our mark, its conversation's id.
    Identity,
    /// `session:window.pane`, in the same directory.
    PaneRef,
    /// Its directory, which only one pane of the session is in.
    Cwd,
    /// Its title, among several in that directory.
    Task,
    /// Its user said so.
    Choice,
}

impl MatchedBy {
    /// The word that decision records have for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            MatchedBy::Identity => "identity",
            MatchedBy::PaneRef => "pane_ref",
            MatchedBy::Cwd => "cwd",
            MatchedBy::Task => "task",
            MatchedBy::Choice => "choice",
        }
    }
}

/// Where a saved pane is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// It must be made.
    New,
    /// It is there.
    There {
        /// `%4`.
        pane: String,
        /// By which step.
        rung: MatchedBy,
    },
    /// It was closed while its server lived on.
    Closed,
    /// Several could be it, and nothing says which.
    Choice {
        /// Their ids.
        candidates: Vec<String>,
    },
}

/// Finds the seats of all saved panes, and says of those that had to be looked for what was tried.
///
/// `again` is the user's own wish: what was closed is made again. `others` are panes in which somebody else is about to be
/// started: they are given away no more.
pub(crate) fn seats(
    saved: &SavedServer,
    live: Option<&Live>,
    again: bool,
    others: &BTreeSet<String>,
) -> (BTreeMap<String, Match>, BTreeMap<String, SearchLog>) {
    let Some(live) = live else {
        let made = saved.tmux.panes().map(|pane| (pane.id.clone(), Match::New));
        return (made.collect(), BTreeMap::new());
    };
    if saved.tmux.id() == live.shot.id() {
        let there = |id: &&String| live.shot.panes().any(|known| known.id == **id);
        // One that was closed and made again has another id, and the mark of the one that it was.
        let again_there = |pane: &PaneShot| live.marks.get(&saved.tmux.mark(&pane.id));
        let seat = |pane: &PaneShot| match Some(&pane.id).filter(there).or_else(|| again_there(pane)) {
            Some(id) => Match::There { pane: id.clone(), rung: MatchedBy::Identity },
            None if again => Match::New,
            None => Match::Closed,
        };
        let known = saved.tmux.panes().map(|pane| (pane.id.clone(), seat(pane)));
        return (known.collect(), BTreeMap::new());
    }
    let (found, tried) = (BTreeMap::new(), BTreeMap::new());
    Search { saved, live, found, tried, taken: BTreeSet::new(), others }.run()
}

struct Search<'a> {
    saved: &'a SavedServer,
    live: &'a Live,
    found: BTreeMap<String, Match>,
    tried: BTreeMap<String, SearchLog>,
    taken: BTreeSet<String>,
    others: &'a BTreeSet<String>,
}

impl Search<'_> {
    fn run(mut self) -> (BTreeMap<String, Match>, BTreeMap<String, SearchLog>) {
        let (saved, live) = (self.saved, self.live);
        for pane in saved.tmux.panes() {
            let ours = saved.tmux.mark(&pane.id);
            if let Some(there) = live.marks.get(&ours).or_else(|| self.tagged(pane)) {
                self.take(pane, &there.clone(), MatchedBy::Identity);
            }
            self.note(pane, MatchedBy::Identity, None);
        }
        for pane in saved.tmux.panes() {
            if self.found.contains_key(&pane.id) {
                continue;
            }
            let place = saved.tmux.reference(&pane.id);
            let same = live.shot.panes().find(|known| {
                place.is_some() && live.shot.reference(&known.id) == place && known.cwd == pane.cwd
            });
            if let Some(there) = same.filter(|known| self.is_free(&known.id)) {
                self.take(pane, &there.id, MatchedBy::PaneRef);
            }
            self.note(pane, MatchedBy::PaneRef, None);
        }
        for agent in &saved.agents {
            let Some(pane) = saved.tmux.panes().find(|pane| pane.id == agent.pane) else { continue };
            self.by_directory(pane);
        }
        let rest = saved.tmux.panes().map(|pane| pane.id.clone()).collect::<Vec<_>>();
        for pane in rest {
            self.found.entry(pane).or_insert(Match::New);
        }
        (self.found, self.tried)
    }

    /// Writes down how many a step found; where nobody says, whether the pane has its seat now.
    fn note(&mut self, pane: &PaneShot, rung: MatchedBy, found: Option<usize>) {
        let found = found.unwrap_or_else(|| usize::from(self.found.contains_key(&pane.id)));
        self.tried.entry(pane.id.clone()).or_default().add(rung, found);
    }

    /// A pane that carries the id of this pane's conversation.
    fn tagged(&self, pane: &PaneShot) -> Option<&String> {
        let agent = self.saved.agents.iter().find(|agent| agent.pane == pane.id)?;
        let tagged =
            self.live.shot.panes().find(|known| known.tag.as_deref() == Some(agent.session_id.as_str()))?;
        Some(&tagged.id)
    }

    fn take(&mut self, pane: &PaneShot, there: &str, rung: MatchedBy) {
        if !self.found.contains_key(&pane.id) && self.taken.insert(there.to_owned()) {
            self.found.insert(pane.id.clone(), Match::There { pane: there.to_owned(), rung });
        }
    }

    /// Whether a pane can be given away: what runs in it is nobody's loss, and it says nothing else of itself.
    fn is_free(&self, pane: &str) -> bool {
        let gives = match self.live.occupants.get(pane) {
            Some(Occupant::Shell) => true,
            Some(Occupant::Agent { empty, .. }) => *empty,
            _ => false,
        };
        let taken = self.taken.contains(pane) || self.others.contains(pane);
        gives && !taken && !self.live.marks.values().any(|marked| marked == pane)
    }

    /// The panes of the same session in the same directory; of several, the one with the same title.
    fn by_directory(&mut self, pane: &PaneShot) {
        if self.found.contains_key(&pane.id) {
            return;
        }
        let (saved, live) = (&self.saved.tmux, self.live);
        let free: Vec<&PaneShot> = sessions_of(saved, &pane.id)
            .into_iter()
            .flat_map(|name| panes_of(&live.shot, name))
            .filter(|known| known.cwd == pane.cwd && self.is_free(&known.id))
            .collect();
        // Two that could both have it: one of them would get the other's place.
        let rivals = self.saved.agents.iter().filter(|agent| {
            let rival = saved.panes().find(|known| known.id == agent.pane && known.cwd == pane.cwd);
            rival.is_some_and(|rival| {
                !matches!(self.found.get(&rival.id), Some(Match::There { .. }))
                    && sessions_of(saved, &rival.id) == sessions_of(saved, &pane.id)
            })
        });
        let rivals = rivals.count();
        self.note(pane, MatchedBy::Cwd, Some(free.len()));
        match (free.as_slice(), rivals) {
            ([], _) => {}
            ([only], 1) => self.take(pane, &only.id, MatchedBy::Cwd),
            (several, _) => {
                let alike = several.iter().map(|known| (&known.id, known.title.as_str()));
                let alike = most_alike(&pane.title, alike);
                self.note(pane, MatchedBy::Task, Some(usize::from(alike.is_some())));
                match alike {
                    Some(there) => self.take(pane, there, MatchedBy::Task),
                    None => {
                        let candidates = several.iter().map(|known| known.id.clone()).collect();
                        self.found.insert(pane.id.clone(), Match::Choice { candidates });
                    }
                }
            }
        }
    }
}

/// The names of the sessions that show a pane.
fn sessions_of<'a>(shot: &'a ServerSnapshot, pane: &str) -> Vec<&'a str> {
    let window = shot.windows.iter().find(|window| window.panes.iter().any(|known| known.id == pane));
    let shows = |session: &&tmux::Session| {
        window.is_some_and(|window| session.windows.iter().any(|link| link.window == window.id))
    };
    shot.sessions.iter().filter(shows).map(|session| session.name.as_str()).collect()
}

/// The panes of a session.
fn panes_of<'a>(shot: &'a ServerSnapshot, session: &str) -> Vec<&'a PaneShot> {
    let session = shot.sessions.iter().find(|known| known.name == session);
    let links = session.into_iter().flat_map(|session| &session.windows);
    links.filter_map(|link| shot.window(&link.window)).flat_map(|window| &window.panes).collect()
}

#[cfg(test)]
mod tests;
