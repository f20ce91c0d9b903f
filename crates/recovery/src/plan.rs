//! A restore as a value: which sessions are made, and what becomes of each pane. A dry run prints exactly what a run does.

mod asks;
mod layout;
mod verdicts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use layouts::Save;
use serde::Serialize;
use store::config::{AutoResume, ResumeFallback};
use tmux::{FillPlan, SessionPlan};

use crate::decide::{Act, Decision};
use crate::facts::Ground;
use crate::pane_match::{Live, Match, MatchedBy, seats};
use crate::recipe::Recipe;
use crate::selector::Selector;

pub use asks::Asks;

/// Everything that a restore does.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// By server.
    pub servers: Vec<ServerPlan>,
    /// What follows a start that fails.
    pub fallback: ResumeFallback,
}

/// What is done on one server.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Its socket.
    pub socket: PathBuf,
    /// The sessions to be made or filled.
    pub sessions: Vec<SessionPlan>,
    /// The windows to get panes that are missing in them.
    pub fills: Vec<FillPlan>,
    /// Every saved pane that was asked for.
    pub panes: Vec<PaneStep>,
}

/// What becomes of a saved pane.
#[derive(Debug, Clone)]
pub struct PaneStep {
    /// The mark by which it is found again.
    pub mark: String,
    /// What it was called at the time of the save.
    pub reference: String,
    /// The conversation that was in it.
    pub session: Option<SessionKey>,
    /// Whether it is only guessed that the conversation was in it. A pane that offers it keeps that, and so does every save
    /// of that pane.
    pub guessed: bool,
    /// Where it is now.
    pub seat: Match,
    /// What is done, and why.
    pub decision: Decision,
    /// What was weighed on the way.
    pub evidence: Vec<Weighed>,
    /// How its agent is started.
    pub recipe: Option<Recipe>,
    /// Where its agent is started.
    pub directory: Option<PathBuf>,
    /// The program in front of the pane that is there, when it was looked at.
    pub in_front: Option<String>,
    /// Whether the agent was the pane's own command: then the pane ends with it.
    pub own_command: bool,
    /// Whether the pane is ours to show something in: a restore made it, and its user has not used it.
    pub ours: bool,
    /// What it asks its user, where an agent ran in it and no conversation is known to be its own.
    pub asks: Option<Asks>,
    /// Where what it showed may be found; nothing of panes that had an agent.
    pub text: Option<SavedText>,
}

/// Where a save has what a pane showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedText {
    /// The save's id.
    pub save: String,
    /// The server's place in it.
    pub server: usize,
    /// What the pane was then: `%4`.
    pub pane: String,
}

/// One thing that was weighed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weighed {
    /// By which step the pane or its conversation was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<MatchedBy>,
    /// What it says.
    pub says: String,
}

/// What whoever restores wants.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Now.
    pub now: Timestamp,
    /// What was not heard of for longer is offered.
    pub stale_after: SignedDuration,
    /// What was closed is made again: the user named it.
    pub again: bool,
    /// How its user asked for it.
    pub asked: Asked,
    /// Whether agents start, or wait for their user.
    pub resume: AutoResume,
    /// What becomes of conversations that cannot simply be resumed.
    pub fallback: ResumeFallback,
}

/// How a user asked for a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Not at all: what its user may have left as it is stays so.
    ByItself,
    /// For everything that is missing, without naming it: a record that this machine did not write stays as it is.
    All,
    /// For this very one.
    Name,
}

/// Makes the plan for a save.
///
/// A save may hold several lives of one server: what is there now, and what went before and was not brought back. They are
/// brought back together. What was there last keeps its places, and a conversation comes back once.
pub fn plan(save: &Save, only: &Selector, alive: &[Live], ground: &Ground<'_>, wanted: Wanted) -> Plan {
    let agents = save.servers.iter().flat_map(|server| &server.agents);
    let claimed: BTreeSet<SessionKey> = agents.map(|agent| agent.session_id.clone()).collect();
    let mut plan = Plan::default();
    let texts = save.id.as_deref().filter(|_| save.head.scrollback.is_some());
    for (at, saved) in save.servers.iter().enumerate() {
        let live = alive.iter().find(|live| live.shot.socket == saved.tmux.socket);
        let judge = verdicts::Judge {
            saved,
            texts: texts.map(|id| (id, at)),
            imported: save.head.imported,
            live,
            ground,
            wanted,
            claimed: &claimed,
        };
        let server = server_plan(&judge, only, &plan);
        plan.join(Plan { servers: vec![server], fallback: wanted.fallback });
    }
    plan
}

