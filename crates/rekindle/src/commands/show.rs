use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use repair::{Absent, Target};
use transcript::{Buffer, Speaker, Transcript, Utterance};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, colour, paint, printable, say};

/// Read a conversation: who said what, when, with which tool
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle show 1a2b3c4d\n  rekindle show 1a2b3c4d --md > conversation.md"
)]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name, a directory, or a transcript's path
    #[arg(value_name = "TARGET")]
    target: String,
    /// As Markdown
    #[arg(long, conflicts_with = "json")]
    md: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How much of a tool's output is shown; the rest is in the transcript.
const RESULT_LINES: usize = 12;

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match context.target(&args.target)? {
        Target::File(file) => {
            let read =
                |error| Failure::new(Exit::Failed, format!("cannot read {}: {error}", file.path.display()));
            let transcript = Transcript::open(&file.path, &mut Buffer::default()).map_err(read)?;
            let (done, spoken) = show(&transcript, &file.session, args).map_err(read)?;
            // Where the vault cannot be asked the conversation is shown all the same.
            let named = [(file.session.clone(), file.path.clone())];
            for (session, lost) in context.repairer.lost_among(&named).unwrap_or_default() {
                let key = context.repairer.key_at(&session, &file.path);
                say(&format!("A resume of the file loses {}; {}.", lost.loses(), lost.remedy(&key)));
            }
            if spoken { done } else { Err(super::silent(&file.path)) }
        }
        Target::Gone(absent) => {
            let bytes = vaulted(context, &absent)?;
            let transcript = Transcript::of(&bytes, Some(absent.session.as_str()));
            let (done, spoken) = show(&transcript, &absent.session, args).map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot read the vault's copy: {error}"))
            })?;
            let id = absent.session.short();
            say(&format!(
                "The transcript is gone; this is the vault's copy. `rekindle repair {id}` puts it back."
            ));
            if spoken { done } else { Err(super::gone(context, &absent.session)) }
        }
    }
}

/// The vault's copy of a conversation whose transcript is gone.
fn vaulted(context: &Context, absent: &Absent) -> Result<Vec<u8>, Failure> {
    let vault = &context.repairer.vault;
    let of_account = |found: &vault::Conversation| {
        absent.config.as_ref().is_none_or(|config| found.config.as_path() == config.path())
    };
    let found = vault.find(&absent.session)?.into_iter().find(of_account);
    let copy = found.as_ref().and_then(|found| Some((found, found.transcript()?)));
    let Some((conversation, file)) = copy else { return Err(super::gone(context, &absent.session)) };
    let Some(choice) = vault.choose(conversation, file, vault::Wanted::Best)? else {
        return Err(super::gone(context, &absent.session));
    };
    let mut bytes = Vec::new();
    vault.read(&conversation.key, &file.name, Some(choice.generation.number), &mut bytes)?;
    Ok(bytes)
}

/// Prints a conversation; also says whether anything was said in it.
fn show<S: transcript::AsSource>(
    transcript: &Transcript<S>,
    session: &agents::SessionId,
    args: &Args,
) -> std::io::Result<(Result<Exit, Failure>, bool)> {
    let zone = crate::zone::local();
    let mut to = Pager::open(!args.md && !args.json);
    let painted = colour() && !args.md;
    let mut spoken = false;
    let visit = |utterance: Utterance| {
        let first = !std::mem::replace(&mut spoken, true);
        let text = match (args.json, args.md) {
            (true, _) if first => format!("{}{}", json_head(session), json_turn(&utterance)),
            (true, _) => format!(",{}", json_turn(&utterance)),
            (_, true) if first => format!("# Conversation {session}\n\n{}", markdown(&utterance, &zone)),
            (_, true) => markdown(&utterance, &zone),
            _ => plain(&utterance, &zone, painted),
        };
        to.line(&text)
    };
    transcript.conversation(visit)?;
    if args.json && spoken {
        to.line("]}");
    }
    Ok((to.finish(), spoken))
}

fn who(speaker: &Speaker) -> String {
    match speaker {
        Speaker::User => "you".to_owned(),
        Speaker::Agent => "agent".to_owned(),
        Speaker::Call(tool) => format!("tool {tool}"),
        Speaker::Result => "result".to_owned(),
        Speaker::Summary => "summary".to_owned(),
    }
}

