//! What a tracker of tasks (beads, `bd … --json`) knows of an agent's work, from its answers.
//!
//! **An error is not "no work"**: what could not be asked is said. Where there is no tracker nothing is.

use serde::Deserialize;
use serde_json::Value;

use crate::brief::Bead;
use crate::clean::clean;
use crate::cut::{beginning, shorten};

/// A task as the tracker prints it. Texts that are not there are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Issue {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// How.
    pub design: String,
    /// When it is done.
    pub acceptance_criteria: String,
    /// What was found out on the way.
    pub notes: String,
    /// `open`, `in_progress`, `blocked`, `closed`, …
    pub status: String,
    /// Whose it is.
    pub assignee: String,
    /// What was said about it.
    pub comments: Vec<Comment>,
}

/// Something that was said about a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Comment {
    /// By whom.
    pub author: String,
    /// What.
    pub text: String,
}

/// What is known of an agent's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Handoff {
    /// There is no tracker, or it has nothing in progress.
    #[default]
    None,
    /// The agent's own tasks.
    Own(Vec<Issue>),
    /// Tasks in progress in its directory. Whether one of them is the agent's is not on record.
    Around(Vec<Issue>),
    /// The tracker could not be asked.
    Unasked {
        /// Why not.
        why: String,
    },
}

/// Why an answer says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandoffError {
    /// The directory has no tasks at all: the tracker is not used there.
    #[error("ask bd: it is not used there")]
    Unused,
    /// It says that it failed, in its words.
    #[error("ask bd: {0}")]
    Refused(String),
    /// It printed something else than its tasks.
    #[error("understand what bd answered")]
    Unreadable,
}

/// The arguments that ask for everything in progress.
pub const LIST: [&str; 4] = ["list", "--status", "in_progress", "--json"];

/// The arguments that ask for all about these tasks; nothing where none of them can be asked for.
pub fn show(issues: &[Issue]) -> Option<Vec<String>> {
    // An id is put among options: one that looks like an option is none of ours to pass on.
    let ids = issues.iter().map(|issue| issue.id.clone());
    let ids: Vec<String> = ids.filter(|id| !id.is_empty() && !id.starts_with('-')).take(MOST).collect();
    let words = ["show".to_owned()].into_iter().chain(ids.clone()).chain(["--json".to_owned()]);
    (!ids.is_empty()).then(|| words.collect())
}

/// More than a few tasks in progress are a list and no hand-off.
const MOST: usize = 5;

/// Reads what `bd … --json` printed. `success` is how it ended.
///
/// # Errors
/// It failed, or printed no tasks.
pub fn issues(success: bool, stdout: &[u8], stderr: &[u8]) -> Result<Vec<Issue>, HandoffError> {
    let value: Result<Value, _> = serde_json::from_slice(stdout);
    let said = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        shorten(&clean(line.trim_start_matches("Error: ")), 200)
    };
    if let Ok(Value::Object(answer)) = &value
        && let Some(error) = answer.get("error").and_then(Value::as_str)
    {
        return Err(refusal(&shorten(&clean(error), 200)));
    }
    // Some versions end with a failure where there is nothing (seen in bd's tracker), and print an empty list all the same.
    let list = value.ok().and_then(list);
    match list {
        Some(list) if success || list.is_empty() => list
            .into_iter()
            .map(|issue| Issue::deserialize(nulls_out(issue)).map_err(|_| HandoffError::Unreadable))
            .collect(),
        _ if !success => Err(refusal(&said(stderr))),
        // 0.58 says so in words where there is nothing.
        _ if said(stdout).starts_with("No issues found") => Ok(Vec::new()),
        _ => Err(HandoffError::Unreadable),
    }
}

/// The tasks: a list by itself, or in an envelope, as newer versions can be told to print it. Versions written in Go print
/// `null` for an empty list.
fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        Value::Null => Some(Vec::new()),
        Value::Object(mut envelope) => match envelope.remove("data")? {
            Value::Array(list) => Some(list),
            Value::Null => Some(Vec::new()),
            _ => None,
        },
        _ => None,
    }
}

