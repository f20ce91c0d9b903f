//! `rekindle pane wait`: a page that says which conversation a pane waits for, and starts it when its user is there.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agents::SessionKey;
use jiff::Timestamp;
use recovery::{LiveOwner, Taking};
use store::journal::{Entry, Journal};
use store::record::{self, SessionRecord};

use super::ask::Asking;
use super::found::{Found, Here};
use super::page::{Page, Wish};
use super::terminal::Terminal;
use crate::context::{Context, TMUX_DEADLINE};
use crate::exit::{Exit, Failure};
use crate::output::one_line;

/// Show what this pane waits for, and start it when its user is there
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Why it waits
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// It is only guessed that the conversation was here; saves of this pane read it
    #[arg(long)]
    guessed: bool,
    /// Submit the prompt with which it goes on when it is started
    #[arg(long = "continue")]
    go_on: bool,
    /// Start it when the pane is looked at
    #[arg(long)]
    on_focus: bool,
    /// A restore starts it when its turn comes
    #[arg(long, conflicts_with = "on_focus")]
    in_turn: bool,
    /// Nothing says which conversation was here: ask, or start a fresh agent of this program
    #[arg(long, value_name = "PROGRAM", requires = "folder", conflicts_with_all = ["on_focus", "in_turn"])]
    fresh: Option<String>,
    /// The directory of a fresh agent
    #[arg(long, value_name = "FOLDER", requires = "fresh")]
    folder: Option<PathBuf>,
    /// How many older conversations there are to choose from
    #[arg(long, value_name = "N", default_value_t = 0)]
    more: usize,
    /// The conversation, or those that it may be
    #[arg(value_name = "SESSION", last = true)]
    sessions: Vec<SessionKey>,
}

/// Reports of focus; a terminal that has none sends none.
const FOCUS_ON: &str = "\x1b[?1004h";
const FOCUS_OFF: &str = "\x1b[?1004l";
pub(super) const FOCUS_IN: &[u8] = b"\x1b[I";

/// Many pages may be shown at once, and each look reads the process table.
const LONGEST_PAUSE: u32 = 32;

/// A pane that waits: for which conversation, and what is known of it.
struct Waiting<'a> {
    args: &'a Args,
    session: &'a SessionKey,
    context: Option<Context>,
    record: Option<SessionRecord>,
    terminal: Terminal,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (context, terminal) = (Context::load().ok(), Terminal::found());
    if let (Some(program), Some(folder)) = (&args.fresh, &args.folder) {
        let (sessions, more) = (&args.sessions, args.more);
        return Asking { context, terminal, program, folder, sessions, more }.run();
    }
    let [session] = args.sessions.as_slice() else {
        return Err(Failure::new(Exit::Usage, "a pane waits for one conversation"));
    };
    let record = remembered(context.as_ref(), session);
    Waiting { args, session, context, record, terminal }.run()
}

/// What is known of a conversation.
pub(super) fn remembered(context: Option<&Context>, session: &SessionKey) -> Option<SessionRecord> {
    let key = context?.settler().ok()?.key;
    Some(record::load(&context?.repairer.state, key.reading(), session).ok()??.record)
}

