//! `rekindle statusline`: what the agent says of itself, and what the last settle found out, as a few lines.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agents::claude::{account, config_of};
use agents::{SessionId, SessionKey};
use jiff::{SignedDuration, Timestamp};
use statusline::prepared::{Notice, NoticeKind};
use statusline::{Input, Prepared, View, render};
use store::config::{Config, ConfigError, Statusline};
use store::{StateDir, spool};

use super::keep::Kept;
use super::{Places, style};
use crate::zone;

/// A settle that was longer ago is asked for anew.
const FRESH: SignedDuration = SignedDuration::from_secs(60);

/// Between two settles that status lines ask for.
const GAP: Duration = Duration::from_secs(10);

/// What settle prepares has a kilobyte or two; a file beyond this is not settle's.
const LARGEST_PREPARED: u64 = 1 << 20;

/// Always succeeds, as far as the agent can see.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    show(kept_command(arguments).as_deref());
    ExitCode::SUCCESS
}

/// `--keep COMMAND` or `--keep=COMMAND`.
fn kept_command(arguments: &[OsString]) -> Option<OsString> {
    let at = arguments.iter().position(|word| word.as_encoded_bytes().starts_with(b"--keep"))?;
    match arguments[at].to_str()?.strip_prefix("--keep")? {
        "" => arguments.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(OsString::from),
    }
}

/// Reads the agent's words, prints the lines, and leaves what was said for settle.
pub(crate) fn show(keep: Option<&OsStr>) {
    let places = Places::new();
    // A person who tries it in a terminal sees the clock instead of nothing.
    let bytes = if std::io::stdin().is_terminal() { Vec::new() } else { super::input() };
    let kept = keep.filter(|line| !line.is_empty()).map(|line| Kept::start(line, &bytes));
    let mut complaints = Vec::new();
    let state = StateDir::open(&places.state);
    if state.is_err() {
        complaints.push(super::words(state.as_ref()));
    }
    let input = Input::parse(&bytes);
    let session = input.session_id.as_deref().and_then(|id| SessionId::new(id).ok());
    if session.is_none() && !bytes.is_empty() {
        complaints.push(format!("what came names no session ({} bytes)", bytes.len()));
    }
    let known = state.as_ref().ok().zip(session);
    let known = known.map(|(state, id)| (state, key_of(state, id, input.transcript_path.as_deref())));
    let known = known.as_ref().map(|(state, session)| (*state, session));
    let now = Timestamp::now();
    let mut prepared = known.map(|(state, session)| prepared(state, session)).unwrap_or_default();
    // A restored agent gives its pane another title within two seconds: this stays for a while.
    prepared.notices.extend(known.and_then(|(state, session)| {
        let words = super::restored(state, now)?.words_for(session.as_str())?;
        Some(Notice::new(NoticeKind::Info, words))
    }));

    let mut out = match kept.transpose() {
        Ok(kept) => kept.map(Kept::finish).unwrap_or_default(),
        Err(error) => {
            complaints.push(format!("cannot start the kept status line: {error}"));
            Vec::new()
        }
    };
    let (lines, unused) = lines(&places, &input, &prepared, now);
    out.extend_from_slice(lines.as_bytes());
    complaints.extend(unused.map(|why| format!("cannot {why}; the defaults are used")));
    // Nobody who listens is nobody to disturb.
    let _ = std::io::stdout().lock().write_all(&out);

    if let Some((state, session)) = known {
        complaints.extend(leave(state, session, &bytes, prepared.settled_at, now).err());
    }
    for words in complaints {
        places.log(state.as_ref().ok(), &format!("statusline: {words}"));
    }
}

/// The lines in the configured style, and why that could not be used.
fn lines(
    places: &Places,
    input: &Input,
    prepared: &Prepared,
    now: Timestamp,
) -> (String, Option<ConfigError>) {
    let (config, unused) = match Config::load(Some(&places.config)) {
        Ok(config) => (config.statusline, None),
        Err(error) => (Statusline::default(), Some(error)),
    };
    let view = View {
        input,
        prepared,
        style: &style::style(&config, colour()),
        now,
        zone: &zone::local(),
        width: columns().map(|width| width.saturating_sub(config.margin as usize)),
        home: places.home.as_deref(),
    };
    (render(&view), unused)
}

/// Which account's session this is, where two have its id: settle has prepared something under the name with the account's
/// mark for the one that came second.
fn key_of(state: &StateDir, id: SessionId, transcript: Option<&str>) -> SessionKey {
    let config = transcript.and_then(|path| config_of(Path::new(path)));
    let marked = config.map(|config| SessionKey::of_account(id.clone(), &account(config)));
    marked.filter(|key| state.status_cache(key).exists()).unwrap_or_else(|| SessionKey::first(id))
}

pub(crate) fn prepared(state: &StateDir, session: &SessionKey) -> Prepared {
    let bytes = super::read_small(&state.status_cache(session), LARGEST_PREPARED);
    // Whatever is wrong with it, settle makes it anew.
    bytes.map(|bytes| Prepared::parse(&bytes)).unwrap_or_default()
}

/// Leaves what was said for settle, and starts one where the last was too long ago.
fn leave(
    state: &StateDir,
    session: &SessionKey,
    bytes: &[u8],
    settled: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), String> {
    spool::put_status(&state.spool(), session, bytes)
        .map_err(|error| format!("cannot {error}: {}", error.source))?;
    if is_fresh(settled, now) || has_just_settled(state) {
        return Ok(());
    }
    super::start_settle(state, None).map_err(|error| format!("cannot start settle: {error}"))
}

/// A settle in the future is a clock that jumped.
fn is_fresh(settled: Option<Timestamp>, now: Timestamp) -> bool {
    settled.is_some_and(|at| now.duration_since(at).abs() <= FRESH)
}

/// Of some sessions settle never learns enough to prepare anything: it is not asked again and again.
fn has_just_settled(state: &StateDir) -> bool {
    let ended = std::fs::metadata(state.settled()).and_then(|meta| meta.modified());
    ended.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < GAP))
}

/// The terminal's width: 2.1.325 says it and gives no terminal, 2.1.31 the other way round (measured).
fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let measured = || {
        #[expect(clippy::disallowed_methods, reason = "a terminal, which only its size is asked of")]
        let terminal = File::open("/dev/tty").ok()?;
        Some(usize::from(rustix::termios::tcgetwinsize(terminal).ok()?.ws_col))
    };
    said.or_else(measured).filter(|columns| *columns > 0)
}

/// Standard output is a pipe to the agent, which shows colours; so only the environment is asked.
fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settle_is_fresh_for_a_minute_either_way() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let fresh = |settled| is_fresh(Some(at(settled)), at(1000));
        assert_eq!([939, 940, 1000, 1060, 1061].map(fresh), [false, true, true, true, false]);
        assert!(!is_fresh(None, at(1000)));
    }

    #[test]
    fn the_kept_command_in_both_spellings() {
        let kept = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            kept_command(&words).and_then(|line| line.into_string().ok())
        };
        assert_eq!(kept(&["--keep", "a b"]).as_deref(), Some("a b"));
        assert_eq!(kept(&["-x", "--keep=a=b"]).as_deref(), Some("a=b"));
        assert_eq!(kept(&["--keep"]), None);
        assert_eq!(kept(&["--keeper", "x"]), None);
        assert_eq!(kept(&[]), None);
    }
}
