//! Wires rekindle into agents and shells, and undoes exactly that.

mod program;
pub mod settings;

pub use program::{BadProgram, Program};
