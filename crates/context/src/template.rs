//! The template of what an agent is told: text with variables, checked when it is loaded.
//!
//! `{{name}}` stands for a value. Values are put in as they are, and what looks like a variable in one is text. A line
//! whose variables are all empty is left out; so is a heading (`#`, `##`, …) with everything below it, up to the next
//! heading of its kind, where all variables in there are empty.

use std::fmt::Write;

/// What a template can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// What the agent is called.
    Name,
    /// The conversation's id.
    Session,
    /// What it is about.
    Task,
    /// When it was last heard of, in the user's zone.
    LastActive,
    /// What a compaction or the agent itself summed up.
    Summary,
    /// What was said and done.
    Exchanges,
    /// What was half done.
    HalfDone,
    /// What its screen showed, where no exchanges could be read from it. In a template that does not ask for exchanges, these.
    Scrollback,
    /// What a tracker of tasks knows.
    Handoff,
    /// The file that holds all this, where it is too long for a hook.
    ContextFile,
}

impl Variable {
    /// Every variable.
    pub const ALL: [Variable; 10] = [
        Variable::Name,
        Variable::Session,
        Variable::Task,
        Variable::LastActive,
        Variable::Summary,
        Variable::Exchanges,
        Variable::HalfDone,
        Variable::Scrollback,
        Variable::Handoff,
        Variable::ContextFile,
    ];

    /// The variable with this name: `half_done`, or as a template of Go spells it, `.HalfDone`.
    fn called(name: &str) -> Option<Variable> {
        let bare = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let name = match name.strip_prefix('.') {
            Some(exported) => bare(exported),
            None => return Variable::ALL.into_iter().find(|variable| variable.name() == name),
        };
        Variable::ALL.into_iter().find(|variable| bare(variable.name()) == name)
    }

    /// Its name, as it stands between the braces.
    pub fn name(self) -> &'static str {
        match self {
            Variable::Name => "name",
            Variable::Session => "session",
            Variable::Task => "task",
            Variable::LastActive => "last_active",
            Variable::Summary => "summary",
            Variable::Exchanges => "exchanges",
            Variable::HalfDone => "half_done",
            Variable::Scrollback => "scrollback",
            Variable::Handoff => "handoff",
            Variable::ContextFile => "context_file",
        }
    }
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A variable that does not exist.
    #[error("understand {{{{{name}}}}} in line {line} of the template: there is {}", names())]
    Unknown {
        /// Where, counted from 1.
        line: usize,
        /// What stands there.
        name: String,
    },
    /// Braces that are not closed in their line.
    #[error("understand line {line} of the template: {{{{ is not closed by }}}}")]
    Unclosed {
        /// Where, counted from 1.
        line: usize,
    },
    /// It would tell every agent the same.
    #[error("use the template: it has no variable; there is {}", names())]
    Empty,
}

fn names() -> String {
    Variable::ALL.map(|variable| format!("{{{{{}}}}}", variable.name())).join(", ")
}

/// What a setting for a template means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given<'a> {
    /// Nothing: the built-in template.
    BuiltIn,
    /// The template itself: it has braces or several lines.
    Text(&'a str),
    /// The path of a file that holds it.
    File(&'a str),
}

impl Given<'_> {
    /// Tells a path from a template.
    pub fn of(setting: &str) -> Given<'_> {
        match setting.trim() {
            "" => Given::BuiltIn,
            text if text.contains("{{") || text.contains('\n') => Given::Text(setting),
            path => Given::File(path),
        }
    }
}

/// A template that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// How many `#` a heading has; nothing where it is none.
    level: Option<usize>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Variable),
}

/// What is told where the user wants nothing else.
const BUILT_IN: &str = include_str!("built_in.md");

/// What an agent is told about its own conversation while it is running.
const LIVING: &str = include_str!("living.md");

impl Default for Template {
    fn default() -> Template {
        // The built-in one is checked by a test.
        Template::parse(BUILT_IN).unwrap_or(Template { lines: Vec::new() })
    }
}

impl Template {
    /// The template for a conversation that is running: nothing in it speaks of a crash.
    pub fn living() -> Template {
        // Checked by a test, as the built-in one.
        Template::parse(LIVING).unwrap_or(Template { lines: Vec::new() })
    }

    /// Reads a template.
    ///
    /// # Errors
    /// It has an unknown variable, open braces, or no variable at all.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let lines: Vec<Line> =
            text.trim().lines().zip(1..).map(|(text, at)| line(text, at)).collect::<Result<_, _>>()?;
        let template = Template { lines };
        if template.lines.iter().all(|line| line.variables().next().is_none()) {
            return Err(TemplateError::Empty);
        }
        Ok(template)
    }

    /// Whether a variable stands in it.
    pub(crate) fn asks_for(&self, wanted: Variable) -> bool {
        self.lines.iter().flat_map(Line::variables).any(|variable| variable == wanted)
    }

    /// Puts the values in.
    pub(crate) fn render<'v>(&self, value: impl Fn(Variable) -> &'v str) -> String {
        let hollow = |lines: &[Line]| {
            let mut variables = lines.iter().flat_map(Line::variables).peekable();
            variables.peek().is_some() && variables.all(|variable| value(variable).is_empty())
        };
        let mut text = String::new();
        let mut blank = true;
        let mut at = 0;
        while let Some(line) = self.lines.get(at) {
            let section = &self.lines[at..self.section_end(at)];
            at += if hollow(section) { section.len() } else { 1 };
            if hollow(section) || line.parts.is_empty() && blank {
                continue;
            }
            blank = line.parts.is_empty();
            for part in &line.parts {
                // Writing to a string does not fail.
                let _ = match part {
                    Part::Text(part) => text.write_str(part),
                    Part::Value(variable) => text.write_str(value(*variable)),
                };
            }
            text.push('\n');
        }
        text.trim_end().to_owned()
    }

    /// Behind the last line of the section that begins here; of what is no heading, behind the line itself.
    fn section_end(&self, begin: usize) -> usize {
        let Some(level) = self.lines[begin].level else { return begin + 1 };
        let after = &self.lines[begin + 1..];
        let next = after.iter().position(|line| line.level.is_some_and(|next| next <= level));
        next.map_or(self.lines.len(), |next| begin + 1 + next)
    }
}

