//! Saves that nobody asked for: after an event, or because time has passed. **They never push out what is worth keeping**:
//! what says nothing new is not written, what only says what comes and goes takes the place of the save before, and what
//! went without a word stays until it is brought back.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use store::saves::{Draft, Kind, Loaded, Scrollback};

use crate::drift::{Drift, drift};
use crate::gone::{Now, unforgotten};
use crate::save::{self, Save, SavedServer};
use crate::saver::{Gone, Judged, Outcome, Place, Saved, Saver, SaverError, Texts, Turn, forgets_before};
use crate::scrollback::{PaneText, pack, unpack};
use crate::take::Taken;

/// What became of a save that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// No pane is there: nothing was written.
    Empty,
    /// The current save says the same already: nothing was written.
    Unchanged {
        /// That save.
        id: String,
    },
    /// It took the place of the save before: only what comes and goes is new.
    Refreshed(Saved),
    /// It is a new one.
    Saved(Saved),
}

/// What a save remembers of servers that went without a word.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// For how long.
    pub keep_gone: Duration,
    /// After a restore of the current save, the marks of the panes that it has made or found. What else it wanted stays,
    /// so that the next one brings it back.
    pub restored: Option<&'a BTreeSet<String>>,
    /// After the undo of a restore, what had been restored.
    pub undone: Option<UndoneRestore<'a>>,
}

/// The save of a restore that was undone: what it holds is missing again, and the next restore brings it back. Without
/// this the panes would count as closed by their user.
#[derive(Debug, Clone, Copy)]
pub struct UndoneRestore<'a> {
    /// The save that had been restored.
    pub save: &'a Save,
    /// What its panes showed, with their servers' places in that save.
    pub texts: Option<&'a Texts>,
}

impl UndoneRestore<'_> {
    /// The servers that went before the restore, on sockets where another one lives by now. Where none lives, the save
    /// after the restore has everything.
    fn missing_again(self, now: Timestamp, live: &[SavedServer], known: &[SavedServer]) -> Vec<SavedServer> {
        let gone =
            |server: &SavedServer| SavedServer { gone_since: Some(now), wanted: true, ..server.clone() };
        let servers = self.save.servers.iter().map(gone).collect();
        let save = Save { servers, ..self.save.clone() };
        let at = Now { live, unanswered: &[], restored: None, since: Timestamp::MIN };
        let lives = |server: &SavedServer| live.iter().any(|one| one.tmux.socket == server.tmux.socket);
        let kept = |server: &SavedServer| known.iter().any(|one| one.tmux.id() == server.tmux.id());
        unforgotten(&save, at).into_iter().filter(|server| lives(server) && !kept(server)).collect()
    }

    /// What the panes showed that are missing again, with their servers' places among these.
    fn texts_in(self, servers: &[SavedServer]) -> Option<Texts> {
        let texts = self.texts?;
        let text = |text: &PaneText| {
            let id = self.save.servers.get(text.server)?.tmux.id();
            let at =
                servers.iter().position(|server| server.gone_since.is_some() && server.tmux.id() == id)?;
            let there = servers[at].tmux.panes().any(|pane| pane.id == text.pane);
            there.then(|| PaneText { server: at, ..text.clone() })
        };
        let panes = texts.panes.iter().filter_map(text).collect();
        Some(Texts { panes, taken_at: texts.taken_at })
    }
}