impl Waiting<'_> {
    fn run(&self) -> Result<Exit, Failure> {
        let folder = self.record.as_ref().and_then(|record| record.project_dir.as_deref());
        let (mut why, mut news) = (self.args.why.clone(), String::new());
        // A start that failed is tried again by a key, never by a look: each look would be another failure.
        let (mut on_focus, mut waits) = (self.args.on_focus, self.args.on_focus || self.args.in_turn);
        // Nobody was in it a moment ago, when a hundred pages that wait may be shown at once.
        let mut found = if waits { Found::Nobody } else { self.look() };
        let (mut asks, mut shown, mut seconds) = (false, None, 1);
        loop {
            let missing = folder.filter(|folder| !folder.is_dir());
            let page = Page { why: &why, news: &news, waits, on_focus, missing, found: &found, asks };
            // Who only looks again shows nothing twice.
            if shown.replace(page.lines()) != Some(page.lines()) {
                self.show(&page)?;
            }
            let wish = self.wish(&page, seconds);
            if wish == Wish::Look {
                seconds = (seconds * 2).min(LONGEST_PAUSE);
            } else {
                (asks, news, shown, seconds) = (false, String::new(), None, 1);
            }
            match wish {
                Wish::Gone => return Ok(Exit::Done),
                Wish::Shell => {
                    looked_at_no_more();
                    return super::become_shell(folder);
                }
                Wish::No | Wish::Look => {}
                Wish::MakeFolder | Wish::Resume => {
                    if let (Wish::MakeFolder, Some(missing)) = (wish, missing)
                        && let Err(error) = store::durable::users_dir(missing)
                    {
                        why = format!("cannot {error}: {}", error.source);
                        continue;
                    }
                    // Whoever succeeds takes this pane, and this program with it.
                    let words: &[&str] = if self.args.go_on { &["start", "--continue"] } else { &["start"] };
                    why = run_beside(words, self.session);
                    (on_focus, waits) = (false, false);
                }
                Wish::GoThere | Wish::Take | Wish::Yes => {
                    // What was shown may be an hour old.
                    let now = self.look();
                    (news, asks) = self.come_by(wish, &found, &now);
                }
            }
            let before = std::mem::replace(&mut found, self.look());
            let resumed = matches!(wish, Wish::Resume | Wish::MakeFolder);
            // Who was just asked to resume it has said why it did not.
            if found == Found::Nobody && before != Found::Nobody && !resumed {
                "nobody is in it any more".clone_into(&mut why);
            }
        }
    }

    fn look(&self) -> Found {
        let look = |context| Found::look(context, self.record.as_ref(), self.session);
        let unread = || Found::Unclear { why: "what rekindle knows cannot be read".to_owned() };
        self.context.as_ref().map_or_else(unread, look)
    }

    /// Goes to whoever is in the conversation, or has it come here. What is to be told, and whether its user is asked first.
    fn come_by(&self, wish: Wish, shown: &Found, now: &Found) -> (String, bool) {
        let Found::Somebody { who, taking } = now else { return (String::new(), false) };
        let same = matches!(shown, Found::Somebody { who: before, .. } if before.process == who.process);
        match (wish, taking) {
            (Wish::GoThere, Taking::Bring(place)) => (self.go_to(&place.pane), false),
            (Wish::Take, Taking::Bring(place)) if same => (self.bring(who, &place.pane), false),
            (Wish::Take, Taking::End) => (String::new(), true),
            // Only who was asked about is ended.
            (Wish::Yes, Taking::End) if same => (self.end(who), false),
            _ => (String::new(), false),
        }
    }

    fn go_to(&self, pane: &str) -> String {
        let Some(here) = Here::around() else { return String::new() };
        match tmux::go_to(&here.socket, Some(&here.pane), pane, TMUX_DEADLINE) {
            Ok(()) => String::new(),
            Err(error) => format!("cannot {error}"),
        }
    }

    /// Exchanges this pane with the one of the agent, which goes on as it is.
    fn bring(&self, who: &LiveOwner, pane: &str) -> String {
        let (Some(here), Some(context)) = (Here::around(), &self.context) else { return String::new() };
        if let Err(error) = tmux::exchange(&here.socket, pane, &here.pane, TMUX_DEADLINE) {
            return format!("cannot {error}");
        }
        let Found::Somebody { who: brought, .. } = self.look() else { return String::new() };
        let entry = Entry::new(Timestamp::now(), "taken_over")
            .with("session", self.session.as_str())
            .with("from", who.whom())
            .with("how", "exchanged");
        let to = match &brought.at {
            recovery::At::Pane(place) => place.reference.clone(),
            _ => pane.to_owned(),
        };
        // The panes are where they are, whether that can be written down or not.
        let _ = Journal::at(context.repairer.state.journal()).append(&entry.with("pane", to.as_str()));
        let _ = crate::restoring::settled(context);
        format!("its agent was brought to {to}, and this page is in its place")
    }

    /// Ends the agent that its user was asked about, and resumes its conversation here.
    fn end(&self, who: &LiveOwner) -> String {
        let mut out = std::io::stdout().lock();
        let _ =
            write!(out, "\r\n  process {} is asked to end …\r\n", who.process.pid).and_then(|()| out.flush());
        drop(out);
        let (pid, start) = (who.process.pid.to_string(), who.process.start.to_string());
        run_beside(&["take", "--process", &pid, "--started", &start], self.session)
    }

    fn show(&self, page: &Page<'_>) -> Result<(), Failure> {
        let record = self.record.as_ref();
        let name = record.and_then(|record| record.name.as_deref()).unwrap_or("a conversation");
        let mut lines = vec![String::new(), format!("  {}  {}", one_line(name, 60), self.session.short())];
        if let Some(record) = record {
            lines.extend(record.task.iter().map(|task| format!("  {}", one_line(task, 74))));
            let seen = record.last_seen.to_zoned(crate::zone::local()).strftime("%Y-%m-%d %H:%M");
            let place = record
                .project_dir
                .as_deref()
                .zip(self.context.as_ref())
                .map(|(folder, context)| context.short_path(folder));
            let place = place.map(|place| format!(", in {place}")).unwrap_or_default();
            lines.push(format!("  last active {seen}{place}"));
        }
        lines.push(String::new());
        lines.extend(page.lines());
        let title = format!("\x1b]2;waits: {}\x07", one_line(name, 40));
        let focus = if page.on_focus { FOCUS_ON } else { "" };
        let mut out = std::io::stdout().lock();
        let text = lines.join("\r\n");
        write!(out, "\x1b[2J\x1b[H{title}{focus}{text}\r\n")
            .and_then(|()| out.flush())
            .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the pane: {error}")))
    }

    /// Waits for a key, or for the pane to be looked at. What is not clear now may be in a second: an agent that ends is
    /// gone before its children are.
    fn wish(&self, page: &Page<'_>, seconds: u32) -> Wish {
        let understand = |typed: &[u8]| page.understand(typed);
        let wish = match page.found {
            Found::Unclear { .. } => self.terminal.key_or((seconds, Wish::Look), understand),
            Found::Nobody | Found::Somebody { .. } => self.terminal.key(understand),
        };
        let wish = wish.unwrap_or(Wish::Gone);
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(FOCUS_OFF.as_bytes()).and_then(|()| out.flush());
        wish
    }
}

/// A shell does not want to be told when it is looked at.
fn looked_at_no_more() {
    if let Some(here) = Here::around() {
        tmux::leave_alone(&here.socket, &here.pane, TMUX_DEADLINE);
    }
}

/// Brings the conversation back into this pane, by a process that outlives the end of this one. What it says is why it
/// did not.
pub(super) fn run_beside(words: &[&str], session: &SessionKey) -> String {
    let Ok(program) = std::env::current_exe() else { return "this program cannot be found".to_owned() };
    let mut command = Command::new(program);
    command.arg("pane").args(words).args(["--", session.as_str()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec only a system call is made, which is safe there.
    unsafe {
        // The hang-up that ends this pane's program must not end the one who starts the next.
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
    match command.output() {
        Ok(output) => one_line(&String::from_utf8_lossy(&output.stderr), 300),
        Err(error) => format!("it cannot be started: {error}"),
    }
}
