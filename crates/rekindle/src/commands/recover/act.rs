//! Bringing agents back: resumed where that can be, else as fresh ones that are told everything.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;

use agents::SessionId;
use recovery::{
    BY_ITSELF, Live, Outcome, PaneStep, Plan, Restored, bring_back, last_place, new_window, own_place,
};
use settle::Settled;

use super::super::restore::{outcome_cells, outcomes};
use crate::briefing::{Ask, briefing};
use crate::context::{Context, pane_around};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::restoring::{self, Done, Manner};

/// Brings these conversations back. The turn to restore is held.
pub(super) fn recover(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionId],
    as_json: bool,
) -> Result<Exit, Failure> {
    report(&bring_all_back(context, settled, sessions, "recover")?, settled, as_json)
}

/// Brings these conversations back, as far as that can be done. `by` says what asked for it.
pub(crate) fn bring_all_back(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionId],
    by: &str,
) -> Result<Done, Failure> {
    let (plan, mut others) = plan(context, settled, sessions, None, by == BY_ITSELF)?;
    let briefing = briefing(context, &settled.records, Ask::Tracker)?;
    let mut done = if plan.servers.is_empty() {
        Done::default()
    } else {
        let manner = Manner { lazy: Some(false), briefing: Some(&briefing), ..Manner::default() };
        restoring::act(context, settled, &plan, manner, by)?
    };
    done.total += others.len();
    done.panes.append(&mut others);
    Ok(done)
}

/// Why this session would not be started, were its agent gone; nothing where it would be.
pub(super) fn refused(
    context: &Context,
    settled: &Settled,
    session: &SessionId,
) -> Result<Option<Done>, Failure> {
    let (plan, others) = plan(context, settled, std::slice::from_ref(session), Some(session), false)?;
    let refused = || Done { total: others.len(), panes: others, ..Done::default() };
    Ok(plan.servers.is_empty().then(refused))
}

/// What is done, and what is not and why. `said_gone` is the session whose agent is gone by its user's word.
fn plan(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionId],
    said_gone: Option<&SessionId>,
    automatic: bool,
) -> Result<(Plan, Vec<Restored>), Failure> {
    let wanted = restoring::wanted(context, true, automatic);
    let around = pane_around();
    let record = |session: &SessionId| settled.records.get(session);
    let places = sessions.iter().filter_map(|session| Some(last_place(record(session)?)?.socket.clone()));
    let sockets: BTreeSet<PathBuf> = places.chain(around.iter().map(|(socket, _)| socket.clone())).collect();
    let alive = restoring::look(&sockets, settled)?;
    let live = |socket: &PathBuf| alive.iter().find(|live| live.shot.socket == *socket);
    let ground = restoring::ground(context, settled).believing_gone(said_gone);
    let (mut plan, mut others) = (Plan::default(), Vec::new());
    // Where several were in one pane, the newest gets it.
    let mut newest_first: Vec<&SessionId> = sessions.iter().collect();
    newest_first.sort_by_key(|session| Reverse(record(session).map(|record| record.last_seen)));
    for session in newest_first {
        let own = record(session).and_then(|record| {
            let socket = &last_place(record)?.socket;
            Some((socket, own_place(record, live(socket), &plan)?))
        });
        let here = || {
            let (socket, pane) = around.as_ref()?;
            let known = live(socket);
            let session = known.and_then(|live| session_around(live, pane)).unwrap_or("rekindle");
            Some((socket, new_window(socket, session, known, &plan)))
        };
        let Some((socket, destination)) = own.or_else(here) else {
            others.push(nowhere(session));
            continue;
        };
        let one = bring_back(&ground, session, socket.clone(), &destination, wanted);
        let stays: Vec<Restored> =
            one.panes().filter(|step| !starts(step)).map(Restored::without_agent).collect();
        if stays.is_empty() {
            plan.join(one);
        }
        others.extend(stays);
    }
    Ok((plan, others))
}

/// One that was in no tmux, asked for from outside of tmux.
fn nowhere(session: &SessionId) -> Restored {
    Restored {
        mark: String::new(),
        pane: String::new(),
        session_id: Some(session.clone()),
        outcome: Outcome::Refused,
        reason: "it was in no tmux pane: run this inside of tmux, and it gets a window there".to_owned(),
        verified_ms: None,
        back_at: None,
        id: None,
    }
}

fn starts(step: &PaneStep) -> bool {
    step.decision.act.starts()
}

/// The session that shows a pane.
fn session_around<'a>(live: &'a Live, pane: &str) -> Option<&'a str> {
    let window = live.shot.windows.iter().find(|window| window.panes.iter().any(|known| known.id == pane))?;
    let shows = |link: &mux::Link| link.window == window.id;
    let session = live.shot.sessions.iter().find(|session| session.windows.iter().any(shows))?;
    Some(&session.name)
}

pub(super) fn report(done: &Done, settled: &Settled, as_json: bool) -> Result<Exit, Failure> {
    let back = done.panes.iter().filter(|pane| pane.outcome.is_back()).count();
    let refused =
        done.panes.iter().all(|pane| matches!(pane.outcome, Outcome::Refused | Outcome::AlreadyThere));
    let exit = match (back, done.panes.len() - back) {
        (_, 0) if done.missing.is_empty() => Exit::Done,
        (_, 0) => Exit::Partly,
        (0, _) if refused => Exit::Refused,
        (0, _) => Exit::Failed,
        _ => Exit::Partly,
    };
    let mut out = Out::new();
    if as_json {
        out.json(restoring::as_json(done));
    } else if done.panes.is_empty() {
        out.line("No crashed sessions.");
    } else {
        let mut table = outcomes();
        for pane in &done.panes {
            table.row(outcome_cells(pane, &settled.records));
        }
        out.line(&table.text());
        done.missing.iter().for_each(|words| out.line(words));
    }
    out.finish_as(exit)
}
