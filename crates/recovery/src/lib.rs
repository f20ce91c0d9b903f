//! What happens to each pane after a crash: decided from evidence, then done, then proven.
//!
//! Deciding and planning are values; only [`Actor`] acts. **A resume counts when the agent itself says so.**

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod act;
mod automatic;
mod brief;
mod briefing;
mod crashed;
mod decide;
mod facts;
mod go_on;
mod half_done;
mod infer_session;
pub mod inject;
mod known_accounts;
mod likeness;
mod live;
mod live_owner;
mod outcome;
mod pane_match;
mod plan;
mod preconditions;
mod recipe;
mod record;
mod recover_one;
mod search_log;
mod selector;
mod still_running;
mod tracker;
mod undo;

pub use act::{Acted, Actor, carried};
pub use automatic::{Automatic, BY_ITSELF, automatic};
pub use brief::{Teller, Told};
pub use briefing::{Briefing, context_file, prepared, sweep_context_files};
pub use crashed::{crashed, left_in_place, new_window, own_place, taken_over_by};
pub use decide::{Act, Decision, OwnerFact, Remembered, TranscriptFact, decide};
pub use facts::{Ground, Known, expected_transcript};
pub use go_on::GoingOn;
pub use half_done::half_done;
pub use infer_session::{InferredSession, ran_agent, whose};
pub use known_accounts::{KnownAccount, KnownAccounts, UnknownAccount};
pub use live::{Silent, look};
pub use live_owner::{At, LiveOwner, Taking};
pub use outcome::{Continued, Outcome, Restored};
pub use pane_match::{Live, Match, MatchedBy, Occupant};
pub use plan::{Asked, Asks, PaneStep, Plan, SavedText, ServerPlan, Wanted, Weighed, plan};
pub use recipe::Recipe;
pub use record::{DecisionRecord, PaneDecision, decisions, genuine_decisions};
pub use recover_one::{Destination, bring_back, if_nobody_were_in_it};
pub use search_log::SearchLog;
pub use selector::Selector;
pub use still_running::{StillRunning, still_running};
pub use tracker::Tracker;
pub use undo::{TakenBack, UndoStep, undo_plan};
