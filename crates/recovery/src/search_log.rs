//! The steps of a search that were gone through, each with how many it found: what was tried in vain is evidence, too.

use std::fmt;

use crate::pane_match::MatchedBy;

/// The steps so far, the first one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchLog(Vec<(MatchedBy, usize)>);

impl SearchLog {
    pub(crate) fn add(&mut self, rung: MatchedBy, found: usize) {
        self.0.push((rung, found));
    }

    /// Whether any step was in vain: what the first one found tells itself.
    pub(crate) fn had_to_look(&self) -> bool {
        self.0.len() > 1 || self.0.iter().any(|(_, found)| *found == 0)
    }
}

impl fmt::Display for SearchLog {
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
