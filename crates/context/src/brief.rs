//! Everything that a fresh agent is told of the conversation it takes over: the last value before something is done.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::clean::clean;
use crate::cut::{beginning, characters, last_lines, shorten, tokens};
use crate::exchange::Step;
use crate::exchanges::Exchanges;
use crate::fit::{Limits, fit};
use crate::go_on::{Back, GoOn, in_file};
use crate::half_done::{half_done, in_short};
use crate::handoff::Handoff;
use crate::template::{Template, Variable};
use crate::when::local;

/// What the agent takes from a SessionStart hook; of more it sees about 2 KB (measured on 2.1.31 and 2.1.325).
pub const HOOK_LIMIT: usize = 10_000;

/// A task is a line.
const LONGEST_TASK: usize = 1_000;

/// What is shown of a prompt or an action in a list.
const SHOWN: usize = 200;

/// What is known of a conversation.
#[derive(Debug, Clone)]
pub struct Material<'a> {
    /// What the agent was called.
    pub name: Option<&'a str>,
    /// The conversation.
    pub session: &'a str,
    /// What it was about.
    pub task: Option<&'a str>,
    /// When it was last heard of.
    pub last_active: Option<Timestamp>,
    /// The user's zone.
    pub zone: &'a TimeZone,
    /// What a compaction or the agent summed up.
    pub summary: Option<&'a str>,
    /// What its transcript says; empty where there is none.
    pub talk: Exchanges,
    /// What was prepared when its last turn ended, for want of a transcript and a screen.
    pub prepared: Exchanges,
    /// What its terminal showed, unless that is older than the transcript.
    pub screen: Option<&'a str>,
    /// What a tracker of tasks knows.
    pub handoff: &'a Handoff,
    /// The commands that run on without it, a sentence each.
    pub running: &'a [String],
}

/// Where the most of a brief comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The agent's own file.
    Transcript,
    /// What its terminal showed, as exchanges.
    Scrollback,
    /// A tracker of tasks.
    HandOff,
    /// What its terminal showed, as it was.
    Raw,
}

/// A task of a tracker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bead {
    /// Its id.
    pub id: String,
    /// What it is about, without secrets.
    pub title: String,
    /// Whether it is surely this agent's.
    pub own: bool,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// The text, without secrets.
    pub text: String,
    /// Where the most of it comes from; nothing where only the record is left.
    pub source: Option<Source>,
    /// Whether the end of it is from the screen: the transcript ended early.
    pub extended: bool,
    /// Lines.
    pub lines: usize,
    /// Tokens, about.
    pub tokens: usize,
    /// Exchanges in it.
    pub exchanges: usize,
    /// Exchanges for which there was no room.
    pub left_out: usize,
    /// The user's last words, on a line.
    pub last_prompt: Option<String>,
    /// What the agent said or did last, on a line.
    pub last_action: Option<String>,
    /// What was half done, on a line.
    pub half_done: Option<String>,
    /// The prompt with which a fresh agent goes on.
    pub prompt: String,
    /// The user's prompts that were found.
    pub prompts: usize,
    /// The agent's replies that were found.
    pub replies: usize,
    /// The tasks that a tracker has for it, and whether they are surely its own.
    pub beads: Vec<Bead>,
    /// The file it must go to, for a hook takes less; nothing where a hook takes it.
    pub context_file: Option<PathBuf>,
}

impl Brief {
    /// What the hook tells a fresh agent: all of it, or where it is.
    pub fn by_hook(&self) -> String {
        self.context_file.as_deref().map_or_else(|| self.text.clone(), in_file)
    }
}

/// What a template is filled with.
struct Values([String; Variable::ALL.len()]);

impl Values {
    fn set(&mut self, variable: Variable, value: Option<String>) {
        self.0[variable as usize] = value.unwrap_or_default().trim_end().to_owned();
    }

    fn render(&self, template: &Template) -> String {
        template.render(|variable| self.0[variable as usize].as_str())
    }
}

