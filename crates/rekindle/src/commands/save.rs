use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use layouts::{
    Asked, Followed, Gone, Memory, Outcome, SavedServer, Saver, SaverError, Taken, Texts, UndoneRestore, Wish,
};
use serde_json::{Value, json};
use sessions::Settled;
use store::saves::{Head, Kind};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

/// Save every tmux session, window and pane, with the conversations in them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle save\n  rekindle save --name before-upgrade\n\nA save that is empty, or lost most panes with their server, is kept but does not\nbecome the one to restore (exit code 3), unless --force says so. What\nelse went with a server stays in the save until it is restored."
)]
pub(crate) struct Args {
    /// Give it a name; a save with a name is kept for good
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Leave out what panes show
    #[arg(long)]
    no_scrollback: bool,
    /// Save what is there alone and make it the one to restore, even if it is empty or shrunken
    #[arg(long)]
    force: bool,
    /// What asks for it
    #[arg(long, hide = true, value_enum, default_value_t = By::Manual)]
    by: By,
    /// Say what would be saved, and write no save
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Manual,
    Timer,
    Hook,
    Event,
}

/// Long enough for a server on a loaded machine.
const TMUX_DEADLINE: Duration = Duration::from_secs(5);
/// Two thousand lines of a hundred panes took 50 ms.
const SCROLLBACK_DEADLINE: Duration = Duration::from_secs(20);
/// A person waits this long for another save or settle to end; both take a fraction of a second.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn saver(context: &Context) -> Result<Saver, Failure> {
    Ok(Saver {
        state: context.repairer.state.clone(),
        key: context.settler()?.key,
        keep: context.config.save.keep as usize,
        patience: PATIENCE,
    })
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.name.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains(char::is_control)) {
        return Err(Failure::new(Exit::Usage, "a name has letters, and no control characters"));
    }
    let saver = saver(context)?;
    let turn = saver.begin().map_err(refused)?;
    let settler = context.settler()?;
    let taken = look(&saver, || settler.settle(Timestamp::now(), PATIENCE))?;
    for server in &taken.unanswered {
        say(&format!("rekindle: {} does not answer: {}", server.socket.display(), server.why));
    }
    let kind = match args.by {
        By::Manual => Kind::Manual,
        By::Timer => Kind::Timer,
        By::Hook => Kind::Hook,
        By::Event => Kind::Event,
    };
    let now = Timestamp::now();
    let keep_gone = context.config.restore.keep_map;
    let wish = Wish { name: args.name.clone(), force: args.force, keep_gone };
    if args.dry_run {
        let judged = saver.judge(&taken, &wish, now).map_err(refused)?;
        let servers = [&taken.servers[..], judged.gone.kept()].concat();
        let head = Saver::head(&servers, kind, args.name.clone(), &judged.outcome, now);
        tell_gone(&judged.gone);
        return told(args, None, &head, &judged.outcome, &[]);
    }
    let lines = context.config.save.scrollback_lines;
    let texts =
        (!args.no_scrollback && lines > 0).then(|| Texts { panes: scrollback(&taken, lines), taken_at: now });
    let saved = saver.save(&turn, &taken, texts.as_ref(), kind, &wish, now).map_err(refused)?;
    for skipped in &saved.skipped {
        say(&format!("rekindle: passed over {}: {}", skipped.path.display(), skipped.why));
    }
    tell_gone(&saved.gone);
    told(args, Some(&saved.id), &saved.head, &saved.outcome, &saved.pruned)
}

/// Says which panes and agents of servers that are gone the save keeps or leaves out.
fn tell_gone(gone: &Gone) {
    let (servers, kept) = match gone {
        Gone::Nothing => return,
        Gone::Kept(servers) => (servers, true),
        Gone::LeftOut(servers) => (servers, false),
    };
    let sum = |of: fn(&SavedServer) -> usize| servers.iter().map(of).sum::<usize>() as u64;
    let panes = count(sum(|server| server.tmux.panes().count()), "pane", "panes");
    let agents = sum(|server| server.agents.len());
    let agents =
        if agents > 0 { format!(" with {}", count(agents, "agent", "agents")) } else { String::new() };
    let what = format!("{panes}{agents} of a tmux server that is gone");
    if kept {
        say(&format!("rekindle: the save keeps {what}, until they are restored; --force leaves them out"));
    } else {
        say(&format!("rekindle: the save leaves out {what}, as --force says"));
    }
}

/// Saves without a word what is there after a restore, with what panes have got to show. Where it was the current save that
/// was restored, `restored` has the marks of the panes that were made or found: what else it holds stays in it.
pub(crate) fn after_restore(
    context: &Context,
    restored: Option<&BTreeSet<String>>,
    texts: impl FnOnce(&Taken) -> Option<Texts>,
) -> Result<(), Failure> {
    let saver = saver(context)?;
    let turn = saver.begin().map_err(refused)?;
    let settler = context.settler()?;
    let taken = look(&saver, || settler.settle(Timestamp::now(), PATIENCE))?;
    let (texts, now) = (texts(&taken), Timestamp::now());
    let memory = Memory { keep_gone: context.config.restore.keep_map, restored, undone: None };
    saver.follow(&turn, &taken, texts.as_ref(), Kind::Event, memory, now).map_err(refused)?;
    Ok(())
}

