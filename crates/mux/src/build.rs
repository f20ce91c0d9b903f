//! A server's sessions, windows and panes as one file of tmux commands.
//!
//! Pure: text comes out. **`#(command)` in a name or path runs** (measured), so every `#` is doubled before tmux sees it.

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlan {
    /// Its name.
    pub name: String,
    /// Its windows, by number.
    pub windows: Vec<WindowPlan>,
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
    /// Whether it is the session's current one.
    pub active: bool,
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
const ROOMY: u32 = 2000;

/// The commands that make these sessions, none of which may exist.
pub fn script(sessions: &[SessionPlan], base: Base) -> String {
    let mut out = String::new();
    for session in sessions {
        session_commands(&mut out, session, base);
    }
    out
}

fn session_commands(out: &mut String, session: &SessionPlan, base: Base) {
    let name = text(&session.name);
    let at = |index: u32| quote(&format!("={}:{index}", session.name));
    for (nth, window) in session.windows.iter().enumerate() {
        let Some(first) = window.panes.first() else { continue };
        let cwd = text(&first.cwd);
        if nth == 0 {
            let (width, height) = (window.width, window.height);
            line(out, &format!("new-session -d -s {name} -x {width} -y {height} -c {cwd}"));
            if window.index != base.window {
                line(out, &format!("move-window -s {} -t {}", at(base.window), at(window.index)));
            }
        } else {
            line(out, &format!("new-window -d -t {} -c {cwd}", at(window.index)));
        }
        window_commands(out, &at(window.index), window, base);
    }
    if let Some(window) = session.windows.iter().find(|window| window.active) {
        line(out, &format!("select-window -t {}", at(window.index)));
    }
}

fn window_commands(out: &mut String, target: &str, window: &WindowPlan, base: Base) {
    line(out, &format!("rename-window -t {target} {}", text(&window.name)));
    if window.renames_itself {
        line(out, &format!("set-option -w -t {target} automatic-rename on"));
    }
    line(out, &format!("resize-window -t {target} -x {ROOMY} -y {ROOMY}"));
    for (nth, pane) in window.panes.iter().enumerate() {
        if nth > 0 {
            // Each new pane is the current one, so the next stands behind it; evened out, there is room for all.
            line(out, &format!("split-window -t {target} -c {}", text(&pane.cwd)));
            line(out, &format!("select-layout -t {target} even-vertical"));
        }
        line(out, &format!("set-option -p -t {target} {MARK} {}", quote(&pane.mark)));
        line(out, &format!("select-pane -t {target} -T {}", text(&pane.title)));
    }
    line(out, &format!("resize-window -t {target} -x {} -y {}", window.width, window.height));
    // From now on the window follows its clients again.
    line(out, &format!("set-option -w -u -t {target} window-size"));
    line(out, &format!("select-layout -t {target} {}", quote(&window.layout)));
    if let Some(active) = window.panes.iter().position(|pane| pane.active) {
        let index = base.pane as usize + active;
        let pane = target.strip_suffix('\'').map(|open| format!("{open}.{index}'"));
        line(out, &format!("select-pane -t {}", pane.as_deref().unwrap_or(target)));
    }
    if window.zoomed {
        line(out, &format!("resize-pane -Z -t {target}"));
    }
}

fn line(out: &mut String, command: &str) {
    out.push_str(command);
    out.push('\n');
}

/// Text that tmux would expand: `#` is doubled, so that it stays text.
fn text(text: &str) -> String {
    quote(&text.replace('#', "##"))
}

/// Any text as one word of tmux's language.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\"'\"'"))
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
            active: true,
            zoomed: true,
            panes: vec![PanePlan {
                cwd: "/#(x)".to_owned(),
                title: String::new(),
                active: true,
                mark: "m".to_owned(),
            }],
        };
        let made = script(
            &[SessionPlan { name: "s".to_owned(), windows: vec![window] }],
            Base { window: 1, pane: 1 },
        );
        assert!(made.contains("new-session -d -s 's' -x 80 -y 24 -c '/##(x)'\n"), "{made}");
        assert!(made.contains("move-window -s '=s:1' -t '=s:3'\n"), "{made}");
        assert!(made.contains("rename-window -t '=s:3' '##{pane_id}; kill-server'\n"), "{made}");
        assert!(made.contains("select-pane -t '=s:3.1'\n"), "{made}");
        assert!(made.ends_with("resize-pane -Z -t '=s:3'\nselect-window -t '=s:3'\n"), "{made}");
    }
}
