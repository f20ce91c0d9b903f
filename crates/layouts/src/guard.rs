//! When a new save must not take the place of the current one.

use std::path::PathBuf;

use crate::save::SavedServer;

/// A server that may live and did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Its socket.
    pub socket: PathBuf,
    /// Why not.
    pub why: String,
}

/// Why a save must not become current by itself; nothing where it may.
///
/// A server that still lives may have fewer panes: it says so itself. One that is gone, or another one on its socket, says
/// nothing of what was there, and a server that does not answer may still have all of it.
pub fn objection(
    current: Option<&[SavedServer]>,
    new: &[SavedServer],
    unanswered: &[Unanswered],
) -> Option<String> {
    let panes = |server: &SavedServer| server.tmux.panes().count();
    if new.iter().map(panes).sum::<usize>() == 0 {
        return Some(match unanswered.first() {
            None => "no tmux server has a pane".to_owned(),
            Some(server) => format!("{} does not answer: {}", server.socket.display(), server.why),
        });
    }
    let current = current?;
    let same_place = |old: &SavedServer| new.iter().find(|server| server.tmux.socket == old.tmux.socket);
    let mut lost = 0;
    for old in current {
        if new.iter().any(|server| server.tmux.id() == old.tmux.id()) {
            continue;
        }
        let silent = unanswered.iter().find(|server| server.socket == old.tmux.socket);
        if let Some(server) = silent
            && panes(old) > 0
        {
            return Some(format!("{} does not answer: {}", server.socket.display(), server.why));
        }
        lost += panes(old).saturating_sub(same_place(old).map_or(0, panes));
    }
    let before: usize = current.iter().map(panes).sum();
    // Over half: a few panes less are what a day brings, and the save before is still there.
    (lost * 2 > before).then(|| {
        format!(
            "{lost} of {before} panes are gone with their server, which did not say that they were closed"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmux::{PaneShot, ServerSnapshot, Window};

    fn server(socket: &str, pid: u32, panes: usize) -> SavedServer {
        let pane = |at: usize| PaneShot { id: format!("%{at}"), ..PaneShot::default() };
        let window = Window {
            id: "@0".to_owned(),
            name: String::new(),
            layout: String::new(),
            zoomed: false,
            width: 80,
            height: 24,
            automatic_rename: true,
            panes: (0..panes).map(pane).collect(),
        };
        SavedServer {
            tmux: ServerSnapshot {
                socket: socket.into(),
                pid,
                start_time: 1,
                version: "3.3a".to_owned(),
                sessions: Vec::new(),
                windows: vec![window],
            },
            agents: Vec::new(),
            gone_since: None,
            wanted: false,
        }
    }

    #[test]
    fn a_server_that_lives_may_shrink_and_one_that_is_gone_may_not() {
        let check = |old: &[(&str, u32, usize)], new: &[(&str, u32, usize)], silent: &[&str], fine: bool| {
            let servers = |all: &[(&str, u32, usize)]| {
                all.iter().map(|(s, pid, n)| server(s, *pid, *n)).collect::<Vec<_>>()
            };
            let silent: Vec<Unanswered> = silent
                .iter()
                .map(|socket| Unanswered { socket: socket.into(), why: "slow".to_owned() })
                .collect();
            let why = objection(Some(&servers(old)), &servers(new), &silent);
            assert_eq!(why.is_none(), fine, "{old:?} → {new:?}: {why:?}");
        };
        check(&[("a", 1, 20)], &[("a", 1, 1)], &[], true);
        check(&[("a", 1, 20)], &[("a", 2, 1)], &[], false);
        check(&[("a", 1, 20)], &[("a", 2, 12)], &[], true);
        check(&[("a", 1, 20)], &[], &[], false);
        check(&[("a", 1, 20), ("b", 5, 3)], &[("a", 1, 20)], &[], true);
        check(&[("a", 1, 3), ("b", 5, 20)], &[("a", 1, 3)], &[], false);
        check(&[("a", 1, 20), ("b", 5, 3)], &[("a", 1, 20)], &["b"], false);
        check(&[("a", 1, 20)], &[("a", 1, 20)], &["c"], true);
        check(&[("a", 1, 1)], &[("a", 2, 1)], &[], true);
    }

    #[test]
    fn nothing_at_all_is_never_good() {
        assert!(objection(None, &[], &[]).is_some());
        assert!(objection(None, &[server("a", 1, 0)], &[]).is_some());
        assert!(objection(None, &[server("a", 1, 1)], &[]).is_none());
    }
}
