//! tmux-resurrect's files, as a save.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use store::saves::{Counts, Head, Kind, SCHEMA};
use tmux::{Link, PaneShot, ServerSnapshot, Session, Window};

use crate::mend::{self, PaneLine, WindowLine};
use crate::save::{Save, SavedServer, counts};

/// What a file of tmux-resurrect held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resurrected {
    /// The save. It names no server: the file does not.
    pub save: Save,
    /// Lines whose columns had to be put back.
    pub mended: usize,
    /// Lines that make no sense, by their number.
    pub skipped: Vec<usize>,
}

/// Reads a file of tmux-resurrect.
pub fn resurrected(text: &str, now: Timestamp) -> Resurrected {
    let mut reading = Reading::default();
    for (at, line) in text.lines().enumerate() {
        if !reading.line(line) {
            reading.skipped.push(at + 1);
        }
    }
    reading.group();
    let Reading { sessions, mut windows, mended, skipped, .. } = reading;
    let sized = |window: &&Window| window.width > 0 && window.height > 0;
    let usual = windows.iter().find(sized).map_or(SIZE, |window| (window.width, window.height));
    for window in &mut windows {
        window.panes.sort_by_key(|pane| pane.index);
        if !sized(&&*window) {
            (window.width, window.height) = usual;
        }
    }
    for (at, pane) in windows.iter_mut().flat_map(|window| &mut window.panes).enumerate() {
        pane.id = format!("%{at}");
    }
    let (socket, version) = (PathBuf::from("resurrect"), String::new());
    let tmux = ServerSnapshot { socket, pid: 0, start_time: identity(text), version, sessions, windows };
    let servers = vec![SavedServer { tmux, agents: Vec::new(), gone_since: None, wanted: false }];
    let head = Head {
        schema: SCHEMA,
        saved_at: now,
        kind: Kind::Imported,
        name: None,
        imported: true,
        held: None,
        counts: Counts::default(),
        scrollback: None,
    };
    let head = Head { counts: counts(&servers), ..head };
    Resurrected { save: Save { id: None, head, servers }, mended, skipped }
}

