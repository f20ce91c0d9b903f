//! Old files that rekindle keeps because a process still has them open: said to people, and watched by a settle.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agents::SessionId;
use repair::KeptFile;
use store::lock::Lock;

use crate::context::Context;
use crate::output::say;

/// How long a settle stays for a kept file; every later settle, scan and repair looks again.
const STAY: Duration = Duration::from_secs(600);
/// Soon enough for a person who waits for the row.
const POLL: Duration = Duration::from_secs(1);

/// Says which old files of these sessions are kept, and starts a settle that watches them.
pub(crate) fn tell(context: &Context, sessions: &[&SessionId]) {
    let kept: Vec<KeptFile> =
        context.repairer.kept_files().into_iter().filter(|kept| sessions.contains(&&kept.session)).collect();
    for kept in &kept {
        say_kept(context, kept);
    }
    if !kept.is_empty() {
        start_watching();
    }
}

/// Looks again at every kept file, and says which must be kept on.
pub(crate) fn look_again(context: &Context) {
    match context.repairer.watch_kept() {
        Ok(kept) => {
            kept.iter().for_each(|kept| say_kept(context, kept));
            context.repairer.refused_kept().iter().for_each(|why| say(&format!("rekindle: {why}")));
        }
        Err(error) => say(&format!("rekindle: cannot {error}")),
    }
}

fn say_kept(context: &Context, kept: &KeptFile) {
    say(&format!(
        "rekindle: {kept}. rekindle keeps that file ({}) and copies rows that arrive there into the transcript; `rekindle settle` looks again.",
        context.short_path(&kept.kept)
    ));
}

fn start_watching() {
    let Ok(program) = std::env::current_exe() else { return };
    // Whoever cannot start it now leaves it to the next hook or command.
    let _ = Command::new(program)
        .args(["settle", "--detached"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends this command and its group must not end the other one half way.
        .process_group(0)
        .spawn();
}

/// Watches kept files until none is left, for at most [`STAY`]. One process at a time.
#[expect(clippy::disallowed_methods, reason = "a poll interval: a file that is closed gives no sign")]
pub(crate) fn stay(context: &Context) -> Result<(), repair::Error> {
    let state = &context.repairer.state;
    if context.repairer.watch_kept()?.is_empty() {
        return Ok(());
    }
    let Ok(_alone) = Lock::try_alone(&state.locks().join("watch-kept")) else { return Ok(()) };
    let since = Instant::now();
    while since.elapsed() < STAY && !state.paused().exists() && state.locks().exists() {
        std::thread::sleep(POLL);
        if state.locks().exists() && context.repairer.watch_kept()?.is_empty() {
            break;
        }
    }
    Ok(())
}
