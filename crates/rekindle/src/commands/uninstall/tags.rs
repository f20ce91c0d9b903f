//! What live servers have of ours: every option of ours is taken off every pane of every server that is known, and hooks that
//! call us are taken off the servers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use store::{StateDir, record, saves};
use tmux::Listing;

use crate::context::{Context, TMUX_DEADLINE};

/// Takes the options off; how many panes had one. A server or a pane that is gone has none.
pub(super) fn take_off(state: Option<&StateDir>) -> usize {
    let mut sockets = Context::sockets();
    if let Some(state) = state {
        let ids = record::keys(state).unwrap_or_default();
        let held = ids.iter().filter_map(|id| record::load(state, None, id).ok().flatten());
        sockets.extend(held.filter_map(|held| Some(held.record.place?.socket)));
        sockets.extend(saved(state));
    }
    let mut taken = 0;
    for socket in sockets {
        let Listing::Alive(server) = tmux::list(&socket, TMUX_DEADLINE) else { continue };
        tmux::unhook(&socket, TMUX_DEADLINE);
        // One by one: a pane that closes meanwhile keeps none of the others from losing theirs.
        let had = |pane: &&tmux::Pane| tmux::strip(&socket, &pane.id, TMUX_DEADLINE).unwrap_or_default();
        taken += server.panes.iter().filter(had).count();
    }
    taken
}

/// The servers that saves were made of, or restored into.
fn saved(state: &StateDir) -> BTreeSet<PathBuf> {
    let loaded = saves::ids(state).into_iter().filter_map(|id| saves::load(state, None, &id).ok());
    let servers = loaded.flat_map(|save| save.whole.get("servers").and_then(Value::as_array).cloned());
    let socket = |server: Value| server["tmux"]["socket"].as_str().map(PathBuf::from);
    servers.flatten().filter_map(socket).filter(|path| path.is_absolute()).collect()
}
