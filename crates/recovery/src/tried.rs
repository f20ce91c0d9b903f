//! The steps of a search that were gone through, each with how many it found: what was tried in vain is evidence, too.

use std::fmt;

use crate::seats::Rung;

/// The steps so far, the first one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried(Vec<(Rung, usize)>);

impl Tried {
    pub(crate) fn add(&mut self, rung: Rung, found: usize) {
        self.0.push((rung, found));
    }

    /// Whether any step was in vain: what the first one found tells itself.
    pub(crate) fn had_to_look(&self) -> bool {
        self.0.len() > 1 || self.0.iter().any(|(_, found)| *found == 0)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (rung, found)) in self.0.iter().enumerate() {
            let pause = if at == 0 { "" } else { "; " };
            match found {
                0 => write!(f, "{pause}by {}: none", rung.word())?,
                found => write!(f, "{pause}by {}: {found}", rung.word())?,
            }
        }
        Ok(())
    }
}
