//! What happens to each pane after a crash: decided from evidence, then done, then proven.

mod decide;

pub use decide::{Act, Decision, OwnerFact, Remembered, TranscriptFact, decide};