fn time(utterance: &Utterance, zone: &TimeZone) -> String {
    let at = utterance.at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "?".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

fn plain(utterance: &Utterance, zone: &TimeZone, painted: bool) -> String {
    let code = match utterance.speaker {
        Speaker::User => "1;36",
        Speaker::Agent => "1",
        _ => "2",
    };
    let mark = if utterance.stranded { " · stranded: a resume does not reach this" } else { "" };
    let head = format!("{} · {}{mark}", who(&utterance.speaker), time(utterance, zone));
    let body = match utterance.speaker {
        Speaker::Result => first_lines(&utterance.text),
        _ => printable(&utterance.text),
    };
    format!("{}\n{}\n", paint(&head, code, painted), body.trim_end())
}

fn markdown(utterance: &Utterance, zone: &TimeZone) -> String {
    let mark = if utterance.stranded { " *(stranded: a resume does not reach this)*" } else { "" };
    let head = format!("**{}** · {}{mark}", who(&utterance.speaker), time(utterance, zone));
    let text = printable(&utterance.text);
    match utterance.speaker {
        Speaker::Call(_) | Speaker::Result => {
            let fence = "`".repeat(longest_fence(&text).max(2) + 1);
            format!("{head}\n\n{fence}\n{}\n{fence}\n", text.trim_end())
        }
        _ => format!("{head}\n\n{}\n", text.trim_end()),
    }
}

/// The longest run of backticks: a fence must be longer.
fn longest_fence(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// The beginning of the one object that `--json` prints. A conversation may be large, so it is written as it is read.
fn json_head(session: &agents::SessionId) -> String {
    crate::output::printing_json();
    let version = crate::output::SCHEMA_VERSION;
    format!("{{\"schemaVersion\":{version},\"sessionId\":\"{session}\",\"turns\":[\n")
}

fn json_turn(utterance: &Utterance) -> String {
    serde_json::json!({
        "who": who(&utterance.speaker),
        "at": utterance.at_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()).map(|at| at.to_string()),
        "text": utterance.text,
        "stranded": utterance.stranded,
    })
    .to_string()
}

fn first_lines(text: &str) -> String {
    let text = printable(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = lines.iter().take(RESULT_LINES).copied().collect::<Vec<_>>().join("\n");
    if lines.len() > RESULT_LINES {
        shown = format!("{shown}\n… {} more lines", lines.len() - RESULT_LINES);
    }
    shown
}

/// A pager on a terminal, plain output elsewhere.
enum Pager {
    Child { child: std::process::Child, ok: bool },
    Plain(Out),
}

impl Pager {
    fn open(wanted: bool) -> Pager {
        if !wanted || !std::io::stdout().is_terminal() {
            return Pager::Plain(Out::new());
        }
        let command = std::env::var("PAGER").unwrap_or_default();
        let mut words = command.split_whitespace();
        let (program, arguments) = match words.next() {
            Some(program) => (program, words.collect()),
            None => ("less", vec!["-FRX"]),
        };
        match Command::new(program).args(arguments).stdin(Stdio::piped()).spawn() {
            Ok(child) => Pager::Child { child, ok: true },
            Err(_) => Pager::Plain(Out::new()),
        }
    }

    /// Writes a line; whether anybody still reads.
    fn line(&mut self, text: &str) -> bool {
        match self {
            Pager::Plain(out) => {
                out.line(text);
                out.listening()
            }
            Pager::Child { child, ok } => {
                let wrote = child.stdin.as_mut().is_some_and(|stdin| writeln!(stdin, "{text}").is_ok());
                *ok &= wrote;
                wrote
            }
        }
    }

    fn finish(self) -> Result<Exit, Failure> {
        match self {
            Pager::Plain(out) => out.finish(),
            Pager::Child { mut child, .. } => {
                drop(child.stdin.take());
                child
                    .wait()
                    .map_err(|error| Failure::new(Exit::Failed, format!("the pager failed: {error}")))?;
                Ok(Exit::Done)
            }
        }
    }
}
