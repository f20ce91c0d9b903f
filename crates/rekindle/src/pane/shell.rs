//! `rekindle pane shell`: what a pane showed when it was saved, and then its shell. **Whatever goes wrong with the text, the
//! shell comes.**

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use layouts::Save;
use store::StateDir;

use super::terminal::{Interrupts, interrupts};
use crate::exit::{Exit, Failure};
use crate::output::printable;

/// Show what a pane showed when it was saved, and become its shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The state directory
    #[arg(long, value_name = "FOLDER")]
    state: PathBuf,
    /// The save
    #[arg(long, value_name = "SAVE")]
    save: String,
    /// The server's place in the save
    #[arg(long, value_name = "N")]
    server: usize,
    /// What the pane was: `%4`
    #[arg(long, value_name = "PANE")]
    pane: String,
    /// What the shell runs; the user's `default-command`
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    // A key that is pressed too early must not end the pane.
    interrupts(Interrupts::Nothing);
    let shell = super::users_shell();
    let name = Path::new(&shell).file_name().unwrap_or_default();
    be_called(name);
    if let Some((text, taken_at)) = text(args) {
        show(&text, taken_at);
    }
    interrupts(Interrupts::End);
    if let Some(command) = &args.command {
        // As tmux does it. Where even that fails, the shell itself is left.
        let _ = Command::new(&shell).arg0(name).arg("-c").arg(command).exec();
    }
    super::become_shell(None)
}

/// Begins anew under the shell's name: tmux calls windows after the program in front, and a save that is taken meanwhile
/// should know the pane as what it is.
fn be_called(name: &OsStr) {
    let mut words = std::env::args_os();
    if words.next().is_some_and(|own| own != name)
        && let Ok(program) = std::env::current_exe()
    {
        // Where that fails it has the wrong name for a moment.
        let _ = Command::new(program).arg0(name).args(words).exec();
    }
}

/// The text, when its pane has the size that it keeps: until then every line would be laid out twice.
fn text(args: &Args) -> Option<(String, Timestamp)> {
    let state = StateDir::existing(&args.state).ok()??;
    // Read first: a save may go as soon as the restore is done.
    let save = store::saves::load(&state, None, &args.save).ok()?;
    let text = layouts::text_of(&save.packed()?, args.server, &args.pane).ok()??;
    super::wait_for_panes(&state);
    let taken_at = save.head.scrollback_taken()?;
    // What went before showed nothing afterwards, whenever others were looked at.
    let gone = Save::of(&save).and_then(|save| save.servers.get(args.server)?.gone_since);
    Some((printable(&text), gone.map_or(taken_at, |gone| gone.min(taken_at))))
}

fn show(text: &str, taken_at: Timestamp) {
    let when = taken_at.to_zoned(crate::zone::local()).strftime("%Y-%m-%d %H:%M");
    let mut out = std::io::stdout().lock();
    // A terminal that takes no text is no reason to go without a shell.
    let _ = write!(out, "{}\n\x1b[2m-- restored by rekindle, saved {when} --\x1b[0m\n", text.trim_end())
        .and_then(|()| out.flush());
}
