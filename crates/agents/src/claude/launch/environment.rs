//! The environment that a recorded conversation is started with.

use std::path::Path;

use super::super::are_two_accounts;
use super::super::environment::{CHILD_VARIABLES, is_replayed, is_secret};

/// The variable by which a start is known again when its SessionStart event arrives.
pub const NONCE: &str = "REKINDLE_NONCE";

/// What to change in the environment of the place where an agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// To be set.
    pub set: Vec<(String, String)>,
    /// To be taken out, wherever they come from.
    pub unset: Vec<&'static str>,
    /// What the agent had at its first start, is not on record, and does not stand ready either: secrets.
    pub missing: Vec<String>,
}

/// The terminal multiplexer sets these itself for each pane.
const PANE: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// The variable that names the agent's configuration directory.
const CONFIG: &str = "CLAUDE_CONFIG_DIR";

/// What decides whose account an agent works for, and with what. One that an agent did not have must not come from the place
/// where it is started again.
const ACCOUNT: [&str; 10] = [
    CONFIG,
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
];

/// Whose account an agent is to work for: the one that its transcript lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAccount<'a> {
    /// The one in `~/.claude`, which needs no variable.
    Default,
    /// The one in this directory.
    At(&'a Path),
    /// It is not known.
    Unknown,
}

impl<'a> StartAccount<'a> {
    /// The account of this configuration directory, for a user with this home.
    pub fn of(config: &'a Path, home: Option<&Path>) -> Self {
        let is_default = home.is_some_and(|home| !are_two_accounts(config, &home.join(".claude")));
        let is_here = config.is_dir();
        if is_default && is_here || home.is_some_and(|home| config == home.join(".claude")) {
            StartAccount::Default
        } else {
            StartAccount::At(config)
        }
    }

    /// Whether this value of `CLAUDE_CONFIG_DIR` means it.
    fn is(self, value: &str) -> bool {
        match self {
            StartAccount::At(config) => !are_two_accounts(config, Path::new(value)),
            StartAccount::Default | StartAccount::Unknown => true,
        }
    }
}

/// What stands in the place of a secret in a record.
const REDACTED: &str = "[redacted: ";

