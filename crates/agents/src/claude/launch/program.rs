//! Which of the words of a command line start the agent, and where its own arguments begin.

use std::path::Path;

use super::super::versions::parse_version;

/// How many of the words are the program: the agent itself and what runs it (`npx`, `node`, `env A=B`). `None` where no
/// agent is started.
pub(super) fn program_length(words: &[String]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        if is_agent(word) {
            return Some(at + 1);
        }
        at += 1 + match name(word) {
            "env" => variables(words.get(at + 1..)?),
            "npx" | "bunx" | "node" | "nodejs" | "bun" => switches(words.get(at + 1..)?),
            "pnpm" | "yarn" | "npm" => 1, // `dlx`, `exec`
            "exec" | "command" | "nohup" | "setsid" => 0,
            _ => return None,
        };
        // `bun x PACKAGE`, `npm exec -- PACKAGE`.
        while words.get(at).is_some_and(|word| word == "x" || word == "--") {
            at += 1;
        }
    }
}

fn name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

/// The agent by its name, its npm package, that package's script, or the native installer's file.
fn is_agent(word: &str) -> bool {
    let package = word
        .split_once("@anthropic-ai/claude-code")
        .is_some_and(|(before, after)| before.is_empty() && (after.is_empty() || after.starts_with('@')));
    let native = || word.contains("/claude/versions/") && parse_version(name(word)).is_some();
    package
        || matches!(name(word), "claude" | "claude.exe")
        || word.ends_with("claude-code/cli.js")
        || native()
}

/// Settings of `env` before the program: `A=B`, `-u NAME`, `-i`.
fn variables(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "-u" | "--unset" => at += 2,
            other if other.starts_with('-') || other.contains('=') => at += 1,
            _ => break,
        }
    }
    at
}

/// Switches of a script runner before the script. One that takes a value is not understood, and then nothing is started.
fn switches(words: &[String]) -> usize {
    words.iter().take_while(|word| word.starts_with('-') && word.as_str() != "--").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_part_of_the_program() {
        let check = |line: &str, program: Option<&str>| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = program_length(&words).map(|length| words[..length].join(" "));
            assert_eq!(found.as_deref(), program, "{line}");
        };
        check("claude --model x", Some("claude"));
        check("/home/u/.local/bin/claude", Some("/home/u/.local/bin/claude"));
        check("npx claude -p x", Some("npx claude"));
        check(
            "npx -y @anthropic-ai/claude-code@2.1.100 -c",
            Some("npx -y @anthropic-ai/claude-code@2.1.100"),
        );
        check("pnpm dlx @anthropic-ai/claude-code", Some("pnpm dlx @anthropic-ai/claude-code"));
        check("npm exec -- @anthropic-ai/claude-code", Some("npm exec -- @anthropic-ai/claude-code"));
        check("bun x @anthropic-ai/claude-code", Some("bun x @anthropic-ai/claude-code"));
        let script = "node --max-old-space-size=4096 /n/node_modules/@anthropic-ai/claude-code/cli.js";
        check(&format!("{script} --ide"), Some(script));
        let native = "/home/u/.local/share/claude/versions/2.1.325";
        check(&format!("{native} --ide"), Some(native));
        check("env -u TMUX A=B claude x", Some("env -u TMUX A=B claude"));
        check("vim claude", None);
        check("node server.js", None);
        check("npx", None);
        check("bash -c claude", None);
        check("@anthropic-ai/claude-code-linux-x64", None);
        check("", None);
    }
}
