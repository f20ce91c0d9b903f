//! 64 bytes at once, where the processor has AVX2.

use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

/// One bit for each byte.
pub(super) struct Step {
    pub(super) quote: u64,
    pub(super) slash: u64,
    pub(super) control: u64,
}

impl Step {
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn of(chunk: &[u8; 64]) -> Step {
        let [low, high] = halves(chunk);
        let equal = |byte: u8| {
            let all = _mm256_set1_epi8(byte.cast_signed());
            bits(_mm256_cmpeq_epi8(low, all), _mm256_cmpeq_epi8(high, all))
        };
        let most = _mm256_set1_epi8(0x1f);
        let control = |x| _mm256_cmpeq_epi8(_mm256_min_epu8(x, most), x);
        Step { quote: equal(b'"'), slash: equal(b'\\'), control: bits(control(low), control(high)) }
    }
}

/// The bytes that make an escape of two: one of `"\/bfnrt`. Their high and low halves are looked up apart, and
/// only for those eight both lookups share a bit.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn simple_escapes(chunk: &[u8; 64]) -> u64 {
    let lows = both([0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
    let highs = both([0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    let nibble = _mm256_set1_epi8(0x0f);
    let none = |x: __m256i| {
        let low = _mm256_shuffle_epi8(lows, _mm256_and_si256(x, nibble));
        let high = _mm256_shuffle_epi8(highs, _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble));
        _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256())
    };
    let [low, high] = halves(chunk);
    !bits(none(low), none(high))
}

/// A table of sixteen for both lanes of a shuffle.
#[target_feature(enable = "avx2")]
#[inline]
fn both(t: [i8; 16]) -> __m256i {
    _mm256_setr_epi8(
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15],
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15],
    )
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves(chunk: &[u8; 64]) -> [__m256i; 2] {
    let half = |at: usize| {
        // SAFETY: the load is unaligned, of 32 bytes from a reference to 64, at 0 or 32.
        unsafe { _mm256_loadu_si256(chunk.as_ptr().add(at).cast()) }
    };
    [half(0), half(32)]
}

#[target_feature(enable = "avx2")]
#[inline]
fn bits(low: __m256i, high: __m256i) -> u64 {
    let bits = |x| u64::from(_mm256_movemask_epi8(x).cast_unsigned());
    bits(low) | bits(high) << 32
}

/// Which bytes are escaped by a backslash before them: of every run of backslashes each second one escapes the byte
/// behind it. `open` carries a backslash at the end of a step over to the next.
#[inline]
pub(super) fn escaped_bytes(slash: u64, open: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let slash = slash & !*open;
    let follows = slash << 1 | *open;
    let odd_starts = slash & !EVEN & !follows;
    // Adding a run's first bit to the run carries out at its end; odd and even starts then differ in one bit.
    let (even_runs, overflow) = odd_starts.overflowing_add(slash);
    *open = u64::from(overflow);
    (EVEN ^ even_runs << 1) & follows
}
