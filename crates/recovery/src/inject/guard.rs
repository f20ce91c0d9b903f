//! Whether text may go in. Pure: what is believed about the agent and what its pane shows come in, a reason comes out.

use std::path::PathBuf;

use agents::SessionKey;
use agents::claude::composer::{Composer, Mode, composer, plain};
use agents::claude::launch::{Dialog, recognise};
use sessions::view::{AgentView, Process, State};
use store::record::Grade;
use tmux::Sight;

/// Why nothing goes in. Each one is a sentence about the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody is there to read it.
    #[error("its agent does not run")]
    NotRunning,
    /// It runs somewhere else than in a pane.
    #[error("its agent is in no pane of tmux")]
    NoPane,
    /// It might be somebody else.
    #[error("that this conversation is in that pane is only a guess")]
    OnlyGuessed,
    /// It talks to a program.
    #[error("its agent was started by another program and reads no keys")]
    NotItsUsers,
    /// The pane went.
    #[error("its pane is gone")]
    PaneGone,
    /// Another pane has the same name.
    #[error("its tmux server is another one by now")]
    AnotherServer,
    /// Keys do not reach the agent.
    #[error("its pane takes no input")]
    InputOff,
    /// Keys reach other panes, too.
    #[error("what is typed into its window goes to all panes of it (synchronize-panes)")]
    Synchronized,
    /// The agent asks something.
    #[error("its agent asks something: {0}")]
    Question(&'static str),
    /// It shows something else.
    #[error("its pane shows no empty line to type into")]
    NoComposer,
    /// Its user types a shell command.
    #[error("its user is typing a shell command")]
    ShellMode,
    /// Its user types.
    #[error("something is typed there and not sent yet")]
    Draft,
    /// It works.
    #[error("its agent is busy")]
    Busy,
    /// Somebody else sends text.
    #[error("another process sends text to it")]
    AnotherSends,
}

impl Refusal {
    /// What its user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Refusal::NotRunning => "start it again: rekindle restore, or claude --resume",
            Refusal::NoPane | Refusal::NotItsUsers => "only agents in panes can be reached",
            Refusal::OnlyGuessed => {
                "rekindle explain says why; an agent that was started after `rekindle init` is known"
            }
            Refusal::PaneGone | Refusal::AnotherServer => "rekindle status says where it is now",
            Refusal::InputOff => "tmux select-pane -e lets keys through again",
            Refusal::Synchronized => "tmux set -w synchronize-panes off",
            Refusal::Question(_) => "answer it in the pane first",
            Refusal::NoComposer => "look at the pane: it may show a menu or a list",
            Refusal::ShellMode | Refusal::Draft => "send or clear it in the pane first",
            Refusal::Busy => "wait, or let the agent queue it with --queue",
            Refusal::AnotherSends => "try again",
        }
    }
}

/// A pane with an agent that may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The conversation.
    pub session: SessionKey,
    /// The agent's process.
    pub process: Process,
    /// The server's socket.
    pub socket: PathBuf,
    /// The server's process, and when it started.
    pub server: (u32, i64),
    /// `%4`.
    pub pane: String,
    /// `session:window.pane`.
    pub reference: String,
    /// Whether it works on a turn, by its own word.
    pub busy: bool,
}

/// Where the agent is, if it may be spoken to at all.
///
/// # Errors
/// It may not.
pub fn place(agent: &AgentView) -> Result<Place, Refusal> {
    if !agent.is_live() {
        return Err(Refusal::NotRunning);
    }
    if agent.nested || agent.one_shot {
        return Err(Refusal::NotItsUsers);
    }
    let pane = agent.pane.as_ref().ok_or(Refusal::NoPane)?;
    let (Some(session), Some(process)) = (&agent.session, &agent.process) else {
        return Err(Refusal::OnlyGuessed);
    };
    if [pane.grade, session.grade, process.grade].contains(&Grade::Guess) {
        return Err(Refusal::OnlyGuessed);
    }
    let place = &pane.value;
    Ok(Place {
        session: session.value.clone(),
        process: process.value,
        socket: place.socket.clone(),
        server: (place.server, place.started),
        pane: place.pane.clone(),
        reference: place.reference.clone(),
        busy: agent.state.value == State::Busy,
    })
}

