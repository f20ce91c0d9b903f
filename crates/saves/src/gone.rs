//! Servers that went without a word. **A save that nobody asked for forgets nothing by itself**: what was there and was not
//! brought back yet stays in it, beside what is there now.

use std::path::Path;

use jiff::Timestamp;
use mux::Window;

use crate::save::{Agent, Save, SavedServer};

/// The servers of the save before that are gone or do not answer, each with the sessions that nobody has brought back.
/// One that was last seen before `since` is let go.
///
/// A server that lives says itself what became of its sessions. Of the others only those stay that somebody would miss: the
/// default one, those on whose socket another one lives by now, and those with agents; scripts make servers and end them.
pub(crate) fn unforgotten(before: &Save, live: &[SavedServer], since: Timestamp) -> Vec<SavedServer> {
    let lives = |old: &&SavedServer| live.iter().any(|server| server.tmux.id() == old.tmux.id());
    let gone = before.servers.iter().filter(|old| !lives(old)).map(|old| {
        let gone_since = Some(old.gone_since.unwrap_or(before.head.saved_at));
        SavedServer { gone_since, ..old.clone() }
    });
    gone.filter(|old| old.gone_since >= Some(since)).filter_map(|old| without_returned(old, live)).collect()
}

fn without_returned(mut old: SavedServer, live: &[SavedServer]) -> Option<SavedServer> {
    let here: Vec<&SavedServer> =
        live.iter().filter(|server| server.tmux.socket == old.tmux.socket).collect();
    if here.is_empty() && old.agents.is_empty() && !is_default(&old.tmux.socket) {
        return None;
    }
    let returned = |name: &str| {
        here.iter().any(|server| server.tmux.sessions.iter().any(|session| session.name == name))
    };
    let is_back = |agent: &Agent| {
        live.iter().any(|server| server.agents.iter().any(|known| known.session_id == agent.session_id))
    };
    let missing: Vec<&str> =
        old.agents.iter().filter(|agent| !is_back(agent)).map(|agent| agent.pane.as_str()).collect();
    let waits = |window: &Window| window.panes.iter().any(|pane| missing.contains(&pane.id.as_str()));
    let waiting: Vec<String> =
        old.tmux.windows.iter().filter(|window| waits(window)).map(|window| window.id.clone()).collect();
    let shot = &mut old.tmux;
    for session in &mut shot.sessions {
        // A session of that name may be a new one, in which nobody has brought its agents back.
        if returned(&session.name) {
            session.windows.retain(|link| waiting.contains(&link.window));
        }
    }
    shot.sessions.retain(|session| !session.windows.is_empty());
    let shown =
        |id: &str| shot.sessions.iter().any(|session| session.windows.iter().any(|link| link.window == id));
    let windows = std::mem::take(&mut shot.windows);
    shot.windows = windows.into_iter().filter(|window| shown(&window.id)).collect();
    let panes: Vec<&str> = shot.panes().map(|pane| pane.id.as_str()).collect();
    old.agents.retain(|agent| panes.contains(&agent.pane.as_str()));
    if old.tmux.sessions.is_empty() { None } else { Some(old) }
}

fn is_default(socket: &Path) -> bool {
    socket.file_name().is_some_and(|name| name == "default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resurrect::resurrected;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A server with these sessions of one pane each.
    fn server(socket: &str, pid: u32, sessions: &[&str]) -> SavedServer {
        let line = |name: &&str| format!("pane\t{name}\t0\t1\t:*\t0\tt\t:/a\t1\tbash\t:\n");
        let text: String = sessions.iter().map(line).collect();
        let mut server = resurrected(&text, at(0)).save.servers.remove(0);
        (server.tmux.socket, server.tmux.pid) = (socket.into(), pid);
        server
    }

    fn check(before: &[SavedServer], live: &[SavedServer], expect: &[(u32, &[&str])]) {
        let head = resurrected("", at(100)).save.head;
        let before = Save { id: None, head, servers: before.to_vec() };
        let kept = unforgotten(&before, live, at(50));
        let told: Vec<(u32, Vec<&str>)> = kept
            .iter()
            .map(|server| {
                let names = server.tmux.sessions.iter().map(|session| session.name.as_str()).collect();
                assert_eq!(server.tmux.windows.len(), server.tmux.sessions.len());
                assert_eq!(server.gone_since, Some(at(100)));
                (server.tmux.pid, names)
            })
            .collect();
        let expect: Vec<(u32, Vec<&str>)> =
            expect.iter().map(|(pid, names)| (*pid, names.to_vec())).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn what_was_not_brought_back_stays() {
        let old = server("/t/default", 1, &["a", "b"]);
        check(std::slice::from_ref(&old), &[server("/t/default", 1, &["a"])], &[]);
        check(std::slice::from_ref(&old), &[server("/t/default", 2, &["0"])], &[(1, &["a", "b"])]);
        check(std::slice::from_ref(&old), &[server("/t/default", 2, &["a", "0"])], &[(1, &["b"])]);
        check(std::slice::from_ref(&old), &[server("/t/default", 2, &["b", "a"])], &[]);
        check(&[old], &[server("/t/other", 2, &["a"])], &[(1, &["a", "b"])]);
    }

    /// With an agent in its first pane.
    fn with_agent(mut server: SavedServer) -> SavedServer {
        let id = agents::SessionId::new("66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa").unwrap();
        let pane = server.tmux.panes().next().unwrap().id.clone();
        server.agents.push(Agent {
            pane,
            session_id: id,
            grade: state::record::Grade::Proven,
            argv_known: true,
            cwd: None,
            config_dir: None,
        });
        server
    }

    #[test]
    fn a_new_session_of_the_same_name_has_brought_nobody_back() {
        let old = with_agent(server("/t/default", 1, &["a", "b"]));
        let begun = server("/t/default", 2, &["a", "b"]);
        check(std::slice::from_ref(&old), std::slice::from_ref(&begun), &[(1, &["a"])]);
        check(&[old], &[with_agent(begun)], &[]);
    }

    #[test]
    fn servers_of_scripts_come_and_go() {
        let live = [server("/t/default", 1, &["a"])];
        let script = server("/t/test", 5, &["x"]);
        check(&[live[0].clone(), script.clone()], &live, &[]);
        check(&[live[0].clone(), with_agent(script)], &live, &[(5, &["x"])]);
    }

    #[test]
    fn nothing_is_kept_for_ever() {
        let mut old = server("/t/default", 1, &["a"]);
        old.gone_since = Some(at(49));
        check(&[old], &[server("/t/default", 2, &["0"])], &[]);
    }
}
