//! Who waits to be recovered, and how much there is to tell of each.

use agents::SessionKey;
use context::Brief;
use jiff::Timestamp;
use recovery::{
    Automatic, DecisionRecord, Destination, PaneStep, StillRunning, automatic, bring_back, genuine_decisions,
    left_in_place,
};
use serde_json::{Value, json};
use sessions::Settled;
use sessions::view::State;
use store::record::SessionRecord;

use super::super::restore::word;
use super::super::status::WAKE;
use super::act::{Request, taken_over};
use super::steps;
use crate::briefing::briefing;
use crate::context::Context;
use crate::exit::Failure;
use crate::held::Held;
use crate::output::{Cell, Column, Fit, Out, Table, age, count, one_line};
use crate::restoring;

/// One agent, and what is left of it.
pub(super) struct Found<'a> {
    pub(super) session: SessionKey,
    record: Option<&'a SessionRecord>,
    /// The pane that its agent was in, by a genuine run.
    pane: Option<&'a str>,
    /// Why it is gone, by what stands in its place now.
    stands: Option<&'static str>,
    /// What would be done.
    step: Option<PaneStep>,
    /// Why it does not come back by itself, where that is turned on.
    stopped: Option<String>,
    /// The commands that run on without it.
    running: Vec<StillRunning>,
    brief: Brief,
    /// Why it is not brought back as it stands: a fresh agent has taken over its work.
    taken_over: Option<String>,
    /// Whether its pane is gone and held by a save.
    is_held: bool,
}

/// Looks at what is left of each.
pub(super) fn find<'a>(
    context: &'a Context,
    settled: &'a Settled,
    sessions: &[SessionKey],
    said_gone: Option<&SessionKey>,
    held: &Held,
    request: Request,
) -> Result<Vec<Found<'a>>, Failure> {
    let briefing = briefing(context, &settled.records)?;
    let ground = restoring::ground(context, settled).believing_gone(said_gone);
    let wanted = restoring::wanted(context, true, request.asked);
    let record = |session: &SessionKey| settled.records.get(session);
    let machine = settled.world.machine();
    let place = |session: &SessionKey| record(session)?.genuine_place(&machine);
    let places = sessions.iter().filter_map(|session| Some(place(session)?.socket.clone()));
    // Whom a server that does not answer would tell more about is listed with what is known.
    let alive = restoring::look(&places.collect(), settled).unwrap_or_default();
    let reason = |session: &SessionKey| {
        if settled.world.waits_for(session) {
            return Some("waits_in_pane");
        }
        let record = record(session)?;
        let left = alive.iter().filter(|live| place(session).is_some_and(|p| p.socket == live.shot.socket));
        left.filter_map(|live| left_in_place(record, &machine, live)).map(|(_, word)| word).next()
    };
    let chosen = &context.config.recovery;
    let key = context.reading_key();
    let decided: Option<Vec<DecisionRecord>> = (chosen.enabled && chosen.auto_recover)
        .then(|| genuine_decisions(&context.repairer.state, key.as_ref()).collect());
    let stopped = |session: &SessionKey| match automatic(record(session)?, decided.as_ref()?, wanted.now) {
        Automatic::Stopped(why) => Some(why),
        Automatic::Due | Automatic::Later(_) => None,
    };
    let found = |session: &SessionKey| {
        // Where it comes back is decided when it does; what becomes of it does not depend on that.
        let anywhere = Destination::Window { session: String::new(), there: None, index: 0 };
        let plan = bring_back(&ground, session, "/nonexistent".into(), &anywhere, wanted);
        Found {
            session: session.clone(),
            record: record(session),
            pane: place(session).map(|place| place.reference.as_str()),
            stands: reason(session),
            stopped: stopped(session),
            running: ground.still_running(session),
            step: plan.servers.into_iter().flat_map(|server| server.panes).next(),
            brief: briefing.brief(session),
            taken_over: if request.again { None } else { taken_over(settled, session) },
            is_held: held.has(session),
        }
    };
    Ok(sessions.iter().map(found).collect())
}

/// Who it is, what was half done and what becomes of it stay in the narrowest terminal.
const COLUMNS: [Column; 9] = [
    Column::right("", Fit::Whole),
    Column::new("session", Fit::Whole),
    Column::new("name", Fit::CutThenDrop(10, 5)),
    Column::new("pane", Fit::CutPathThenDrop(8, 4)),
    Column::new("reason", Fit::Drop(3)),
    Column::right("seen", Fit::Drop(2)),
    Column::new("context", Fit::Drop(1)),
    Column::new("what", Fit::Whole),
    Column::new("half done", Fit::Wrap(20)),
];

