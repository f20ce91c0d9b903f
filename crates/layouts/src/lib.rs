//! What a save of tmux says: taken, guarded, compared, brought in from elsewhere.
//!
//! Taking and comparing are pure but for asking tmux; [`Saver`] acts. **A save that lost too much never becomes current in
//! silence.**

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod carry;
mod compare;
mod drift;
mod follow;
mod gone;
mod guard;
mod held;
mod mend;
mod own_command;
mod resurrect;
mod save;
mod saver;
mod scrollback;
mod take;

pub use carry::{CarryError, Imported, export, import};
pub use compare::{Change, compare};
pub use drift::{Drift, drift};
pub use follow::{Followed, Memory, UndoneRestore};
pub use guard::{Unanswered, objection};
pub use held::held;
pub use own_command::{GUESSED, asks_its_user, becomes_shell, is_restored_shell, runs_ours, words};
pub use resurrect::{Resurrected, resurrected};
pub use save::{Agent, Save, SavedServer, count};
pub use saver::{Gone, Judged, Outcome, Saved, Saver, SaverError, Texts, Turn, Wish};
pub use scrollback::{PaneText, pack, panes_in, text_of, unpack};
pub use take::{Asked, Taken, agent, agents_in, ask, prepare, take};
