//! What live servers have of ours: `@rekindle_id` is taken off every pane of every server that is known, and hooks that call
//! us are taken off the servers.

use mux::Listing;
use state::{StateDir, record};

use crate::context::{Context, TMUX_DEADLINE};

/// Takes the tags off; how many panes had one. A server or a pane that is gone has none.
pub(super) fn take_off(state: Option<&StateDir>) -> usize {
    let mut sockets = Context::sockets();
    if let Some(state) = state {
        let ids = record::ids(state).unwrap_or_default();
        let held = ids.iter().filter_map(|id| record::load(state, None, id).ok().flatten());
        sockets.extend(held.filter_map(|held| Some(held.record.place?.socket)));
    }
    let mut taken = 0;
    for socket in sockets {
        let Listing::Alive(server) = mux::list(&socket, TMUX_DEADLINE) else { continue };
        mux::unhook(&socket, TMUX_DEADLINE);
        let tagged = server.panes.iter().filter(|pane| pane.tag.is_some());
        // One by one: a pane that closes meanwhile keeps none of the others from losing theirs.
        taken += tagged.filter(|pane| mux::untag(&socket, &[&pane.id], TMUX_DEADLINE).is_ok()).count();
    }
    taken
}
