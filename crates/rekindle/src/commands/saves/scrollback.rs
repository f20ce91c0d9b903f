//! What a pane of a save showed.

use layouts::{Save, text_of};
use serde_json::json;
use store::saves::Loaded;
use tmux::{PaneRef, ServerSnapshot};

use crate::exit::{Exit, Failure};
use crate::output::{Out, printable};

pub(super) fn show((loaded, save): &(Loaded, Save), pane: &str, json: bool) -> Result<Exit, Failure> {
    let (server, id) = chosen(save, &loaded.id, pane)?;
    let none = |why: String| Failure::new(Exit::Failed, why);
    let Some(taken_at) = loaded.head.scrollback_taken() else {
        return Err(none(format!("the save {} has no scrollback", loaded.id))
            .hint("rekindle saves list --json tells of how many panes a save has some"));
    };
    let damaged = || {
        none(format!("the scrollback of {} is gone or damaged", loaded.id))
            .hint("rekindle saves lists other saves")
    };
    let packed = loaded.packed().ok_or_else(damaged)?;
    let text = text_of(&packed, server, &id).map_err(|_| damaged())?;
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        let agents =
            save.servers.get(server).is_some_and(|server| server.agents.iter().any(|a| a.pane == id));
        return Err(match agents {
            true => none(format!("nothing is kept of what {pane} showed: it had an agent"))
                .hint("rekindle show reads its conversation"),
            false => none(format!("nothing is kept of what {pane} showed")),
        });
    };
    let mut out = Out::new();
    if json {
        let place = save.servers.get(server).and_then(|server| server.tmux.reference(&id));
        let place = place.map(|place| place.to_string());
        out.json(json!({"save": loaded.id, "pane": place, "id": id, "takenAt": taken_at.to_string(),
            "text": text}));
    } else {
        out.exact_line(&printable(&text));
    }
    out.finish()
}

/// The pane a text means: its server's place in the save, and its id.
fn chosen(save: &Save, id: &str, text: &str) -> Result<(usize, String), Failure> {
    let fits = |shot: &ServerSnapshot, pane: &str| text == pane || is_called(shot, pane, text);
    let found: Vec<(usize, &str)> = save
        .servers
        .iter()
        .enumerate()
        .flat_map(|(at, server)| server.tmux.panes().map(move |pane| (at, server, pane.id.as_str())))
        .filter(|(_, server, pane)| fits(&server.tmux, pane))
        .map(|(at, _, pane)| (at, pane))
        .collect();
    let socket = |at: usize| save.servers.get(at).map(|server| &server.tmux.socket);
    match found.as_slice() {
        [] => Err(Failure::new(Exit::Usage, format!("no pane of the save {id} is {text}"))
            .hint("rekindle saves show lists its sessions, windows and panes")),
        // Of two lives of one server the first is the one that was there last.
        [first, rest @ ..] if rest.iter().all(|other| socket(other.0) == socket(first.0)) => {
            Ok((first.0, first.1.to_owned()))
        }
        many => {
            let shot = |at: usize| save.servers.get(at).map(|server| &server.tmux);
            let names: Vec<String> =
                many.iter().filter_map(|(at, pane)| Some(shot(*at)?.reference(pane)?.to_string())).collect();
            Err(Failure::new(Exit::Usage, format!("{text} is a pane of several servers"))
                .hint(format!("say which: {}", names.join(" or "))))
        }
    }
}

/// Whether a pane is called so in any of the sessions that show it.
fn is_called(shot: &ServerSnapshot, pane: &str, text: &str) -> bool {
    let window = shot.windows.iter().find(|window| window.panes.iter().any(|known| known.id == pane));
    let index =
        window.and_then(|window| Some((window, window.panes.iter().find(|known| known.id == pane)?.index)));
    let Some((window, index)) = index else { return false };
    shot.sessions.iter().any(|session| {
        let links = session.windows.iter().filter(|link| link.window == window.id);
        links
            .map(|link| PaneRef::at(&shot.socket, &session.name, link.index, index))
            .any(|at| at.as_str() == text)
    })
}
