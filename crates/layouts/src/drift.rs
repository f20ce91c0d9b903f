//! How far tmux has moved on since a save.

use crate::save::SavedServer;

/// What differs between a save and what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// Nothing.
    None,
    /// Only what comes and goes by itself: titles, panes' own options, the program in front, which window is looked at,
    /// names that tmux gives.
    Passing,
    /// Something that somebody did: a session, window, pane or agent more or less, a layout, a name, a directory.
    Lasting,
}

/// Compares what was saved with what is there.
pub fn drift(saved: &[SavedServer], now: &[SavedServer]) -> Drift {
    let (saved, now) = (in_order(saved), in_order(now));
    if saved == now {
        return Drift::None;
    }
    let lasting = |servers: Vec<SavedServer>| servers.into_iter().map(without_passing).collect::<Vec<_>>();
    if lasting(saved) == lasting(now) { Drift::Passing } else { Drift::Lasting }
}

/// Servers are asked in any order.
fn in_order(servers: &[SavedServer]) -> Vec<SavedServer> {
    let mut servers = servers.to_vec();
    servers.sort_by(|a, b| a.tmux.socket.cmp(&b.tmux.socket));
    servers
}

fn without_passing(mut server: SavedServer) -> SavedServer {
    for session in &mut server.tmux.sessions {
        session.attached = 0;
        for link in &mut session.windows {
            (link.active, link.last) = (false, false);
        }
    }
    for window in &mut server.tmux.windows {
        if window.automatic_rename {
            window.name.clear();
        }
        for pane in &mut window.panes {
            pane.title.clear();
            pane.command.clear();
            pane.options.clear();
            (pane.tag, pane.mark) = (None, None);
            (pane.active, pane.alternate, pane.pid) = (false, false, 0);
        }
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resurrect::resurrected;

    fn servers() -> Vec<SavedServer> {
        let text = "pane\twork\t0\t1\t:*\t0\ttitle\t:/a\t1\tbash\t:\nwindow\twork\t0\t:w\t1\t:*\tabcd,80x24,0,0,0\t:\n";
        resurrected(text, jiff::Timestamp::UNIX_EPOCH).save.servers
    }

    #[test]
    fn what_comes_and_goes_by_itself_is_told_from_what_somebody_did() {
        let check = |change: fn(&mut SavedServer), expect: Drift| {
            let mut now = servers();
            change(&mut now[0]);
            assert_eq!(drift(&servers(), &now), expect);
        };
        check(|_| {}, Drift::None);
        check(|server| server.tmux.windows[0].panes[0].title.push('x'), Drift::Passing);
        check(|server| server.tmux.windows[0].panes[0].command.push('x'), Drift::Passing);
        check(|server| server.tmux.sessions[0].windows[0].active ^= true, Drift::Passing);
        let set = |server: &mut SavedServer| {
            server.tmux.windows[0].panes[0].options.insert("@a".to_owned(), "b".to_owned());
        };
        check(set, Drift::Passing);
        check(|server| server.tmux.windows[0].panes[0].cwd.push('x'), Drift::Lasting);
        check(|server| server.tmux.windows[0].layout.push('x'), Drift::Lasting);
        check(|server| server.tmux.sessions[0].name.push('x'), Drift::Lasting);
        check(|server| server.tmux.windows[0].panes.clear(), Drift::Lasting);
        check(|server| server.tmux.pid += 1, Drift::Lasting);
        assert_eq!(drift(&servers(), &[]), Drift::Lasting);
    }

    #[test]
    fn a_name_that_tmux_gives_passes_and_one_that_somebody_gave_lasts() {
        for (by_itself, expect) in [(true, Drift::Passing), (false, Drift::Lasting)] {
            let (mut old, mut new) = (servers(), servers());
            for server in old.iter_mut().chain(&mut new) {
                server.tmux.windows[0].automatic_rename = by_itself;
            }
            new[0].tmux.windows[0].name.push('x');
            assert_eq!(drift(&old, &new), expect);
        }
    }
}