impl Material<'_> {
    /// Makes the brief. `file` is where it would be kept if it is too long for a hook.
    pub fn brief(&self, template: &Template, limits: Limits, file: &Path) -> Brief {
        let shown = self.screen.filter(|screen| !screen.trim().is_empty());
        let (talk, source, extended) = self.sources(shown);
        let mut values = self.values(&talk, limits);
        let room = room(&values, template, limits, source);
        let told = fit(&talk.exchanges, room, self.zone);
        let exchanges = Some(told.text).filter(|text| !text.is_empty());
        let mut shows = String::new();
        if !template.asks_for(Variable::Exchanges) {
            // Its user wants what was going on, and knows one word for it.
            shows.extend(exchanges.iter().map(|text| format!("{text}\n")));
        }
        values.set(Variable::Exchanges, exchanges);
        if source == Some(Source::Raw) {
            let raw = clean(shown.unwrap_or_default());
            shows.push_str(last_lines(&raw, room.lines, characters(room.tokens)));
        }
        values.set(Variable::Scrollback, Some(shows));
        let mut text = clean(&values.render(template));
        let mut context_file = None;
        if length(&text) > HOOK_LIMIT {
            values.set(Variable::ContextFile, Some(file.display().to_string()));
            text = clean(&values.render(template));
            context_file = Some(file.to_path_buf());
        }
        let back = context_file.as_deref().map_or(Back::Fresh, Back::FreshWithFile);
        let prompt = GoOn { back, open: Some(&talk.open), turn_ended: None }.prompt();
        let one_line = |text: &str| shorten(&clean(text), SHOWN);
        Brief {
            lines: text.lines().count(),
            tokens: tokens(&text),
            text,
            source,
            extended,
            exchanges: told.kept,
            left_out: told.left_out,
            last_prompt: talk.last_prompt().map(one_line),
            last_action: talk.last_action().map(|step| match step {
                Step::Did(deed) => one_line(&deed.line()),
                Step::Said(text) | Step::Summary(text) | Step::Ran(text) => one_line(text),
                Step::Stopped => String::new(),
            }),
            half_done: in_short(&talk.open, SHOWN),
            prompts: talk.exchanges.iter().filter(|exchange| exchange.is_asked_by_user()).count(),
            replies: talk.exchanges.iter().filter(|exchange| exchange.has_reply()).count(),
            prompt,
            beads: self.handoff.beads(),
            context_file,
        }
    }

    /// What was said, where that comes from, and whether a screen had more of it.
    fn sources(&self, shown: Option<&str>) -> (Exchanges, Option<Source>, bool) {
        let mut talk = self.talk.clone();
        let read = shown.and_then(Exchanges::of_screen);
        match read {
            Some(read) if talk.is_empty() => return (read, Some(Source::Scrollback), false),
            Some(read) => {
                let extended = talk.extend(read);
                return (talk, Some(Source::Transcript), extended);
            }
            None if !talk.is_empty() => return (talk, Some(Source::Transcript), false),
            None => {}
        }
        let source = match (shown, self.prepared.is_empty(), self.handoff) {
            (Some(_), ..) => Some(Source::Raw),
            (None, false, _) => Some(Source::Transcript),
            (None, true, Handoff::None) => None,
            (None, true, _) => Some(Source::HandOff),
        };
        (self.prepared.clone(), source, false)
    }

    fn values(&self, talk: &Exchanges, limits: Limits) -> Values {
        let mut values = Values(Default::default());
        let part = characters(limits.tokens) / 4;
        values.set(Variable::Name, Some(clean(self.name.unwrap_or("an agent without a name"))));
        values.set(Variable::Session, Some(self.session.to_owned()));
        values.set(Variable::Task, self.task.map(|task| shorten(&clean(task), LONGEST_TASK)));
        values.set(Variable::LastActive, self.last_active.map(|at| local(at, self.zone)));
        let summary = self.summary.map(|text| beginning(&clean(text), limits.lines / 4, part));
        values.set(Variable::Summary, summary);
        let running = self.running.iter().map(|command| format!("- {}", clean(command)));
        let open: Vec<String> = half_done(&talk.open).into_iter().chain(running).collect();
        values.set(Variable::HalfDone, Some(open.join("\n")));
        values.set(Variable::Handoff, self.handoff.text());
        values
    }
}

/// The room that everything else leaves for exchanges, or for a screen. Never less than some lines: the first prompt and
/// the newest words stay, whatever the limits are.
fn room(values: &Values, template: &Template, limits: Limits, source: Option<Source>) -> Limits {
    const LEAST: Limits = Limits { lines: 20, tokens: 250 };
    let mut tried = Values(values.0.clone());
    let by_scrollback = source == Some(Source::Raw) || !template.asks_for(Variable::Exchanges);
    let variable = if by_scrollback { Variable::Scrollback } else { Variable::Exchanges };
    tried.set(variable, Some("x".to_owned()));
    // A line for the file and its path may come too.
    tried.set(Variable::ContextFile, Some("x".repeat(200)));
    let text = tried.render(template);
    Limits {
        lines: limits.lines.saturating_sub(text.lines().count()).max(LEAST.lines),
        tokens: limits.tokens.saturating_sub(tokens(&text)).max(LEAST.tokens),
    }
}

/// Characters as the agent counts them: it is written in JavaScript.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}