/// A text that is `null` is one that is not there.
fn nulls_out(mut issue: Value) -> Value {
    if let Value::Object(members) = &mut issue {
        members.retain(|_, value| !value.is_null());
    }
    issue
}

fn refusal(said: &str) -> HandoffError {
    if said.contains("no beads database") {
        HandoffError::Unused
    } else if said.is_empty() {
        HandoffError::Refused("it failed without a word".to_owned())
    } else {
        HandoffError::Refused(said.to_owned())
    }
}

impl Handoff {
    /// Chooses among the tasks in progress: the agent's own, by whatever names it has; else all of them.
    pub fn choose(issues: Vec<Issue>, names: &[&str]) -> Handoff {
        let is_own = |issue: &Issue| {
            // In a town of agents the assignee is a path that ends in the agent's name.
            let last = issue.assignee.rsplit('/').next().unwrap_or_default();
            names.iter().any(|name| {
                !name.is_empty()
                    && (name.eq_ignore_ascii_case(&issue.assignee) || name.eq_ignore_ascii_case(last))
            })
        };
        let (own, others): (Vec<Issue>, Vec<Issue>) = issues.into_iter().partition(is_own);
        match (own.is_empty(), others.is_empty()) {
            (false, _) => Handoff::Own(own),
            (true, false) => Handoff::Around(others),
            (true, true) => Handoff::None,
        }
    }

    /// The tasks in it.
    pub fn issues(&self) -> &[Issue] {
        match self {
            Handoff::Own(issues) | Handoff::Around(issues) => issues,
            Handoff::None | Handoff::Unasked { .. } => &[],
        }
    }

    /// The tasks in it, in short.
    pub fn beads(&self) -> Vec<Bead> {
        let own = matches!(self, Handoff::Own(_));
        let bead =
            |issue: &Issue| Bead { id: clean(&issue.id), title: shorten(&clean(&issue.title), 200), own };
        self.issues().iter().take(MOST).map(bead).collect()
    }

    /// The hand-off with all that is known of its own tasks; those that `shown` lacks stay as they are.
    pub fn detailed(self, shown: Vec<Issue>) -> Handoff {
        match self {
            Handoff::Own(mut issues) => {
                for more in shown {
                    if let Some(issue) = issues.iter_mut().find(|issue| issue.id == more.id) {
                        *issue = more;
                    }
                }
                Handoff::Own(issues)
            }
            other => other,
        }
    }

    /// The hand-off as text, without secrets; nothing where there is none.
    pub fn text(&self) -> Option<String> {
        match self {
            Handoff::None => None,
            Handoff::Unasked { why } => Some(clean(&format!(
                "bd could not be asked ({why}), so there may be work that is not listed here."
            ))),
            Handoff::Own(issues) => {
                Some(clean(&issues.iter().take(MOST).map(whole).collect::<Vec<_>>().join("\n")))
            }
            Handoff::Around(issues) => {
                let mut lines = vec![
                    "In progress in this project; whether one of them is yours is not on record:".to_owned(),
                ];
                lines.extend(issues.iter().take(MOST).map(head));
                let more = issues.len().saturating_sub(MOST);
                if more > 0 {
                    lines.push(format!("- and {more} more: bd list --status in_progress"));
                }
                Some(clean(&lines.join("\n")))
            }
        }
    }
}

fn head(issue: &Issue) -> String {
    let assignee = if issue.assignee.is_empty() { String::new() } else { format!(", {}", issue.assignee) };
    format!("- {} {} ({}{assignee})", issue.id, shorten(&issue.title, 200), issue.status.replace('_', " "))
}

