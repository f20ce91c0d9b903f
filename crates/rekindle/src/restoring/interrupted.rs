//! A restore that was killed: what it could not write down any more is read from what is there.

use agents::SessionKey;
use recovery::{Act, DecisionRecord, Outcome, PaneDecision};
use serde_json::json;
use sessions::{Life, Settled};
use store::lock::Lock;
use store::record::{SessionRecord, Status};

use super::{TMUX_DEADLINE, link, report};
use crate::context::Context;
use crate::survey::Survey;

/// The last restore, where it never came to its end.
fn open(context: &Context) -> Option<DecisionRecord> {
    let key = context.reading_key();
    let newest = recovery::genuine_decisions(&context.repairer.state, key.as_ref()).next();
    newest.filter(DecisionRecord::is_open)
}

/// Writes down what has come of the panes of an interrupted restore. Nothing while a restore runs.
pub(crate) fn take_stock(context: &Context, survey: &Survey) {
    // Where nothing was settled, nothing is stored.
    if survey.not_settled().is_some() || open(context).is_none() {
        return;
    }
    let lock = store::saves::restore_lock(&context.repairer.state, None);
    if let Ok(_alone) = Lock::try_alone(&lock) {
        take_stock_now(context, &survey.settled);
    }
}

/// The same for a command that has not looked at the machine: it does so only where a restore was interrupted.
pub(crate) fn look_again(context: &Context) {
    if open(context).is_some()
        && let Ok(survey) = Survey::take(context)
    {
        take_stock(context, &survey);
    }
}

/// The same where the turn to restore is held. What cannot be written now is looked at again the next time.
pub(super) fn take_stock_now(context: &Context, settled: &Settled) {
    let Some(mut record) = open(context) else { return };
    let mut changed = false;
    for pane in &mut record.panes {
        let Some((outcome, now_in, reason)) = there(pane, settled) else { continue };
        if pane.outcome == Some(json!(outcome)) {
            continue;
        }
        changed = true;
        if let (Outcome::FreshWithContext, Some(old), Some(new)) = (outcome, &pane.session_id, &now_in) {
            let _ = link(context, old, new);
        }
        (pane.outcome, pane.now_in) = (Some(json!(outcome)), now_in);
        pane.outcome_reason = Some(reason.to_owned());
    }
    let Ok(key) = context.writing_key() else { return };
    if changed && record.store(&context.repairer.state, &key).is_ok() {
        let _ = report::correct(&context.repairer.state, &record);
    }
}

/// What has come of a pane of which nothing is written down, or whose agent had not started yet.
fn there(pane: &PaneDecision, settled: &Settled) -> Option<(Outcome, Option<SessionKey>, &'static str)> {
    if !matches!(pane.known_outcome(), None | Some(Outcome::Offered))
        || pane.outcome.is_some() && pane.known_outcome().is_none()
    {
        return None;
    }
    let act = serde_json::from_value::<Act>(pane.act.clone()).ok();
    let runs = |session: &&SessionKey| {
        let run = settled.records.get(*session).filter(|record| record.status == Status::Active);
        run.and_then(SessionRecord::run).is_some_and(|run| settled.world.life(run) == Life::Alive)
    };
    if let Some(session) = pane.session_id.as_ref().filter(runs) {
        let outcome = match act {
            Some(Act::RepairResume) => Outcome::RepairedResumed,
            Some(Act::VaultResume) => Outcome::VaultResumed,
            Some(Act::Nothing) => Outcome::AlreadyThere,
            _ => Outcome::Resumed,
        };
        return Some((outcome, Some(session.clone()), "its agent runs"));
    }
    if let Some(fresh) = pane.fresh_id.as_ref().filter(runs) {
        return Some((Outcome::FreshWithContext, Some(fresh.clone()), "its fresh agent runs"));
    }
    if pane.session_id.as_ref().is_some_and(|session| settled.world.waits_for(session)) {
        let why = "the restore was interrupted before its turn came: press Enter in its pane to resume";
        return Some((Outcome::Offered, pane.session_id.clone(), why));
    }
    let marked = || tmux::marked(&pane.socket, TMUX_DEADLINE).unwrap_or_default();
    let is_shell = act == Some(Act::Shell) && pane.outcome.is_none();
    let stands = is_shell && marked().iter().any(|(mark, _)| *mark == pane.mark);
    stands.then(|| (Outcome::Shell, pane.session_id.clone(), "its pane is there"))
}
