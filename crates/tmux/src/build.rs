//! A server's sessions, windows and panes as one file of tmux commands.
//!
//! Pure: text comes out. **`#(command)` in a name or path runs** (measured), so no text is given to tmux that it would expand.

use std::collections::{BTreeMap, BTreeSet};

use crate::own_options::is_name;
use crate::quoting::{quote, text, unescaped};
use crate::tag::TAG;

/// A session to be made or filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPlan {
    /// Its name.
    pub name: String,
    /// Its id (`$1`) where it is there already: then windows are only added, and what it shows stays.
    pub there: Option<String>,
    /// The session whose windows it shares, all of them.
    pub shares_with: Option<String>,
    /// Its own windows, by number.
    pub windows: Vec<WindowPlan>,
    /// Windows of other sessions that it shows too.
    pub links: Vec<LinkPlan>,
    /// The window it shows.
    pub shown: Option<u32>,
    /// The window it showed before.
    pub last: Option<u32>,
}

impl SessionPlan {
    /// The numbers of its windows, its own and those of others.
    pub fn numbers(&self) -> BTreeSet<u32> {
        let own = self.windows.iter().map(|window| window.index);
        own.chain(self.links.iter().map(|link| link.index)).collect()
    }
}

/// A window of another session that a session shows too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPlan {
    /// The session that has it.
    pub session: String,
    /// Its number there.
    pub from: u32,
    /// Its number here.
    pub index: u32,
}

/// A window to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowPlan {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether tmux renames it by itself.
    pub renames_itself: bool,
    /// tmux's own description of sizes and splits.
    pub layout: String,
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Whether its active pane fills it.
    pub zoomed: bool,
    /// Its panes, by number.
    pub panes: Vec<PanePlan>,
}

/// A pane to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanePlan {
    /// Where its shell starts.
    pub cwd: String,
    /// Its title.
    pub title: String,
    /// Whether it is the window's current one.
    pub active: bool,
    /// The mark it is found again by: set as a pane option.
    pub mark: String,
    /// The conversation that belongs into it: set together with the pane, so that whoever is killed before an agent is
    /// there leaves a pane that says what it waits for.
    pub tag: Option<String>,
    /// What its user has set on it, by names that begin with `@`.
    pub options: BTreeMap<String, String>,
    /// The program it is started with; a shell where it is empty. No shell reads its words.
    pub command: Vec<String>,
    /// What that program's environment has besides the server's.
    pub variables: Vec<(String, String)>,
}

/// The pane option that holds a pane's mark.
pub const MARK: &str = "@rekindle_pane";

/// Where a server begins to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Base {
    /// Its `base-index`.
    pub window: u32,
    /// Its `pane-base-index`.
    pub pane: u32,
}

/// Room for every split, whatever the window's own size: tmux refuses to split a pane that is too small.
pub(crate) const ROOMY: u32 = 2000;

/// A number that no window has: where a session's first window waits until others are there.
const ASIDE: u32 = 999_999;

/// The commands that make these sessions, each after those whose windows it shows.
pub fn script(sessions: &[SessionPlan], base: Base) -> String {
    let mut out = String::new();
    let all = Sessions(sessions);
    let numbered = || sessions.iter().enumerate();
    for (at, session) in numbered().filter(|(_, session)| session.shares_with.is_none()) {
        all.own_windows(&mut out, at, session, base);
    }
    for (at, session) in numbered().filter(|(_, session)| session.shares_with.is_none()) {
        all.linked_windows(&mut out, at, session, base);
    }
    // A group is called after its first session, so that must have its name by then.
    let (early, late): (Vec<_>, Vec<_>) = numbered()
        .partition(|(_, session)| session.shares_with.as_deref().is_none_or(|host| !is_plain(host)));
    for (at, session) in &early {
        all.share_windows(&mut out, *at, session, false);
    }
    for (at, session) in early {
        all.finish(&mut out, at, session);
    }
    for (at, session) in late {
        all.share_windows(&mut out, at, session, true);
        all.finish(&mut out, at, session);
    }
    out
}

/// Whether a name is one that tmux takes for a name wherever it stands.
fn is_plain(name: &str) -> bool {
    !name.starts_with('$') && !name.contains('\\')
}

struct Sessions<'a>(&'a [SessionPlan]);