impl Saver {
    /// Saves what was taken in this turn as far as it says something new, with what was there and was not brought back.
    /// Of panes without a text the scrollback of the save before is carried over, unless the texts were taken just now.
    ///
    /// # Errors
    /// A restore runs, or it cannot be written. What was current stays.
    pub fn follow(
        &self,
        turn: &Turn,
        taken: &Taken,
        texts: Option<&Texts>,
        kind: Kind,
        memory: Memory<'_>,
        now: Timestamp,
    ) -> Result<Followed, SaverError> {
        if taken.servers.iter().all(|server| server.tmux.panes().count() == 0) {
            return Ok(Followed::Empty);
        }
        let _no_restores = self.no_restores(taken)?;
        let (current, skipped) = self.current()?;
        let before = current.as_ref().and_then(Save::of);
        let mut servers = taken.servers.clone();
        if let Some(before) = &before {
            let since = forgets_before(memory.keep_gone, now);
            let (live, unanswered) = (&taken.servers[..], &taken.unanswered[..]);
            servers.extend(unforgotten(before, Now { live, unanswered, restored: memory.restored, since }));
        }
        if let Some(undone) = memory.undone {
            let missing = undone.missing_again(now, &taken.servers, &servers);
            servers.extend(missing);
        }
        let shown = memory.undone.and_then(|undone| undone.texts_in(&servers));
        let texts = texts.or(shown.as_ref());
        let old = before.as_ref().map_or(&[][..], |before| &before.servers);
        let scrollback = scrollback(current.as_ref(), old, &servers, texts, now)?;
        let drift = if before.is_some() { drift(old, &servers) } else { Drift::Lasting };
        if let Some(current) = &current
            && drift == Drift::None
            && scrollback.as_ref().is_none_or(|text| current.has(text))
        {
            return Ok(Followed::Unchanged { id: current.id.clone() });
        }
        let body = save::body(&servers).ok_or_else(|| SaverError::Unfit("it is no JSON".to_owned()))?;
        let head = Self::head(&servers, kind, None, &Outcome::Current, now);
        let draft = Draft { head, body, scrollback };
        let id = current.as_ref().map(|current| current.id.clone());
        let judged = Judged { outcome: Outcome::Current, current: id, skipped, gone: Gone::Nothing };
        match current.as_ref().filter(|old| drift != Drift::Lasting && is_passing(old)) {
            Some(old) => Ok(Followed::Refreshed(self.commit(turn, &draft, judged, Place::Of(&old.id))?)),
            None => Ok(Followed::Saved(self.commit(turn, &draft, judged, Place::New(now))?)),
        }
    }
}

/// Whether a save may give its place to a newer one: nobody asked for it.
fn is_passing(save: &Loaded) -> bool {
    let asked_for = !matches!(save.head.kind, Kind::Timer | Kind::Hook | Kind::Event);
    !asked_for && save.head.name.is_none() && save.head.held.is_none() && !save.head.imported
}

/// What panes show now, where it was asked for, and what those of the save before showed that were not asked.
pub(crate) fn scrollback(
    current: Option<&Loaded>,
    old: &[SavedServer],
    servers: &[SavedServer],
    texts: Option<&Texts>,
    now: Timestamp,
) -> Result<Option<Scrollback>, SaverError> {
    let unfit = |error: std::io::Error| SaverError::Unfit(error.to_string());
    let known = current.and_then(|current| {
        let panes = current.head.scrollback.as_ref()?.panes;
        Some(Scrollback { packed: current.packed()?, panes, taken_at: current.head.scrollback_taken() })
    });
    let places = |at: usize| {
        servers.iter().position(|server| Some(server.tmux.id()) == old.get(at).map(|old| old.tmux.id()))
    };
    // Those of this very moment are all that panes show; older ones speak of their own panes alone.
    let is_asked = |at: usize, pane: &str| {
        texts.is_some_and(|texts| {
            (texts.taken_at == now && servers[at].gone_since.is_none())
                || texts.panes.iter().any(|text| text.server == at && text.pane == pane)
        })
    };
    let has = |at: usize, pane: &str| servers[at].tmux.panes().any(|known| known.id == pane);
    if let Some(known) = &known
        && texts.is_none()
        && (0..old.len()).all(|at| places(at) == Some(at))
    {
        return Ok(Some(known.clone()));
    }
    let mut all = texts.map(|texts| texts.panes.clone()).unwrap_or_default();
    if let Some(known) = &known {
        for text in unpack(&known.packed).map_err(unfit)? {
            let stays = |at: &usize| has(*at, &text.pane) && !is_asked(*at, &text.pane);
            if let Some(server) = places(text.server).filter(stays) {
                all.push(PaneText { server, ..text });
            }
        }
    }
    if texts.is_none() && all.is_empty() {
        return Ok(None);
    }
    let taken_at = texts.map(|texts| texts.taken_at).or(known.and_then(|known| known.taken_at));
    Ok(Some(Scrollback { packed: pack(&all).map_err(unfit)?, panes: all.len(), taken_at }))
}

#[cfg(test)]
mod tests {