fn server_plan(judge: &verdicts::Judge<'_>, only: &Selector, before: &Plan) -> ServerPlan {
    let (saved, live) = (judge.saved, judge.live);
    let socket = &saved.tmux.socket;
    let taken = before.seated(socket);
    let (seats, tried) = seats(saved, live, judge.wanted.again, &taken);
    let mut panes: Vec<PaneStep> = saved
        .tmux
        .panes()
        .filter(|pane| only.has(&saved.tmux, &pane.id))
        .map(|pane| {
            let seat = seats.get(&pane.id).cloned().unwrap_or(Match::New);
            judge.step(pane, seat, tried.get(&pane.id))
        })
        .collect();
    for at in 0..panes.len() {
        let (earlier, rest) = panes.split_at_mut(at);
        let Some(step) = rest.first_mut().filter(|step| step.decision.act.starts()) else { continue };
        let same = |known: &&PaneStep| known.decision.act.starts() && known.session == step.session;
        if let Some(known) = before.panes().chain(&*earlier).find(same) {
            step.decision = Decision {
                act: if step.seat == Match::New { Act::Shell } else { Act::Nothing },
                reason: format!("its conversation is brought back in {}", known.reference),
            };
            (step.session, step.recipe) = (None, None);
            continue;
        }
        if let (Match::There { pane, .. }, Some(session)) = (&step.seat, &step.session)
            && taken.contains(pane)
        {
            let how = format!("rekindle recover {} finds another", session.short());
            step.decision = Decision {
                act: Act::Refuse,
                reason: format!("another agent is brought back in its pane: {how}"),
            };
            step.ours = false;
        }
    }
    let step = |id: &str| panes.iter().find(|step| step.mark == saved.tmux.mark(id));
    let numbers = |session: &str| before.numbers(socket, session);
    let (live, filled) = (live.map(|live| &live.shot), before.filled(socket));
    let places = layout::Ground { saved: &saved.tmux, live, seats: &seats, only, filled };
    let layout::Layout { sessions, fills } = places.layout(numbers, step);
    ServerPlan { socket: socket.clone(), sessions, fills, panes }
}

impl Plan {
    /// The panes of a server in which this plan starts somebody.
    pub(crate) fn seated(&self, socket: &Path) -> BTreeSet<String> {
        let servers = self.servers.iter().filter(|server| server.socket == socket);
        let seat = |step: &PaneStep| match &step.seat {
            Match::There { pane, .. } => Some(pane.clone()),
            _ => None,
        };
        let starts = |step: &&PaneStep| step.decision.act.starts();
        servers.flat_map(|server| &server.panes).filter(starts).filter_map(seat).collect()
    }

    /// The numbers of windows that this plan gives away in a session.
    pub(crate) fn numbers(&self, socket: &Path, session: &str) -> BTreeSet<u32> {
        let servers = self.servers.iter().filter(|server| server.socket == socket);
        let sessions = servers.flat_map(|server| &server.sessions).filter(|known| known.name == session);
        sessions.flat_map(SessionPlan::numbers).collect()
    }

    /// The windows of a server that this plan fills.
    fn filled(&self, socket: &Path) -> BTreeSet<&str> {
        let servers = self.servers.iter().filter(|server| server.socket == socket);
        servers.flat_map(|server| &server.fills).map(|fill| fill.window.as_str()).collect()
    }

    /// Does what another plan does, too: what is made on one server is made together.
    pub fn join(&mut self, other: Plan) {
        self.fallback = other.fallback;
        for server in other.servers {
            match self.servers.iter_mut().find(|ours| ours.socket == server.socket) {
                Some(ours) => ours.join(server),
                None => self.servers.push(server),
            }
        }
    }

    /// Every pane.
    pub fn panes(&self) -> impl Iterator<Item = &PaneStep> {
        self.servers.iter().flat_map(|server| &server.panes)
    }

    /// Whether there is nothing to make and nobody to start.
    pub fn is_empty(&self) -> bool {
        let starts = |step: &PaneStep| step.decision.act.starts();
        let makes = |server: &ServerPlan| !server.sessions.is_empty() || !server.fills.is_empty();
        !self.servers.iter().any(makes) && !self.panes().any(starts)
    }

    /// The panes that concern anybody: those to be made or started, and those whose agents are missing.
    pub fn concerned(&self) -> impl Iterator<Item = &PaneStep> {
        self.panes().filter(|step| step.concerns())
    }
}

impl PaneStep {
    /// The words its agent is started with.
    pub fn words(&self) -> Option<Vec<String>> {
        self.recipe.as_ref()?.argv(self.decision.act).ok().map(|argv| argv.words)
    }

    /// Whether anything is made, started or missing here.
    pub fn concerns(&self) -> bool {
        self.seat == Match::New || !matches!(self.decision.act, Act::Nothing | Act::Shell)
    }