fn whole(issue: &Issue) -> String {
    const LINES: usize = 30;
    const CHARACTERS: usize = 2_000;
    let mut text = head(issue);
    let mut part = |name: &str, body: &str| {
        let body = beginning(body, LINES, CHARACTERS);
        for (at, line) in body.lines().enumerate() {
            let name = if at == 0 { format!("{name}: ") } else { "  ".to_owned() };
            text.push_str(&format!("\n  {name}{line}"));
        }
    };
    part("Description", &issue.description);
    part("Design", &issue.design);
    part("Done when", &issue.acceptance_criteria);
    part("Notes", &issue.notes);
    // The newest say how far it is.
    let newest = issue.comments.len().saturating_sub(3);
    for comment in &issue.comments[newest..] {
        part(&format!("{} said", comment.author), &comment.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"[
      {"id":"shop-7","title":"Mend the cart","description":"It loses items.","status":"in_progress","priority":1,
       "issue_type":"bug","assignee":"town/polecats/Toast","notes":null,"created_at":"2026-01-01T00:00:00Z","dependency_count":0},
      {"id":"shop-9","title":"Paint it","description":"","status":"in_progress","priority":2,"issue_type":"task"}]"#;

    fn read(stdout: &str) -> Result<Vec<Issue>, HandoffError> {
        issues(true, stdout.as_bytes(), b"")
    }

    #[test]
    fn lists_come_bare_and_in_an_envelope() {
        let bare = read(LISTED).unwrap();
        assert_eq!(
            (bare[0].id.as_str(), bare[0].notes.as_str(), bare[1].assignee.as_str()),
            ("shop-7", "", "")
        );
        assert_eq!(read(&format!(r#"{{"schema_version":1,"data":{LISTED}}}"#)).unwrap(), bare);
        for nothing in ["[]", "null", r#"{"schema_version":1,"data":null}"#, "No issues found.\n"] {
            assert_eq!(read(nothing).unwrap(), [], "{nothing}");
        }
        assert_eq!(issues(false, b"[]", b"").unwrap(), []);
    }

    #[test]
    fn an_error_is_not_no_work() {
        let failed =
            |stdout: &str, stderr: &str| issues(false, stdout.as_bytes(), stderr.as_bytes()).unwrap_err();
        let refused = |why: &str| HandoffError::Refused(why.to_owned());
        assert_eq!(failed("{\"error\": \"database is locked\"}", ""), refused("database is locked"));
        assert_eq!(failed("", "\nError: cannot open database\n"), refused("cannot open database"));
        assert_eq!(failed("", ""), refused("it failed without a word"));
        assert_eq!(failed(LISTED, ""), refused("it failed without a word"), "half an answer is none");
        assert_eq!(failed("", "Error: no beads database found\nHint: run 'bd init'"), HandoffError::Unused);
        // What 0.59.0 prints in spite of --json.
        assert_eq!(read("○ shop-7 ● P1 Mend the cart\n").unwrap_err(), HandoffError::Unreadable);
        assert_eq!(read("[1]").unwrap_err(), HandoffError::Unreadable);
        let text = Handoff::Unasked { why: "it did not answer within 5 s".to_owned() }.text().unwrap();
        assert_eq!(
            text,
            "bd could not be asked (it did not answer within 5 s), so there may be work that is not listed here."
        );
    }

    #[test]
    fn the_agents_own_tasks_are_told_whole() {
        let own = Handoff::choose(read(LISTED).unwrap(), &["cart", "toast"]);
        assert_eq!(show(own.issues()).unwrap(), ["show", "shop-7", "--json"]);
        let shown = r#"[{"id":"shop-7","title":"Mend the cart","description":"It loses items.\nOften.","status":"in_progress",
            "assignee":"town/polecats/Toast","notes":"token=ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "comments":[{"id":1,"author":"ann","text":"hurry"}],"dependents":[]}]"#;
        let expect = "- shop-7 Mend the cart (in progress, town/polecats/Toast)
  Description: It loses items.
    Often.
  Notes: token=[redacted: github token]
  ann said: hurry";
        assert_eq!(own.detailed(read(shown).unwrap()).text().unwrap(), expect);
    }

    #[test]
    fn whose_tasks_they_are_is_not_guessed() {
        let around = Handoff::choose(read(LISTED).unwrap(), &["other", ""]);
        let expect = "In progress in this project; whether one of them is yours is not on record:
- shop-7 Mend the cart (in progress, town/polecats/Toast)
- shop-9 Paint it (in progress)";
        assert_eq!(around.text().unwrap(), expect);
        assert_eq!(Handoff::choose(Vec::new(), &["x"]).text(), None);
        let odd = [Issue { id: "--all".to_owned(), ..Issue::default() }];
        assert_eq!(show(&odd), None);
    }
}
