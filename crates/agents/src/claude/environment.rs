//! Which variables of an agent's environment are its user's settings, and which the agent sets for its own children.

use std::ffi::OsString;

/// What an agent sets for its children, its background jobs and its own respawns. An agent that inherits the first ones
/// may save nothing; those about resuming would submit something again. One list for all versions: they come from the
/// agent above, whose version is another one. Measured in hooks of 2.1.31, 2.1.100 and 2.1.325; the rest 2.1.325 takes
/// out of the environment itself before it starts another session (read in its program).
pub const CHILD_VARIABLES: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "AI_AGENT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_SESSION_BEGAN_AS_COPY",
    "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
    "CLAUDE_CODE_BRIDGE_SESSION_ID",
    "CLAUDE_CODE_EVAL_INTERVIEW_SESSION",
    "CLAUDE_CODE_HOST_WORKTREE",
    "CLAUDE_CODE_HOST_WORKTREE_FENCE",
    "CLAUDE_CODE_RELAUNCH_HOME_TRUST",
    "CLAUDE_CODE_RELAUNCH_RESUME_HINT_FLAGS",
    "CLAUDE_CODE_RESUME_FROM_SESSION",
    "CLAUDE_CODE_RESUME_HINT_COMMAND",
    "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
    "CLAUDE_CODE_RESUME_INTERRUPTED_TURN_MAX_AGE_MS",
    "CLAUDE_CODE_RESUME_PROMPT",
    "CLAUDE_CODE_RESUME_REASON",
    "CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS",
    "CLAUDE_CODE_RESUME_SOURCE_ALIVE",
    "CLAUDE_CODE_WORKER_EPOCH",
    "CLAUDE_BG_BACKEND",
    "CLAUDE_BG_ISOLATION",
    "CLAUDE_BG_SOURCE",
    "CLAUDE_JOB_DIR",
];

/// Settings that a restart needs and that are no secrets by their nature.
const KEPT: [&str; 35] = [
    "PATH",
    "HOME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "USER",
    "TZ",
    "EDITOR",
    "VISUAL",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "TMUX",
    "TMUX_PANE",
    "TMUX_TMPDIR",
    "REKINDLE_STATE_DIR",
    "REKINDLE_CONFIG",
    "REKINDLE_NONCE",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "NODE_EXTRA_CA_CERTS",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_VERSION",
    "NVM_DIR",
    "ASDF_DIR",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "JAVA_HOME",
    "BD_ACTOR",
    "BEADS_ACTOR",
];

/// Beginnings of the same.
const KEPT_PREFIXES: [&str; 6] = ["CLAUDE_CODE_", "CLAUDE_CONFIG_", "LC_", "DISABLE_", "PYENV_", "MISE_"];

/// Proxies may hold credentials: whoever stores them looks first.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

/// Words in the name of a variable whose value is nobody's business.
const SECRET_WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD"];

/// The variables that a restart would need. Of secrets only the name is kept, with an empty value, so that a restore can
/// say what is missing.
pub fn launch_variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for (name, value) in all {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if CHILD_VARIABLES.contains(&name) {
            continue;
        }
        // `CLAUDE_CODE_MAX_OUTPUT_TOKENS=9000` is a setting.
        let number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        // A login in an address: the value is never written down, not even before it is redacted.
        let login = value.contains("://") && value.contains('@');
        if (is_secret(name) && !number) || login && (is_proxy(name) || name.ends_with("_URL")) {
            kept.push((name.to_owned(), String::new()));
        } else if KEPT.contains(&name)
            || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || is_proxy(name)
        {
            kept.push((name.to_owned(), value.to_owned()));
        }
    }
    kept.sort();
    kept
}

/// Variables by which a loader or an interpreter runs code before the program itself. They are never recorded, and never set
/// again whatever a record says.
const LOADERS: [&str; 14] = [
    "BASH_ENV",
    "BUN_OPTIONS",
    "ENV",
    "GCONV_PATH",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYOPT",
];

/// Beginnings of the same.
const LOADER_PREFIXES: [&str; 3] = ["LD_", "DYLD_", "BASH_FUNC_"];

/// Whether a recorded variable may be set again: one of those that a restart needs, and none that runs code.
pub(super) fn is_replayed(name: &str) -> bool {
    let loader = LOADERS.contains(&name) || LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let kept = KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !loader && (kept || is_proxy(name) || is_secret(name))
}

fn is_proxy(name: &str) -> bool {
    PROXIES.contains(&name.to_ascii_uppercase().as_str())
}

/// Whether the value of a variable that agents read is nobody's business.
pub(super) fn is_secret(name: &str) -> bool {
    let agents = name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_") || name.starts_with("AWS_");
    agents && SECRET_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_runs_code_is_set_again() {
        for name in
            ["LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS", "BASH_ENV", "BASH_FUNC_x%%", "PYTHONPATH", "OLDPWD"]
        {
            assert!(!is_replayed(name), "{name}");
        }
        for name in [
            "PATH",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "LC_ALL",
            "https_proxy",
            "ANTHROPIC_API_KEY",
            "BD_ACTOR",
        ] {
            assert!(is_replayed(name), "{name}");
        }
    }

    /// F-resume-13
    #[test]
    fn settings_stay_children_go_and_secrets_leave_their_name() {
        let all = [
            ("PATH", "/bin"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", "x"),
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "9000"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("ANTHROPIC_API_KEY", "value"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "value"),
            ("https_proxy", "http://p:1"),
            ("HTTP_PROXY", "http://me:word@p:1"),
            ("GITHUB_TOKEN", "value"),
            ("OLDPWD", "/x"),
        ];
        let all = all.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept = launch_variables(all);
        let kept: Vec<(&str, &str)> =
            kept.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            kept,
            [
                ("ANTHROPIC_API_KEY", ""),
                ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "9000"),
                ("CLAUDE_CODE_OAUTH_TOKEN", ""),
                ("CLAUDE_CODE_USE_BEDROCK", "1"),
                ("CLAUDE_CONFIG_DIR", "/c"),
                ("HTTP_PROXY", ""),
                ("PATH", "/bin"),
                ("https_proxy", "http://p:1"),
            ]
        );
    }
}
