//! Bringing agents back: resumed where that can be, else as fresh ones that are told everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use agents::SessionKey;
use context::Bead;
use recovery::{
    Asked, Briefing, GoingOn, Live, Outcome, PaneStep, Plan, Restored, StillRunning, bring_back, new_window,
    own_place, taken_over_by,
};
use serde_json::{Value, json};
use sessions::Settled;
use store::record::{SessionRecord, Status, TmuxPlace};
use tmux::PaneRef;

use super::super::restore::{going_on, outcome_cells, outcomes, ways};
use super::steps;
use crate::briefing::briefing;
use crate::context::{Context, pane_around};
use crate::exit::{Exit, Failure};
use crate::held::Held;
use crate::output::{Out, one_line};
use crate::restoring::{self, Done, Manner};

/// What its user typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Whether the sessions were named.
    pub(super) asked: Asked,
    /// Whether agents go on by themselves; the configuration says so where nobody does.
    pub(super) go_on: Option<GoingOn>,
    /// Whether another agent is started for work that a fresh one has taken over.
    pub(super) again: bool,
    /// Whether agents are left to `restore` whose panes are gone and held by a save.
    pub(super) leave_held: bool,
    pub(super) as_json: bool,
}

/// What was brought back.
#[derive(Default)]
pub(super) struct Brought {
    pub(super) done: Done,
    plan: Plan,
    /// The tasks that a tracker has for each.
    beads: BTreeMap<SessionKey, Vec<Bead>>,
    /// The commands of each that ran on without it.
    running: BTreeMap<SessionKey, Vec<StillRunning>>,
    /// Whether the steps before the start have been shown: it is one agent, and its user watches.
    stepwise: bool,
}

impl Brought {
    /// Nothing was, for these reasons.
    pub(super) fn nothing(done: Done) -> Brought {
        Brought { done, ..Brought::default() }
    }
}

/// Brings these conversations back. The turn to restore is held.
pub(super) fn recover(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionKey],
    request: Request,
) -> Result<Exit, Failure> {
    report(&bring(context, settled, sessions, request)?, settled, request)
}

/// Brings these conversations back, as far as that can be done. `by` says what asked for it.
pub(crate) fn bring_all_back(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionKey],
    asked: Asked,
    by: &str,
) -> Result<Done, Failure> {
    let planned = plan(context, settled, sessions, None, asked)?;
    let briefing = briefing(context, &settled.records)?;
    carry_out(context, settled, &planned.0, planned.1, &briefing, None, by)
}

/// Brings these conversations back because their user asked, and shows the steps where it is one.
pub(super) fn bring(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionKey],
    request: Request,
) -> Result<Brought, Failure> {
    let (sessions, left) = left_alone(context, settled, sessions, request);
    let sessions = sessions.as_slice();
    let (plan, mut others) = plan(context, settled, sessions, None, request.asked)?;
    others.extend(left);
    let briefing = briefing(context, &settled.records)?;
    let mut beads = BTreeMap::new();
    let stepwise = sessions.len() == 1 && !request.as_json && !plan.servers.is_empty();
    for session in sessions {
        if stepwise {
            let brief = briefing.brief(session);
            steps::before(session, settled.records.get(session), &brief)?;
            beads.insert(session.clone(), brief.beads);
        } else {
            beads.insert(session.clone(), briefing.beads(session));
        }
    }
    // Asked before anything is started: an agent that is back may start the same.
    let ground = restoring::ground(context, settled);
    let running = sessions.iter().map(|session| (session.clone(), ground.still_running(session))).collect();
    drop(ground);
    let done = carry_out(context, settled, &plan, others, &briefing, request.go_on, "recover")?;
    Ok(Brought { done, plan, beads, running, stepwise })
}

/// Those that are brought back, and those that are not: a fresh agent has taken over, or a restore does it better.
fn left_alone(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionKey],
    request: Request,
) -> (Vec<SessionKey>, Vec<Restored>) {
    let held = if request.leave_held { super::held(context, settled, sessions) } else { Held::default() };
    let (mut wanted, mut left) = (Vec::new(), Vec::new());
    for session in sessions {
        let taken = if request.again { None } else { taken_over(settled, session) };
        let why = taken.or_else(|| held.has(session).then(|| held.reason()));
        match why {
            Some(why) => left.push(refused_row(settled, session, why)),
            None => wanted.push(session.clone()),
        }
    }
    (wanted, left)
}

