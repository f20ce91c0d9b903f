//! Servers that went without a word. **A save that nobody asked for forgets nothing by itself**: what was there and was not
//! brought back yet stays in it, beside what is there now.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use tmux::{PaneShot, Window};

use crate::guard::Unanswered;
use crate::save::{Agent, Save, SavedServer};

/// What is there while a save is taken.
#[derive(Clone, Copy)]
pub(crate) struct Now<'a> {
    /// The servers that answered.
    pub(crate) live: &'a [SavedServer],
    /// Those that may live and did not answer.
    pub(crate) unanswered: &'a [Unanswered],
    /// After a restore, the marks of the panes that it has made or found.
    pub(crate) restored: Option<&'a BTreeSet<String>>,
    /// What went before that is let go.
    pub(crate) since: Timestamp,
}

/// The servers of the save before that are gone or do not answer, each with the windows that nobody has brought back.
///
/// A server that lives says itself what became of its sessions. Of the others only those stay that somebody would miss: the
/// default one, those on whose socket another one lives by now, those with agents, and those that a restore could not
/// bring back; scripts make servers and end them. One that does not answer may still have everything.
pub(crate) fn unforgotten(before: &Save, now: Now<'_>) -> Vec<SavedServer> {
    let lives = |old: &&SavedServer| now.live.iter().any(|server| server.tmux.id() == old.tmux.id());
    let gone = before.servers.iter().filter(|old| !lives(old)).map(|old| {
        let gone_since = Some(old.gone_since.unwrap_or(before.head.saved_at));
        SavedServer { gone_since, ..old.clone() }
    });
    gone.filter_map(|old| now.keeps(old)).collect()
}

