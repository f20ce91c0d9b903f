//! What was half done, in words: which file was being written, which command was running.

use crate::clean::clean;
use crate::cut::beginning;
use crate::exchange::ToolCall;

/// A command may be a whole script.
const LINES: usize = 12;
const CHARACTERS: usize = 1_200;

/// What was half done, a line or more for each; nothing where nothing was. A call without an answer ran in part, was
/// about to run or waited for its user: the transcript looks the same.
pub fn half_done(open: &[ToolCall]) -> Option<String> {
    let lines: Vec<String> = open.iter().map(|deed| format!("- {}", sentence(deed))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What was half done, on one line.
pub(crate) fn in_short(open: &[ToolCall], most: usize) -> Option<String> {
    let lines: Vec<String> = open.iter().map(|deed| clean(&deed.line())).collect();
    (!lines.is_empty()).then(|| crate::cut::shorten(&lines.join("; "), most))
}

fn sentence(deed: &ToolCall) -> String {
    let what = match deed.tool.as_str() {
        "Bash" | "PowerShell" => {
            "A command had not answered; it may have run in part, or not at all".to_owned()
        }
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            format!("A file was being written ({}); it may be old, new or cut off", deed.tool)
        }
        "Task" | "Agent" => "A subagent was at work, and its result is lost".to_owned(),
        "" => "A tool had not answered".to_owned(),
        tool => format!("The tool {tool} had not answered"),
    };
    let about = clean(&beginning(&deed.about, LINES, CHARACTERS));
    let lines: Vec<&str> = about.trim().lines().collect();
    match lines.as_slice() {
        [] => format!("{what}."),
        [only] => format!("{what}: {only}"),
        several => format!("{what}:\n    {}", several.join("\n    ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Outcome;

    #[test]
    fn says_which_file_and_which_command() {
        let deed = |tool: &str, about: &str| ToolCall {
            tool: tool.into(),
            about: about.into(),
            outcome: Outcome::Open,
        };
        let open = [
            deed("Write", "/p/cart.rs"),
            deed("Bash", "make && PGPASSWORD=hunter2hunter ./load\nmake test"),
            deed("mcp__shop__sell", ""),
        ];
        let expect = "- A file was being written (Write); it may be old, new or cut off: /p/cart.rs
- A command had not answered; it may have run in part, or not at all:
    make && PGPASSWORD=[redacted: password] ./load
    make test
- The tool mcp__shop__sell had not answered.";
        assert_eq!(half_done(&open).unwrap(), expect);
        assert_eq!(half_done(&[]), None);
        assert_eq!(
            in_short(&open, 70).unwrap(),
            "Write: /p/cart.rs; Bash: make && PGPASSWORD=[redacted: password]…"
        );
    }
}
