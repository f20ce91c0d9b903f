//! A strict, iterative reader over bytes: positions only, nothing is copied.

use super::text::hex4;
#[cfg(target_arch = "x86_64")]
use super::wide;

/// Where a string's content lies (without its quotes), and whether it holds escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Str {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) escaped: bool,
}

impl Str {
    /// The raw bytes between the quotes.
    pub(crate) fn raw(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Reads JSON from a slice. A method that returns `None` met something `JSON.parse` refuses.
///
/// The flags gather what is legal JSON but poison in a request; callers reset them around a value.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// A `\ud800`–`\udfff` escape without its other half was passed (A9).
    pub(crate) lone_surrogate: bool,
    /// A `\u0000` escape was passed (C9).
    pub(crate) nul_escape: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0, lone_surrogate: false, nul_escape: false }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over `expected`, or says no.
    pub(crate) fn take(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.at += 1)
    }

    #[inline(always)]
    pub(crate) fn space(&mut self) {
        // Agents write none: one look, and no loop in the hot path.
        if self.bytes.get(self.at).is_some_and(|byte| *byte <= b' ') {
            self.spaces();
        }
    }

    #[cold]
    fn spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads a string whose opening quote is next.
    #[inline]
    pub(crate) fn string(&mut self) -> Option<Str> {
        let start = self.at + 1;
        let escaped = self.pass_string()?;
        let end = self.at - 1;
        Some(Str { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()?, escaped })
    }

    /// Passes a string whose opening quote is next; whether it holds escapes.
    #[inline(always)]
    fn pass_string(&mut self) -> Option<bool> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        // Keys, ids and words end in the first sixteen bytes; what is longer is worth a call.
        if let Some(chunk) = self.bytes[start..].first_chunk::<16>() {
            let hits = special(chunk);
            self.at += if hits == 0 { 16 } else { hits.trailing_zeros() as usize };
        }
        if self.peek() != Some(b'"') {
            escaped = self.rest_of_string()?;
        }
        self.at += 1;
        Some(escaped)
    }

    /// Goes on to the closing quote; whether escapes were passed.
    fn rest_of_string(&mut self) -> Option<bool> {
        let mut escaped = false;
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            escaped = unsafe { self.wide_string()? };
        }
        loop {
            self.at += plain_prefix(&self.bytes[self.at..]);
            match *self.bytes.get(self.at)? {
                b'"' => return Some(escaped),
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return None, // a raw control character: JSON.parse refuses it
            }
        }
    }

    /// Goes on in steps of 64 bytes, to the closing quote or to the last bytes of the row. Code has an escape in every
    /// other step: which bytes are escaped is computed for all of them at once, and only `\u` is looked at singly.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn wide_string(&mut self) -> Option<bool> {
        let mut escaped = false;
        let mut open = 0; // whether the step before ended with a backslash that escapes the first byte of this one
        let mut base = self.at;
        while let Some(chunk) = self.bytes[base..].first_chunk::<64>() {
            let step = wide::Step::of(chunk);
            if step.slash | open == 0 {
                let ends = step.quote | step.control;
                if ends == 0 {
                    base += 64;
                    continue;
                }
                self.at = base + ends.trailing_zeros() as usize;
                return (step.control & ends & ends.wrapping_neg() == 0).then_some(escaped);
            }
            escaped = true;
            let before = open;
            let escapes = wide::escaped_bytes(step.slash, &mut open);
            let ends = step.quote & !escapes | step.control;
            let inside = ends ^ ends.wrapping_sub(1); // up to the first end, or all
            if escapes & inside & !wide::simple_escapes(chunk) != 0 {
                // A `\u`, or an escape that is none: from here on one by one, to the end of this step.
                self.at = base - usize::from(before == 1);
                if self.slow_step(base + 64)? {
                    return Some(escaped);
                }
                (base, open) = (self.at, 0);
                continue;
            }
            if ends != 0 {
                self.at = base + ends.trailing_zeros() as usize;
                return (step.control & ends & ends.wrapping_neg() == 0).then_some(escaped);
            }
            base += 64;
        }
        self.at = base - usize::from(open == 1);
        Some(escaped)
    }

    /// Reads on to `end` or a little beyond; whether the closing quote was met.
    #[cfg(target_arch = "x86_64")]
    fn slow_step(&mut self, end: usize) -> Option<bool> {
        while self.at < end {
            self.at += plain_prefix(&self.bytes[self.at..end]);
            match self.bytes.get(self.at) {
                _ if self.at >= end => break,
                Some(b'"') => return Some(true),
                Some(b'\\') => self.escape()?,
                _ => return None,
            }
        }
        Some(false)
    }

    #[inline(always)]
    fn escape(&mut self) -> Option<()> {
        match *self.bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => self.unicode_escape()?,
            _ => return None,
        }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn unicode_escape(&mut self) -> Option<()> {
        let unit = hex4(self.bytes.get(self.at + 2..self.at + 6)?)?;
        self.at += 6;
        match unit {
            0 => self.nul_escape = true,
            0xd800..=0xdbff => {
                let low = self
                    .bytes
                    .get(self.at..self.at + 6)
                    .filter(|next| next.starts_with(b"\\u"))
                    .and_then(|next| hex4(&next[2..]));
                if matches!(low, Some(0xdc00..=0xdfff)) {
                    self.at += 6;
                } else {
                    self.lone_surrogate = true;
                }
            }
            0xdc00..=0xdfff => self.lone_surrogate = true,
            _ => {}
        }
        Some(())
    }

    /// Reads a number, `true`, `false` or `null`.
    pub(crate) fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Reads any value, however deep, without recursion: a row of brackets must not end the program.
    pub(crate) fn value(&mut self) -> Option<()> {
        let mut nesting = Nesting::default();
        loop {
            match self.peek()? {
                b'"' => {
                    self.pass_string()?;
                }
                b'{' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? != b'}' {
                        nesting.push(true);
                        self.pass_key()?;
                        continue;
                    }
                    self.at += 1;
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? != b']' {
                        nesting.push(false);
                        continue;
                    }
                    self.at += 1;
                }
                _ => self.scalar()?,
            }
            // A value has ended: close what it closes, or go on to the next member.
            loop {
                let Some(in_object) = nesting.top() else { return Some(()) };
                self.space();
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        self.space();
                        if in_object {
                            self.pass_key()?;
                        }
                        break;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return None,
                }
                self.at += 1;
                nesting.pop();
            }
        }
    }

    /// Reads a key and its colon, up to the value.
    #[inline]
    pub(crate) fn key(&mut self) -> Option<Str> {
        let key = self.string()?;
        self.space();
        self.take(b':')?;
        self.space();
        Some(key)
    }

    /// Passes a key and its colon.
    #[inline(never)]
    fn pass_key(&mut self) -> Option<()> {
        self.pass_string()?;
        self.space();
        self.take(b':')?;
        self.space();
        Some(())
    }

    /// Walks the members of an object; `visit` reads each value.
    pub(crate) fn object(&mut self, mut visit: impl FnMut(&mut Self, Str) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.key()?;
            visit(self, key)?;
            self.space();
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.space();
                }
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Walks the items of an array; `visit` reads each.
    pub(crate) fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            visit(self)?;
            self.space();
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.space();
                }
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
}

