//! The events of tmux after which a save would say something new.

/// The hooks that tell of a change in what a save holds: sessions, windows, panes, their names, places and sizes.
///
/// Not among them are `pane-focus-in` and the hooks of keys and clients, which fire all day and change next to nothing.
/// Nothing tells of a pane's new directory: that is what the timer is for.
pub fn save_events() -> &'static [&'static str] {
    &[
        "session-created",
        "session-closed",
        "session-renamed",
        "session-window-changed",
        "window-linked",
        "window-unlinked",
        "window-renamed",
        "window-layout-changed",
        "window-pane-changed",
        "pane-exited",
        "pane-died",
        "client-detached",
    ]
}
