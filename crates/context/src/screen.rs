//! A conversation as exchanges, read from what the agent's terminal showed.
//!
//! Marks stand in the first column (measured on 2.1.31, 2.1.100 and 2.1.325): `❯` before a prompt, `●` (`⏺` on macOS)
//! before words and tools, a line of `─` above and below the composer and above a dialog, a star before what the agent is
//! at. What belongs to a mark is indented by two columns, a result behind `⎿` by five. A tool that runs blinks: its mark
//! is there only half of the time.

use crate::exchange::{Exchange, Origin, Outcome, Step, ToolCall};
use crate::exchanges::{Exchanges, open_at_end};

impl Exchanges {
    /// Reads a screen and what scrolled off it; nothing where it shows no conversation.
    pub fn of_screen(text: &str) -> Option<Exchanges> {
        // Before `❯` the agent had `>`, which is a shell's mark too.
        let prompt = if text.lines().any(|line| line.starts_with('❯')) { '❯' } else { '>' };
        let mut reader = Reader {
            prompt,
            exchanges: Vec::new(),
            inside: Inside::Nothing,
            lines: Vec::new(),
            composed: None,
        };
        let (mut ruled, mut begun) = (false, None);
        for line in text.lines().map(str::trim_end) {
            let composer = ruled && line.starts_with(prompt);
            ruled = is_rule(line);
            if ruled || composer {
                reader.enter(Inside::Nothing);
            } else {
                reader.line(line);
            }
            if composer {
                reader.composed = Some((begun, reader.exchanges.len()));
            } else if reader.inside == Inside::Nothing && is_banner(line) {
                begun = Some(reader.exchanges.len());
            }
        }
        reader.finish()
    }
}

/// What the lines belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Prompt,
    Ran,
    Words,
    Result,
}

struct Reader<'a> {
    prompt: char,
    exchanges: Vec<Exchange>,
    inside: Inside,
    lines: Vec<&'a str>,
    /// How many exchanges there were above the agent's banner, and above the last composer below it.
    composed: Option<(Option<usize>, usize)>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) {
        let marked = |mark: char| line.strip_prefix(mark)?.strip_prefix(' ');
        if let Some(prompt) = marked(self.prompt) {
            self.begin(Inside::Prompt, prompt);
        } else if let Some(command) = marked('!') {
            self.begin(Inside::Ran, command);
        } else if let Some(words) = marked('●').or_else(|| marked('⏺')) {
            self.begin(Inside::Words, words);
        } else if let Some(result) = line.strip_prefix("  ⎿") {
            // Behind anything else it is a tip.
            if matches!(self.inside, Inside::Words | Inside::Result) {
                self.begin(Inside::Result, result.trim_start());
            } else {
                self.enter(Inside::Nothing);
            }
        } else if line.is_empty() {
            self.lines.push("");
        } else if let Some(more) = line.strip_prefix("  ") {
            let behind_a_blank = self.lines.last().is_some_and(|last| last.is_empty());
            let blinking = behind_a_blank
                && matches!(self.inside, Inside::Words | Inside::Result)
                && !more.starts_with(' ')
                && (deed(more).is_some() || running(more).is_some());
            if blinking {
                self.begin(Inside::Words, more);
            } else {
                self.lines.push(if self.inside == Inside::Result { dedent(more) } else { more });
            }
        } else {
            self.enter(Inside::Nothing);
        }
    }

    fn begin(&mut self, inside: Inside, line: &'a str) {
        self.enter(inside);
        self.lines.push(line);
    }

    /// Ends what the lines belonged to.
    fn enter(&mut self, inside: Inside) {
        let lines = std::mem::take(&mut self.lines).join("\n");
        let text = lines.trim();
        let left = std::mem::replace(&mut self.inside, inside);
        match left {
            _ if text.is_empty() => {}
            Inside::Nothing => {}
            Inside::Prompt => self.exchange(Some(without_hint(text).to_owned())),
            Inside::Ran => self.step(Step::Ran(text.to_owned())),
            Inside::Words => {
                self.step(
                    running(text).or_else(|| deed(text)).map_or(Step::Said(text.to_owned()), Step::Did),
                );
            }
            Inside::Result => self.result(text),
        }
    }

    fn exchange(&mut self, prompt: Option<String>) {
        self.exchanges.push(Exchange { at: None, prompt, steps: Vec::new(), origin: Origin::Screen });
    }

    fn step(&mut self, step: Step) {
        if self.exchanges.is_empty() {
            self.exchange(None);
        }
        if let Some(last) = self.exchanges.last_mut() {
            last.steps.push(step);
        }
    }

    fn result(&mut self, text: &str) {
        let last = self.exchanges.last_mut().and_then(|exchange| exchange.steps.last_mut());
        let Some(Step::Did(deed)) = last else { return };
        if (deed.tool.is_empty() || deed.about.is_empty())
            && let Some(command) = text.lines().next().and_then(|line| line.strip_prefix("$ "))
        {
            // The command that runs stands in the place of its result, on 2.1.325 with the time it has taken.
            let timed = command.strip_suffix("s)").and_then(|command| command.rsplit_once(" ("));
            command_without_time(timed, command).clone_into(&mut deed.about);
            "Bash".clone_into(&mut deed.tool);
        } else if !text.starts_with("Running…") && !text.starts_with("Waiting…") {
            deed.outcome = Outcome::Done(text.to_owned());
        }
    }

    fn finish(mut self) -> Option<Exchanges> {
        self.enter(Inside::Nothing);
        // Many shells have the agent's mark too. Their commands get no answer of an agent, and stand above no composer.
        let (begun, above) = self.composed.unwrap_or_default();
        let answered = self.exchanges[..above].iter().rposition(|exchange| !exchange.steps.is_empty());
        // Prompts wait in a row while the agent is at work. What follows its banner or an answer was said to it; where
        // neither is to be seen, the last one was.
        let theirs = begun.max(answered.map(|at| at + 1)).unwrap_or(above.saturating_sub(1));
        let mut place = 0;
        self.exchanges.retain(|exchange| {
            place += 1;
            !exchange.steps.is_empty() || (theirs + 1..=above).contains(&place)
        });
        let last = self.exchanges.len().checked_sub(1)?;
        for (at, exchange) in self.exchanges.iter_mut().enumerate() {
            let end = exchange.steps.len();
            for (step, next) in exchange.steps.iter_mut().zip(1..) {
                // Only the last thing on a screen can still be at work.
                if let Step::Did(deed) = step
                    && deed.outcome == Outcome::Open
                    && (at, next) != (last, end)
                {
                    deed.outcome = Outcome::Done(String::new());
                }
            }
        }
        let open = open_at_end(&self.exchanges);
        Some(Exchanges { exchanges: self.exchanges, open })
    }
}

