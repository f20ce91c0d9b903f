//! Chance from a seed: the same seed draws the same round.

use std::ops::RangeInclusive;

/// A small generator that spreads well over few draws (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The generator of one part of a round: what one part draws does not shift what another draws.
    pub(super) fn of(seed: u64, part: &str) -> Random {
        // FNV-1a, so that parts differ.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random(part.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    /// Any number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of this range.
    pub(super) fn between(&mut self, range: RangeInclusive<usize>) -> usize {
        let width = range.end().saturating_sub(*range.start()) as u64 + 1;
        range.start() + usize::try_from(self.next() % width).unwrap_or_default()
    }

    /// Yes in so many of a hundred cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// One of these, which must not be empty.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.between(0..=of.len().saturating_sub(1))]
    }

    /// Brings these into another order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.between(0..=at));
        }
    }
}
