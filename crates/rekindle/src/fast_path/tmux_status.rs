//! `rekindle tmux-status`: a few columns for tmux's status bar, from what the last settle and the last restore left.
//!
//! tmux runs it every few seconds: nothing is settled, no tmux is asked, no name is printed. A name could hold `#[…]` or
//! `#(command)`, and numbers cannot.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;
use sessions::view::State;
use store::StateDir;
use store::config::Config;
use store::operations::Process;

use super::Places;

/// Some hundred bytes for each of some thousand conversations.
const LARGEST: u64 = 8 << 20;

/// Long enough to come back to the machine and see it.
const RESTORED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// What an agent says of a restore whose figures are not known yet.
const RESTORED: &str = "Restored by rekindle";

/// Always succeeds, as far as tmux can see.
pub(super) fn run() -> ExitCode {
    show();
    ExitCode::SUCCESS
}

/// Prints the segment; nothing where there is nothing to say.
pub(crate) fn show() {
    let places = Places::new();
    let Ok(Some(state)) = StateDir::existing(&places.state) else { return };
    let now = Timestamp::now();
    let segment = restored(&state, now).map(|restored| restored.painted()).unwrap_or_else(|| {
        let keep = Config::load(Some(&places.config)).unwrap_or_default().restore.keep_map;
        let keep = SignedDuration::try_from(keep).unwrap_or(SignedDuration::MAX);
        let registry = super::read_small(&state.instances().join("registry.json"), LARGEST);
        summary(&registry.unwrap_or_default(), now, keep)
    });
    let paused = if state.paused().exists() { "paused" } else { "" };
    let words: Vec<&str> = [paused, &segment].into_iter().filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        // Nobody who listens is nobody to disturb.
        let _ = writeln!(std::io::stdout().lock(), "{}", words.join(" "));
    }
}

/// A restore of a moment ago.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastRestore {
    pub(crate) at: Timestamp,
    restored: u64,
    total: u64,
    /// Programs before this one wrote it at the end only.
    #[serde(default = "yes")]
    finished: bool,
    /// The process of one that has not come to its end.
    #[serde(default)]
    process: Option<Process>,
    #[serde(default)]
    undone: Option<Timestamp>,
    #[serde(default)]
    panes: Vec<RestoredPane>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RestoredPane {
    #[serde(default)]
    session_id: Option<String>,
    /// The conversation that a fresh agent in its place has.
    #[serde(default)]
    fresh_id: Option<String>,
    #[serde(default)]
    outcome: Option<String>,
}

fn yes() -> bool {
    true
}

impl LastRestore {
    /// `Restored: 4/4 sessions`, with those that wait in their panes.
    pub(crate) fn words(&self) -> String {
        let what = match &self.process {
            _ if self.finished => "Restored",
            Some(process) if process.is_running() => "Restoring",
            _ => "Restore interrupted",
        };
        let offered = |pane: &&RestoredPane| pane.outcome.as_deref() == Some("offered");
        let waiting = self.panes.iter().filter(offered).count() as u64;
        let waits = match waiting {
            1 => "1 waits in its pane".to_owned(),
            several => format!("{several} wait in their panes"),
        };
        match (self.total, waiting) {
            (0, 0) => what.to_owned(),
            (0, _) => format!("{what}: {waits}"),
            (total, 0) => format!("{what}: {}/{total} sessions", self.restored),
            (1, 1) if self.restored == 0 => format!("{what}: 1 session waits in its pane"),
            (total, _) if waiting == total => format!("{what}: {total} sessions wait in their panes"),
            (total, _) => format!("{what}: {}/{total} sessions, {waits}", self.restored),
        }
    }

    /// The same in tmux's own colours: green where everybody is back.
    fn painted(&self) -> String {
        let colour = if self.restored < self.total || !self.finished { "yellow" } else { "green" };
        format!("#[fg={colour}]{}#[default]", self.words())
    }

    /// What the agent of a conversation says of it; nothing where it was about others. An agent draws its line when it
    /// starts, before all are back, and perhaps not again for hours: until its restore is done it shows no figures.
    pub(crate) fn words_for(&self, session: &str) -> Option<String> {
        let is = |id: &Option<String>| id.as_deref() == Some(session);
        let own = self.panes.iter().find(|pane| is(&pane.session_id) || is(&pane.fresh_id))?;
        match own.outcome.as_deref() {
            // It draws, so it has started since.
            None | Some("offered") => Some(RESTORED.to_owned()),
            Some(_) if !self.finished => Some(RESTORED.to_owned()),
            Some(_) => Some(self.words()),
        }
    }
}

