//! `rekindle pane wait`: a page that says which conversation a pane waits for, and starts it when its user is there.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agents::SessionId;
use state::record::{self, SessionRecord};

use super::terminal::Terminal;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{one_line, wrap};

/// Show what this pane waits for, and start it when its user is there
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Why it waits
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// Start it when the pane is looked at
    #[arg(long)]
    on_focus: bool,
    /// A restore starts it when its turn comes
    #[arg(long, conflicts_with = "on_focus")]
    in_turn: bool,
    /// The conversation
    #[arg(value_name = "SESSION", last = true)]
    session: SessionId,
}

/// What its user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Resume,
    MakeFolder,
    Shell,
    Gone,
}

const TMUX_DEADLINE: Duration = Duration::from_secs(2);

/// Reports of focus; a terminal that has none sends none.
const FOCUS_ON: &str = "\x1b[?1004h";
const FOCUS_OFF: &str = "\x1b[?1004l";
const FOCUS_IN: &[u8] = b"\x1b[I";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let context = Context::load().ok();
    let record = context.as_ref().and_then(|context| {
        let key = context.settler().ok()?.key;
        Some(record::load(&context.clinic.state, Some(&key), &args.session).ok()??.record)
    });
    let folder = record.as_ref().and_then(|record| record.project_dir.clone());
    let terminal = Terminal::found();
    let mut why = args.why.clone();
    // A start that failed is tried again by a key, never by a look: each look would be another failure.
    let (mut on_focus, mut waits) = (args.on_focus, args.on_focus || args.in_turn);
    loop {
        let missing = folder.as_deref().filter(|folder| !folder.is_dir());
        show(args, record.as_ref(), context.as_ref(), &why, missing, (waits, on_focus))?;
        let wish = wish(&terminal, on_focus, missing.is_some());
        match wish {
            Wish::Gone => return Ok(Exit::Done),
            Wish::Shell => {
                looked_at_no_more();
                return super::become_shell(folder.as_deref());
            }
            Wish::MakeFolder | Wish::Resume => {
                if let (Wish::MakeFolder, Some(missing)) = (wish, missing)
                    && let Err(error) = state::durable::users_dir(missing)
                {
                    why = format!("cannot {error}: {}", error.source);
                    continue;
                }
                // Whoever succeeds takes this pane, and this program with it.
                why = start(&args.session);
                (on_focus, waits) = (false, false);
            }
        }
    }
}

fn show(
    args: &Args,
    record: Option<&SessionRecord>,
    context: Option<&Context>,
    why: &str,
    missing: Option<&Path>,
    (waits, on_focus): (bool, bool),
) -> Result<(), Failure> {
    let name = record.and_then(|record| record.name.as_deref()).unwrap_or("a conversation");
    let mut lines = vec![String::new(), format!("  {name}  {}", args.session.short())];
    if let Some(record) = record {
        lines.extend(record.task.iter().map(|task| format!("  {}", one_line(task, 74))));
        let seen = record.last_seen.to_zoned(crate::zone::local()).strftime("%Y-%m-%d %H:%M");
        let place =
            record.project_dir.as_deref().zip(context).map(|(folder, context)| context.short_path(folder));
        let place = place.map(|place| format!(", in {place}")).unwrap_or_default();
        lines.push(format!("  last active {seen}{place}"));
    }
    lines.push(String::new());
    if !why.is_empty() {
        let word = if waits { "waits to be resumed" } else { "was not resumed" };
        lines.extend(wrap(&format!("{word}: {why}"), 74).iter().map(|line| format!("  {line}")));
        lines.push(String::new());
    }
    let folder = if missing.is_some() { "   m  make its directory again and resume" } else { "" };
    lines.push(format!("  Enter  resume it here   s  a shell{folder}"));
    let title = format!("\x1b]2;waits: {}\x07", one_line(name, 40));
    let focus = if on_focus { FOCUS_ON } else { "" };
    let mut out = std::io::stdout().lock();
    let text = lines.join("\r\n");
    write!(out, "\x1b[2J\x1b[H{title}{focus}{text}\r\n")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the pane: {error}")))
}

/// A shell does not want to be told when it is looked at.
fn looked_at_no_more() {
    if let Some((socket, pane)) = crate::context::pane_around() {
        mux::leave_alone(&socket, &pane, TMUX_DEADLINE);
    }
}

/// Waits for a key, or for the pane to be looked at.
fn wish(terminal: &Terminal, on_focus: bool, folder_missing: bool) -> Wish {
    terminal.raw();
    let wish = loop {
        let mut keys = [0; 64];
        let read = match std::io::stdin().lock().read(&mut keys) {
            Ok(0) => break Wish::Gone,
            Ok(read) => keys.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break Wish::Gone,
        };
        if let Some(wish) = understand(read, on_focus, folder_missing) {
            break wish;
        }
    };
    terminal.take_back();
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(FOCUS_OFF.as_bytes()).and_then(|()| out.flush());
    wish
}

fn understand(keys: &[u8], on_focus: bool, folder_missing: bool) -> Option<Wish> {
    match keys {
        FOCUS_IN => on_focus.then_some(Wish::Resume),
        [b'\r' | b'\n', ..] => Some(Wish::Resume),
        [b'm' | b'M', ..] if folder_missing => Some(Wish::MakeFolder),
        // Ctrl-C and Ctrl-D mean "let me out" everywhere.
        [b's' | b'S' | b'q' | 3 | 4, ..] => Some(Wish::Shell),
        _ => None,
    }
}

/// Brings the conversation back into this pane, by a process that outlives the end of this one. What it says is why it
/// did not.
fn start(session: &SessionId) -> String {
    let Ok(program) = std::env::current_exe() else { return "this program cannot be found".to_owned() };
    let mut command = Command::new(program);
    command.args(["pane", "start", "--", session.as_str()]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_that_mean_something_do_something() {
        assert_eq!(understand(b"\r", false, false), Some(Wish::Resume));
        assert_eq!(understand(b"\x1b[I", true, false), Some(Wish::Resume));
        assert_eq!(understand(b"\x1b[I", false, false), None);
        assert_eq!(understand(b"m", false, false), None);
        assert_eq!(understand(b"m", false, true), Some(Wish::MakeFolder));
        assert_eq!(understand(b"s", true, false), Some(Wish::Shell));
        assert_eq!(understand(b"\x03", true, false), Some(Wish::Shell));
        assert_eq!(understand(b"x", true, true), None);
    }
}
