//! What no event says and a look at the agent's files does: version, account, name, task, the last exchange.

use std::path::{Path, PathBuf};

use context::shorten;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use store::record::{SessionRecord, Spoken, SummarySource};
use transcript::{Ending, Said};

use crate::machine_state::MachineState;

/// An account: its name and its configuration directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// What the user calls it.
    pub name: String,
    /// Its configuration directory.
    pub config_dir: PathBuf,
}

/// Fills in what is frozen per run and was not known at its launch. What is known stays.
pub(crate) fn complete_run(
    record: &mut SessionRecord,
    world: &MachineState,
    accounts: &[Account],
    version: Option<&str>,
) {
    let config = record.config_dir();
    let session = record.session_id.clone();
    let Some(run) = record.runs.last_mut() else { return };
    let entry = world
        .registry
        .iter()
        .find(|entry| entry.registered.pid == run.pid && entry.registered.session == session.id().as_str());
    if run.claude_version.is_none() {
        let registered = entry.and_then(|entry| entry.registered.version.clone());
        run.claude_version = registered.or_else(|| version.map(str::to_owned));
    }
    if run.config_dir.is_none() {
        run.config_dir = entry.map(|entry| entry.config.path().to_path_buf()).or(config);
    }
    if let Some(config) = &run.config_dir {
        if run.slot_id.is_none() {
            run.slot_id =
                accounts.iter().find(|account| same(&account.config_dir, config)).map(|a| a.name.clone());
        }
        if run.email.is_none() {
            run.email = email(config, run.env.get("HOME").map(Path::new));
        }
        if run.keychain_service.is_none() && cfg!(target_os = "macos") {
            let own = run.env.get("HOME").map(|home| Path::new(home).join(".claude"));
            run.keychain_service = Some(keychain_service(config, own.as_deref()));
        }
    }
}

fn same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    real(a) == real(b)
}

/// The account's address, from the agent's own file: inside of the configuration directory, or in the home for the
/// default one.
fn email(config: &Path, home: Option<&Path>) -> Option<String> {
    let default = home.is_some_and(|home| same(&home.join(".claude"), config));
    let file = match home {
        Some(home) if default => home.join(".claude.json"),
        _ => config.join(".claude.json"),
    };
    let value: serde_json::Value = serde_json::from_slice(&store::files::read(file).ok()?).ok()?;
    value["oauthAccount"]["emailAddress"].as_str().map(str::to_owned)
}

