//! The table of agents, and what stands around it.

use jiff::Timestamp;
use sessions::view::{AgentView, State};
use store::pause::Pause;
use store::record::Grade;

use crate::context::Context;
use crate::output::{Cell, Colour, Column, Fit, Table, age, count, one_line};
use crate::survey::Survey;

/// What tells which agent needs its user stays; what is the same for most agents goes first.
const COLUMNS: [Column; 11] = [
    Column::new("state", Fit::Whole),
    Column::new("session", Fit::Whole),
    Column::new("name", Fit::Cut(10)),
    Column::new("task", Fit::CutThenDrop(16, 6)),
    Column::new("pane", Fit::CutPath(8)),
    Column::new("cwd", Fit::CutPathThenDrop(12, 5)),
    Column::new("model", Fit::Drop(2)),
    Column::new("version", Fit::Drop(1)),
    Column::right("age", Fit::Drop(7)),
    Column::right("ctx", Fit::Drop(4)),
    Column::right("vault", Fit::Drop(3)),
];

/// A name or task is a label: what is longer is read with `explain`.
const LONGEST_LABEL: usize = 60;

pub(super) fn table(context: &Context, survey: &Survey, shown: &[&AgentView]) -> String {
    let mut table = Table::new(&COLUMNS);
    for agent in shown {
        let plain = |text: String| Cell::new(text);
        let text = |fact: &Option<sessions::view::Fact<String>>| {
            fact.as_ref().map(|fact| one_line(&fact.value, LONGEST_LABEL)).unwrap_or_default()
        };
        let when = |at: Option<Timestamp>| at.map(|at| age(at, survey.now)).unwrap_or_default();
        table.row([
            Cell::painted(state(agent), colour(agent)),
            plain(agent.session.as_ref().map(|fact| fact.value.short().to_owned()).unwrap_or_default()),
            plain(name(agent)),
            plain(text(&agent.task)),
            plain(place(agent)),
            plain(agent.cwd.as_ref().map(|fact| context.short_path(&fact.value)).unwrap_or_default()),
            plain(agent.model.as_ref().map(|fact| short_model(&fact.value).to_owned()).unwrap_or_default()),
            plain(text(&agent.version)),
            plain(when(agent.since.or(agent.last_seen.as_ref().map(|fact| fact.value)))),
            plain(agent.context_used.as_ref().map(|fact| format!("{} %", fact.value)).unwrap_or_default()),
            plain(when(agent.vaulted.as_ref().map(|fact| fact.value))),
        ]);
    }
    table.text()
}

/// The pane; the terminal of an agent outside of tmux.
fn place(agent: &AgentView) -> String {
    let pane = agent.pane.as_ref().map(|fact| fact.value.reference.clone());
    pane.or_else(|| agent.terminal.as_ref().map(|fact| fact.value.clone())).unwrap_or_default()
}

fn state(agent: &AgentView) -> String {
    let state = agent.state.value;
    let word = if agent.stalled { "stalled" } else { state.shown() };
    format!("{} {word}", state.glyph())
}

fn colour(agent: &AgentView) -> Option<Colour> {
    match agent.state.value {
        State::Waiting => Some(Colour::Yellow),
        State::Crashed => Some(Colour::Red),
        _ if agent.stalled => Some(Colour::Red),
        State::Busy => Some(Colour::Green),
        State::Ended | State::Unknown => Some(Colour::Grey),
        State::Idle | State::Shell | State::Dormant => None,
    }
}

/// What an agent is called; with a question mark where its conversation is a guess or unknown.
pub(super) fn name(agent: &AgentView) -> String {
    let name = agent.name.as_ref().map(|fact| one_line(&fact.value, LONGEST_LABEL));
    let id = || agent.session.as_ref().map(|fact| fact.value.short().to_owned());
    let name = name.or_else(id).unwrap_or_default();
    let sure = agent.session.as_ref().is_some_and(|fact| fact.grade > Grade::Guess);
    if sure { name } else { format!("{name}?") }
}

/// `claude-opus-4-1-20250805` is `opus-4-1` to people.
fn short_model(model: &str) -> &str {
    let model = model.strip_prefix("claude-").unwrap_or(model);
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => model,
    }
}

/// `4 agents: 1 waiting, 3 busy; 2 more with --all`.
pub(super) fn totals(survey: &Survey, shown: &[&AgentView], everything: bool) -> String {
    let states = [
        State::Waiting,
        State::Crashed,
        State::Busy,
        State::Idle,
        State::Shell,
        State::Dormant,
        State::Unknown,
        State::Ended,
    ];
    let parts = states.iter().filter_map(|state| {
        let number = shown.iter().filter(|agent| agent.state.value == *state).count();
        let word = match state {
            State::Dormant if number > 1 => "waiting in their panes",
            _ => state.shown(),
        };
        (number > 0).then(|| format!("{number} {word}"))
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    let line = format!("{}: {parts}", count(shown.len() as u64, "agent", "agents"));
    match survey.view.agents.len() - shown.len() {
        0 => line,
        _ if everything => line,
        more => format!("{line}; {more} more with --all"),
    }
}

/// That everything automatic is paused, since when, by whom and what for.
pub(crate) fn paused_words(pause: &Pause, now: Timestamp) -> String {
    let since = pause.since.map(|since| format!(" for {}", age(since, now))).unwrap_or_default();
    let by = pause.by.as_ref().map(|by| format!(" by {}", one_line(by, 40))).unwrap_or_default();
    let why = pause.why.as_ref().map(|why| format!(" ({})", one_line(why, 80))).unwrap_or_default();
    format!("Paused{since}{by}{why}: events wait until `rekindle unpause`.")
}

#[cfg(test)]
mod tests {
    use super::short_model;

    #[test]
    fn models_without_their_maker_and_date() {
        for (model, expect) in [
            ("claude-opus-4-1-20250805", "opus-4-1"),
            ("claude-sonnet-5", "sonnet-5"),
            ("lab", "lab"),
            ("<synthetic>", "<synthetic>"),
        ] {
            assert_eq!(short_model(model), expect);
        }
    }
}