impl Sessions<'_> {
    /// A new session has a plain name until all is done: `=$1` would mean the session with that id, whatever it is called
    /// (measured).
    fn plain(&self, at: usize) -> String {
        match self.0.get(at).and_then(|session| session.there.as_deref()) {
            Some(id) => id.to_owned(),
            None => format!("=rekindle-{at}"),
        }
    }

    fn session(&self, at: usize) -> String {
        quote(&self.plain(at))
    }

    fn window(&self, at: usize, index: u32) -> String {
        quote(&format!("{}:{index}", self.plain(at)))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|session| session.name == name)
    }

    fn own_windows(&self, out: &mut String, at: usize, session: &SessionPlan, base: Base) {
        for (nth, window) in session.windows.iter().enumerate() {
            let Some(first) = window.panes.first() else { continue };
            let (cwd, target) = (text(&first.cwd), self.window(at, window.index));
            // Given here it stays as it is; `rename-window` would escape `$x`, backslashes and control characters (measured
            // on 3.3a).
            let name = text(&window.name);
            let (set, words) = program(first);
            if nth == 0 && session.there.is_none() {
                let (width, height) = (window.width, window.height);
                let made = format!("new-session -d -s rekindle-{at} -x {width} -y {height}");
                line(out, &format!("{made} -n {name} -c {cwd}{set}{words}"));
                if window.index != base.window {
                    line(out, &format!("move-window -s {} -t {target}", self.window(at, base.window)));
                }
            } else {
                line(out, &format!("new-window -d -t {target} -n {name} -c {cwd}{set}{words}"));
            }
            window_commands(out, &target, window, base);
        }
    }

    fn share_windows(&self, out: &mut String, at: usize, session: &SessionPlan, named: bool) {
        let host = session.shares_with.as_ref().and_then(|name| Some((name, self.position(name)?)));
        if let (Some((name, other)), None) = (host, &session.there) {
            let host = if named { quote(&format!("={name}")) } else { self.session(other) };
            line(out, &format!("new-session -d -s rekindle-{at} -t {host}"));
        }
    }

    /// Shows the right window, and gives the session its name.
    fn finish(&self, out: &mut String, at: usize, session: &SessionPlan) {
        if session.there.is_some() {
            return;
        }
        for index in session.last.iter().chain(&session.shown) {
            line(out, &format!("select-window -t {}", self.window(at, *index)));
        }
        line(out, &format!("rename-session -t {} -- {}", self.session(at), text(&unescaped(&session.name))));
    }

    fn linked_windows(&self, out: &mut String, at: usize, session: &SessionPlan, base: Base) {
        let only_links = session.windows.is_empty() && session.there.is_none() && !session.links.is_empty();
        if only_links {
            line(out, &format!("new-session -d -s rekindle-{at}"));
            let (first, aside) = (self.window(at, base.window), self.window(at, ASIDE));
            line(out, &format!("move-window -s {first} -t {aside}"));
        }
        for link in &session.links {
            let Some(other) = self.position(&link.session) else { continue };
            let (from, to) = (self.window(other, link.from), self.window(at, link.index));
            line(out, &format!("link-window -d -s {from} -t {to}"));
        }
        if only_links {
            line(out, &format!("kill-window -t {}", self.window(at, ASIDE)));
        }
    }
}

fn window_commands(out: &mut String, target: &str, window: &WindowPlan, base: Base) {
    if window.renames_itself {
        line(out, &format!("set-option -w -t {target} automatic-rename on"));
    }
    line(out, &format!("resize-window -t {target} -x {ROOMY} -y {ROOMY}"));
    for (nth, pane) in window.panes.iter().enumerate() {
        if nth > 0 {
            // Each new pane is the current one, so the next stands behind it; evened out, there is room for all.
            split(out, &format!("-t {target}"), target, pane);
            continue;
        }
        labels(target, pane).iter().for_each(|label| line(out, label));
    }
    line(out, &format!("resize-window -t {target} -x {} -y {}", window.width, window.height));
    // From now on the window follows its clients again.
    line(out, &format!("set-option -w -u -t {target} window-size"));
    if !window.layout.is_empty() {
        line(out, &format!("select-layout -t {target} {}", quote(&window.layout)));
    }
    if let Some(active) = window.panes.iter().position(|pane| pane.active) {
        let index = base.pane as usize + active;
        let pane = target.strip_suffix('\'').map(|open| format!("{open}.{index}'"));
        line(out, &format!("select-pane -t {}", pane.as_deref().unwrap_or(target)));
    }
    if window.zoomed {
        line(out, &format!("resize-pane -Z -t {target}"));
    }
}