/// Which brackets are open, one bit each; the first 64 cost no allocation.
#[derive(Default)]
struct Nesting {
    depth: usize,
    low: u64,
    deep: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        let slot = if word == 0 {
            &mut self.low
        } else {
            if self.deep.len() < word {
                self.deep.push(0);
            }
            &mut self.deep[word - 1]
        };
        *slot = *slot & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
    }

    /// Whether the innermost bracket is an object's, or `None` outside of all.
    #[inline]
    fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        let word = if last < 64 { self.low } else { self.deep[last / 64 - 1] };
        Some(word >> (last % 64) & 1 == 1)
    }
}

/// How many bytes from the start are neither quote, backslash nor control character.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks::<16>();
    for (i, chunk) in chunks.iter().enumerate() {
        let hits = special(chunk);
        if hits != 0 {
            return i * 16 + hits.trailing_zeros() as usize;
        }
    }
    let plain = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len());
    bytes.len() - rest.len() + plain
}

/// A bit for each byte that ends a run of plain text.
#[cfg(target_arch = "x86_64")]
#[inline]
fn special(chunk: &[u8; 16]) -> u32 {
    use core::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: SSE2 is part of every x86_64 processor, and the load is unaligned from a reference to 16 bytes.
    unsafe {
        let x = _mm_loadu_si128(chunk.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'"'.cast_signed()));
        let slash = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'\\'.cast_signed()));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control)).cast_unsigned()
    }
}

/// A bit for each byte that ends a run of plain text.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn special(chunk: &[u8; 16]) -> u32 {
    let mut hits = 0;
    for (i, &b) in chunk.iter().enumerate() {
        hits |= u32::from(b == b'"' || b == b'\\' || b < 0x20) << i;
    }
    hits
}

#[cfg(test)]
mod tests {
    use crate::json::parses;

    /// Runs of backslashes across the borders of steps, against another reader.
    #[test]
    fn escapes_are_read_alike_in_wide_and_narrow_steps() {
        let alphabet = [
            &b"\\"[..],
            b"\\",
            b"\\\\",
            b"\\n",
            b"\\\"",
            b"\\u0041",
            b"\\u00",
            b"x",
            b"xxxxxxxxxxxxx",
            b"\"",
            b"\x01",
            b"n",
            b"/",
        ];
        let mut seed = 0x2545_f491_4f6c_dd1du64;
        for _ in 0..20_000 {
            let mut text = b"\"".to_vec();
            loop {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                // Mostly plain text, so that strings are long enough for several steps.
                let part = usize::try_from(seed % 40).unwrap();
                text.extend_from_slice(alphabet.get(part).copied().unwrap_or(b"plain text "));
                if text.len() > 40 && seed.is_multiple_of(23) {
                    break;
                }
            }
            text.push(b'"');
            let expect = serde_json::from_slice::<String>(&text).is_ok();
            assert_eq!(parses(&text), expect, "{}", String::from_utf8_lossy(&text));
        }
    }
}