/// Why a session whose work a fresh agent has taken over is not brought back; nothing where none has.
pub(crate) fn taken_over(settled: &Settled, session: &SessionKey) -> Option<String> {
    let now = taken_over_by(session, &settled.records)?;
    let short = now.session_id.short();
    let name = now.name.as_deref().map(|name| format!("{} ", one_line(name, 30))).unwrap_or_default();
    let what = match (now.status, now.genuine_place(&settled.world.machine())) {
        (Status::Active, Some(place)) => {
            format!("runs in {}: `rekindle go {short}` takes you there", place.reference)
        }
        (Status::Active, None) => "runs".to_owned(),
        (Status::Crashed, _) => format!("has crashed, too: `rekindle recover {short}` brings it back"),
        _ => "has ended".to_owned(),
    };
    let old = session.short();
    Some(format!(
        "the fresh agent {name}{short} has taken over its work and {what}. `rekindle recover {old} --again` starts another one"
    ))
}

fn carry_out(
    context: &Context,
    settled: &Settled,
    plan: &Plan,
    mut others: Vec<Restored>,
    briefing: &Briefing<'_>,
    go_on: Option<GoingOn>,
    by: &str,
) -> Result<Done, Failure> {
    let mut done = if plan.servers.is_empty() {
        Done::default()
    } else {
        let manner = Manner { lazy: Some(false), briefing: Some(briefing), go_on, ..Manner::default() };
        restoring::act(context, settled, plan, manner, by)?
    };
    done.total += others.len();
    done.panes.append(&mut others);
    Ok(done)
}

/// Why this session would not be started, were its agent gone; nothing where it would be.
pub(super) fn refused(
    context: &Context,
    settled: &Settled,
    session: &SessionKey,
) -> Result<Option<Done>, Failure> {
    let (plan, others) = plan(context, settled, std::slice::from_ref(session), Some(session), Asked::Name)?;
    let refused = || Done { total: others.len(), panes: others, ..Done::default() };
    Ok(plan.servers.is_empty().then(refused))
}

/// What is done, and what is not and why. `said_gone` is the session whose agent is gone by its user's word.
fn plan(
    context: &Context,
    settled: &Settled,
    sessions: &[SessionKey],
    said_gone: Option<&SessionKey>,
    asked: Asked,
) -> Result<(Plan, Vec<Restored>), Failure> {
    let wanted = restoring::wanted(context, true, asked);
    let around = pane_around();
    let machine = settled.world.machine();
    let record = |session: &SessionKey| settled.records.get(session);
    let places = |session: &SessionKey| {
        let record = record(session)?;
        let beside = || Some(untrusted_server(record)?.socket.clone());
        record.genuine_place(&machine).map(|place| place.socket.clone()).or_else(beside)
    };
    let sockets: BTreeSet<PathBuf> =
        sessions.iter().filter_map(places).chain(around.iter().map(|(socket, _)| socket.clone())).collect();
    let alive = restoring::look(&sockets, settled)?;
    let live = |socket: &PathBuf| alive.iter().find(|live| live.shot.socket == *socket);
    let ground = restoring::ground(context, settled).believing_gone(said_gone);
    let (mut plan, mut others) = (Plan::default(), Vec::new());
    // Where several were in one pane, the newest gets it.
    let mut newest_first: Vec<&SessionKey> = sessions.iter().collect();
    newest_first.sort_by_key(|session| Reverse(record(session).map(|record| record.last_seen)));
    for session in newest_first {
        let own = record(session).and_then(|record| {
            let socket = &record.genuine_place(&machine)?.socket;
            Some((socket, own_place(record, &machine, live(socket), &plan)?))
        });
        let here = || {
            let (socket, pane) = around.as_ref()?;
            let known = live(socket);
            let session = known.and_then(|live| session_around(live, pane)).unwrap_or("rekindle");
            Some((socket, new_window(socket, session, known, &plan)))
        };
        // A new pane takes nobody's place, wherever it is.
        let beside = || {
            let place = untrusted_server(record(session)?)?;
            let known = live(&place.socket)?;
            let named = PaneRef::session_in(&place.socket, &place.reference);
            let there = known.shot.sessions.iter().any(|session| session.name == named);
            let session = if there { named } else { "rekindle" };
            Some((&place.socket, new_window(&place.socket, session, Some(known), &plan)))
        };
        let Some((socket, destination)) = own.or_else(here).or_else(beside) else {
            let why = "it was in no tmux pane: run this inside of tmux, and it gets a window there";
            others.push(refused_row(settled, session, why.to_owned()));
            continue;
        };
        let one = bring_back(&ground, session, socket.clone(), &destination, wanted);
        let mut stays: Vec<Restored> =
            one.panes().filter(|step| !starts(step)).map(Restored::without_agent).collect();
        // No pane waits for what its user did not name: it is left out.
        for left_out in stays.iter_mut().filter(|one| one.outcome == Outcome::Offered && asked == Asked::All)
        {
            left_out.outcome = Outcome::Refused;
        }
        if stays.is_empty() {
            plan.join(one);
        }
        others.extend(stays);
    }
    Ok((plan, others))
}

