//! Where on the walk somebody else speaks, for questions that are asked of many rows.

use crate::index::RowNo;
use crate::visits::visit;

/// For each place on the walk the next one that counts, and behind that one the next of another speaker.
pub(super) struct Runs {
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    next: usize,
    speaker: u64,
    other: usize,
}

impl Runs {
    /// `speaker` says nothing of rows that do not count.
    pub(super) fn new(walk: &[RowNo], speaker: impl Fn(RowNo) -> Option<u64>) -> Runs {
        visit(walk.len());
        let end = walk.len();
        let mut places = vec![Place { next: end, speaker: 0, other: end }; end + 1];
        for (at, no) in walk.iter().enumerate().rev() {
            let behind = places[at + 1];
            places[at] = match speaker(*no) {
                None => behind,
                Some(speaker) => {
                    let same = behind.next < end && behind.speaker == speaker;
                    Place { next: at, speaker, other: if same { behind.other } else { behind.next } }
                }
            };
        }
        Runs { places }
    }

    /// How many rows the walk has.
    pub(super) fn len(&self) -> usize {
        self.places.len() - 1
    }

    /// The first place from `from` on where somebody else than `speaker` speaks; the walk's length where there is none.
    pub(super) fn first_other(&self, from: usize, speaker: u64) -> usize {
        let end = self.len();
        let place = self.places[from.min(end)];
        if place.next < end && place.speaker == speaker { place.other } else { place.next }
    }
}
