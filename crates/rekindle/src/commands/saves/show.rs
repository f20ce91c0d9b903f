//! What is in a save, and what changed between two.

use std::path::Path;

use layouts::{Save, SavedServer, compare};
use serde_json::{Value, json};
use store::saves::Loaded;
use tmux::{Link, Window};

use super::super::save::words;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, ago, one_line};

/// As much of a title or a directory as a line has room for.
const WIDEST: usize = 60;

pub(super) fn show(context: &Context, (loaded, save): &(Loaded, Save), json: bool) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if json {
        let mut whole = loaded.whole.clone();
        whole.shift_remove("mac");
        out.json(json!({"id": loaded.id, "save": Value::Object(whole)}));
        return out.finish();
    }
    let head = &save.head;
    let name = head.name.as_deref().map(|name| format!(" ({})", one_line(name, WIDEST))).unwrap_or_default();
    out.line(&format!("{}{name}  {}, {}", loaded.id, ago(head.saved_at), words(head)));
    for server in &save.servers {
        let shot = &server.tmux;
        out.line(&format!("{}  tmux {}", shot.socket.display(), shot.version));
        for session in &shot.sessions {
            let group = session.group.as_ref().map(|group| format!("  in group {}", one_line(group, WIDEST)));
            out.line(&format!("  {}{}", one_line(&session.name, WIDEST), group.unwrap_or_default()));
            for link in &session.windows {
                if let Some(window) = shot.window(&link.window) {
                    window_lines(context, &mut out, server, link, window);
                }
            }
        }
    }
    out.finish()
}

fn window_lines(context: &Context, out: &mut Out, server: &SavedServer, link: &Link, window: &Window) {
    let mark = if link.active { "*" } else { "" };
    let zoomed = if window.zoomed { "  zoomed" } else { "" };
    out.line(&format!("    {}{mark} {}{zoomed}", link.index, one_line(&window.name, WIDEST)));
    for pane in &window.panes {
        let agent = server.agents.iter().find(|agent| agent.pane == pane.id);
        let runs = match agent {
            Some(agent) => format!("agent {}", agent.session_id.short()),
            None => one_line(&pane.command, WIDEST),
        };
        let mark = if pane.active { "*" } else { "" };
        let cwd = context.short_path(Path::new(&pane.cwd));
        out.line(&format!("      {}{mark} {runs}  {}", pane.index, one_line(&cwd, WIDEST)));
    }
}

pub(super) fn diff(
    (old, before): &(Loaded, Save),
    (new, after): &(Loaded, Save),
    json: bool,
) -> Result<Exit, Failure> {
    let changes = compare(before, after);
    let mut out = Out::new();
    if json {
        let changes: Vec<Value> =
            changes.iter().map(|change| json!({"place": change.place, "what": change.what})).collect();
        out.json(json!({"from": old.id, "to": new.id, "changes": changes}));
        return out.finish();
    }
    for change in &changes {
        // Names and titles hold whatever a program printed.
        out.line(&one_line(&format!("{} {}", change.place, change.what), 400));
    }
    if changes.is_empty() {
        out.line("nothing changed");
    }
    out.finish()
}
