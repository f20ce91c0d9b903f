//! What `init --tmux` writes: where tmux's configuration is, and what a server is told.

use std::path::{Path, PathBuf};

use integrate::{Program, TmuxWish};

use crate::context::Context;

/// What tmux would be told by a program in this home.
pub(crate) fn wish(home: &Path, program: &Program) -> TmuxWish {
    let config = Context::place("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let config = config.unwrap_or_else(|| home.join(".config"));
    let text = format!(
        "# tmux saves and restores by rekindle: docs/automation.md.\n{}",
        tmux::configuration(program.path())
    );
    let file = config.join("rekindle/tmux.conf");
    TmuxWish { conf: conf(home, &config), file, text: text.into_bytes() }
}

/// The configuration that tmux reads: all of these that are there. Where none is, the oldest place is made.
fn conf(home: &Path, config: &Path) -> PathBuf {
    let places =
        [home.join(".tmux.conf"), config.join("tmux/tmux.conf"), home.join(".config/tmux/tmux.conf")];
    places.iter().find(|place| place.exists()).unwrap_or(&places[0]).clone()
}
