//! Who is in the conversation that a pane waits for, and what its user can do about it from here.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agents::SessionKey;
use agents::claude::Owner;
use jiff::Timestamp;
use recovery::{LiveOwner, Taking};
use sessions::view::{Sources, View};
use sessions::{MachineState, Settler};
use store::record::SessionRecord;

use crate::context::{Context, pane_around};

/// Who is in a conversation, seen from a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Nobody,
    /// Somebody who is not known well enough to be gone to, or nobody can tell.
    Unclear {
        why: String,
    },
    Somebody {
        who: LiveOwner,
        taking: Taking,
    },
}

/// The pane that this runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Here {
    pub(crate) socket: PathBuf,
    /// `%4`.
    pub(crate) pane: String,
}

impl Here {
    pub(crate) fn around() -> Option<Here> {
        pane_around().map(|(socket, pane)| Here { socket, pane })
    }

    /// Its server, where that has this pane.
    fn server<'w>(&self, world: &'w MachineState) -> Option<&'w tmux::Server> {
        world.alive_servers().find(|server| server.socket == self.socket && server.pane(&self.pane).is_some())
    }
}

impl Found {
    /// Looks, and changes nothing. Where nobody is in it, only registries and the process table are looked at: many pages may
    /// be shown at once.
    pub(crate) fn look(context: &Context, record: Option<&SessionRecord>, session: &SessionKey) -> Found {
        let owner =
            context.repairer.owners().of(session.id(), &recovery::expected_transcript(session, record));
        let unclear = || Found::Unclear {
            why: match &owner {
                Owner::Process(holder) => format!("process {} may be in it: {}", holder.pid, holder.evidence),
                Owner::Unknown { why } => why.clone(),
                Owner::Nobody => String::new(),
            },
        };
        if owner == Owner::Nobody {
            return Found::Nobody;
        }
        Found::known(context, session, &owner).unwrap_or_else(unclear)
    }

    fn known(context: &Context, session: &SessionKey, owner: &Owner) -> Option<Found> {
        let here = Here::around();
        let sockets: BTreeSet<PathBuf> = here.iter().map(|here| here.socket.clone()).collect();
        let now = Timestamp::now();
        let settled = Settler { sockets, ..context.settler().ok()? }.look().ok()?;
        let (records, world) = (&settled.records, &settled.world);
        let view = View::of(&Sources { records, world, newest: &|_, _| None, now });
        let who = LiveOwner::of(session, owner, &view, world)?;
        Some(Found::seen_from(who, here.as_ref(), world))
    }

    /// What can be done about somebody from here.
    pub(crate) fn seen_from(who: LiveOwner, here: Option<&Here>, world: &MachineState) -> Found {
        let taking = who.taking(here.and_then(|here| here.server(world)).map(|server| &server.id));
        Found::Somebody { who, taking }
    }
}
