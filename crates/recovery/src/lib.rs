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
mod elsewhere;
mod facts;
mod gates;
mod go_on;
mod half_done;
pub mod inject;
mod likeness;
mod live;
mod only;
mod outcome;
mod plan;
mod recipe;
mod record;
mod seats;
mod single;
mod still_running;
mod tracker;
mod tried;
mod undo;
mod whose;

pub use act::{Acted, Actor, carried};
pub use automatic::{Automatic, BY_ITSELF, automatic};
pub use brief::{Teller, Told};
pub use briefing::{Briefing, context_file, prepared, sweep_context_files};
pub use crashed::{crashed, last_place, left_in_place, new_window, own_place};
pub use decide::{Act, Decision, OwnerFact, Remembered, TranscriptFact, decide};
pub use elsewhere::{At, LiveOwner, Taking};
pub use facts::{Ground, Known, expected_transcript};
pub use go_on::GoingOn;
pub use half_done::half_done;
pub use live::{Silent, look};
pub use only::Only;
pub use outcome::{Continued, Outcome, Restored};
pub use plan::{Asks, PaneStep, Plan, SavedText, ServerPlan, Wanted, Weighed, plan};
pub use recipe::Recipe;
pub use record::{DecisionRecord, PaneDecision, decisions};
pub use seats::{Live, Occupant, Rung, Seat};
pub use single::{Destination, bring_back, if_nobody_were_in_it};
pub use still_running::{StillRunning, still_running};
pub use tracker::Tracker;
pub use tried::Tried;
pub use undo::{TakenBack, UndoStep, undo_plan};
pub use whose::{Whose, ran_agent, whose};