impl Line {
    fn variables(&self) -> impl Iterator<Item = Variable> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(variable) => Some(*variable),
        })
    }
}

fn line(text: &str, at: usize) -> Result<Line, TemplateError> {
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    let level = Some(hashes).filter(|hashes| *hashes > 0 && text[*hashes..].starts_with(' '));
    let mut parts = Vec::new();
    let mut rest = text.trim_end();
    while let Some((before, behind)) = rest.split_once("{{") {
        let (inside, after) = behind.split_once("}}").ok_or(TemplateError::Unclosed { line: at })?;
        let name = inside.trim();
        let variable = Variable::called(name)
            .ok_or_else(|| TemplateError::Unknown { line: at, name: name.to_owned() })?;
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        parts.push(Part::Value(variable));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(Line { level, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(template: &str, values: &[(Variable, &'static str)]) -> String {
        let value = |variable: Variable| {
            values.iter().find(|(name, _)| *name == variable).map_or("", |(_, value)| *value)
        };
        Template::parse(template).unwrap().render(value)
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| Template::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("a\n{{.Scroll}}"),
            "understand {{.Scroll}} in line 2 of the template: there is {{name}}, {{session}}, {{task}}, \
             {{last_active}}, {{summary}}, {{exchanges}}, {{half_done}}, {{scrollback}}, {{handoff}}, {{context_file}}"
        );
        assert_eq!(
            error("{{name}}\n\nx {{ task\n}}"),
            "understand line 3 of the template: {{ is not closed by }}"
        );
        assert!(error("hello").starts_with("use the template: it has no variable"));
        assert!(error("").starts_with("use the template: it has no variable"));
    }

    #[test]
    fn the_built_in_one_is_whole() {
        let template = Template::parse(BUILT_IN).unwrap();
        assert_eq!(template, Template::default());
        let used: Vec<Variable> = template.lines.iter().flat_map(Line::variables).collect();
        assert!(Variable::ALL.iter().all(|variable| used.contains(variable)), "{used:?}");
    }

    /// Told to an agent that lives, it must be true of one.
    #[test]
    fn the_one_for_the_living_speaks_of_no_crash() {
        let template = Template::parse(LIVING).unwrap();
        assert_eq!(template, Template::living());
        assert!(LIVING.contains("It is running: nothing broke off"));
        assert!(!LIVING.contains("take over") && !LIVING.contains("cannot be resumed"));
    }

    #[test]
    fn values_are_put_in_as_they_are_and_never_read_as_a_template() {
        let values = [(Variable::Name, "{{task}} # x\n\n\n## y"), (Variable::Task, "mend")];
        assert_eq!(render("I am {{ name }}: {{task}}.", &values), "I am {{task}} # x\n\n\n## y: mend.");
    }

    #[test]
    fn a_template_of_go_is_understood() {
        let values = [(Variable::Scrollback, "$ make"), (Variable::LastActive, "noon")];
        assert_eq!(render("{{.Scrollback}} at {{ .LastActive }}", &values), "$ make at noon");
        assert!(Template::parse("{{Scrollback}}").is_err(), "without its point it is a spelling mistake");
    }

    #[test]
    fn what_is_missing_leaves_nothing_behind() {
        let template = "Hello {{name}}
Task: {{task}}

# Summary
It was:
{{summary}}

# Both
## Half done
{{half_done}}
## Hand-off
{{handoff}}

# Now
Go on.";
        assert_eq!(
            render(template, &[(Variable::Name, "shop"), (Variable::Handoff, "bd-1")]),
            "Hello shop\n\n# Both\n## Hand-off\nbd-1\n\n# Now\nGo on."
        );
        assert_eq!(
            render(template, &[(Variable::Summary, "all")]),
            "# Summary\nIt was:\nall\n\n# Now\nGo on."
        );
    }

    #[test]
    fn a_path_is_told_from_a_template() {
        assert_eq!(Given::of("  "), Given::BuiltIn);
        assert_eq!(Given::of("~/recovery.md"), Given::File("~/recovery.md"));
        assert_eq!(Given::of("go on: {{task}}"), Given::Text("go on: {{task}}"));
        assert_eq!(Given::of("\nhello\n"), Given::File("hello"));
        assert_eq!(Given::of("a\nb"), Given::Text("a\nb"));
    }
}
