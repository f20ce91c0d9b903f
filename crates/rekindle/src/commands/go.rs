//! `rekindle go`: to the pane of an agent, from any terminal.

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sessions::view::{AgentView, State};
use store::record::TmuxPlace;
use tmux::Listing;

use crate::context::{Context, TMUX_DEADLINE, pane_around};
use crate::exit::{Exit, Failure};
use crate::output::{Out, age, count, say};
use crate::survey::Survey;

/// Go to the pane of an agent; without a target, to the one that has waited for you longest
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle go\n  rekindle go shop\n  rekindle go work:1.0 --dry-run\n\nInside tmux your client switches to the pane; in another terminal it attaches.\nA key for it, in tmux.conf: bind g run-shell -b 'rekindle go'"
)]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name or a directory
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Only say where it would go, and by which command
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object; a terminal outside of tmux is then not attached
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let survey = Survey::take(context)?;
    let agent = match &args.target {
        Some(text) => survey.agent(context, text)?,
        None => match longest_waiting(&survey) {
            Some(agent) => agent,
            None => return nobody_waits(&survey, args),
        },
    };
    let way = Way::to(&survey, agent)?;
    if args.dry_run || args.json {
        let went = !args.dry_run && way.from == From::Inside;
        if went {
            way.take()?;
        }
        let mut out = Out::new();
        if args.json {
            out.json(way.json(agent, went));
        } else {
            out.line(&format!("{} is in {}: {}", called(agent), way.place.reference, way.command()));
        }
        return out.finish();
    }
    way.take()
}

/// Goes to the agent that has waited longest, from a screen that stays: a terminal outside of tmux comes back to it when its
/// user detaches. Returns what to say where there is nowhere to go.
pub(crate) fn from_watch(context: &Context) -> Option<String> {
    let went = || {
        let survey = Survey::take(context)?;
        let Some(agent) = longest_waiting(&survey) else { return Ok(Some(none_waits(&survey))) };
        let way = Way::to(&survey, agent)?;
        if way.from == From::Outside {
            let mut attach = tmux::attach(&way.place.socket, &way.place.pane, TMUX_DEADLINE)?;
            attach.status()?;
        } else {
            way.take()?;
        }
        Ok(None)
    };
    went().unwrap_or_else(|failure: Failure| Some(failure.sentence()))
}

/// The agent in a pane that has waited for its user longest: the view is in this order.
fn longest_waiting(survey: &Survey) -> Option<&AgentView> {
    let mut waiting = waiting(survey);
    waiting.find(|agent| agent.pane.as_ref().is_some_and(|pane| is_there(survey, &pane.value)))
}

fn waiting(survey: &Survey) -> impl Iterator<Item = &AgentView> {
    let agents = survey.view.agents.iter().filter(|agent| !agent.nested && !agent.one_shot);
    agents.filter(|agent| agent.is_live() && agent.state.value == State::Waiting)
}

fn nobody_waits(survey: &Survey, args: &Args) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if args.json {
        out.json(json!({"went": false, "sessionId": null, "shortId": null, "name": null, "state": null,
            "pane": null, "paneId": null, "socket": null, "command": null}));
        return out.finish();
    }
    say(&none_waits(survey));
    out.finish()
}

fn none_waits(survey: &Survey) -> String {
    match waiting(survey).next() {
        Some(agent) => format!("{} waits for you, but not in a tmux pane.", called(agent)),
        None => match survey.view.agents.iter().filter(|agent| agent.state.value == State::Dormant).count() {
            0 => "No agent waits for you. `rekindle go NAME` takes you to any agent.".to_owned(),
            number => format!(
                "No running agent waits for you. {} to be started: `rekindle go NAME` takes you there.",
                count(number as u64, "pane waits", "panes wait")
            ),
        },
    }
}

/// What an agent is called in a sentence.
fn called(agent: &AgentView) -> String {
    let id = || agent.session.as_ref().map(|fact| fact.value.short().to_owned());
    let pid = || agent.process.as_ref().map(|fact| format!("process {}", fact.value.pid));
    agent.name.as_ref().map(|fact| fact.value.clone()).or_else(id).or_else(pid).unwrap_or_default()
}

/// Where this command runs, seen from the agent's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// In the same server.
    Inside,
    /// In another server.
    Elsewhere,
    /// In no server.
    Outside,
}

