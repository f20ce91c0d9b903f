//! The questions that stop a start nobody watches, recognised by their own words.
//!
//! Where the cursor stands says nothing: the trust question has it on "Yes" in 2.1.31 and 2.1.100 and on "No, exit" in
//! 2.1.325 (measured). So nothing is ever answered but by the text of a choice, and nothing but the agent's own question
//! how to resume: the others are the user's to answer.

/// A question on an agent's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialog {
    /// Whether to use the API key of the environment.
    ApiKey,
    /// Whether the folder is trusted.
    TrustFolder,
    /// Whether an old, large conversation is resumed whole or from a summary.
    ResumeOrSummary,
    /// Whether its user takes the blame for a mode that asks nothing.
    BypassWarning,
    /// Whether a server of the project's `.mcp.json` may run.
    NewMcpServer,
    /// Whether `CLAUDE.md` may import files from elsewhere.
    ExternalImports,
    /// What to do about settings that cannot be read.
    SettingsError,
    /// Whether an organisation's settings are accepted.
    ManagedSettings,
    /// Whether channels under development are loaded.
    DevelopmentChannels,
    /// Whether another model is taken.
    SwitchModel,
    /// How it shall look: the first start of all.
    Theme,
    /// How to log in.
    Login,
    /// A question that is none of these.
    Other,
}

/// Each with words of its title and words of a choice; both must be there. All but the last five were seen on the
/// screens of 2.1.31, 2.1.100 and 2.1.325 (the resume question on the last two); those are read from the program.
const KNOWN: [(Dialog, &str, &str); 12] = [
    (Dialog::ApiKey, "Do you want to use this API key?", "Yes"),
    (Dialog::TrustFolder, "Accessing workspace:", "Yes, I trust this folder"),
    (Dialog::ResumeOrSummary, "Resuming the full session", AS_IT_IS),
    (Dialog::BypassWarning, "Claude Code running in Bypass Permissions mode", "Yes, I accept"),
    (Dialog::NewMcpServer, "New MCP server found in", "Continue without using this MCP server"),
    (Dialog::ExternalImports, "Allow external CLAUDE.md file imports?", "No, disable external imports"),
    (Dialog::SettingsError, "Settings Error", "Exit and fix manually"),
    (Dialog::ManagedSettings, "Managed settings require approval", "Yes, I trust these settings"),
    (Dialog::DevelopmentChannels, "Loading development channels", "I am using this for local development"),
    (Dialog::SwitchModel, "Switch model?", "Yes, switch to"),
    (Dialog::Theme, "Choose the text style that looks best with your terminal", "Dark mode"),
    (Dialog::Login, "Select login method:", "Claude account with subscription"),
];

const AS_IT_IS: &str = "Resume full session as-is";

/// The foot of every question. A prompt that quotes one has the composer below it, and no such foot.
const FOOT: [&str; 2] = ["Enter to confirm", "Esc to cancel"];
/// Questions of the very first start have no foot.
const FOOTLESS: [Dialog; 2] = [Dialog::Theme, Dialog::Login];

const CURSOR: char = '❯';

impl Dialog {
    /// The choice that rekindle may make in the user's place.
    pub fn answer(self) -> Option<&'static str> {
        // Whoever restores wants the conversation back, not a summary of it.
        (self == Dialog::ResumeOrSummary).then_some(AS_IT_IS)
    }
}

/// The question that a screen ends with; `None` where it ends otherwise.
pub fn recognise(screen: &str) -> Option<Dialog> {
    let block = question(screen);
    let text = words(&block);
    // Two lines: a narrow pane wraps the foot too.
    let end = words(&block[block.len().saturating_sub(2)..]);
    let foot = FOOT.iter().any(|foot| end.contains(foot));
    let known = KNOWN.iter().filter(|(dialog, ..)| foot || FOOTLESS.contains(dialog));
    let found = known.into_iter().find(|(_, title, choice)| text.contains(title) && text.contains(choice));
    match found {
        Some((dialog, ..)) if foot || !choices(screen).is_empty() => Some(*dialog),
        _ => foot.then_some(Dialog::Other),
    }
}

/// The lines after the last rule that goes across the screen, without empty ones. A question of the agent stands under
/// such a rule or has the screen to itself; the conversation above it may say anything.
fn question(screen: &str) -> Vec<&str> {
    let lines: Vec<&str> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let is_rule = |line: &&str| line.trim_start().chars().all(|c| c == '─' || c == '▔');
    let after = lines.iter().rposition(is_rule).map_or(0, |at| at + 1);
    lines[after..].to_vec()
}

/// What the lines say, without their breaks: narrow panes wrap.
fn words(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// One choice of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    label: String,
    focused: bool,
}

/// The next step towards an answer. After each one the screen must be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Press the arrow up.
    Up,
    /// Press the arrow down.
    Down,
    /// Press Enter: the cursor is on the right choice.
    Enter,
}

impl Answer {
    /// The step towards the choice that this question may be answered with; `None` where it may not, or the choice does
    /// not show.
    pub fn toward(screen: &str) -> Option<Answer> {
        let wanted = recognise(screen)?.answer()?;
        let choices = choices(screen);
        let goal = choices.iter().position(|choice| choice.label == wanted)?;
        let now = choices.iter().position(|choice| choice.focused)?;
        Some(match goal.cmp(&now) {
            std::cmp::Ordering::Less => Answer::Up,
            std::cmp::Ordering::Equal => Answer::Enter,
            std::cmp::Ordering::Greater => Answer::Down,
        })
    }
}

/// The lines around the cursor that are indented as it is.
fn choices(screen: &str) -> Vec<Choice> {
    let block = question(screen);
    let column = |line: &str| line.chars().take_while(|c| c.is_whitespace() || *c == CURSOR).count();
    let Some(cursor) = block.iter().rposition(|line| line.trim_start().starts_with(CURSOR)) else {
        return Vec::new();
    };
    let same = |line: &&&str| column(line) == column(block[cursor]);
    let above = block[..cursor].iter().rev().take_while(same).count();
    let below = block[cursor + 1..].iter().take_while(same).count();
    let lines = &block[cursor - above..=cursor + below];
    let choice = |line: &&str| {
        let focused = line.trim_start().starts_with(CURSOR);
        let text = line.trim_start_matches(|c: char| c.is_whitespace() || c == CURSOR);
        let text = match text.split_once(". ") {
            Some((number, text)) if number.chars().all(|c| c.is_ascii_digit()) => text,
            _ => text,
        };
        Choice { label: text.trim_end_matches(['✔', ' ']).to_owned(), focused }
    };
    lines.iter().map(choice).collect()
}

#[cfg(test)]
#[path = "dialogs_tests.rs"]
mod tests;