    /// The text that its shell begins with: a new pane shows what the old one showed, unless an agent comes into it.
    pub fn begins_with(&self) -> Option<&SavedText> {
        self.text.as_ref().filter(|_| self.seat == Match::New && !self.is_agents())
    }

    /// Whether an agent comes into it, or a page that speaks of one.
    pub fn is_agents(&self) -> bool {
        self.session.is_some() || self.asks.is_some()
    }
}

impl ServerPlan {
    fn join(&mut self, mut other: ServerPlan) {
        self.panes.append(&mut other.panes);
        self.fills.append(&mut other.fills);
        for (old, new) in self.renamed(&other.sessions) {
            let rename = |name: &mut String| {
                if *name == old {
                    name.clone_from(&new);
                }
            };
            for session in &mut other.sessions {
                rename(&mut session.name);
                session.shares_with.iter_mut().for_each(rename);
                session.links.iter_mut().map(|link| &mut link.session).for_each(rename);
            }
        }
        for mut session in other.sessions {
            match self.sessions.iter_mut().find(|known| known.name == session.name) {
                None => self.sessions.push(session),
                Some(known) => {
                    known.windows.append(&mut session.windows);
                    known.links.append(&mut session.links);
                    known.shown = known.shown.or(session.shown);
                    known.last = known.last.or(session.last);
                }
            }
        }
    }

    /// Sessions with windows of their own whose name belongs to one here that shows the windows of another, or the other way
    /// round: those have no room for windows of their own.
    fn renamed(&self, others: &[SessionPlan]) -> Vec<(String, String)> {
        let shares = |session: &SessionPlan| session.shares_with.is_some();
        let collides = |session: &&SessionPlan| {
            let known = self.sessions.iter().find(|known| known.name == session.name);
            !session.windows.is_empty() && known.is_some_and(|known| shares(known) || shares(session))
        };
        let named = |name: &String| self.sessions.iter().chain(others).any(|known| known.name == *name);
        let free = |name: &str| (2..).map(|number| format!("{name}-{number}")).find(|name| !named(name));
        let renamed = others.iter().filter(collides);
        renamed.filter_map(|session| Some((session.name.clone(), free(&session.name)?))).collect()
    }
}

/// A step that resumes nobody in particular, for tests.
#[cfg(test)]
pub(crate) fn a_step(mark: &str, seat: Match) -> PaneStep {
    PaneStep {
        mark: mark.to_owned(),
        reference: String::new(),
        session: None,
        guessed: false,
        seat,
        decision: Decision { act: Act::Resume, reason: String::new() },
        evidence: Vec::new(),
        recipe: None,
        directory: None,
        own_command: false,
        ours: true,
        in_front: None,
        asks: None,
        text: None,
    }
}

/// A window without panes, for tests.
#[cfg(test)]
pub(crate) fn an_empty_window(index: u32) -> tmux::WindowPlan {
    tmux::WindowPlan {
        index,
        name: String::new(),
        renames_itself: false,
        layout: String::new(),
        width: 80,
        height: 24,
        zoomed: false,
        panes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str, windows: &[u32], shares_with: Option<&str>) -> SessionPlan {
        SessionPlan {
            name: name.to_owned(),
            shares_with: shares_with.map(str::to_owned),
            windows: windows.iter().copied().map(an_empty_window).collect(),
            shown: windows.first().copied(),
            ..SessionPlan::default()
        }
    }

    #[test]
    fn two_lives_of_a_server_share_their_sessions() {
        let server = |sessions: Vec<SessionPlan>| Plan {
            servers: vec![ServerPlan { socket: "/s".into(), sessions, fills: Vec::new(), panes: Vec::new() }],
            ..Plan::default()
        };
        let mut plan = server(vec![session("work", &[0, 2], None), session("twin", &[], Some("work"))]);
        assert_eq!(plan.numbers(Path::new("/s"), "work"), BTreeSet::from([0, 2]));
        plan.join(server(vec![
            session("work", &[3], None),
            session("twin", &[1], None),
            session("other", &[0], None),
            session("guest", &[], Some("twin")),
        ]));
        plan.join(server(vec![session("twin", &[], Some("work"))]));
        let made: Vec<(&str, Vec<u32>)> = plan.servers[0]
            .sessions
            .iter()
            .map(|session| {
                (session.name.as_str(), session.windows.iter().map(|window| window.index).collect())
            })
            .collect();
        let expect = [
            ("work", vec![0, 2, 3]),
            ("twin", vec![]),
            ("twin-2", vec![1]),
            ("other", vec![0]),
            ("guest", vec![]),
        ];
        assert_eq!(made, expect);
        assert_eq!(plan.servers[0].sessions[4].shares_with.as_deref(), Some("twin-2"));
        assert_eq!(plan.servers[0].sessions[0].shown, Some(0), "what was there last is shown");
    }
}