    use store::StateDir;
    use store::machine_key::MachineKey;

    use super::*;
    use crate::resurrect::resurrected;
    use crate::saver::Wish;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    struct Desk {
        _root: tempfile::TempDir,
        saver: Saver,
        taken: Taken,
        second: i64,
    }

    impl Desk {
        /// A server with so many panes, and room for so many saves.
        fn new(panes: usize, keep: usize) -> Desk {
            let root = tempfile::tempdir().unwrap();
            let state = StateDir::open(root.path().join("state")).unwrap();
            let key = MachineKey::open(&state, &root.path().join("key")).unwrap();
            let saver = Saver { state, key, keep, patience: Duration::ZERO };
            let line = |at: usize| format!("pane\twork\t0\t1\t:*\t{at}\ttitle\t:/a\t1\tbash\t:\n");
            let text: String = (0..panes).map(line).collect();
            let servers = resurrected(&text, Timestamp::UNIX_EPOCH).save.servers;
            Desk { _root: root, saver, taken: Taken { servers, ..Taken::default() }, second: 0 }
        }

        fn follow(&mut self, text: Option<&str>) -> Followed {
            self.second += 1;
            let pane = |text: &str| PaneText { server: 0, pane: "%0".to_owned(), text: text.to_owned() };
            let taken_at = Timestamp::from_second(self.second).unwrap();
            let texts = text.map(|text| Texts { panes: vec![pane(text)], taken_at });
            let memory = Memory { keep_gone: DAY, restored: None, undone: None };
            let (turn, now) = (self.saver.begin().unwrap(), Timestamp::from_second(self.second).unwrap());
            self.saver.follow(&turn, &self.taken, texts.as_ref(), Kind::Timer, memory, now).unwrap()
        }

        fn ids(&self) -> Vec<String> {
            let listed = store::saves::list(&self.saver.state, self.saver.key.reading()).unwrap();
            listed.generations.into_iter().map(|save| save.id).collect()
        }

        fn rename(&mut self, name: &str) {
            self.taken.servers[0].tmux.sessions[0].name = name.to_owned();
        }

        fn title(&mut self, title: &str) {
            self.taken.servers[0].tmux.windows[0].panes[0].title = title.to_owned();
        }
    }

    #[test]
    fn what_says_nothing_new_is_not_written_and_what_passes_takes_the_place_of_the_last() {
        let mut desk = Desk::new(2, 3);
        for name in ["a", "b", "c"] {
            desk.rename(name);
            assert!(matches!(desk.follow(None), Followed::Saved(_)));
        }
        let kept = desk.ids();
        assert!(matches!(desk.follow(None), Followed::Unchanged { .. }));
        for frame in 0..20 {
            desk.title(&format!("working {frame}"));
            assert!(matches!(desk.follow(None), Followed::Refreshed(_)));
        }
        let now = desk.ids();
        assert_eq!((now.len(), &now[1..]), (3, &kept[1..]), "no other save went");
        let current = desk.saver.current().unwrap().0.unwrap();
        assert_eq!(current.id, now[0]);
        let servers = save::servers(&current.whole).unwrap();
        assert_eq!(servers[0].tmux.windows[0].panes[0].title, "working 19", "the newest is what is restored");
    }

    #[test]
    fn a_save_that_was_asked_for_gives_its_place_to_nobody() {
        let mut desk = Desk::new(1, 9);
        let turn = desk.saver.begin().unwrap();
        let now = Timestamp::from_second(1).unwrap();
        let asked = desk.saver.save(&turn, &desk.taken, None, Kind::Manual, &Wish::default(), now).unwrap();
        drop(turn);
        desk.second = 1;
        assert_eq!(desk.follow(None), Followed::Unchanged { id: asked.id.clone() });
        desk.title("x");
        assert!(matches!(desk.follow(None), Followed::Saved(_)));
        assert!(desk.ids().contains(&asked.id));
    }

