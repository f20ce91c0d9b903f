//! Which saved places were asked for: all, or those that their user named. Pure.

use layouts::Save;
use tmux::{Link, PaneRef, PaneShot, ServerSnapshot, Session};

/// The places that were asked for; where none is named, all of them.
#[derive(Debug, Clone, Default)]
pub struct Selector(Vec<String>);

impl Selector {
    /// Sessions (`work`), windows (`work:1`), panes (`work:1.0`) and servers (`side//`).
    pub fn new(places: &[String]) -> Selector {
        Selector(places.to_vec())
    }

    /// A place in which no pane of a save is.
    pub fn unknown(&self, save: &Save) -> Option<&str> {
        let names = |place: &str| {
            save.servers.iter().any(|server| {
                let shot = &server.tmux;
                shot.sessions.iter().any(|session| {
                    let mut shown = shown(shot, session);
                    shown.any(|(link, pane)| is_in(&reference(shot, session, link, pane), place))
                })
            })
        };
        self.0.iter().map(String::as_str).find(|place| !names(place))
    }

    /// Whether a pane was asked for, by whichever of its names.
    pub(crate) fn has(&self, shot: &ServerSnapshot, pane: &str) -> bool {
        self.0.is_empty() || shot.sessions.iter().any(|session| self.names(shot, session, pane))
    }

    /// Whether a pane was asked for as one of this session, or of one that shows the same windows.
    pub(crate) fn has_in(&self, shot: &ServerSnapshot, session: &Session, pane: &str) -> bool {
        let same = |other: &&Session| {
            other.name == session.name || (other.group.is_some() && other.group == session.group)
        };
        self.0.is_empty() || shot.sessions.iter().filter(same).any(|other| self.names(shot, other, pane))
    }

    /// Whether a session was asked for as a whole.
    pub(crate) fn has_session(&self, shot: &ServerSnapshot, session: &Session) -> bool {
        let reference = PaneRef::at(&shot.socket, &session.name, 0, 0).to_string();
        let Some((name, _)) = reference.rsplit_once(':') else { return false };
        let whole = |place: &String| {
            place.strip_suffix(':').unwrap_or(place) == name
                || (place.ends_with("//") && name.starts_with(place.as_str()))
        };
        self.0.is_empty() || self.0.iter().any(whole)
    }

    fn names(&self, shot: &ServerSnapshot, session: &Session, pane: &str) -> bool {
        let mut here = shown(shot, session).filter(|(_, known)| known.id == pane);
        here.any(|(link, pane)| {
            let reference = reference(shot, session, link, pane);
            self.0.iter().any(|place| is_in(&reference, place))
        })
    }
}

/// The panes that a session shows.
fn shown<'s>(
    shot: &'s ServerSnapshot,
    session: &'s Session,
) -> impl Iterator<Item = (&'s Link, &'s PaneShot)> {
    let panes = |link: &'s Link| shot.window(&link.window).into_iter().flat_map(|window| &window.panes);
    session.windows.iter().flat_map(move |link| panes(link).map(move |pane| (link, pane)))
}

fn reference(shot: &ServerSnapshot, session: &Session, link: &Link, pane: &PaneShot) -> String {
    PaneRef::at(&shot.socket, &session.name, link.index, pane.index).to_string()
}

/// Whether a pane (`work:1.0`, `side//work:1.0`) is the place itself, or in it: a window, a session, or a server (`side//`).
fn is_in(reference: &str, place: &str) -> bool {
    if place.ends_with("//") {
        return reference.starts_with(place);
    }
    // tmux takes `work:` for the session, too.
    let place = place.strip_suffix(':').unwrap_or(place);
    let around = ['.', ':'].into_iter().filter_map(|mark| Some(reference.rsplit_once(mark)?.0));
    std::iter::once(reference).chain(around).any(|known| known == place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_whole_parts_of_a_reference() {
        let check = |place: &str, inside: &[&str], outside: &[&str]| {
            for reference in inside {
                assert!(is_in(reference, place), "{reference} is in {place}");
            }
            for reference in outside {
                assert!(!is_in(reference, place), "{reference} is not in {place}");
            }
        };
        check("work", &["work:1.0", "work:10.2"], &["work2:1.0", "side//work:1.0", "wor:1.0"]);
        check("work:", &["work:1.0"], &["work2:1.0"]);
        check("work:1", &["work:1.0", "work:1.12"], &["work:10.0", "work:2.1"]);
        check("work:1.1", &["work:1.1"], &["work:1.10", "work:1.0"]);
        check("side//", &["side//work:1.0", "side//other:0.0"], &["side:1.0", "inside//work:1.0"]);
        check("side//work", &["side//work:1.0"], &["side//work2:1.0", "work:1.0"]);
        check("/run/my", &[], &["/run/my.sock//work:1.0"]);
        check("", &[], &["work:1.0"]);
    }

    #[test]
    fn a_window_is_found_by_every_session_of_its_group() {
        let line =
            "pane\tsame\t7\t1\t:*\t0\tt\t:/a\t1\tbash\t:\npane\tother\t4\t1\t:*\t0\tt\t:/a\t1\tbash\t:\n";
        let mut save = layouts::resurrected(line, jiff::Timestamp::UNIX_EPOCH).save;
        let shot = &mut save.servers[0].tmux;
        shot.socket = "/tmp/tmux-1/default".into();
        let mut twin = shot.sessions[0].clone();
        shot.sessions[0].group = Some("work".to_owned());
        (twin.name, twin.group) = ("work".to_owned(), Some("work".to_owned()));
        shot.sessions.push(twin);
        let shot = &save.servers[0].tmux;
        for (place, found, whole) in
            [("work:7", true, false), ("same:7.0", true, false), ("work", true, true)]
        {
            let only = Selector::new(&[place.to_owned()]);
            assert_eq!((only.has(shot, "%0"), only.has(shot, "%1")), (found, false), "{place}");
            for (session, expect) in [(0, true), (1, false), (2, true)] {
                assert_eq!(only.has_in(shot, &shot.sessions[session], "%0"), expect, "{place}");
            }
            assert_eq!(only.has_session(shot, &shot.sessions[2]), whole, "{place}");
            assert_eq!(only.unknown(&save), None, "{place}");
        }
        assert_eq!(Selector::new(&["work:4".to_owned()]).unknown(&save), Some("work:4"));
    }
}
