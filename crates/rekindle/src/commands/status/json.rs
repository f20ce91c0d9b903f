//! The same for scripts.

use agents::SessionKey;
use repair::Lost;
use serde_json::{Value, json};
use sessions::view::AgentView;
use store::pause::Pause;

use crate::survey::Survey;

pub(super) fn status(survey: &Survey, shown: &[&AgentView], lost: &[(SessionKey, Lost)]) -> Value {
    let lost = lost.iter().map(|(session, lost)| {
        json!({"sessionId": session.as_str(), "loses": lost.loses(), "remedy": lost.remedy(session)})
    });
    json!({
        "paused": survey.pause.as_ref().map(pause_json),
        "stale": survey.stale,
        "agents": shown.iter().map(|agent| agent_json(agent)).collect::<Vec<_>>(),
        "alarms": survey.settled.alarms,
        "losses": lost.collect::<Vec<_>>(),
        "troubles": survey.settled.troubles,
    })
}

/// The pause, as every command shows it.
pub(crate) fn pause_json(pause: &Pause) -> Value {
    json!({"since": pause.since, "by": pause.by, "why": pause.why})
}

fn agent_json(agent: &AgentView) -> Value {
    let pane = agent.pane.as_ref();
    json!({
        "sessionId": agent.session.as_ref().map(|fact| fact.value.as_str()),
        "shortId": agent.session.as_ref().map(|fact| fact.value.short()),
        "grade": agent.session.as_ref().map(|fact| fact.grade),
        "state": agent.state.value.word(),
        "since": agent.since,
        "reason": agent.reason,
        "live": agent.is_live(),
        "stalled": agent.stalled,
        "name": agent.name.as_ref().map(|fact| &fact.value),
        "task": agent.task.as_ref().map(|fact| &fact.value),
        "pane": pane.map(|fact| &fact.value.reference),
        "paneId": pane.map(|fact| &fact.value.pane),
        "terminal": agent.terminal.as_ref().map(|fact| &fact.value),
        "paneGrade": pane.map(|fact| fact.grade),
        "pid": agent.process.as_ref().map(|fact| fact.value.pid),
        "cwd": agent.cwd.as_ref().map(|fact| &fact.value),
        "model": agent.model.as_ref().map(|fact| &fact.value),
        "version": agent.version.as_ref().map(|fact| &fact.value),
        "contextUsed": agent.context_used.as_ref().map(|fact| fact.value),
        "lastSeen": agent.last_seen.as_ref().map(|fact| fact.value),
        "vaultedAt": agent.vaulted.as_ref().map(|fact| fact.value),
        "oneShot": agent.one_shot,
        "nested": agent.nested,
    })
}
