//! The decision about each pane, from where it is, what runs there now, and what is known of its conversation.

use std::collections::BTreeSet;

use agents::SessionKey;
use layouts::{Agent, SavedServer};
use store::record::Grade;
use tmux::PaneShot;

use super::{Asked, Asks, PaneStep, SavedText, Wanted, Weighed};
use crate::decide::{Act, Decision, decide};
use crate::facts::Ground;
use crate::infer_session::{InferredSession, goes_on_as, ran_agent, was_only_agent, whose};
use crate::pane_match::{Live, Match, MatchedBy, Occupant};
use crate::search_log::SearchLog;

/// What is needed to decide.
pub(super) struct Judge<'a> {
    pub(super) saved: &'a SavedServer,
    /// The save that has what its panes showed, and the server's place in it.
    pub(super) texts: Option<(&'a str, usize)>,
    pub(super) imported: bool,
    pub(super) live: Option<&'a Live>,
    pub(super) ground: &'a Ground<'a>,
    pub(super) wanted: Wanted,
    /// The conversations of all panes of which the save knows them.
    pub(super) claimed: &'a BTreeSet<SessionKey>,
}

fn decision(act: Act, reason: impl Into<String>) -> Decision {
    Decision { act, reason: reason.into() }
}

impl Judge<'_> {
    /// Decides about one pane, which was looked for in these steps.
    pub(super) fn step(&self, pane: &PaneShot, seat: Match, tried: Option<&SearchLog>) -> PaneStep {
        let shot = &self.saved.tmux;
        let mark = shot.mark(&pane.id);
        let reference = shot.reference(&pane.id).map(|reference| reference.to_string()).unwrap_or_default();
        let marked = self.live.is_some_and(|live| live.marks.contains_key(&mark));
        let mut step = PaneStep {
            mark,
            reference,
            session: None,
            guessed: false,
            in_front: self.in_front(&seat),
            ours: seat == Match::New || marked || self.occupant(&seat) == Some(&Occupant::Waiting),
            seat,
            decision: decision(Act::Shell, "no agent was in it"),
            evidence: Vec::new(),
            recipe: None,
            directory: None,
            own_command: was_only_agent(pane),
            asks: None,
            text: self.text(pane),
        };
        if let Some(tried) = tried.filter(|tried| tried.had_to_look()) {
            step.evidence.push(Weighed { rung: None, says: format!("its pane {tried}") });
        }
        if let Match::There { pane, rung } = &step.seat {
            let says = format!("{pane} is this pane: {}", words(*rung));
            step.evidence.push(Weighed { rung: Some(*rung), says });
        }
        let named = self.saved.agents.iter().find(|agent| agent.pane == pane.id).cloned();
        match named.or_else(|| self.found(pane, &mut step)) {
            Some(agent) => self.judge(&agent, &mut step),
            None if step.seat != Match::New && step.decision.act == Act::Shell => {
                step.decision = decision(Act::Nothing, "it is there, and no agent was in it");
            }
            None => {}
        }
        if step.seat == Match::Closed {
            step.decision = decision(Act::Nothing, "it was closed while its server lived on");
        }
        step
    }

    fn text(&self, pane: &PaneShot) -> Option<SavedText> {
        let (save, server) = self.texts?;
        let agents = self.saved.agents.iter().any(|agent| agent.pane == pane.id);
        (!agents).then(|| SavedText { save: save.to_owned(), server, pane: pane.id.clone() })
    }

    fn in_front(&self, seat: &Match) -> Option<String> {
        let Match::There { pane, .. } = seat else { return None };
        let command = self.live?.shot.panes().find(|known| known.id == *pane)?.command.clone();
        // tmux names none in a pane whose process has not begun.
        Some(command).filter(|command| !command.is_empty())
    }

    fn occupant(&self, seat: &Match) -> Option<&Occupant> {
        match seat {
            Match::There { pane, .. } => self.live?.occupants.get(pane),
            _ => None,
        }
    }

    /// The conversation of a pane of which the save knows only that an agent ran there.
    fn found(&self, pane: &PaneShot, step: &mut PaneStep) -> Option<Agent> {
        if !ran_agent(pane) {
            return None;
        }
        let (whose, tried) = whose(&step.reference, pane, &self.ground.settled.records, self.claimed);
        step.evidence.push(Weighed { rung: None, says: format!("its conversation {tried}") });
        let taken = matches!(self.occupant(&step.seat), Some(Occupant::Agent { empty: false, .. }));
        match whose {
            // Its user has chosen, or begun anew.
            InferredSession::Choice(_)
            | InferredSession::Nobody
            | InferredSession::Found { grade: Grade::Guess, .. }
                if taken =>
            {
                step.decision =
                    decision(Act::Nothing, "an agent is in it, and nothing says that it was another");
                None
            }
            InferredSession::Found { session, grade, rung } => {
                let says = format!("{} was here: {}", session.short(), words(rung));
                step.evidence.push(Weighed { rung: Some(rung), says });
                let grade = if self.imported { Grade::Guess } else { grade };
                let cwd = Some(pane.cwd.clone().into());
                let pane = pane.id.clone();
                Some(Agent { pane, session_id: session, grade, argv_known: false, cwd, config_dir: None })
            }
            InferredSession::Choice(sessions) => {
                self.ask(Asks::of(pane, sessions, self.imported), step);
                None
            }
            InferredSession::Nobody => {
                self.ask(Asks::of(pane, Vec::new(), self.imported), step);
                None
            }
        }
    }

    /// Lets a pane that is made ask its user. In one that is there already nothing is shown.
    fn ask(&self, asks: Asks, step: &mut PaneStep) {
        let reason = asks.reason();
        let shown = step.seat == Match::New || self.occupant(&step.seat) == Some(&Occupant::Waiting);
        step.decision = match (shown, asks.candidates.first()) {
            (true, Some(_)) => decision(Act::Offer, format!("{reason}: its pane asks which")),
            (true, None) => decision(Act::Offer, format!("{reason}: its pane offers a fresh one")),
            (false, Some(newest)) => {
                let how = format!("rekindle recover {} brings that one back", newest.short());
                decision(Act::Offer, format!("{reason}: {how}"))
            }
            (false, None) => decision(Act::Nothing, reason),
        };
        step.asks = Some(asks).filter(|_| shown);
    }

    fn judge(&self, agent: &Agent, step: &mut PaneStep) {
        let newest = goes_on_as(&agent.session_id, &self.ground.settled.records);
        if *newest != agent.session_id {
            let says = format!("{} goes on as {}", agent.session_id.short(), newest.short());
            step.evidence.push(Weighed { rung: None, says: says.clone() });
            if self.claimed.contains(newest) {
                step.decision =
                    decision(if step.seat == Match::New { Act::Shell } else { Act::Nothing }, says);
                return;
            }
        }
        let agent = &Agent { session_id: newest.clone(), ..agent.clone() };
        let known = self.ground.remember(agent, &step.reference, self.imported, self.wanted.fallback);
        let facts = known.facts;
        let session = &agent.session_id;
        step.session = Some(session.clone());
        step.guessed = facts.grade == Grade::Guess;
        (step.recipe, step.directory) = (known.recipe, known.directory);
        step.evidence.extend(facts.says().into_iter().map(|says| Weighed { rung: None, says }));
        let same_life = self.live.is_some_and(|live| live.shot.id() == self.saved.tmux.id());
        step.decision = match (&step.seat, self.occupant(&step.seat)) {
            (_, Some(Occupant::Agent { session: Some(here), .. })) if here == session => {
                decision(Act::Nothing, "its agent is there")
            }
            (_, Some(Occupant::Agent { empty: false, .. })) => decision(
                Act::Refuse,
                format!("another agent is in its pane: rekindle recover {} finds another", session.short()),
            ),
            (_, Some(Occupant::Program { name })) => {
                decision(Act::Refuse, format!("its pane runs {name}, which is not ended for it"))
            }
            (Match::Choice { candidates }, _) => {
                let how = format!("rekindle recover {} opens a window for it", session.short());
                let panes = candidates.join(" or ");
                decision(Act::Offer, format!("it may have been in {panes}: nothing says which; {how}"))
            }
            (_, Some(Occupant::Shell)) if same_life && self.wanted.asked == Asked::ByItself && !step.ours => {
                decision(
                    Act::Nothing,
                    format!("its agent ended here: rekindle recover {} brings it back", session.short()),
                )
            }
            _ => decide(&facts, &self.wanted),
        };
        // Nothing is shown in a pane that is there already: the report says what to do.
        let shown = !matches!(self.occupant(&step.seat), Some(Occupant::Shell));
        if step.decision.act == Act::Offer && !shown {
            let how = format!("rekindle recover {} brings it back", session.short());
            step.decision.reason = format!("{}; {how}", step.decision.reason);
        }
    }
}

fn words(rung: MatchedBy) -> &'static str {
    match rung {
        MatchedBy::Identity => "it says so itself",
        MatchedBy::PaneRef => "same session, window and number, same directory",
        MatchedBy::Cwd => "the only one in its directory",
        MatchedBy::Task => "of several in its directory the one with this title",
        MatchedBy::Choice => "its user chose it",
    }
}
