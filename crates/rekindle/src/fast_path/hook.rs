//! `rekindle hook EVENT`: writes down what an agent says about itself, and goes.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use agents::SessionId;
use agents::claude::chain::{Arguments, chain};
use agents::claude::launch::NONCE;
use agents::claude::{launch_variables, process};
use serde::Deserialize;
use serde_json::value::RawValue;
use store::durable::Sync;
use store::launch::Launch as Start;
use store::mac::Key;
use store::spool::{self, Event, LARGEST_INPUT, Launch};
use store::{StateDir, StateDirError};

use super::Places;

/// The members that name an event; the rest is kept unread.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    hook_event_name: Option<&'a RawValue>,
}

/// Always succeeds, as far as the agent can see.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let places = Places::new();
    let bytes = super::input();
    // A plugin's hook beside the same one in the settings: one of the two is enough.
    if arguments.iter().any(|word| word == "--plugin") && integrate::is_wired(&places.state, &places.claude) {
        return ExitCode::SUCCESS;
    }
    let asked = arguments.iter().filter_map(|word| word.to_str()).find(|word| !word.starts_with('-'));
    let state = StateDir::open(&places.state);
    let kept = keep(&places, state.as_ref(), asked, &bytes).unwrap_or_else(|why| {
        places.log(state.as_ref().ok(), &format!("hook {}: {why}", asked.unwrap_or("?")));
        Kept::default()
    });
    if let (Ok(state), Some(started)) = (&state, &kept.started) {
        tell(state, started);
    }
    if let Ok(state) = &state
        && let Err(error) = super::start_settle(state, kept.unsynced)
    {
        places.log(Some(state), &format!("hook {}: cannot start settle: {error}", asked.unwrap_or("?")));
    }
    ExitCode::SUCCESS
}

/// Tells an agent that a restore has started what it has to know. Written before settling begins: after that nothing is
/// printed.
fn tell(state: &StateDir, session: &SessionId) {
    let Some(nonce) = std::env::var_os(NONCE) else { return };
    let launch = nonce.to_str().and_then(|nonce| Start::of(state, nonce));
    let Some(text) = launch.and_then(|launch| launch.take(session)) else { return };
    let output = serde_json::json!({
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
    });
    // An agent that does not listen is none the worse for it.
    let _ = writeln!(std::io::stdout(), "{output}");
}

/// What an event that was kept still needs.
#[derive(Default)]
struct Kept {
    /// The conversation that has begun with it.
    started: Option<SessionId>,
    /// The spool that must reach the disk.
    unsynced: Option<PathBuf>,
}

/// Keeps the event.
fn keep(
    places: &Places,
    state: Result<&StateDir, &StateDirError>,
    asked: Option<&str>,
    bytes: &[u8],
) -> Result<Kept, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "what came is no text".to_owned())?;
    let named: Named<'_> =
        serde_json::from_str(text).map_err(|error| format!("what came is no event: {error}"))?;
    let string = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let session = string(named.session_id).ok_or("the event names no session")?;
    let session = SessionId::new(&session).map_err(|error| format!("cannot {error}"))?;
    let name =
        string(named.hook_event_name).or_else(|| asked.map(str::to_owned)).ok_or("the event has no name")?;
    // The first and the last event carry the identity: losing them loses the session.
    let matters = matches!(name.as_str(), "SessionStart" | "SessionEnd");
    let first = name == "SessionStart";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let event = Event {
        schema: spool::SCHEMA,
        event: name,
        at: i64::try_from(now.as_millis()).unwrap_or_default(),
        chain: chain(if first { Arguments::Read } else { Arguments::Skip }),
        launch: first.then(launch),
        input: compact(text)?,
    };
    // A hook never makes a key: without one its line has no code, and is believed as far as the machine bears it out.
    let key = Key::read(&places.machine_key).ok().flatten();
    let why = match state {
        Ok(state) => match spool::append(&state.spool(), &session, &event, key.as_ref(), Sync::No) {
            Ok(()) => {
                let unsynced = matters.then(|| spool::path(state, &session));
                return Ok(Kept { started: first.then_some(session), unsynced });
            }
            Err(error) => format!("cannot {error}: {}", error.source),
        },
        // Somebody else's state is none of our business, and nothing of ours would ever settle it.
        Err(StateDirError::NotOurs { .. }) => return Err(super::words(state)),
        Err(_) => super::words(state),
    };
    let refuge = &places.refuge;
    let kept =
        refuge.open().and_then(|()| spool::append(&refuge.spool(), &session, &event, key.as_ref(), Sync::No));
    match kept {
        Ok(()) => Err(format!("{why}; the event waits in {}", refuge.spool().display())),
        Err(error) => Err(format!("{why}; cannot {error}: {}; the event is lost", error.source)),
    }
}

/// The input on one line. Line breaks stand only between the members of valid JSON, so they can become spaces.
fn compact(text: &str) -> Result<Box<RawValue>, String> {
    let text = if text.len() > LARGEST_INPUT { small_members(text)? } else { text.trim().to_owned() };
    RawValue::from_string(text.replace(['\n', '\r'], " ")).map_err(|error| error.to_string())
}

/// The largest member that stays of an event that is too large to be kept as it came.
const LARGEST_MEMBER: usize = 4 * 1024;

fn small_members(text: &str) -> Result<String, String> {
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut kept: serde_json::Map<String, serde_json::Value> = members
        .iter()
        .filter(|(_, raw)| raw.get().len() <= LARGEST_MEMBER)
        .filter_map(|(name, raw)| Some((name.clone(), serde_json::from_str(raw.get()).ok()?)))
        .collect();
    kept.insert("rekindle_cut".to_owned(), true.into());
    Ok(serde_json::Value::Object(kept).to_string())
}

fn launch() -> Launch {
    let read = |path: &str| store::files::read_to_string(path).ok().map(|text| text.trim().to_owned());
    Launch {
        env: launch_variables(std::env::vars_os()),
        entrypoint: std::env::var("CLAUDE_CODE_ENTRYPOINT").ok(),
        boot_id: read("/proc/sys/kernel/random/boot_id"),
        pid_domain: process::pid_domain(),
    }
}
