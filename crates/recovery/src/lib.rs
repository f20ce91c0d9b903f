//! What happens to each pane after a crash: decided from evidence, then done, then proven.
//!
//! Deciding and planning are values; only [`Actor`] acts. **A resume counts when the agent itself says so.**

mod act;
mod decide;
mod facts;
mod plan;

pub use act::{ActError, Actor, Outcome, Restored};
pub use decide::{Act, Decision, OwnerFact, Remembered, TranscriptFact, decide};
pub use facts::Ground;
pub use plan::{PaneStep, Plan, ServerPlan, plan};
