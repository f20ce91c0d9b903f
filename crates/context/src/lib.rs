//! What an agent is told when its conversation cannot be resumed, and when it was: values in, text out.
//!
//! Pure: nothing is read, run or written here, and no clock is asked. **Nothing leaves without [`redact`]**, and nothing is
//! cut within a word.

mod brief;
mod clean;
mod cut;
mod exchange;
mod exchanges;
mod fit;
mod go_on;
mod half_done;
pub mod handoff;
mod merge;
mod note;
mod screen;
mod short;
mod template;
mod when;

pub use brief::{Bead, Brief, HOOK_LIMIT, Material, Source};
pub use cut::{shorten, tokens};
pub use exchange::{Exchange, Origin, Outcome, Step, ToolCall};
pub use exchanges::Exchanges;
pub use fit::Limits;
pub use go_on::{Back, GoOn, in_file};
pub use half_done::half_done;
pub use note::{Resumed, Returned, after};
pub use short::{Short, last_exchange};
pub use template::{Given, Template, TemplateError, Variable};

/// What every text for an agent begins with.
const HEADING: &str = "RESTORATION CONTEXT";