/// The environment for a start in the tmux server with this socket (`None`: outside of tmux), from what a record holds.
/// `present` tells whether that place has a variable by itself. The agent works for `account`, whatever the place has: under
/// the same id another account may have another conversation.
pub fn start_environment<'a>(
    recorded: impl IntoIterator<Item = (&'a str, &'a str)>,
    account: StartAccount<'_>,
    server: Option<&Path>,
    nonce: &str,
    present: impl Fn(&str) -> bool,
) -> Start {
    let mut recorded: Vec<(&str, &str)> = recorded.into_iter().collect();
    let was_in =
        recorded.iter().find(|(name, _)| *name == "TMUX").and_then(|(_, value)| value.split(',').next());
    let same_server = server.is_some_and(|server| was_in.is_some_and(|socket| Path::new(socket) == server));
    let mut start = Start { unset: CHILD_VARIABLES.to_vec(), ..Start::default() };
    if server.is_none() {
        start.unset.extend(PANE);
    }
    // Of an agent whose environment is not on record it is not known what it did not have.
    if !recorded.is_empty() {
        let had = |name: &&str| recorded.iter().any(|(known, _)| known == name);
        start.unset.extend(ACCOUNT.iter().filter(|name| !had(name)));
    }
    recorded.retain(|(name, value)| *name != CONFIG || account.is(value));
    let is_named = recorded.iter().any(|(name, _)| *name == CONFIG);
    match account {
        StartAccount::At(config) if !is_named => {
            start.unset.retain(|name| *name != CONFIG);
            start.set.push((CONFIG.to_owned(), config.to_string_lossy().into_owned()));
        }
        StartAccount::Default if !is_named && !start.unset.contains(&CONFIG) => start.unset.push(CONFIG),
        _ => {}
    }
    for (name, value) in recorded {
        let dropped = name == NONCE
            || !is_replayed(name)
            || CHILD_VARIABLES.contains(&name)
            || PANE.contains(&name)
            || (name.starts_with("TMUX") && !same_server)
            // The name of the terminal is the pane's, unless the agent already ran in one.
            || (name == "TERM" && server.is_some() != was_in.is_some());
        if dropped {
            continue;
        }
        if value.contains(REDACTED) || (value.is_empty() && is_secret(name)) {
            if !present(name) {
                start.missing.push(name.to_owned());
            }
        } else {
            start.set.push((name.to_owned(), value.to_owned()));
        }
    }
    start.set.push((NONCE.to_owned(), nonce.to_owned()));
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: [(&str, &str); 12] = [
        ("ANTHROPIC_API_KEY", ""),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "9000"),
        ("CLAUDE_CODE_SESSION_ID", "x"),
        ("HTTPS_PROXY", "http://[redacted: login]@p:1"),
        ("LANG", ""),
        ("PATH", "/bin"),
        ("REKINDLE_NONCE", "old"),
        ("TERM", "tmux-256color"),
        ("TMUX", "/run/t/work,17,0"),
        ("TMUX_PANE", "%4"),
        ("TMUX_TMPDIR", "/run/t"),
    ];

    fn names(start: &Start) -> Vec<&str> {
        start.set.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// F-others-7
    #[test]
    fn settings_are_set_children_go_and_secrets_are_told() {
        let start =
            start_environment(RECORD, StartAccount::Unknown, Some(Path::new("/run/t/other")), "new", |_| {
                false
            });
        assert_eq!(
            names(&start),
            ["CLAUDE_CODE_MAX_OUTPUT_TOKENS", "LANG", "PATH", "TERM", "REKINDLE_NONCE"]
        );
        assert_eq!(start.set.last().map(|(_, value)| value.as_str()), Some("new"));
        assert_eq!(start.missing, ["ANTHROPIC_API_KEY", "HTTPS_PROXY"]);
        for name in
            ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_RESUME_PROMPT", "CLAUDE_ENV_FILE"]
        {
            assert!(start.unset.contains(&name), "{name}");
        }
        assert!(!start.unset.contains(&"TMUX"));
        assert!(start.unset.contains(&"CLAUDE_CONFIG_DIR"), "it worked for the first account");
        assert!(!start.unset.contains(&"ANTHROPIC_API_KEY"), "which has this key");
        let nothing = start_environment([], StartAccount::Unknown, None, "new", |_| false);
        assert!(!nothing.unset.contains(&"CLAUDE_CONFIG_DIR"), "nobody knows");
    }

    #[test]
    fn an_agent_works_for_the_account_of_its_transcript_whatever_is_recorded_and_whatever_the_place_has() {
        let dir = tempfile::tempdir().unwrap();
        let (home, work) = (dir.path().to_path_buf(), dir.path().join("work"));
        for account in [home.join(".claude"), work.clone()] {
            std::fs::DirBuilder::new().recursive(true).create(account.join("projects")).unwrap();
        }
        let work_text = work.to_string_lossy().into_owned();
        let check = |recorded: &[(&str, &str)], config: &Path, set: Option<&str>, unset: bool| {
            let account = StartAccount::of(config, Some(&home));
            let start = start_environment(recorded.iter().copied(), account, None, "n", |_| true);
            let named = start.set.iter().find(|(name, _)| name == CONFIG).map(|(_, value)| value.as_str());
            assert_eq!((named, start.unset.contains(&CONFIG)), (set, unset), "{recorded:?} {config:?}");
        };
        let default = home.join(".claude");
        check(&[], &work, Some(&work_text), false);
        check(&[], &default, None, true);
        check(&[("LANG", "C")], &work, Some(&work_text), false);
        check(&[(CONFIG, &work_text)], &work, Some(&work_text), false);
        check(&[(CONFIG, &default.to_string_lossy())], &work, Some(&work_text), false);
        check(&[(CONFIG, "work")], &home.join("gone"), Some("work"), false);
    }

    #[test]
    fn what_the_place_has_is_not_missing() {
        let start =
            start_environment(RECORD, StartAccount::Unknown, None, "n", |name| name == "ANTHROPIC_API_KEY");
        assert_eq!(start.missing, ["HTTPS_PROXY"]);
    }

    #[test]
    fn tmux_of_the_same_server_keeps_its_folder_and_elsewhere_nothing_of_it() {
        let start =
            start_environment(RECORD, StartAccount::Unknown, Some(Path::new("/run/t/work")), "n", |_| true);
        assert!(names(&start).contains(&"TMUX_TMPDIR") && !names(&start).contains(&"TMUX_PANE"));
        let start = start_environment(RECORD, StartAccount::Unknown, None, "n", |_| true);
        assert!(!names(&start).iter().any(|name| name.starts_with("TMUX") || *name == "TERM"));
        assert!(start.unset.contains(&"TMUX") && start.unset.contains(&"TMUX_PANE"));
    }
}
