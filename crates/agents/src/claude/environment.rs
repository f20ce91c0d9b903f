//! Which variables of an agent's environment are its user's settings, and which the agent sets for its own children.

use std::ffi::OsString;

/// What an agent sets for its children. An agent that inherits these saves nothing (FACTS: measured on every version).
pub const CHILD_VARIABLES: [&str; 15] = [
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
];

/// Settings that a restart needs and that are no secrets by their nature.
const KEPT: [&str; 33] = [
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
        let upper = name.to_ascii_uppercase();
        let agents =
            name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_") || name.starts_with("AWS_");
        if agents && SECRET_WORDS.iter().any(|word| upper.contains(word)) {
            kept.push((name.to_owned(), String::new()));
        } else if KEPT.contains(&name)
            || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || PROXIES.contains(&upper.as_str())
        {
            kept.push((name.to_owned(), value.to_owned()));
        }
    }
    kept.sort();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_children_go_and_secrets_leave_their_name() {
        let all = [
            ("PATH", "/bin"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", "x"),
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("ANTHROPIC_API_KEY", "value"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "value"),
            ("https_proxy", "http://p:1"),
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
                ("CLAUDE_CODE_OAUTH_TOKEN", ""),
                ("CLAUDE_CODE_USE_BEDROCK", "1"),
                ("CLAUDE_CONFIG_DIR", "/c"),
                ("PATH", "/bin"),
                ("https_proxy", "http://p:1"),
            ]
        );
    }
}