/// What tells the server of one file from that of another: neither names one, and restored panes are known by it. With no
/// process it is never a server's that lives.
fn identity(text: &str) -> i64 {
    // As many bits as every reader of JSON keeps.
    blake3::hash(text.as_bytes())
        .as_bytes()
        .iter()
        .take(6)
        .fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// The size of windows where the file tells none: that of tmux itself for sessions that nobody looks at.
const SIZE: (u32, u32) = (80, 24);

#[derive(Default)]
struct Reading {
    sessions: Vec<Session>,
    windows: Vec<Window>,
    window_at: HashMap<(String, u32), usize>,
    groups: Vec<Grouped>,
    mended: usize,
    skipped: Vec<usize>,
}

struct Grouped {
    name: String,
    original: String,
    last: Option<u32>,
    active: Option<u32>,
}

impl Reading {
    /// Whether the line made sense.
    fn line(&mut self, line: &str) -> bool {
        match line.split('\t').next() {
            Some("pane") => mend::pane(line).map(|read| self.pane(read)).is_some(),
            Some("window") => mend::window(line).map(|read| self.window(read)).is_some(),
            Some("grouped_session") => self.grouped(line).is_some(),
            Some("state") => {
                let looked_at = line.split('\t').nth(1).unwrap_or_default();
                if let Some(session) = self.sessions.iter_mut().find(|known| known.name == looked_at) {
                    session.attached = 1;
                }
                true
            }
            first => first.is_none_or(str::is_empty),
        }
    }

    fn session(&mut self, name: &str) -> &mut Session {
        let at = self.sessions.iter().position(|known| known.name == name).unwrap_or_else(|| {
            self.sessions.push(Session {
                id: format!("${}", self.sessions.len()),
                name: name.to_owned(),
                group: None,
                path: String::new(),
                attached: 0,
                windows: Vec::new(),
            });
            self.sessions.len() - 1
        });
        &mut self.sessions[at]
    }

    fn window_of(&mut self, session: &str, index: u32, active: bool, flags: &str) -> &mut Window {
        let key = (session.to_owned(), index);
        let at = match self.window_at.get(&key) {
            Some(at) => *at,
            None => {
                let id = format!("@{}", self.windows.len());
                let last = flags.contains('-');
                self.session(session).windows.push(Link { index, window: id.clone(), active, last });
                self.windows.push(Window {
                    id,
                    name: String::new(),
                    layout: String::new(),
                    zoomed: flags.contains('Z'),
                    width: 0,
                    height: 0,
                    automatic_rename: true,
                    panes: Vec::new(),
                });
                self.window_at.insert(key, self.windows.len() - 1);
                self.windows.len() - 1
            }
        };
        &mut self.windows[at]
    }

    fn pane(&mut self, read: PaneLine) {
        self.mended += usize::from(read.mended);
        let window = self.window_of(&read.session, read.window, read.window_active, &read.flags);
        if let Some(name) = read.window_name {
            window.name = name;
        }
        window.panes.push(PaneShot {
            index: read.index,
            title: redact::redact(&read.title).into_owned(),
            cwd: read.cwd,
            active: read.active,
            start_command: redact::redact(&read.full_command).into_owned(),
            command: read.command,
            ..PaneShot::default()
        });
    }

    fn window(&mut self, read: WindowLine) {
        let window = self.window_of(&read.session, read.index, read.active, &read.flags);
        if let Some(name) = read.name {
            window.name = name;
        }
        if let Some(automatic) = read.automatic_rename {
            window.automatic_rename = automatic;
        }
        (window.width, window.height) = size(&read.layout).unwrap_or_default();
        // tmux refuses what was torn or changed by hand, and all that is made with it would count as failed.
        window.layout = if is_whole(&read.layout) { read.layout } else { String::new() };
    }

    fn grouped(&mut self, line: &str) -> Option<()> {
        let mut columns = line.split('\t').skip(1);
        let (name, original) = (columns.next()?.to_owned(), columns.next()?.to_owned());
        let mut index = || columns.next()?.strip_prefix(':')?.parse().ok();
        let (last, active) = (index(), index());
        self.groups.push(Grouped { name, original, last, active });
        Some(())
    }

    /// Sessions of a group show the windows of the one that was first.
    fn group(&mut self) {
        for Grouped { name, original, last, active } in std::mem::take(&mut self.groups) {
            let Some(first) = self.sessions.iter_mut().find(|known| known.name == original) else { continue };
            first.group = Some(original.clone());
            let mut windows = first.windows.clone();
            for link in &mut windows {
                link.active = Some(link.index) == active;
                link.last = Some(link.index) == last;
            }
            let session = self.session(&name);
            session.group = Some(original);
            session.windows = windows;
        }
    }
}

/// Columns and rows of a layout: `b25f,200x60,0,0,0`.
fn size(layout: &str) -> Option<(u32, u32)> {
    let (width, height) = layout.split(',').nth(1)?.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// Whether a layout begins with its sum, as tmux counts it (`layout_checksum` of 3.3a).
fn is_whole(layout: &str) -> bool {
    let turned = |sum: u16, byte: u8| sum.rotate_right(1).wrapping_add(byte.into());
    layout.split_once(',').is_some_and(|(sum, rest)| {
        u16::from_str_radix(sum, 16).is_ok_and(|sum| sum == rest.bytes().fold(0, turned))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "grouped_session\tmirror\twork\t:0\t:1
pane\twork\t0\t0\t:-\t1\thost\t:/home/me\t1\tbash\t:
pane\twork\t0\t0\t:-\t0\t:/srv/app\t0\tnode\t4711\t:
pane\twork\t1\t1\t:*Z\t0\thost\t:/var/log\t1\ttail\t:tail -f syslog
pane\tnonsense
window\twork\t0\t:code\t0\t:-\te1f2,200x60,0,0{100x60,0,0,0,99x60,101,0,1}\toff
window\twork\t1\t:logs\t1\t:*Z\tb25f,200x60,0,0,2\t:
state\twork\tmirror
";

    #[test]
    fn a_file_becomes_a_save_of_guesses() {
        let read = resurrected(FILE, Timestamp::UNIX_EPOCH);
        assert_eq!((read.mended, &read.skipped[..]), (1, &[5][..]));
        let Save { head, servers, .. } = &read.save;
        assert!(head.imported);
        let counts = head.counts;
        assert_eq!((counts.sessions, counts.windows, counts.panes, counts.agents), (2, 2, 3, 0));
        let shot = &servers[0].tmux;
        let [code, logs] = &shot.windows[..] else { panic!() };
        assert_eq!((code.name.as_str(), code.automatic_rename, code.width), ("code", false, 200));
        assert!(logs.zoomed && logs.automatic_rename);
        let panes: Vec<(&str, &str, &str)> =
            code.panes.iter().map(|pane| (&*pane.id, &*pane.title, &*pane.cwd)).collect();
        assert_eq!(panes, [("%0", "", "/srv/app"), ("%1", "host", "/home/me")]);
        assert_eq!(logs.panes[0].start_command, "tail -f syslog");
        let [work, mirror] = &shot.sessions[..] else { panic!() };
        assert_eq!((work.attached, &work.group, &mirror.group), (1, &mirror.group, &Some("work".into())));
        let active = |session: &Session| session.windows.iter().find(|link| link.active).unwrap().index;
        assert_eq!((active(work), active(mirror)), (1, 1));
        assert_eq!(mirror.windows.iter().find(|link| link.last).unwrap().index, 0);
    }

    #[test]
    fn every_window_has_a_size_and_a_whole_layout_or_none() {
        let check = |more: &str, expect: [(u32, u32, &str); 2]| {
            let panes = "pane\twork\t0\t1\t:*\t0\thost\t:/srv\t1\tbash\t:\npane\twork\t1\t0\t:\t0\thost\t:/srv\t1\tbash\t:\n";
            let read = resurrected(&format!("{panes}{more}"), Timestamp::UNIX_EPOCH);
            let windows = &read.save.servers[0].tmux.windows;
            let sizes: Vec<_> = windows.iter().map(|w| (w.width, w.height, w.layout.as_str())).collect();
            assert_eq!(sizes, expect, "{more}");
        };
        let layout = "ae9e,200x60,0,0,1";
        check("", [(80, 24, ""), (80, 24, "")]);
        check(&format!("window\twork\t1\t:x\t0\t:\t{layout}\toff\n"), [(200, 60, ""), (200, 60, layout)]);
        check("window\twork\t1\t:x\t0\t:\tnone\toff\n", [(80, 24, ""), (80, 24, "")]);
        let torn = "537b,200x60,0,0{100x60,0,0,0,99x6";
        check(&format!("window\twork\t1\t:x\t0\t:\t{torn}\n"), [(200, 60, ""), (200, 60, "")]);
    }
}