/// The name under which macOS keeps the credentials of a configuration directory.
fn keychain_service(config: &Path, default: Option<&Path>) -> String {
    const NAME: &str = "Claude Code-credentials";
    if default.is_some_and(|default| same(default, config)) {
        return NAME.to_owned();
    }
    let hash = hex(&Sha256::digest(config.as_os_str().as_encoded_bytes()));
    format!("{NAME}-{}", &hash[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes over what the end of the transcript tells. Returns the summary's new text, where there is a better one.
pub(crate) fn complete_talk(record: &mut SessionRecord, ending: &Ending) -> Option<String> {
    let time = |said: &Said| said.at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let spoken = |said: &Said| Spoken { uuid: said.uuid.clone(), offset: said.offset, at: time(said) };
    // What rekindle asked is said to the agent like anything else; only a task it is not.
    if let Some(prompt) = ending.own_prompt.as_ref().or(ending.prompt.as_ref()) {
        record.last_prompt = Some(spoken(prompt));
        record.last_reply = ending.reply.as_ref().map(spoken);
        let mut hash = Sha256::new();
        hash.update(&prompt.text);
        hash.update(b"\n");
        hash.update(ending.reply.as_ref().map_or("", |reply| reply.text.as_str()));
        record.context_hash = Some(hex(&hash.finalize()));
    }
    record.model = ending.model.clone().or(record.model.take());
    let titled = ending.custom_title.as_deref().or(ending.agent_name.as_deref());
    let titled = titled.map(|title| shorten(&plain(&redact::redact(title)), LONGEST_NAME));
    let directory = || {
        let folder = record.project_dir.as_deref()?.file_name()?;
        Some(folder.to_string_lossy().into_owned())
    };
    let known = || record.base_name.clone().or_else(|| record.name.clone());
    record.base_name = record.given.name.clone().or(titled).or_else(known).or_else(directory);
    let (source, text) = summary(ending)?;
    if record.summary_source > Some(source) {
        return None;
    }
    record.summary_source = Some(source);
    let text = bounded(&redact::redact(&text));
    record.task = record.given.task.clone().or_else(|| first_line(&text));
    Some(text)
}

/// Takes over what is no text: of a conversation that its user wants forgotten.
pub(crate) fn complete_forgotten(record: &mut SessionRecord, ending: &Ending) {
    let time = |said: &Said| said.at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let spoken = |said: &Said| Spoken { uuid: said.uuid.clone(), offset: said.offset, at: time(said) };
    let prompt = ending.own_prompt.as_ref().or(ending.prompt.as_ref());
    record.last_prompt = prompt.map(spoken).or(record.last_prompt.take());
    record.last_reply = ending.reply.as_ref().map(spoken).or(record.last_reply.take());
    record.model = ending.model.clone().or(record.model.take());
}

/// Gives a conversation that has said nothing yet the name of its directory, and whatever its user said about it.
pub(crate) fn complete_names(record: &mut SessionRecord) {
    if let Some(name) = &record.given.name {
        record.base_name = Some(name.clone());
    }
    if let Some(task) = &record.given.task {
        record.task = Some(task.clone());
    }
    if record.base_name.is_none() && record.name.is_none() {
        let folder = record.project_dir.as_deref().and_then(Path::file_name);
        record.base_name = folder.map(|folder| folder.to_string_lossy().into_owned());
    }
    let cwd = record.cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
    let place = format!("{cwd}\n{}", record.task.as_deref().unwrap_or_default());
    record.place_hash = Some(hex(&Sha256::digest(place.as_bytes())));
}

/// The task by a prompt alone; a command is none, nor is what rekindle itself asks.
pub(crate) fn task_of(prompt: &str) -> Option<String> {
    let prompt = prompt.trim_start();
    if prompt.starts_with('/') || transcript::is_own_prompt(prompt) {
        return None;
    }
    first_line(&bounded(&redact::redact(prompt)))
}

fn summary(ending: &Ending) -> Option<(SummarySource, String)> {
    let some =
        |source, text: &Option<String>| Some((source, text.clone().filter(|text| !text.trim().is_empty())?));
    some(SummarySource::Compaction, &ending.summary)
        .or_else(|| some(SummarySource::Title, &ending.ai_title))
        .or_else(|| some(SummarySource::Prompt, &ending.prompt.as_ref().map(|prompt| prompt.text.clone())))
}

/// As much as fits on a line.
const LONGEST_NAME: usize = 80;
const LONGEST_TASK: usize = 200;

/// As much of a summary as is worth reading again: a compaction's has some pages.
const LONGEST_SUMMARY: usize = 16 * 1024;

/// Text without control characters: names end up on terminals.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn bounded(text: &str) -> String {
    if text.len() <= LONGEST_SUMMARY { text.to_owned() } else { shorten(text, LONGEST_SUMMARY) }
}

/// The first line that says something: compactions begin with a sentence about themselves and with headings.
pub(crate) fn first_line(summary: &str) -> Option<String> {
    let says_nothing = |line: &&str| {
        let line =
            line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' ' | '#' | '*' | '-'));
        line.is_empty()
            || line.starts_with("This session is being continued")
            || line.starts_with('<')
            || line.trim_end().trim_end_matches('*').ends_with(':')
    };
    let line = summary.lines().map(str::trim).find(|line| !says_nothing(line))?;
    Some(shorten(&plain(line.trim_start_matches(['-', '*', '#', ' '])), LONGEST_TASK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionKey;

    fn record() -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record.project_dir = Some("/home/u/shop".into());
        record
    }

    fn said(text: &str) -> Option<Said> {
        Some(Said { text: text.to_owned(), ..Said::default() })
    }

    #[test]
    fn a_name_is_given_or_a_title_or_the_directorys() {
        let mut record = record();
        complete_talk(&mut record, &Ending::default());
        assert_eq!(record.base_name.as_deref(), Some("shop"));
        let titled = Ending { custom_title: Some("Checkout".to_owned()), ..Ending::default() };
        complete_talk(&mut record, &titled);
        assert_eq!(record.base_name.as_deref(), Some("Checkout"));
        record.given.name = Some("Mine".to_owned());
        complete_talk(&mut record, &titled);
        assert_eq!(record.base_name.as_deref(), Some("Mine"));
    }

    #[test]
    fn a_compactions_summary_is_not_replaced_by_a_prompt() {
        let mut record = record();
        let prompt = Ending { prompt: said("fix the cart"), ..Ending::default() };
        assert_eq!(complete_talk(&mut record, &prompt).as_deref(), Some("fix the cart"));
        assert_eq!(record.task.as_deref(), Some("fix the cart"));
        let text = "This session is being continued from a previous conversation.\n\n1. Primary Request and Intent:\n   - Build the shop";
        let summed = Ending { summary: Some(text.to_owned()), ..Ending::default() };
        assert!(complete_talk(&mut record, &summed).is_some());
        assert_eq!(record.task.as_deref(), Some("Build the shop"));
        assert_eq!(complete_talk(&mut record, &prompt), None);
        assert_eq!(record.task.as_deref(), Some("Build the shop"));
    }

    #[test]
    fn what_rekindle_asks_is_no_task() {
        let own = format!("{} Nothing was half done.", transcript::RESUMED);
        assert_eq!(task_of(&own), None);
        assert_eq!(task_of("mend it").as_deref(), Some("mend it"));
        let mut record = record();
        record.task = Some("mend it".to_owned());
        let continued = Ending { own_prompt: said(&own), ..Ending::default() };
        assert_eq!(complete_talk(&mut record, &continued), None);
        assert_eq!(record.task.as_deref(), Some("mend it"));
        assert!(record.last_prompt.is_some(), "something was said in it");
    }

    #[test]
    fn the_hash_of_the_context_changes_with_the_exchange() {
        let mut record = record();
        complete_talk(&mut record, &Ending { prompt: said("a"), ..Ending::default() });
        let before = record.context_hash.clone().unwrap();
        assert_eq!(before.len(), 64);
        complete_talk(&mut record, &Ending { prompt: said("a"), reply: said("b"), ..Ending::default() });
        assert_ne!(record.context_hash, Some(before));
    }
}