/// Shows everybody: numbered, so that one can be chosen.
pub(super) fn show(
    found: &[Found<'_>],
    waiting: usize,
    now: Timestamp,
    does: Option<&str>,
    held: &Held,
    as_json: bool,
) -> Result<(), Failure> {
    let mut out = Out::new();
    if as_json {
        let agents: Vec<Value> = found.iter().map(Found::json).collect();
        out.json(json!({"dryRun": does.is_some(), "agents": agents}));
    } else if found.is_empty() {
        out.line("No crashed sessions.");
    } else {
        let mut table = Table::new(&COLUMNS);
        for (at, one) in found.iter().enumerate() {
            table.row(one.row(at + 1, now).map(Cell::new));
        }
        out.exact_line(&table.text());
        let words = |one: &Found<'_>| {
            one.refusal().into_iter().chain(one.left_to_you()).chain(one.hand_off()).chain(one.runs_on())
        };
        for line in found.iter().flat_map(|one| words(one).collect::<Vec<_>>()) {
            out.line(&line);
        }
        let all_held = found.iter().all(|one| one.is_held);
        if found.iter().any(|one| one.is_held) {
            out.hint(&held.hint(found.len()));
        }
        if let Some(does) = does.filter(|_| !all_held) {
            out.hint(does);
        }
    }
    if waiting > 0 && !as_json {
        let agents =
            count(waiting as u64, "agent is waiting in its pane", "agents are waiting in their panes");
        out.line(&format!("{agents}. {WAKE}"));
    }
    out.finish().map(|_| ())
}

impl Found<'_> {
    fn name(&self) -> String {
        let name = self.record.and_then(|record| record.name.as_deref());
        name.map_or_else(|| self.session.short().to_owned(), |name| one_line(name, 60))
    }

    /// The reason as a person reads it.
    fn shown_reason(&self) -> String {
        match self.reason() {
            "waits_in_pane" => State::Dormant.shown().to_owned(),
            reason => reason.replace('_', " "),
        }
    }

    fn reason(&self) -> &str {
        let recorded = || self.record.and_then(|record| record.reason.as_deref());
        self.stands.or_else(recorded).unwrap_or("unknown")
    }

    fn row(&self, number: usize, now: Timestamp) -> [String; 9] {
        let pane = self.pane.map(str::to_owned);
        // One outside of tmux has a terminal.
        let tty = || self.record?.run()?.tty.as_deref().map(|tty| tty.trim_start_matches("/dev/").to_owned());
        let pane = pane.or_else(tty);
        [
            number.to_string(),
            self.session.short().to_owned(),
            self.name(),
            pane.unwrap_or_default(),
            self.shown_reason(),
            self.record.map(|record| format!("{} ago", age(record.last_seen, now))).unwrap_or_default(),
            amount(&self.brief),
            self.what(),
            self.brief.half_done.clone().unwrap_or_default(),
        ]
    }

    /// What becomes of it. One whose pane a save holds is left to a restore.
    fn what(&self) -> String {
        let step = self.step.as_ref();
        let word = step.map(|step| word(step.decision.act)).unwrap_or_default();
        let is_left = self.is_held && step.is_some_and(|step| step.decision.act.starts());
        match &self.taken_over {
            Some(_) => "refuse".to_owned(),
            None if is_left => "left to restore".to_owned(),
            None => word.to_owned(),
        }
    }

    /// Why nothing would be done for it.
    fn refusal(&self) -> Option<String> {
        if let Some(why) = &self.taken_over {
            return Some(format!("{}: {why}", self.name()));
        }
        let step = self.step.as_ref().filter(|step| !step.decision.act.starts())?;
        Some(format!("{}: {}", self.name(), step.decision.reason))
    }

    /// Why it does not come back by itself.
    fn left_to_you(&self) -> Option<String> {
        Some(format!("{}: does not come back by itself: {}", self.name(), self.stopped.as_ref()?))
    }

    /// The tasks that a tracker has for it.
    fn hand_off(&self) -> Option<String> {
        Some(format!("{}: hand-off bead {}", self.name(), steps::bead(&self.brief.beads)?))
    }

    /// The commands that run on without it.
    fn runs_on(&self) -> Vec<String> {
        self.running.iter().map(|one| format!("{}: {}", self.name(), one.says())).collect()
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "sessionId": self.session,
            "shortId": self.session.short(),
            "name": self.record.and_then(|record| record.name.as_deref()),
            "task": self.record.and_then(|record| record.task.as_deref()),
            "pane": self.pane,
            "cwd": self.record.and_then(|record| record.cwd.as_deref()),
            "reason": self.reason(),
            "lastSeen": self.record.map(|record| record.last_seen),
            "act": self.step.as_ref().map(|step| step.decision.act),
            "why": self.step.as_ref().map(|step| step.decision.reason.as_str()),
            "takenOver": self.taken_over,
            "heldBySave": self.is_held,
            "autoStopped": self.stopped,
            "stillRunning": self.running,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut value, brief_json(&self.brief)) {
            all.extend(more);
        }
        value
    }
}

/// How much there is to tell.
fn amount(brief: &Brief) -> String {
    let thousands = brief.tokens.div_ceil(1_000);
    let tokens = if brief.tokens < 1_000 { brief.tokens.to_string() } else { format!("{thousands}k") };
    format!("{}, {tokens} tokens", count(brief.lines as u64, "line", "lines"))
}

/// A brief without its text.
pub(super) fn brief_json(brief: &Brief) -> Value {
    json!({
        "source": brief.source,
        "extended": brief.extended,
        "lines": brief.lines,
        "tokens": brief.tokens,
        "exchanges": brief.exchanges,
        "prompts": brief.prompts,
        "replies": brief.replies,
        "leftOut": brief.left_out,
        "lastPrompt": brief.last_prompt,
        "lastAction": brief.last_action,
        "halfDone": brief.half_done,
        "contextFile": brief.context_file,
        "bead": steps::own(&brief.beads).map(|bead| bead.id.as_str()),
        "beads": brief.beads,
    })
}