/// Saves without a word what is there after the undo of a restore: what that restore had made is missing again.
pub(crate) fn after_undo(context: &Context, undone: Option<UndoneRestore<'_>>) -> Result<(), Failure> {
    let saver = saver(context)?;
    let turn = saver.begin().map_err(refused)?;
    let settler = context.settler()?;
    let taken = look(&saver, || settler.settle(Timestamp::now(), PATIENCE))?;
    let nothing = BTreeSet::new();
    let memory = Memory { keep_gone: context.config.restore.keep_map, restored: Some(&nothing), undone };
    saver.follow(&turn, &taken, None, Kind::Event, memory, Timestamp::now()).map_err(refused)?;
    Ok(())
}

fn scrollback(taken: &Taken, lines: u32) -> Vec<layouts::PaneText> {
    let nonce = uuid::Uuid::new_v4().to_string();
    let (texts, troubles) = Saver::scrollback(taken, lines, &nonce, SCROLLBACK_DEADLINE);
    for trouble in troubles {
        say(&format!("rekindle: no scrollback of {trouble}"));
    }
    texts
}

fn refused(error: SaverError) -> Failure {
    match error {
        SaverError::Restoring => Failure::new(Exit::Refused, "a restore is running; nothing was saved")
            .hint("try again when it is done"),
        other => other.into(),
    }
}

/// What became of a save that nobody asked for; nothing while a restore runs. Scrollback is taken where the one of the
/// current save is older than this.
pub(crate) fn follow(
    context: &Context,
    kind: Kind,
    scrollback_after: Option<Duration>,
) -> Result<Option<Followed>, Failure> {
    let saver = saver(context)?;
    let turn = match saver.begin() {
        Err(SaverError::Restoring) => return Ok(None),
        turn => turn?,
    };
    // Whoever asks has settled, or is about to: a settle of our own would stand in the way of that one.
    let settler = context.settler()?;
    let taken = look(&saver, || settler.look())?;
    if let (true, Some(silent)) = (taken.servers.is_empty(), taken.unanswered.first()) {
        let what = format!("{} does not answer: {}", silent.socket.display(), silent.why);
        return Err(Failure::new(Exit::Failed, format!("nothing was saved: {what}")));
    }
    let now = Timestamp::now();
    // One that a clock dates ahead of now would keep the next one away until that day.
    let age = |at: Timestamp| Duration::try_from(now.duration_since(at)).unwrap_or(Duration::MAX);
    let lines = context.config.save.scrollback_lines;
    let due =
        scrollback_after.is_some_and(|after| saver.scrollback_taken().is_none_or(|at| age(at) >= after));
    let texts = (due && lines > 0).then(|| Texts { panes: scrollback(&taken, lines), taken_at: now });
    let memory = Memory { keep_gone: context.config.restore.keep_map, restored: None, undone: None };
    match saver.follow(&turn, &taken, texts.as_ref(), kind, memory, now) {
        Err(SaverError::Restoring) => Ok(None),
        followed => Ok(Some(followed?)),
    }
}

/// Asks tmux while the records are read, or settled: each takes about as long as the other.
fn look(saver: &Saver, records: impl FnOnce() -> Result<Settled, sessions::Error>) -> Result<Taken, Failure> {
    let known = Context::sockets();
    let (settled, asked) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| layouts::ask(known.clone(), TMUX_DEADLINE));
        let settled = records().map(|settled| (settled, saver.known_sockets()));
        layouts::prepare();
        // Who did not answer because the question failed has saved nothing, and an empty save is held.
        (settled, asking.join().unwrap_or_default())
    });
    let (settled, saved) = settled?;
    // Agents may live on servers elsewhere, and some servers have been saved that nobody would look for.
    let servers = settled.world.servers.iter().map(|(socket, _)| socket.clone()).chain(saved);
    let others: BTreeSet<PathBuf> = servers.filter(|socket| !known.contains(socket)).collect();
    let asked: Asked = asked.into_iter().chain(layouts::ask(others, TMUX_DEADLINE)).collect();
    Ok(layouts::take(asked, &settled))
}

pub(crate) fn counts_json(head: &Head) -> Value {
    serde_json::to_value(head.counts).unwrap_or_default()
}

fn told(
    args: &Args,
    id: Option<&str>,
    head: &Head,
    outcome: &Outcome,
    pruned: &[String],
) -> Result<Exit, Failure> {
    let (current, why) = match outcome {
        Outcome::Current => (true, None),
        Outcome::Held { why } => (false, Some(why.as_str())),
    };
    let mut out = Out::new();
    if args.json {
        out.json(json!({
            "save": id, "name": head.name, "kind": head.kind, "savedAt": head.saved_at.to_string(),
            "counts": counts_json(head), "scrollback": head.scrollback.as_ref().map(|beside| beside.panes),
            "current": current, "held": why, "pruned": pruned, "dryRun": args.dry_run,
        }));
    } else {
        let word = if args.dry_run { "would save" } else { "saved" };
        out.line(&format!("{word} {}{}", words(head), id.map(|id| format!(": {id}")).unwrap_or_default()));
    }
    if let Some(why) = why {
        out.flush();
        let (kept, stays) =
            if args.dry_run { ("would be kept", "would stay") } else { ("was kept", "stays") };
        say(&format!("rekindle: {why}; this save {kept}, and the one before {stays} the one to restore"));
        say("  rekindle save --force makes it the one to restore");
        return out.finish_as(Exit::Refused);
    }
    out.finish()
}

/// `2 sessions, 5 windows, 9 panes, 4 agents`.
pub(crate) fn words(head: &Head) -> String {
    let counts = head.counts;
    let parts = [
        (counts.sessions, "session", "sessions"),
        (counts.windows, "window", "windows"),
        (counts.panes, "pane", "panes"),
        (counts.agents, "agent", "agents"),
    ];
    parts.map(|(number, one, many)| count(number as u64, one, many)).join(", ")
}
