//! Crashed agents whose panes a save holds: `restore` brings those back with their layout, and `recover` would not.

use std::collections::BTreeSet;

use agents::SessionKey;
use jiff::Timestamp;
use layouts::Save;
use store::record::SessionRecord;

use crate::context::{Context, TMUX_DEADLINE};
use crate::output::{ago, count};

/// The crashed agents whose panes are gone and held by the current save.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    pub(crate) sessions: BTreeSet<SessionKey>,
    saved_at: Option<Timestamp>,
}

impl Held {
    /// Looks at the current save and at the servers of these agents. Nothing is asked where there are none.
    pub(crate) fn look<'a>(context: &Context, crashed: impl Iterator<Item = &'a SessionRecord>) -> Held {
        let mut crashed = crashed.peekable();
        if crashed.peek().is_none() {
            return Held::default();
        }
        let loaded = store::saves::named_current(&context.repairer.state, context.reading_key().as_ref());
        let Some(save) = loaded.as_ref().and_then(Save::of) else { return Held::default() };
        let sessions = layouts::held(&save, crashed, |socket| tmux::list(socket, TMUX_DEADLINE));
        Held { sessions: sessions.into_iter().collect(), saved_at: Some(save.head.saved_at) }
    }

    pub(crate) fn has(&self, session: &SessionKey) -> bool {
        self.sessions.contains(session)
    }

    /// Why `recover --all` leaves such an agent to `restore`.
    pub(crate) fn reason(&self) -> String {
        let when = self.saved_at.map(ago).unwrap_or_default();
        format!("a save of {when} holds its pane: `rekindle restore` brings it back with its layout")
    }

    /// How so many crashed agents are brought back.
    pub(crate) fn hint(&self, crashed: usize) -> String {
        let held = self.sessions.len();
        let when = self.saved_at.map(ago).unwrap_or_default();
        match crashed.saturating_sub(held) {
            _ if held == 0 => "Bring crashed agents back with `rekindle recover`.".to_owned(),
            0 => format!(
                "Bring crashed agents back with `rekindle restore`: a save of {when} holds their panes and layout."
            ),
            others => format!(
                "Bring {} back with `rekindle restore`: a save of {when} holds their panes and layout. Then bring {} back with `rekindle recover`.",
                count(held as u64, "crashed agent", "crashed agents"),
                count(others as u64, "other", "others"),
            ),
        }
    }
}
