//! How an agent is started again: which of its arguments and variables, and what may stop it.
//!
//! Everything here is a value made from values. Nothing is started, and there is no shell: words stay words.

mod argv;
mod dialogs;
mod environment;
mod flags;
mod program;
mod table;
mod words;

pub use argv::{Argv, Bypass, Note, Refusal, Resume, Transcript, resume_argv};
pub use dialogs::{Answer, Dialog, recognise};
pub use environment::{NONCE, Start, StartAccount, start_environment};
pub use flags::{Flag, OnResume, Value, commands, find, flags};
pub use words::without_prompt;