impl Now<'_> {
    fn keeps(self, mut old: SavedServer) -> Option<SavedServer> {
        let socket = &old.tmux.socket;
        if self.unanswered.iter().any(|silent| silent.socket == *socket) {
            return Some(old);
        }
        if old.gone_since < Some(self.since) {
            return None;
        }
        if self.live.iter().any(|server| server.tmux.socket == *socket) {
            return self.without_returned(old);
        }
        old.wanted |= self.restored.is_some();
        let missed = old.wanted || !old.agents.is_empty() || is_default(&old.tmux.socket);
        missed.then_some(old)
    }

    /// A window has returned when all of its panes have. That its session's name is there says nothing: a plain `tmux` calls
    /// its session as the one before.
    fn without_returned(self, mut old: SavedServer) -> Option<SavedServer> {
        let waits = |window: &&Window| !window.panes.iter().all(|pane| self.has_returned(&old, pane));
        let waiting: BTreeSet<String> =
            old.tmux.windows.iter().filter(waits).map(|window| window.id.clone()).collect();
        let shot = &mut old.tmux;
        for session in &mut shot.sessions {
            session.windows.retain(|link| waiting.contains(&link.window));
        }
        shot.sessions.retain(|session| !session.windows.is_empty());
        shot.windows.retain(|window| waiting.contains(&window.id));
        let panes: BTreeSet<&str> = shot.panes().map(|pane| pane.id.as_str()).collect();
        old.agents.retain(|agent| panes.contains(agent.pane.as_str()));
        if old.tmux.sessions.is_empty() { None } else { Some(old) }
    }

    /// Whether a pane of a server that is gone is there again: a restore has left its mark on one; its agent is back, whose pane
    /// is not enough; or it was a shell, and there is a pane in its place and directory, which a restore would take for it.
    fn has_returned(self, old: &SavedServer, pane: &PaneShot) -> bool {
        let mark = old.tmux.mark(&pane.id);
        let mut here = self.live.iter().filter(|server| server.tmux.socket == old.tmux.socket);
        let marked = |server: &SavedServer| {
            server.tmux.panes().any(|known| known.mark.as_deref() == Some(mark.as_str()))
        };
        if here.clone().any(marked) {
            return true;
        }
        if let Some(agent) = old.agents.iter().find(|agent| agent.pane == pane.id) {
            let same = |known: &Agent| known.session_id == agent.session_id;
            return self.live.iter().any(|server| server.agents.iter().any(same));
        }
        let place = old.tmux.reference(&pane.id);
        let in_place = |server: &SavedServer| {
            let same = |known: &PaneShot| {
                known.mark.is_none() && known.cwd == pane.cwd && server.tmux.reference(&known.id) == place
            };
            server.tmux.panes().any(same)
        };
        self.restored.is_some_and(|there| there.contains(&mark)) || (place.is_some() && here.any(in_place))
    }
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
        (server.tmux.socket, server.tmux.pid, server.tmux.start_time) = (socket.into(), pid, 1);
        server
    }

    /// A server with one session, and windows of one pane each: in this directory.
    fn windows(pid: u32, directories: &[&str]) -> SavedServer {
        let line = |(at, cwd): (usize, &&str)| format!("pane\t0\t{at}\t1\t:*\t0\tt\t:{cwd}\t1\tbash\t:\n");
        let text: String = directories.iter().enumerate().map(line).collect();
        let mut server = resurrected(&text, at(0)).save.servers.remove(0);
        (server.tmux.socket, server.tmux.pid, server.tmux.start_time) = ("/t/default".into(), pid, 1);
        server
    }

    fn at_rest(live: &[SavedServer]) -> Now<'_> {
        Now { live, unanswered: &[], restored: None, since: at(50) }
    }

    fn kept(before: &[SavedServer], now: Now<'_>) -> Vec<SavedServer> {
        let head = resurrected("", at(100)).save.head;
        unforgotten(&Save { id: None, head, servers: before.to_vec() }, now)
    }

    /// The numbers of the windows that stay.
    fn numbers(kept: &[SavedServer]) -> Vec<u32> {
        let sessions = kept.iter().flat_map(|server| &server.tmux.sessions);
        sessions.flat_map(|session| &session.windows).map(|link| link.index).collect()
    }

    fn check(before: &[SavedServer], live: &[SavedServer], expect: &[(u32, &[&str])]) {
        let kept = kept(before, at_rest(live));
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
        let id = agents::SessionKey::parse("66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa").unwrap();
        let pane = server.tmux.panes().next().unwrap().id.clone();
        server.agents.push(Agent {
            pane,
            session_id: id,
            grade: store::record::Grade::Proven,
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

    /// A plain `tmux` after a crash: its session has the name of the one before, and nothing else of it.
    #[test]
    fn a_name_that_is_used_again_brings_no_window_back() {
        let old = windows(1, &["/a", "/b", "/c"]);
        let check = |live: SavedServer, expect: &[u32]| {
            assert_eq!(numbers(&kept(std::slice::from_ref(&old), at_rest(&[live]))), expect);
        };
        check(windows(2, &["/a"]), &[1, 2]);
        check(windows(2, &["/elsewhere"]), &[0, 1, 2]);
        let mut back = windows(2, &["/x", "/y", "/z"]);
        for (at, window) in back.tmux.windows.iter_mut().enumerate().skip(1) {
            window.panes[0].mark = Some(format!("1.1-{at}"));
        }
        check(back, &[0]);
    }

    #[test]
    fn what_a_restore_has_found_is_back_wherever_its_user_went_since() {
        let old = with_agent(windows(1, &["/a", "/b", "/c"]));
        let live = [windows(2, &["/elsewhere"])];
        let there = ["1.1-0", "1.1-1"].map(str::to_owned).into();
        let now = Now { restored: Some(&there), ..at_rest(&live) };
        assert_eq!(numbers(&kept(&[old], now)), [0, 2], "an agent's pane is not its agent");
    }

    #[test]
    fn what_a_restore_could_not_make_stays_and_what_does_not_answer_may_be_there() {
        let live = [server("/t/default", 1, &["a"])];
        let side = [server("/t/side", 5, &["x"])];
        assert!(kept(&side, at_rest(&live)).is_empty());
        let silent = [Unanswered { socket: "/t/side".into(), why: String::new() }];
        let now = Now { unanswered: &silent, ..at_rest(&live) };
        assert_eq!(kept(&side, now).len(), 1);
        let nothing = BTreeSet::new();
        let missed = kept(&side, Now { restored: Some(&nothing), ..at_rest(&live) });
        assert_eq!(kept(&missed, at_rest(&live)), missed, "nor does the next save forget it");
    }
}
