//! Text into an agent that already runs: pasted as a person would, and seen to arrive.
//!
//! **Nothing of the user's is destroyed**: a draft, a question, a turn that is under way are reasons to refuse. **Nothing is
//! pressed blindly**: the text must show in the composer before Enter, and "sent" is the agent's own word for it, or at
//! least the sight of a composer that holds it no more. What cannot be seen is unconfirmed.

mod act;
mod guard;
mod text;

pub use act::{Confirmed, InjectError, Injected, Injector};
pub(crate) use act::{is_submitted, place_ready};
pub use guard::{Place, Refusal, place};
pub use text::{Piece, TextError, from_context, piece};