fn command_without_time<'a>(timed: Option<(&'a str, &str)>, whole: &'a str) -> &'a str {
    match timed {
        Some((command, time)) if time.chars().all(|c| c.is_ascii_digit() || c == 'm' || c == ' ') => command,
        _ => whole,
    }
}

/// Below a prompt that waits until the agent is done, 2.1.325 says how to send it at once.
fn without_hint(prompt: &str) -> &str {
    match prompt.rsplit_once('\n') {
        Some((said, hint)) if hint.starts_with("ctrl+") && hint.ends_with(" to send now") => said.trim_end(),
        _ => prompt,
    }
}

/// The first line of an agent, in a frame or beside its picture.
fn is_banner(line: &str) -> bool {
    let version = line.split_once("Claude Code v").map(|(_, version)| version);
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// A line across the terminal.
fn is_rule(line: &str) -> bool {
    const SHORTEST: usize = 20;
    line.chars().count() >= SHORTEST && line.chars().all(|c| c == '─')
}

/// `Bash(make test)`, also over several lines; `server - tool (MCP)(…)`.
fn deed(text: &str) -> Option<ToolCall> {
    let call = text.strip_suffix(')')?;
    let open = call.find("(MCP)(").map(|at| at + "(MCP)".len()).or_else(|| call.find('('))?;
    let (tool, about) = (&call[..open], &call[open + 1..]);
    let tool = tool.strip_suffix("(MCP)").map_or(tool, str::trim_end);
    let of_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let is_name = tool.starts_with(|c: char| c.is_ascii_uppercase()) && tool.chars().all(of_name)
        || tool.contains(" - ") && tool.chars().all(|c| of_name(c) || c == ' ');
    is_name.then(|| ToolCall { tool: tool.to_owned(), about: about.to_owned(), outcome: Outcome::Open })
}

/// Tools without their names. How 2.1.325 shows commands: `Running`, `Running · 5s`, and `Ran 2 shell commands` when they are done.
fn running(text: &str) -> Option<ToolCall> {
    let deed = |about: &str, outcome| ToolCall { tool: "Bash".to_owned(), about: about.to_owned(), outcome };
    if text == "Running" || text.starts_with("Running · ") {
        return Some(deed("", Outcome::Open));
    }
    if let Some(about) = text.lines().next()?.strip_suffix(" (ctrl+o to expand)") {
        // Several reads and searches in one line: `Reading 1 file…`, then `Read 1 file`.
        let outcome = if about.ends_with('…') { Outcome::Open } else { Outcome::Done(String::new()) };
        return Some(ToolCall { tool: String::new(), ..deed(about, outcome) });
    }
    // How it begins to show them, before it says how to see more.
    if text.ends_with('…') && counts(text, &["Running", "Reading", "Searching", "Listing"]) {
        return Some(ToolCall { tool: String::new(), ..deed(text, Outcome::Open) });
    }
    let commands = text.ends_with("shell command") || text.ends_with("shell commands");
    (commands && counts(text, &["Ran"])).then(|| deed(text, Outcome::Done(String::new())))
}

/// One line, with one of these words and a number first: `Ran 2 shell commands`, `Reading 2 files…`.
fn counts(text: &str, doing: &[&str]) -> bool {
    let (first, rest) = text.split_once(' ').unwrap_or_default();
    let number = rest.split(' ').next().unwrap_or_default();
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits && doing.contains(&first) && !text.contains('\n')
}

/// A line of a result, whose first line stands three columns further than a tool's.
fn dedent(line: &str) -> &str {
    line.strip_prefix("   ").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Exchange> {
        Exchanges::of_screen(text).unwrap().exchanges
    }

    #[test]
    fn what_is_no_conversation_is_nothing() {
        for text in [
            "",
            "❯ ls\nsrc\n❯ ",
            "> quoted\n  text",
            "$ make\ncc -o a a.c\n$ ",
            "~/project > ls\nsrc",
            "* a list\n  of things",
        ] {
            assert_eq!(Exchanges::of_screen(text), None, "{text}");
        }
    }

    #[test]
    fn prompts_of_older_agents_and_marks_of_macs_are_known() {
        let read = read(
            "> mend it\n  please\n\n⏺ Mended.\n\n  It works.\n\n⏺ Bash(make\n      test)\n  ⎿  ok\n     all\n",
        );
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].prompt.as_deref(), Some("mend it\nplease"));
        let deed = ToolCall {
            tool: "Bash".into(),
            about: "make\n    test".into(),
            outcome: Outcome::Done("ok\nall".into()),
        };
        assert_eq!(read[0].steps, [Step::Said("Mended.\n\nIt works.".into()), Step::Did(deed)]);
    }

    #[test]
    fn what_was_typed_and_not_sent_is_no_prompt() {
        let rule = "─".repeat(40);
        let text = format!(
            "❯ one\n\n● Done(ish) and more.\n\n{rule}\n❯ not sent\n  yet\n{rule}\n  ? for shortcuts\n$ ls\n"
        );
        let read = read(&text);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].steps, [Step::Said("Done(ish) and more.".into())]);
    }

    #[test]
    fn a_prompt_without_an_answer_counts_above_the_composer() {
        let rule = "─".repeat(40);
        let read = read(&format!(
            "❯ cd project\n❯ claude\n\n❯ hi\n\n● Hi.\n\n❯ mend it\n\n✻ Musing…\n\n{rule}\n❯ \n{rule}\n❯ ls\n"
        ));
        let prompts: Vec<_> = read.iter().map(|exchange| exchange.prompt.as_deref()).collect();
        assert_eq!(prompts, [Some("hi"), Some("mend it")]);
    }

    /// As 2.1.325 showed it when it was killed for lack of memory.
    #[test]
    fn prompts_that_wait_in_a_row_all_count() {
        let rule = "─".repeat(40);
        let screen = |banner: &str| {
            let text = format!(
                "❯ claude\n{banner}\n\n❯ ask-00 please\n\n❯ ask-01 and more\n  ctrl+x ctrl+s to send now\n\n✶ Booping…\n\n{rule}\n❯ Killed\n"
            );
            read(&text).into_iter().filter_map(|exchange| exchange.prompt).collect::<Vec<_>>()
        };
        for banner in [" ▐▛███▛█   Claude Code v2.1.325", "╭─── Claude Code v2.1.100 ───╮"]
        {
            assert_eq!(screen(banner), ["ask-00 please", "ask-01 and more"], "{banner}");
        }
        assert_eq!(screen("● Hi.")[1..], ["ask-00 please", "ask-01 and more"]);
        assert_eq!(screen("Welcome to Claude Code v of tomorrow"), ["ask-01 and more"]);
    }

    #[test]
    fn a_tool_that_has_just_begun_is_at_work() {
        for (text, at_work) in [
            ("Running 1 shell command…", true),
            ("Reading 2 files, running 1 shell command…", true),
            ("Running 1 shell command… (ctrl+o to expand)", true),
            ("Running the tests now…", false),
            ("Fixing 3 bugs…", false),
            ("Running 1 command\nafter another…", false),
        ] {
            let open = running(text).is_some_and(|deed| deed.outcome == Outcome::Open);
            assert_eq!(open, at_work, "{text}");
        }
    }

    #[test]
    fn tools_are_known_by_their_form() {
        let name = |text: &str| deed(text).map(|deed| format!("{}|{}", deed.tool, deed.about));
        assert_eq!(name("Read(src/a.rs)").as_deref(), Some("Read|src/a.rs"));
        assert_eq!(name("shop - sell (MCP)(id: 5)").as_deref(), Some("shop - sell|id: 5"));
        assert_eq!(name("I did it (really)"), None);
        assert_eq!(name("Fixed the call of f(x)"), None);
        assert_eq!(name("Bash(make"), None);
    }
}