/// Where a record that this machine did not write says that its agent was, if that is a server of this user's own: whoever
/// asks for the session outside of tmux gets a new window there.
fn untrusted_server(record: &SessionRecord) -> Option<&TmuxPlace> {
    let place = record.run()?.tmux.as_ref()?;
    Context::sockets().contains(&place.socket).then_some(place)
}

/// One that is not brought back, and why.
fn refused_row(settled: &Settled, session: &SessionKey, reason: String) -> Restored {
    let record = settled.records.get(session);
    let place = record.and_then(|record| record.genuine_place(&settled.world.machine()));
    let pane = place.map(|place| place.reference.clone()).unwrap_or_default();
    Restored {
        mark: String::new(),
        was: pane.clone(),
        pane,
        session_id: Some(session.clone()),
        outcome: Outcome::Refused,
        reason,
        verified_ms: None,
        back_at: None,
        id: None,
        continued: None,
        told_tokens: None,
    }
}

fn starts(step: &PaneStep) -> bool {
    step.decision.act.starts()
}

/// The session that shows a pane.
fn session_around<'a>(live: &'a Live, pane: &str) -> Option<&'a str> {
    let window = live.shot.windows.iter().find(|window| window.panes.iter().any(|known| known.id == pane))?;
    let shows = |link: &tmux::Link| link.window == window.id;
    let session = live.shot.sessions.iter().find(|session| session.windows.iter().any(shows))?;
    Some(&session.name)
}

pub(super) fn report(brought: &Brought, settled: &Settled, request: Request) -> Result<Exit, Failure> {
    let done = &brought.done;
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
    if request.as_json {
        out.json(brought.json());
    } else if done.panes.is_empty() {
        out.line("No crashed sessions.");
    } else if let ([pane], true) = (done.panes.as_slice(), brought.stepwise) {
        steps::after(pane).iter().for_each(|line| out.line(line));
        done.missing.iter().for_each(|words| out.line(words));
        brought.still_running(settled).iter().for_each(|line| out.line(line));
        if let Some(ways) = ways(&done.panes, &brought.plan) {
            out.line(&format!("\nAttach with: {}", ways.replace('`', "")));
        }
    } else {
        let mut table = outcomes("outcome");
        for pane in &done.panes {
            table.row(outcome_cells(pane, &settled.records));
        }
        out.exact_line(&table.text());
        done.missing.iter().for_each(|words| out.line(words));
        let beads = brought.beads.iter().filter_map(|(session, beads)| Some((session, steps::bead(beads)?)));
        beads.for_each(|(session, bead)| out.line(&format!("{}: hand-off bead {bead}", session.short())));
        going_on(&done.panes).iter().for_each(|line| out.line(line));
        brought.still_running(settled).iter().for_each(|line| out.line(line));
        if let Some(ways) = ways(&done.panes, &brought.plan).filter(|_| back > 0) {
            out.line(&format!("\nAttach with: {}", ways.replace('`', "")));
        }
    }
    out.finish_as(exit)
}

impl Brought {
    /// The commands of the dead agents that run on, each on a line.
    fn still_running(&self, settled: &Settled) -> Vec<String> {
        let line = |session: &SessionKey, one: &StillRunning| {
            let name = settled.records.get(session).and_then(|record| record.name.clone());
            format!("{}: {}", name.unwrap_or_else(|| session.short()), one.says())
        };
        let of_each = |(session, all): (&SessionKey, &Vec<StillRunning>)| {
            all.iter().map(|one| line(session, one)).collect::<Vec<_>>()
        };
        self.running.iter().flat_map(of_each).collect()
    }

    fn json(&self) -> Value {
        let mut object = restoring::as_json(&self.done);
        let panes = object["panes"].as_array_mut().into_iter().flatten();
        for (pane, asked) in panes.zip(&self.done.panes) {
            // A fresh agent has another conversation than the one that the tasks are known for.
            let step = self.plan.panes().find(|step| step.mark == asked.mark);
            let session = step.and_then(|step| step.session.as_ref()).or(asked.session_id.as_ref());
            let beads = session.and_then(|session| self.beads.get(session));
            pane["bead"] = json!(beads.and_then(|beads| steps::own(beads)).map(|bead| &bead.id));
            let running = session.and_then(|session| self.running.get(session));
            pane["stillRunning"] = json!(running.map(Vec::as_slice).unwrap_or_default());
            pane["beads"] = json!(beads.map(Vec::as_slice).unwrap_or_default());
        }
        object
    }
}
