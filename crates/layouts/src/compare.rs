//! What changed between two saves, in words.

use std::collections::BTreeMap;

use crate::save::{Save, SavedServer};

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where: a server, a session, a window, a pane.
    pub place: String,
    /// What happened there.
    pub what: String,
}

/// Everything that differs, from the older to the newer one. Windows and panes are compared by their place: after a
/// restore their ids are others, and their places the same.
pub fn compare(old: &Save, new: &Save) -> Vec<Change> {
    let (before, after) = (parts(old), parts(new));
    let mut changes = Vec::new();
    for (place, part) in &before {
        let covered = part.above.as_ref().is_some_and(|above| !after.contains_key(above));
        if !after.contains_key(place) && !covered {
            changes.push(Change { place: place.clone(), what: format!("is gone{}", part.holding()) });
        }
    }
    for (place, part) in &after {
        let Some(known) = before.get(place) else {
            let covered = part.above.as_ref().is_some_and(|above| !before.contains_key(above));
            if !covered {
                changes.push(Change { place: place.clone(), what: format!("is new{}", part.holding()) });
            }
            continue;
        };
        for (name, value) in &part.facts {
            let old = known.facts.get(name).map_or("", String::as_str);
            if old != value {
                changes.push(Change { place: place.clone(), what: told(name, old, value) });
            }
        }
    }
    changes.extend(moves(old, new));
    changes
}

struct Part {
    above: Option<String>,
    facts: BTreeMap<&'static str, String>,
    panes: usize,
}

impl Part {
    fn holding(&self) -> String {
        match self.panes {
            0 => String::new(),
            1 => ", with 1 pane".to_owned(),
            many => format!(", with {many} panes"),
        }
    }
}

fn told(name: &str, old: &str, new: &str) -> String {
    match (name, old, new) {
        ("layout", ..) => "is laid out differently".to_owned(),
        ("zoom", _, "yes") => "is zoomed".to_owned(),
        ("zoom", ..) => "is no longer zoomed".to_owned(),
        (_, "", new) => format!("{name}: {new}"),
        (_, old, "") => format!("{name}: no longer {old}"),
        _ => format!("{name}: {old} → {new}"),
    }
}

/// Every server, session, window and pane by its place.
fn parts(save: &Save) -> BTreeMap<String, Part> {
    let mut parts = BTreeMap::new();
    for server in &save.servers {
        let shot = &server.tmux;
        let socket = format!("server {}", shot.socket.display());
        let all = shot.panes().count();
        let facts = BTreeMap::from([("version", shot.version.clone())]);
        parts.insert(socket.clone(), Part { above: None, facts, panes: all });
        for session in &shot.sessions {
            let windows = session.windows.iter().filter_map(|link| Some((link, shot.window(&link.window)?)));
            let panes = windows.clone().map(|(_, window)| window.panes.len()).sum();
            let place = format!("{socket} session {}", session.name);
            let facts = BTreeMap::from([("group", session.group.clone().unwrap_or_default())]);
            parts.insert(place.clone(), Part { above: Some(socket.clone()), facts, panes });
            for (link, window) in windows {
                let at = format!("{place} window {}", link.index);
                // Sizes change with every client that attaches; the layout's string begins with a checksum of them.
                let zoom = if window.zoomed { "yes" } else { "" };
                let facts = BTreeMap::from([
                    ("name", window.name.clone()),
                    ("layout", window.layout.clone()),
                    ("zoom", zoom.to_owned()),
                ]);
                let panes = window.panes.len();
                parts.insert(at.clone(), Part { above: Some(place.clone()), facts, panes });
                for pane in &window.panes {
                    let facts = BTreeMap::from([
                        ("directory", pane.cwd.clone()),
                        ("runs", pane.command.clone()),
                        ("title", pane.title.clone()),
                    ]);
                    let part = Part { above: Some(at.clone()), facts, panes: 0 };
                    parts.insert(format!("{at} pane {}", pane.index), part);
                }
            }
        }
    }
    parts
}

/// Agents that came, went or moved.
fn moves(old: &Save, new: &Save) -> Vec<Change> {
    let places = |save: &Save| -> BTreeMap<String, String> {
        let of = |server: &SavedServer| -> Vec<(String, String)> {
            let place =
                |pane: &str| server.tmux.reference(pane).map_or_else(|| pane.to_owned(), |at| at.to_string());
            server.agents.iter().map(|agent| (agent.session_id.to_string(), place(&agent.pane))).collect()
        };
        save.servers.iter().flat_map(of).collect()
    };
    let (before, after) = (places(old), places(new));
    let mut changes = Vec::new();
    let mut add = |id: &String, what: String| changes.push(Change { place: format!("agent {id}"), what });
    for (id, place) in &before {
        match after.get(id) {
            None => add(id, format!("is no longer in {place}")),
            Some(now) if now != place => add(id, format!("moved from {place} to {now}")),
            Some(_) => {}
        }
    }
    for (id, place) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        add(id, format!("is new in {place}"));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resurrect::resurrected;

    fn save(text: &str) -> Save {
        resurrected(text, jiff::Timestamp::UNIX_EPOCH).save
    }

    #[test]
    fn changes_are_told_once_where_they_happened() {
        let old = save(
            "pane\twork\t0\t1\t:*\t0\tt\t:/a\t1\tbash\t:\npane\twork\t1\t0\t:-\t0\tt\t:/a\t1\tvim\t:vim\n\
             pane\told\t0\t1\t:*\t0\tt\t:/a\t1\tbash\t:\n",
        );
        let new = save(
            "pane\twork\t0\t1\t:*\t0\tt\t:/b\t1\tbash\t:\npane\twork\t0\t1\t:*\t1\tt\t:/a\t0\tbash\t:\n\
             pane\tnew\t0\t1\t:*\t0\tt\t:/a\t1\tbash\t:\n",
        );
        let told: Vec<String> =
            compare(&old, &new).iter().map(|change| format!("{} {}", change.place, change.what)).collect();
        let socket = "server resurrect";
        assert_eq!(
            told,
            [
                format!("{socket} session old is gone, with 1 pane"),
                format!("{socket} session work window 1 is gone, with 1 pane"),
                format!("{socket} session new is new, with 1 pane"),
                format!("{socket} session work window 0 pane 0 directory: /a → /b"),
                format!("{socket} session work window 0 pane 1 is new"),
            ]
        );
        assert_eq!(compare(&old, &old), []);
    }
}
