use std::cmp::Reverse;

use agents::SessionKey;
use serde_json::{Map, Value, json};
use sessions::view::State;

use super::go;
use super::status::{pause_json, paused_words};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Cell, Column, Fit, Out, Table, age, count, one_line, say};
use crate::survey::Survey;
use crate::watch;

/// Show which pane has which conversation, and how sure that is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle map\n  rekindle map --watch\n  rekindle map --json\n\nPanes on other servers than the default one have the server's name before them."
)]
pub(crate) struct Args {
    /// Stay, and draw it again when something changes; q quits, g goes to the waiting agent
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print one JSON object: `panes` is the file `instances/pane-session-map.json`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.watch {
        let look = || Ok(text(context, &Survey::take(context)?, &read(context)?));
        return watch::run("map", look, || go::from_watch(context));
    }
    let survey = Survey::take(context)?;
    let map = read(context)?;
    for trouble in &survey.settled.troubles {
        say(&format!("rekindle: {trouble}"));
    }
    let mut out = Out::new();
    if args.json {
        out.json(json!({"panes": map, "paused": survey.pause.as_ref().map(pause_json)}));
        return out.finish();
    }
    out.line(&text(context, &survey, &map));
    out.finish()
}

/// Everything that is shown, as lines.
fn text(context: &Context, survey: &Survey, map: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    lines.extend(survey.pause.as_ref().map(|pause| paused_words(pause, survey.now)));
    lines.extend(survey.stale.as_ref().map(|why| format!("not up to date: {why}")));
    let outside = outside(survey);
    if map.is_empty() {
        lines.push("No agent is in a pane: start one in tmux.".to_owned());
        lines.extend(outside);
        return lines.join("\n");
    }
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by_key(|(reference, _)| order(reference));
    let mut table = Table::new(&[
        Column::new("pane", Fit::CutPath(12)),
        Column::new("id", Fit::Drop(1)),
        Column::new("session", Fit::Whole),
        Column::new("name", Fit::CutThenDrop(10, 5)),
        Column::new("grade", Fit::Drop(4)),
        Column::new("live", Fit::Whole),
        Column::right("seen", Fit::Drop(3)),
        Column::new("cwd", Fit::CutPathThenDrop(12, 2)),
    ]);
    let waits = |entry: &Value| {
        let session = entry["session_id"].as_str().and_then(|id| SessionKey::parse(id).ok());
        session.is_some_and(|session| survey.settled.world.waits_for(&session))
    };
    for (reference, entry) in &entries {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let seen = text("last_seen").parse().ok().map(|seen| age(seen, survey.now)).unwrap_or_default();
        let live = match entry["live"].as_bool() {
            Some(true) => "live".to_owned(),
            _ if waits(entry) => State::Dormant.shown().to_owned(),
            _ => text("status").replace("ended_cleanly", "ended").replace("active", "unknown"),
        };
        table.row([
            Cell::new(*reference),
            text("pane_id").into(),
            text("short_id").into(),
            one_line(&text("name"), 40).into(),
            text("grade").into(),
            live.into(),
            seen.into(),
            context.short_path(std::path::Path::new(&text("cwd"))).into(),
        ]);
    }
    lines.push(table.text());
    let live = entries.iter().filter(|(_, entry)| entry["live"] == true).count();
    lines.push(String::new());
    let waiting = entries.iter().filter(|(_, entry)| entry["live"] != true && waits(entry)).count();
    let waiting = match waiting {
        0 => String::new(),
        1 => ", 1 waiting in its pane".to_owned(),
        several => format!(", {several} waiting in their panes"),
    };
    lines.push(format!("{}, {live} live{waiting}", count(entries.len() as u64, "pane", "panes")));
    lines.extend(outside);
    lines.join("\n")
}

/// The agents that run outside of tmux, each with its terminal.
fn outside(survey: &Survey) -> Option<String> {
    let agents =
        survey.view.agents.iter().filter(|agent| agent.is_live() && !agent.nested && !agent.one_shot);
    let places = agents.filter_map(|agent| {
        let terminal = &agent.terminal.as_ref()?.value;
        let id = || agent.session.as_ref().map(|fact| fact.value.short().to_owned());
        let name = agent.name.as_ref().map(|fact| one_line(&fact.value, 40)).or_else(id)?;
        Some(format!("{name} ({terminal})"))
    });
    let places: Vec<String> = places.collect();
    (!places.is_empty()).then(|| format!("outside of tmux: {}", places.join(", ")))
}

/// The map as the last settle wrote it. Version 0.1.0 wrote the version of the file among its panes.
fn read(context: &Context) -> Result<Map<String, Value>, Failure> {
    let path = context.repairer.state.instances().join("pane-session-map.json");
    let bytes = match store::files::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => {
            return Err(Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display())));
        }
    };
    let mut map: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display()))
            .hint("delete it: it is made again from the records")
    })?;
    map.shift_remove("schema");
    Ok(map)
}

/// By server, session, window and pane: the default server first, numbers as numbers.
fn order(reference: &str) -> (Reverse<bool>, String, String, u32, u32) {
    let (server, place) = reference.rsplit_once("//").unwrap_or(("", reference));
    let (session, numbers) = place.rsplit_once(':').unwrap_or((place, ""));
    let (window, pane) = numbers.split_once('.').unwrap_or((numbers, ""));
    let number = |text: &str| text.parse().unwrap_or_default();
    (Reverse(server.is_empty()), server.to_owned(), session.to_owned(), number(window), number(pane))
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn panes_by_server_session_window_and_number() {
        let mut panes = ["b:10.0", "side//a:0.0", "b:2.1", "b:2.0", "a:1.0"];
        panes.sort_by_key(|pane| order(pane));
        assert_eq!(panes, ["a:1.0", "b:2.0", "b:2.1", "b:10.0", "side//a:0.0"]);
    }
}
