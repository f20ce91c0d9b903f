//! What an event in the spool says, once its parts are told apart.

use std::path::PathBuf;

use agents::claude::chain::{Link, tty_name};
use jiff::Timestamp;
use serde_json::Value;
use store::mac::Origin;
use store::spool;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An agent is in the conversation from now on.
    Start {
        /// `startup`, `resume`, `clear`, `compact`, `fork`.
        source: Option<String>,
    },
    /// The user said something.
    Prompt {
        /// What was asked; not kept but for the first line of the first one, as the task.
        text: Option<String>,
    },
    /// The agent has ended its turn.
    Stop,
    /// The turn broke off.
    StopFailure {
        /// Why, in the agent's words.
        why: Option<String>,
    },
    /// The agent wants its user.
    Notification {
        /// `permission_prompt`, `idle_prompt`, …; older agents have none.
        kind: Option<String>,
        /// What it shows.
        message: Option<String>,
    },
    /// The conversation is about to be summed up.
    PreCompact,
    /// It was.
    PostCompact,
    /// The agent works elsewhere now.
    CwdChanged,
    /// The agent leaves the conversation.
    End {
        /// `prompt_input_exit`, `clear`, `other`, …
        reason: Option<String>,
    },
    /// Anything else: a sign of life.
    Other,
}

/// One event.
#[derive(Debug, Clone)]
pub struct SpooledEvent {
    /// Where it stands in the spool.
    pub offset: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
    /// Where the agent works.
    pub cwd: Option<PathBuf>,
    /// The conversation's transcript.
    pub transcript: Option<PathBuf>,
    /// The model, where the event names it.
    pub model: Option<String>,
    /// What the agent may do without asking, where the event says so.
    pub permission_mode: Option<String>,
    /// The processes above the hook, innermost first.
    pub chain: Vec<Link>,
    /// The processes that the conversation is known to have had: they are known again whatever they are called.
    pub known: Vec<(u32, u64)>,
    /// Whether a hook of this machine wrote it.
    pub sealed: bool,
    /// The world the agent was started in.
    pub launch: Option<spool::Launch>,
}

impl SpooledEvent {
    /// Takes an event apart. Members of the wrong kind count as missing.
    pub fn of(read: spool::Read) -> SpooledEvent {
        let spool::Read { offset, event, origin } = read;
        let input: Value = serde_json::from_str(event.input.get()).unwrap_or_default();
        let text = |key: &str| input[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let what = match event.event.as_str() {
            "SessionStart" => What::Start { source: text("source") },
            "UserPromptSubmit" => What::Prompt { text: text("prompt") },
            "Stop" => What::Stop,
            "StopFailure" => What::StopFailure { why: text("error").or_else(|| text("reason")) },
            "Notification" => {
                What::Notification { kind: text("notification_type"), message: text("message") }
            }
            "PreCompact" => What::PreCompact,
            "PostCompact" => What::PostCompact,
            "CwdChanged" => What::CwdChanged,
            "SessionEnd" => What::End { reason: text("reason") },
            _ => What::Other,
        };
        SpooledEvent {
            offset,
            at: Timestamp::from_millisecond(event.at).unwrap_or(Timestamp::UNIX_EPOCH),
            cwd: text("new_cwd").or_else(|| text("cwd")).map(PathBuf::from),
            transcript: text("transcript_path").map(PathBuf::from),
            model: text("model"),
            permission_mode: text("permission_mode"),
            chain: event.chain,
            known: Vec::new(),
            sealed: origin == Origin::Genuine,
            launch: event.launch,
            what,
        }
    }

    /// The agent's place in the chain. Its arguments tell at the start; later its name must do, which is `claude` on all
    /// versions (measured on 2.1.31, 2.1.100, 2.1.325).
    fn agent_at(&self) -> Option<usize> {
        let known = |link: &Link| self.known.contains(&(link.pid, link.start));
        self.chain.iter().position(known).or_else(|| self.chain.iter().position(Link::is_agent))
    }

    /// The process that sent the event.
    pub fn agent(&self) -> Option<&Link> {
        self.chain.get(self.agent_at()?)
    }

    /// Whether another agent stands above it.
    pub fn is_nested(&self) -> bool {
        self.agent_at().is_some_and(|at| self.chain[at + 1..].iter().any(Link::is_agent))
    }

    /// The agent's terminal.
    pub fn tty(&self) -> Option<String> {
        tty_name(self.agent()?.tty)
    }

    /// A variable of the world it was started in.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let env = &self.launch.as_ref()?.env;
        env.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.as_str())
    }
}

/// The arguments of a process, unless it has overwritten them: agents on Node leave `claude` and blanks (measured).
pub(crate) fn arguments(link: &Link) -> Option<Vec<String>> {
    known_arguments(&link.argv).filter(|_| !link.cut).map(<[String]>::to_vec)
}

/// The same of arguments as the process table has them.
pub(crate) fn known_arguments(argv: &[String]) -> Option<&[String]> {
    let wiped = argv.iter().all(|word| word.trim().is_empty());
    let overwritten = argv.first().is_some_and(|first| first.ends_with(' '))
        || (argv.len() > 1 && argv[1..].iter().all(|word| word.trim().is_empty()));
    (!wiped && !overwritten).then_some(argv)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(pid: u32, argv: &[&str]) -> Link {
        let argv = argv.iter().map(ToString::to_string).collect();
        Link { pid, start: u64::from(pid), tty: 34816, comm: "x".to_owned(), argv, cut: false }
    }

    /// F-resume-17
    #[test]
    fn wiped_arguments_are_unknown() {
        let check = |argv: &[&str], expect: bool| {
            assert_eq!(arguments(&link(1, argv)).is_some(), expect, "{argv:?}");
        };
        check(&["claude"], true);
        check(&["/x/claude", "--model", "a"], true);
        check(&["claude    "], false);
        check(&["claude", "", ""], false);
        check(&[], false);
    }

    #[test]
    fn the_innermost_agent_speaks_and_one_below_another_is_nested() {
        let mut heard = SpooledEvent::of(spool::Read {
            offset: 0,
            event: serde_json::from_str(
                r#"{"schema":1,"event":"SessionStart","at":5,"input":{"source":"startup","cwd":7,"model":"m"}}"#,
            )
            .unwrap(),
            origin: Origin::Genuine,
        });
        assert_eq!(heard.what, What::Start { source: Some("startup".to_owned()) });
        assert_eq!((heard.cwd.as_deref(), heard.model.as_deref()), (None, Some("m")));
        heard.chain = vec![link(9, &["sh"]), link(8, &["claude"]), link(7, &["bash"])];
        assert_eq!(heard.agent().map(|link| link.pid), Some(8));
        assert!(!heard.is_nested());
        assert_eq!(heard.tty().as_deref(), Some("/dev/pts/0"));
        heard.chain.push(link(6, &["node", "/x/claude-code/cli.js"]));
        assert!(heard.is_nested());
    }
}