/// Whether a pane, as it is now, takes text that is the agent's alone.
pub(super) fn takes_text(
    place: &Place,
    sight: Option<&Sight>,
    while_busy: bool,
) -> Result<Composer, Refusal> {
    let sight = sight.filter(|sight| !sight.dead).ok_or(Refusal::PaneGone)?;
    if (sight.server.pid, sight.server.started) != place.server {
        return Err(Refusal::AnotherServer);
    }
    if sight.input_off {
        return Err(Refusal::InputOff);
    }
    if sight.synchronized {
        return Err(Refusal::Synchronized);
    }
    // Its own word comes before its screen, which may show for a moment what was just sent.
    if place.busy && !while_busy {
        return Err(Refusal::Busy);
    }
    if let Some(dialog) = recognise(&plain(&sight.screen)) {
        return Err(Refusal::Question(named(dialog)));
    }
    let composer = composer(&sight.screen).ok_or(Refusal::NoComposer)?;
    match composer.mode {
        Mode::Shell => return Err(Refusal::ShellMode),
        Mode::Prompt if !composer.typed.is_empty() => return Err(Refusal::Draft),
        Mode::Prompt if !composer.whole => return Err(Refusal::NoComposer),
        Mode::Prompt => {}
    }
    if composer.interruptible && !while_busy {
        return Err(Refusal::Busy);
    }
    Ok(composer)
}

fn named(dialog: Dialog) -> &'static str {
    match dialog {
        Dialog::ApiKey => "whether to use an API key",
        Dialog::TrustFolder => "whether the folder is trusted",
        Dialog::ResumeOrSummary => "how to resume",
        Dialog::BypassWarning => "whether it may do everything unasked",
        Dialog::NewMcpServer => "whether a server may run",
        Dialog::ExternalImports => "whether files may be imported",
        Dialog::SettingsError => "what to do about broken settings",
        Dialog::ManagedSettings => "whether an organisation's settings are accepted",
        Dialog::DevelopmentChannels => "whether channels under development are loaded",
        Dialog::SwitchModel => "whether to take another model",
        Dialog::Theme => "how it shall look",
        Dialog::Login => "how to log in",
        Dialog::Other => "it waits for an answer",
    }
}

#[cfg(test)]
mod tests {
    use tmux::ServerId;

    use super::*;

    const RULE: &str = "────────────────────";

    fn place() -> Place {
        Place {
            session: SessionKey::parse("0d5e1f2a-0000-4000-8000-000000000001").unwrap(),
            process: Process { pid: 5, start: 6 },
            socket: "/s".into(),
            server: (7, 99),
            pane: "%1".to_owned(),
            reference: "work:0.0".to_owned(),
            busy: false,
        }
    }

    fn sight(inside: &str) -> Sight {
        Sight {
            server: ServerId { pid: 7, started: 99 },
            tty: "/dev/pts/3".to_owned(),
            in_mode: false,
            input_off: false,
            synchronized: false,
            dead: false,
            screen: format!("{RULE}\n{inside}\n\u{1b}[0m{RULE}\n  ? for shortcuts\n"),
        }
    }

    fn refused(change: impl FnOnce(&mut Place, &mut Sight), expect: &Refusal) {
        let (mut place, mut sight) = (place(), sight("❯\u{a0}"));
        change(&mut place, &mut sight);
        let found = takes_text(&place, Some(&sight), false).map(|_| ());
        assert_eq!(found.as_ref(), Err(expect));
        assert!(!expect.hint().is_empty());
    }

    #[test]
    fn only_an_empty_composer_takes_text() {
        let fine = |inside: &str| takes_text(&place(), Some(&sight(inside)), false).is_ok();
        assert!(fine("❯\u{a0}") && fine("❯\u{a0}\u{1b}[7mT\u{1b}[0;2mry this"));
        refused(|_, sight| sight.screen = "$ vim\n".to_owned(), &Refusal::NoComposer);
        refused(|_, sight| sight.screen = self::sight("❯\u{a0}mine").screen, &Refusal::Draft);
        refused(|_, sight| sight.screen = self::sight("!\u{a0}ls").screen, &Refusal::ShellMode);
        let question = "Shall I?\n\n ❯ 1. Yes\n   2. No\n\n Enter to confirm · Esc to cancel\n";
        refused(|_, sight| sight.screen = question.to_owned(), &Refusal::Question("it waits for an answer"));
        assert_eq!(takes_text(&place(), None, false), Err(Refusal::PaneGone));
    }

    #[test]
    fn keys_must_reach_this_pane_and_no_other() {
        refused(|_, sight| sight.dead = true, &Refusal::PaneGone);
        refused(|_, sight| sight.input_off = true, &Refusal::InputOff);
        refused(|_, sight| sight.synchronized = true, &Refusal::Synchronized);
        refused(|_, sight| sight.server.started = 100, &Refusal::AnotherServer);
    }

    /// F-inject-5
    #[test]
    fn a_turn_is_not_disturbed_unasked() {
        refused(|place, _| place.busy = true, &Refusal::Busy);
        let busy = |sight: &mut Sight| sight.screen.push_str("  esc to interrupt\n");
        refused(|_, sight| busy(sight), &Refusal::Busy);
        let mut seen = sight("❯\u{a0}");
        busy(&mut seen);
        assert!(takes_text(&place(), Some(&seen), true).is_ok());
    }
}
