//! Which crashed sessions a save holds while their panes are gone: a restore brings those back where they were, with the
//! windows, shells and names around them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agents::SessionKey;
use store::record::{SessionRecord, TmuxPlace};
use tmux::{Listing, Pane, Server};

use crate::save::Save;

/// The sessions of these records whose panes are gone and held by a save. `list` asks a server for its panes. A server that
/// does not answer may still have everything, so none of its sessions count.
pub fn held<'a>(
    save: &Save,
    crashed: impl Iterator<Item = &'a SessionRecord>,
    list: impl Fn(&Path) -> Listing,
) -> Vec<SessionKey> {
    let mut listed: BTreeMap<PathBuf, Listing> = BTreeMap::new();
    let mut found = Vec::new();
    for record in crashed {
        let saved = save.servers.iter().flat_map(|server| &server.agents);
        let place = record.place.as_ref().or(record.run().and_then(|run| run.tmux.as_ref()));
        let Some(place) = place.filter(|_| saved.clone().any(|agent| agent.session_id == record.session_id))
        else {
            continue;
        };
        let listing = listed.entry(place.socket.clone()).or_insert_with(|| list(&place.socket));
        let is_gone = match listing {
            Listing::Gone => true,
            Listing::Alive(server) => !stands(server, place),
            Listing::Unknown { .. } => false,
        };
        if is_gone {
            found.push(record.session_id.clone());
        }
    }
    found
}

/// Whether a pane stands: the same one, or, in another life of its server, one in its place.
fn stands(server: &Server, place: &TmuxPlace) -> bool {
    let same_life = (server.id.pid, server.id.started) == (place.server, place.started);
    let is_it = |pane: &Pane| {
        if same_life { pane.id == place.pane } else { server.reference(pane).as_str() == place.reference }
    };
    server.panes.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use tmux::ServerId;

    use super::*;

    fn save_of(session: &str) -> Save {
        let agent = json!({"pane": "%1", "sessionId": session, "grade": "proven"});
        let tmux = json!({"socket": "/s", "pid": 1, "startTime": 1, "version": "3.3a", "sessions": [], "windows": []});
        let server = json!({"tmux": tmux, "agents": [agent]});
        let head = json!({"schema": 1, "savedAt": Timestamp::UNIX_EPOCH, "kind": "manual"});
        let servers = vec![serde_json::from_value(server).unwrap()];
        Save { id: None, head: serde_json::from_value(head).unwrap(), servers }
    }

    #[test]
    fn held_where_the_pane_is_gone_and_the_save_has_it() {
        let mut record = SessionRecord::new(SessionKey::parse("a").unwrap(), Timestamp::UNIX_EPOCH);
        record.place = Some(TmuxPlace {
            socket: "/s".into(),
            server: 1,
            started: 1,
            pane: "%1".to_owned(),
            reference: "/s//work:0.0".to_owned(),
        });
        let pane = |id: &str, window: u32| Pane {
            id: id.to_owned(),
            session: "work".to_owned(),
            window,
            ..Pane::default()
        };
        let alive = |pid: u32, panes: Vec<Pane>| {
            Listing::Alive(Server {
                socket: "/s".into(),
                id: ServerId { pid, started: 1 },
                version: String::new(),
                panes,
            })
        };
        let check = |save: &Save, listing: Listing, expect: bool| {
            let found = held(save, std::iter::once(&record), |_| listing.clone());
            assert_eq!(!found.is_empty(), expect, "{listing:?}");
        };
        let save = save_of("a");
        check(&save, Listing::Gone, true);
        check(&save_of("b"), Listing::Gone, false);
        check(&save, alive(1, vec![pane("%1", 3)]), false);
        check(&save, alive(1, vec![pane("%2", 0)]), true);
        check(&save, alive(2, vec![pane("%1", 3)]), true);
        check(&save, alive(2, vec![pane("%7", 0)]), false);
    }
}