/// A pane, and how to get there from here.
struct Way {
    place: TmuxPlace,
    from: From,
}

impl Way {
    fn to(survey: &Survey, agent: &AgentView) -> Result<Way, Failure> {
        let name = called(agent);
        let pane = agent.pane.as_ref().map(|fact| &fact.value).filter(|place| is_there(survey, place));
        if let Some(place) = pane {
            let around = Context::around().filter(|socket| answers(survey, socket));
            let from = match around {
                Some(socket) if same(&socket, &place.socket) => From::Inside,
                Some(_) => From::Elsewhere,
                None => From::Outside,
            };
            return Ok(Way { place: place.clone(), from });
        }
        let refused = |text: String| Failure::new(Exit::Refused, text);
        if agent.is_live() {
            let terminal = agent.terminal.as_ref().map(|fact| fact.value.clone());
            let process = || agent.process.as_ref().map(|fact| format!("process {}", fact.value.pid));
            let what = terminal.or_else(process).map(|what| format!(", on {what}")).unwrap_or_default();
            return Err(refused(format!("{name} runs outside of tmux{what}"))
                .hint("rekindle go takes you to tmux panes only"));
        }
        let since = agent.since.map(|since| format!(" {} ago", age(since, survey.now))).unwrap_or_default();
        let word = if agent.state.value == State::Ended { "ended" } else { "stopped" };
        let failure = refused(format!("{name} does not run: it {word}{since}, and its pane is gone"));
        Err(match &agent.session {
            Some(fact) => failure.hint(format!("bring it back: rekindle recover {}", fact.value.short())),
            None => failure,
        })
    }

    /// The command that does the same by hand.
    fn command(&self) -> String {
        let TmuxPlace { socket, pane, .. } = &self.place;
        match self.from {
            From::Inside => tmux::way_to(socket, pane, Some(socket)),
            From::Elsewhere => tmux::way_out_to(socket, pane),
            From::Outside => tmux::way_to(socket, pane, None),
        }
    }

    /// Goes there. Outside of tmux this process becomes the client, and there is nothing to come back to.
    fn take(&self) -> Result<Exit, Failure> {
        let TmuxPlace { socket, pane, reference, .. } = &self.place;
        match self.from {
            From::Inside => {
                let here = pane_around().map(|(_, pane)| pane);
                tmux::go_to(socket, here.as_deref(), pane, TMUX_DEADLINE)?;
                Ok(Exit::Done)
            }
            From::Elsewhere => Err(Failure::new(
                Exit::Refused,
                format!("{reference} is on another tmux server than this one"),
            )
            .hint(format!("leave this one and go there: {}", self.command()))),
            From::Outside if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() => {
                Err(Failure::new(Exit::Usage, format!("{reference} can only be shown on a terminal"))
                    .hint(format!("on one: {}", self.command())))
            }
            From::Outside => {
                let error = tmux::attach(socket, pane, TMUX_DEADLINE)?.exec();
                Err(Failure::new(Exit::Failed, format!("cannot start tmux: {error}")))
            }
        }
    }

    fn json(&self, agent: &AgentView, went: bool) -> Value {
        json!({
            "went": went,
            "sessionId": agent.session.as_ref().map(|fact| fact.value.as_str()),
            "shortId": agent.session.as_ref().map(|fact| fact.value.short()),
            "name": agent.name.as_ref().map(|fact| &fact.value),
            "state": agent.state.value.word(),
            "pane": self.place.reference,
            "paneId": self.place.pane,
            "socket": self.place.socket,
            "command": self.command(),
        })
    }
}

/// Whether a pane is there now, on the server that it was seen on.
fn is_there(survey: &Survey, place: &TmuxPlace) -> bool {
    survey.settled.world.servers.iter().any(|(_, listing)| match listing {
        Listing::Alive(server) => {
            (server.id.pid, server.id.started) == (place.server, place.started)
                && server.pane(&place.pane).is_some()
        }
        _ => false,
    })
}

/// Whether a server lives on this socket: a terminal may have inherited the name of one that is gone.
fn answers(survey: &Survey, socket: &Path) -> bool {
    let servers = &survey.settled.world.servers;
    servers.iter().any(|(known, listing)| same(known, socket) && !matches!(listing, Listing::Gone))
}

fn same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    real(a) == real(b)
}