/// The last restore, for a while.
pub(crate) fn restored(state: &StateDir, now: Timestamp) -> Option<LastRestore> {
    let path = state.instances().join("restore/last-restore.json");
    recent(&super::read_small(&path, LARGEST).ok()?, now)
}

fn recent(bytes: &[u8], now: Timestamp) -> Option<LastRestore> {
    let last: LastRestore = serde_json::from_slice(bytes).ok()?;
    let shown = last.undone.is_none() && now.duration_since(last.at).abs() <= RESTORED_FOR;
    shown.then_some(last)
}

/// What matters of a conversation.
#[derive(Deserialize)]
struct Entry<'a> {
    state: &'a str,
    last_seen: Timestamp,
}

/// `● 2 ○ 3 ✕ 1`: agents by what they are at. Those that crashed too long ago are of no more use.
fn summary(bytes: &[u8], now: Timestamp, keep: SignedDuration) -> String {
    // The version of the file stands beside the conversations, and is none.
    let registry: HashMap<&str, &RawValue> = serde_json::from_slice(bytes).unwrap_or_default();
    let entries: Vec<Entry<'_>> =
        registry.values().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
    let old = |entry: &&Entry<'_>| now.duration_since(entry.last_seen) > keep;
    let of = |state: State| entries.iter().filter(move |entry| entry.state == state.word());
    let count = |state: State| of(state).count();
    let shown = [
        (State::Busy, count(State::Busy)),
        (State::Idle, count(State::Idle) + count(State::Shell)),
        (State::Waiting, count(State::Waiting)),
        (State::Crashed, of(State::Crashed).filter(|entry| !old(entry)).count()),
    ];
    let part = |(state, number): &(State, usize)| format!("{} {number}", state.glyph());
    shown.iter().filter(|(_, number)| *number > 0).map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn agents_are_counted_by_what_they_are_at() {
        let entry = |id: &str, state: &str, second: i64| {
            format!(
                r##""{id}":{{"name":"#(touch x) #[fg=red]","state":"{state}","last_seen":"{}"}}"##,
                at(second)
            )
        };
        let entries = [
            entry("a", "busy", 99),
            entry("b", "idle", 1),
            entry("c", "shell", 99),
            entry("d", "crashed", 99),
            entry("e", "crashed", 1),
            entry("f", "ended", 99),
            entry("g", "waiting", 99),
        ];
        let text = format!("{{\"schema\":1,{}}}", entries.join(","));
        let shown = |keep: i64| summary(text.as_bytes(), at(100), SignedDuration::from_secs(keep));
        assert_eq!(shown(1000), "● 1 ○ 2 ◐ 1 ✕ 2");
        assert_eq!(shown(10), "● 1 ○ 2 ◐ 1 ✕ 1");
        assert_eq!(summary(b"", at(0), SignedDuration::MAX), "");
        assert_eq!(summary(b"{\"schema\":1}", at(0), SignedDuration::MAX), "");
        assert_eq!(summary(b"\xff torn", at(0), SignedDuration::MAX), "");
    }

    #[test]
    fn a_restore_is_told_for_a_while() {
        let last = |restored: u64, total: u64| {
            let text = format!(
                r#"{{"schema":1,"at":"{}","restored":{restored},"total":{total},"panes":[{{"sessionId":"a"}}]}}"#,
                at(1000)
            );
            recent(text.as_bytes(), at(1600)).unwrap()
        };
        assert_eq!(last(4, 4).painted(), "#[fg=green]Restored: 4/4 sessions#[default]");
        assert_eq!(last(3, 4).painted(), "#[fg=yellow]Restored: 3/4 sessions#[default]");
        assert_eq!(last(0, 0).words(), "Restored");
        let lazy = format!(
            r#"{{"at":"{}","restored":1,"total":3,"panes":[{{"outcome":"offered"}},{{"outcome":"offered"}},{{"outcome":"resumed"}}]}}"#,
            at(1000)
        );
        let lazy = recent(lazy.as_bytes(), at(1000)).unwrap();
        assert_eq!(lazy.words(), "Restored: 1/3 sessions, 2 wait in their panes");
        assert_eq!(
            last(4, 4).words_for("a").as_deref(),
            Some("Restored by rekindle"),
            "it has no outcome yet"
        );
        assert_eq!(last(4, 4).words_for("b"), None);
        let text = format!(r#"{{"at":"{}","restored":1,"total":2}}"#, at(1000));
        assert!(recent(text.as_bytes(), at(1601)).is_none());
        assert!(recent(b"{}", at(0)).is_none());
    }
}
