//! Bytes to rows to tree to request: reads, judges and mends agent transcripts.
//!
//! Pure: bytes and paths in, values out; no clock, no environment, nothing is written.

mod class;

pub use class::{Class, Recipe};