/// Splits a window at a place, and labels the new pane, which is the current one then. In one line: where a split fails tmux
/// passes over the rest of its line and goes on with the next (measured on 3.3a), and the label would go to somebody's pane.
pub(crate) fn split(out: &mut String, place: &str, target: &str, pane: &PanePlan) {
    let (set, words) = program(pane);
    let mut commands = vec![format!("split-window {place} -c {}{set}{words}", text(&pane.cwd))];
    commands.extend(labels(target, pane));
    commands.push(format!("select-layout -t {target} even-vertical"));
    line(out, &commands.join(" ; "));
}

/// The commands that give the current pane of a window what it is known by.
fn labels(target: &str, pane: &PanePlan) -> Vec<String> {
    let mut labels = vec![format!("set-option -p -t {target} {MARK} {}", quote(&pane.mark))];
    labels.extend(pane.tag.iter().map(|tag| format!("set-option -p -t {target} {TAG} {}", quote(tag))));
    // A save may come from elsewhere: only what is a name is one.
    let own = pane.options.iter().filter(|(name, _)| is_name(name));
    labels.extend(own.map(|(name, value)| format!("set-option -p -t {target} {name} {}", quote(value))));
    labels.push(format!("select-pane -t {target} -T {}", text(&pane.title)));
    labels
}

/// What is said of a pane's program where the pane is made: its variables, and at the end its words.
pub(crate) fn program(pane: &PanePlan) -> (String, String) {
    if pane.command.is_empty() {
        return (String::new(), String::new());
    }
    (set(&pane.variables), words(&pane.command))
}

/// Variables as options of a command.
pub(crate) fn set(variables: &[(String, String)]) -> String {
    variables.iter().map(|(name, value)| format!(" -e {}", quote(&format!("{name}={value}")))).collect()
}

/// Words as the end of a command: as many words as they are.
pub(crate) fn words(words: &[String]) -> String {
    let quoted: String = words.iter().map(|word| format!(" {}", quote(word))).collect();
    format!(" --{quoted}")
}

pub(crate) fn line(out: &mut String, command: &str) {
    out.push_str(command);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-tmux-14
    #[test]
    fn nothing_in_a_name_is_expanded_or_ends_its_word() {
        assert_eq!(text("a #(touch x) 'b'"), r#"'a ##(touch x) '"'"'b'"'"''"#);
        let window = WindowPlan {
            index: 3,
            name: "#{pane_id}; kill-server".to_owned(),
            renames_itself: false,
            layout: "b25d,80x24,0,0,0".to_owned(),
            width: 80,
            height: 24,
            zoomed: true,
            panes: vec![PanePlan {
                cwd: "/#(x)".to_owned(),
                title: String::new(),
                active: true,
                mark: "m".to_owned(),
                tag: Some("id".to_owned()),
                options: BTreeMap::from(
                    [("@x", "#{y}; z"), ("@a b", "c"), ("@c;kill-server", ""), ("status", "off")]
                        .map(|(name, value)| (name.to_owned(), value.to_owned())),
                ),
                command: vec!["/bin/re kindle".to_owned(), "it's;".to_owned(), "a\nb".to_owned()],
                variables: vec![("A".to_owned(), "b c".to_owned())],
            }],
        };
        let session = SessionPlan {
            name: "s".to_owned(),
            windows: vec![window],
            shown: Some(3),
            ..SessionPlan::default()
        };
        let made = script(&[session], Base { window: 1, pane: 1 });
        let program = r#" -e 'A=b c' -- '/bin/re kindle' 'it'"'"'s;' 'a'"\n"'b'"#;
        let begin = "new-session -d -s rekindle-0 -x 80 -y 24 -n '##{pane_id}; kill-server' -c '/##(x)'";
        assert!(made.contains(&format!("{begin}{program}\n")), "{made}");
        assert!(
            made.contains("@rekindle_pane 'm'\nset-option -p -t '=rekindle-0:3' @rekindle_id 'id'\n"),
            "{made}"
        );
        assert!(made.contains("set-option -p -t '=rekindle-0:3' @x '#{y}; z'\nselect-pane "), "{made}");
        assert!(!made.contains("@a") && !made.contains("@c") && !made.contains("status"), "{made}");
        assert!(made.contains("move-window -s '=rekindle-0:1' -t '=rekindle-0:3'\n"), "{made}");
        assert!(made.contains("select-pane -t '=rekindle-0:3.1'\n"), "{made}");
        let end = "resize-pane -Z -t '=rekindle-0:3'\nselect-window -t '=rekindle-0:3'\n";
        assert!(made.ends_with(&format!("{end}rename-session -t '=rekindle-0' -- 's'\n")), "{made}");
    }
}
