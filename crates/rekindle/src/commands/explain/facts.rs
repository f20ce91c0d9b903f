//! The facts about an agent, as text and as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};
use sessions::view::{AgentView, Fact, Speaks, Testimony};
use store::record::Grade;

use crate::context::Context;
use crate::output::{age, one_line};

/// A fact that can be shown.
pub(super) struct Shown {
    pub(super) what: &'static str,
    /// For people.
    pub(super) value: String,
    /// For scripts.
    exact: Value,
    pub(super) grade: Grade,
    pub(super) evidence: Vec<Testimony>,
}

impl Shown {
    fn of<T>(
        what: &'static str,
        fact: Option<&Fact<T>>,
        words: impl Fn(&T) -> String,
        exact: impl Fn(&T) -> Value,
    ) -> Option<Shown> {
        let fact = fact?;
        let evidence = fact.evidence.clone();
        Some(Shown {
            what,
            value: one_line(&words(&fact.value), 200),
            exact: exact(&fact.value),
            grade: fact.grade,
            evidence,
        })
    }

    pub(super) fn json(&self) -> Value {
        let evidence: Vec<Value> = self.evidence.iter().map(testimony).collect();
        json!({"value": self.exact, "grade": self.grade, "evidence": evidence})
    }
}

fn testimony(told: &Testimony) -> Value {
    json!({
        "source": told.source,
        "grade": told.grade,
        "detail": told.detail,
        "at": told.at,
        "speaks": if told.speaks == Speaks::For { "for" } else { "against" },
    })
}

/// Every fact that is known.
pub(super) fn facts(context: &Context, agent: &AgentView) -> Vec<Shown> {
    let text = |value: &String| value.clone();
    let same = |value: &String| Value::from(value.as_str());
    let ago = |at: &Timestamp| format!("{} ago", age(*at, Timestamp::now()));
    let time = |at: &Timestamp| json!(at);
    let facts = [
        Shown::of("session", agent.session.as_ref(), ToString::to_string, |id| Value::from(id.as_str())),
        Shown::of(
            "process",
            agent.process.as_ref(),
            |process| match (agent.is_live(), agent.left) {
                (true, _) => process.pid.to_string(),
                (false, true) => format!("{}, in another session now", process.pid),
                (false, false) => format!("{}, not running", process.pid),
            },
            |process| json!({"pid": process.pid, "procStart": process.start}),
        ),
        Shown::of(
            "pane",
            agent.pane.as_ref(),
            |place| format!("{} ({})", place.reference, place.pane),
            |place| {
                json!({"pane": place.reference, "paneId": place.pane, "socket": place.socket,
                "serverPid": place.server})
            },
        ),
        Shown::of("terminal", agent.terminal.as_ref(), |tty| format!("{tty}, outside of tmux"), same),
        Shown::of(
            "state",
            Some(&agent.state),
            |state| format!("{} {}", state.glyph(), state.shown()),
            |state| state.word().into(),
        ),
        Shown::of("name", agent.name.as_ref(), text, same),
        Shown::of("task", agent.task.as_ref(), text, same),
        Shown::of("cwd", agent.cwd.as_ref(), |cwd| context.short_path(cwd), |cwd| json!(cwd)),
        Shown::of("model", agent.model.as_ref(), text, same),
        Shown::of("version", agent.version.as_ref(), text, same),
        Shown::of("context", agent.context_used.as_ref(), |used| format!("{used} %"), |used| (*used).into()),
        Shown::of("seen", agent.last_seen.as_ref(), ago, time),
        Shown::of("vault", agent.vaulted.as_ref(), ago, time),
    ];
    facts.into_iter().flatten().collect()
}