    #[test]
    fn scrollback_is_carried_until_there_is_newer() {
        let mut desk = Desk::new(1, 9);
        let text = |desk: &Desk| {
            let current = desk.saver.current().unwrap().0.unwrap();
            let packed = std::fs::read(current.scrollback?).unwrap();
            Some((crate::unpack(&packed).unwrap()[0].text.clone(), desk.saver.scrollback_taken().unwrap()))
        };
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        desk.follow(Some("one"));
        assert_eq!(text(&desk), Some(("one".to_owned(), at(1))));
        assert!(matches!(desk.follow(Some("one")), Followed::Unchanged { .. }));
        desk.rename("other");
        assert!(matches!(desk.follow(None), Followed::Saved(_)));
        assert_eq!(text(&desk), Some(("one".to_owned(), at(1))), "carried");
        assert!(matches!(desk.follow(Some("two")), Followed::Refreshed(_)));
        assert_eq!(text(&desk), Some(("two".to_owned(), at(4))));
        desk.taken.servers[0].tmux.pid += 1;
        desk.follow(Some("three"));
        assert_eq!(text(&desk), Some(("three".to_owned(), at(5))), "it is another server's");
    }

    #[test]
    fn older_texts_speak_of_their_own_panes_alone() {
        let desk = Desk::new(2, 9);
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let follow = |panes: &[(&str, &str)], taken_at: i64, now: i64| {
            let pane = |(pane, text): &(&str, &str)| PaneText {
                server: 0,
                pane: (*pane).to_owned(),
                text: (*text).to_owned(),
            };
            let texts = Texts { panes: panes.iter().map(pane).collect(), taken_at: at(taken_at) };
            let memory = Memory { keep_gone: DAY, restored: None, undone: None };
            let turn = desk.saver.begin().unwrap();
            desk.saver.follow(&turn, &desk.taken, Some(&texts), Kind::Event, memory, at(now)).unwrap();
            let current = desk.saver.current().unwrap().0.unwrap();
            let all = unpack(&std::fs::read(current.scrollback.unwrap()).unwrap()).unwrap();
            all.into_iter().map(|text| text.text).collect::<Vec<_>>()
        };
        assert_eq!(follow(&[("%0", "a"), ("%1", "b")], 1, 1), ["a", "b"]);
        assert_eq!(follow(&[("%0", "restored")], 1, 2), ["restored", "b"]);
        assert_eq!(follow(&[("%0", "now")], 3, 3), ["now"], "the other one shows nothing any more");
    }

    #[test]
    fn a_crashed_server_stays_in_the_save_until_its_sessions_are_back() {
        let mut desk = Desk::new(8, 9);
        desk.taken.servers[0].tmux.socket = "/tmp/tmux-1/default".into();
        desk.follow(Some("before the crash"));
        let whole = std::mem::take(&mut desk.taken.servers);
        assert_eq!(desk.follow(None), Followed::Empty, "nothing there says nothing");
        let mut fresh = Desk::new(1, 9).taken.servers;
        fresh[0].tmux.sessions[0].name = "fresh".to_owned();
        (fresh[0].tmux.pid, fresh[0].tmux.socket) = (7, whole[0].tmux.socket.clone());
        desk.taken.servers = fresh.clone();
        let Followed::Saved(saved) = desk.follow(Some("after it")) else { panic!("not saved") };
        assert_eq!((saved.outcome, saved.head.counts.panes), (Outcome::Current, 9));
        let current = desk.saver.current().unwrap().0.unwrap();
        let texts = unpack(&std::fs::read(current.scrollback.unwrap()).unwrap()).unwrap();
        let texts: Vec<(usize, &str)> = texts.iter().map(|text| (text.server, text.text.as_str())).collect();
        assert_eq!(texts, [(0, "after it"), (1, "before the crash")]);
        assert!(matches!(desk.follow(None), Followed::Unchanged { .. }));
        let mut restored = whole;
        (restored[0].tmux.pid, restored[0].tmux.start_time) = (7, fresh[0].tmux.start_time);
        restored[0].tmux.sessions.extend(fresh.remove(0).tmux.sessions);
        desk.taken.servers = restored;
        let Followed::Saved(saved) = desk.follow(None) else { panic!("not saved") };
        assert_eq!((saved.head.counts.servers, saved.head.counts.panes), (1, 8));
    }

