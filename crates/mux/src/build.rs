//! A server's sessions, windows and panes as one file of tmux commands.
//!
//! Pure: text comes out. **`#(command)` in a name or path runs** (measured), so every `#` is doubled before tmux sees it.

use crate::tag::TAG;

/// A session to be made or filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPlan {
    /// Its name.
    pub name: String,
    /// Whether it is there already: then windows are only added, and what it shows stays.
    pub there: bool,
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
    /// The program it is started with; a shell where it is empty. No shell reads its words.
    pub command: Vec<String>,
}

/// Variables that programs in new panes are started with.
pub type Variables = [(String, String)];

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
const ROOMY: u32 = 2000;

/// A number that no window has: where a session's first window waits until others are there.
const ASIDE: u32 = 999_999;

/// The commands that make these sessions, each after those whose windows it shows.
pub fn script(sessions: &[SessionPlan], base: Base, variables: &Variables) -> String {
    let mut out = String::new();
    for session in sessions.iter().filter(|session| session.shares_with.is_none()) {
        own_windows(&mut out, session, base, variables);
    }
    for session in sessions {
        shared_windows(&mut out, session, base);
    }
    for session in sessions {
        for index in session.last.iter().chain(&session.shown).filter(|_| !session.there) {
            line(&mut out, &format!("select-window -t {}", window_of(session, *index)));
        }
    }
    out
}

fn window_of(session: &SessionPlan, index: u32) -> String {
    quote(&format!("={}:{index}", session.name))
}

fn own_windows(out: &mut String, session: &SessionPlan, base: Base, variables: &Variables) {
    for (nth, window) in session.windows.iter().enumerate() {
        let Some(first) = window.panes.first() else { continue };
        let (cwd, target) = (text(&first.cwd), window_of(session, window.index));
        let (set, words) = program(first, variables);
        if nth == 0 && !session.there {
            let (name, width, height) = (text(&session.name), window.width, window.height);
            line(out, &format!("new-session -d -s {name} -x {width} -y {height} -c {cwd}{set}{words}"));
            if window.index != base.window {
                line(out, &format!("move-window -s {} -t {target}", window_of(session, base.window)));
            }
        } else {
            line(out, &format!("new-window -d -t {target} -c {cwd}{set}{words}"));
        }
        window_commands(out, &target, window, base, variables);
    }
}

fn shared_windows(out: &mut String, session: &SessionPlan, base: Base) {
    let name = text(&session.name);
    if let Some(other) = &session.shares_with {
        if !session.there {
            line(out, &format!("new-session -d -s {name} -t {}", quote(&format!("={other}"))));
        }
        return;
    }
    let only_links = session.windows.is_empty() && !session.there && !session.links.is_empty();
    if only_links {
        line(out, &format!("new-session -d -s {name}"));
        line(
            out,
            &format!("move-window -s {} -t {}", window_of(session, base.window), window_of(session, ASIDE)),
        );
    }
    for link in &session.links {
        let from = quote(&format!("={}:{}", link.session, link.from));
        line(out, &format!("link-window -d -s {from} -t {}", window_of(session, link.index)));
    }
    if only_links {
        line(out, &format!("kill-window -t {}", window_of(session, ASIDE)));
    }
}

fn window_commands(out: &mut String, target: &str, window: &WindowPlan, base: Base, variables: &Variables) {
    line(out, &format!("rename-window -t {target} {}", text(&window.name)));
    if window.renames_itself {
        line(out, &format!("set-option -w -t {target} automatic-rename on"));
    }
    line(out, &format!("resize-window -t {target} -x {ROOMY} -y {ROOMY}"));
    for (nth, pane) in window.panes.iter().enumerate() {
        if nth > 0 {
            // Each new pane is the current one, so the next stands behind it; evened out, there is room for all.
            let (set, words) = program(pane, variables);
            line(out, &format!("split-window -t {target} -c {}{set}{words}", text(&pane.cwd)));
            line(out, &format!("select-layout -t {target} even-vertical"));
        }
        line(out, &format!("set-option -p -t {target} {MARK} {}", quote(&pane.mark)));
        if let Some(tag) = &pane.tag {
            line(out, &format!("set-option -p -t {target} {TAG} {}", quote(tag)));
        }
        line(out, &format!("select-pane -t {target} -T {}", text(&pane.title)));
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

/// What is said of a pane's program where the pane is made: its variables, and at the end its words.
fn program(pane: &PanePlan, variables: &Variables) -> (String, String) {
    if pane.command.is_empty() {
        return (String::new(), String::new());
    }
    (set(variables), words(&pane.command))
}

/// Variables as options of a command.
pub(crate) fn set(variables: &Variables) -> String {
    variables.iter().map(|(name, value)| format!(" -e {}", quote(&format!("{name}={value}")))).collect()
}

/// Words as the end of a command: as many words as they are.
pub(crate) fn words(words: &[String]) -> String {
    let quoted: String = words.iter().map(|word| format!(" {}", quote(word))).collect();
    format!(" --{quoted}")
}

fn line(out: &mut String, command: &str) {
    out.push_str(command);
    out.push('\n');
}

/// Text that tmux would expand: `#` is doubled, so that it stays text.
pub(crate) fn text(text: &str) -> String {
    quote(&text.replace('#', "##"))
}

/// Any text as one word of tmux's language. A line ends a command even within quotes, so a line break is written as an
/// escape, which only double quotes have.
pub(crate) fn quote(text: &str) -> String {
    let part = |part: &str| format!("'{}'", part.replace('\'', "'\"'\"'"));
    text.split('\n').map(part).collect::<Vec<_>>().join("\"\\n\"")
}

#[cfg(test)]
mod tests {
    use super::*;

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
                command: vec!["/bin/re kindle".to_owned(), "it's;".to_owned(), "a\nb".to_owned()],
            }],
        };
        let session = SessionPlan {
            name: "s".to_owned(),
            windows: vec![window],
            shown: Some(3),
            ..SessionPlan::default()
        };
        let variables = [("A".to_owned(), "b c".to_owned())];
        let made = script(&[session], Base { window: 1, pane: 1 }, &variables);
        let program = r#" -e 'A=b c' -- '/bin/re kindle' 'it'"'"'s;' 'a'"\n"'b'"#;
        let begin = "new-session -d -s 's' -x 80 -y 24 -c '/##(x)'";
        assert!(made.contains(&format!("{begin}{program}\n")), "{made}");
        assert!(made.contains("@rekindle_pane 'm'\nset-option -p -t '=s:3' @rekindle_id 'id'\n"), "{made}");
        assert!(made.contains("move-window -s '=s:1' -t '=s:3'\n"), "{made}");
        assert!(made.contains("rename-window -t '=s:3' '##{pane_id}; kill-server'\n"), "{made}");
        assert!(made.contains("select-pane -t '=s:3.1'\n"), "{made}");
        assert!(made.ends_with("resize-pane -Z -t '=s:3'\nselect-window -t '=s:3'\n"), "{made}");
    }
}