    /// As many panes as before are there again, of which none has come back.
    #[test]
    fn a_save_that_was_asked_for_keeps_a_crashed_server_too() {
        let mut desk = Desk::new(2, 9);
        desk.taken.servers[0].tmux.socket = "/tmp/tmux-1/default".into();
        desk.follow(Some("before the crash"));
        let mut fresh = Desk::new(2, 9).taken.servers;
        fresh[0].tmux.sessions[0].name = "fresh".to_owned();
        (fresh[0].tmux.pid, fresh[0].tmux.socket) = (7, desk.taken.servers[0].tmux.socket.clone());
        desk.taken.servers = fresh;
        let save = |desk: &mut Desk, force: bool, text: Option<&str>| {
            desk.second += 1;
            let (turn, now) = (desk.saver.begin().unwrap(), Timestamp::from_second(desk.second).unwrap());
            let pane = |text: &str| PaneText { server: 0, pane: "%0".to_owned(), text: text.to_owned() };
            let texts = text.map(|text| Texts { panes: vec![pane(text)], taken_at: now });
            let wish = Wish { name: None, force, keep_gone: DAY };
            let saved =
                desk.saver.save(&turn, &desk.taken, texts.as_ref(), Kind::Manual, &wish, now).unwrap();
            let current = desk.saver.current().unwrap().0.unwrap();
            assert_eq!((saved.outcome, &saved.id), (Outcome::Current, &current.id));
            let packed = current.scrollback.map(|path| std::fs::read(path).unwrap());
            let texts = packed.map(|packed| unpack(&packed).unwrap()).unwrap_or_default();
            let texts: Vec<(usize, String)> =
                texts.into_iter().map(|text| (text.server, text.text)).collect();
            (saved.head.counts.panes, texts)
        };
        let before = (1, "before the crash".to_owned());
        let both = vec![(0, "now".to_owned()), before.clone()];
        assert_eq!(save(&mut desk, false, Some("now")), (4, both));
        assert_eq!(save(&mut desk, false, None), (4, vec![before]), "live panes are left out, as asked");
        assert_eq!(save(&mut desk, true, None), (2, vec![]));
    }

    /// The user had begun again on the same server, restored, and undone that: nothing of it was closed by its user.
    #[test]
    fn what_an_undone_restore_had_made_is_missing_again() {
        let mut desk = Desk::new(3, 9);
        let socket: std::path::PathBuf = "/tmp/tmux-1/default".into();
        desk.taken.servers[0].tmux.socket = socket.clone();
        desk.follow(Some("shown before"));
        let loaded = desk.saver.current().unwrap().0.unwrap();
        let (source, texts) = (Save::of(&loaded).unwrap(), unpack(&loaded.packed().unwrap()).unwrap());
        let texts = Texts { panes: texts, taken_at: Timestamp::from_second(1).unwrap() };

        let mut live = Desk::new(1, 9).taken.servers;
        live[0].tmux.sessions[0].name = "fresh".to_owned();
        (live[0].tmux.pid, live[0].tmux.socket) = (7, socket);
        desk.taken.servers = live;
        let nothing = BTreeSet::new();
        // After the restore, everything was back.
        let there: BTreeSet<String> =
            source.servers[0].tmux.panes().map(|pane| source.servers[0].tmux.mark(&pane.id)).collect();
        let follow = |desk: &mut Desk, restored, undone| {
            desk.second += 1;
            let (turn, now) = (desk.saver.begin().unwrap(), Timestamp::from_second(desk.second).unwrap());
            let memory = Memory { keep_gone: DAY, restored: Some(restored), undone };
            desk.saver.follow(&turn, &desk.taken, None, Kind::Event, memory, now).unwrap();
        };
        let panes = |desk: &Desk| desk.saver.current().unwrap().0.unwrap().head.counts.panes;
        follow(&mut desk, &there, None);
        assert_eq!(panes(&desk), 1);
        follow(&mut desk, &nothing, Some(UndoneRestore { save: &source, texts: Some(&texts) }));
        assert_eq!(panes(&desk), 4);
        let current = desk.saver.current().unwrap().0.unwrap();
        let kept = unpack(&current.packed().unwrap()).unwrap();
        assert_eq!(kept.iter().map(|text| text.text.as_str()).collect::<Vec<_>>(), ["shown before"]);
        // Automatic saves go on remembering it.
        desk.rename("renamed");
        desk.follow(None);
        assert_eq!(panes(&desk), 4);
    }
}
