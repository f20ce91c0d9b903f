//! UTF-16 of either order to UTF-8, block by block.

/// What a file's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// By the byte order mark, or by a `{` or `[` with a zero byte beside it and another one a character later. A run of
    /// zeros before a row (A4) is not that.
    pub(super) fn of(head: &[u8]) -> Encoding {
        match head {
            [0xff, 0xfe, second, 0, ..] if *second != 0 => Encoding::Utf16Le,
            [0xfe, 0xff, 0, second, ..] if *second != 0 => Encoding::Utf16Be,
            [b'{' | b'[', 0, second, 0, ..] if *second != 0 => Encoding::Utf16Le,
            [0, b'{' | b'[', 0, second, ..] if *second != 0 => Encoding::Utf16Be,
            _ => Encoding::Utf8,
        }
    }

    fn unit(self, pair: [u8; 2]) -> u16 {
        if self == Encoding::Utf16Be { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    }
}

/// Turns blocks of a file into UTF-8; a character may be cut by the end of a block.
pub(super) struct Decoder {
    encoding: Encoding,
    /// Bytes of a character that the last block began.
    open: Vec<u8>,
    text: Vec<u8>,
}

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Decoder {
        Decoder { encoding, open: Vec::new(), text: Vec::new() }
    }

    pub(super) fn decode<'a>(&'a mut self, block: &'a [u8]) -> &'a [u8] {
        if self.encoding == Encoding::Utf8 {
            return block;
        }
        self.open.extend_from_slice(block);
        let mut whole = self.open.len() / 2 * 2;
        let last = whole.checked_sub(2).and_then(|at| self.open[at..whole].try_into().ok());
        // The first half of a pair waits for the second.
        if last.is_some_and(|pair| (0xd800..0xdc00).contains(&self.encoding.unit(pair))) {
            whole -= 2;
        }
        self.text.clear();
        decode(&self.open[..whole], self.encoding, &mut self.text);
        self.open.drain(..whole);
        &self.text
    }

    /// What is left: half a pair, or half a unit.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.text.clear();
        let open = std::mem::take(&mut self.open);
        decode(&open, self.encoding, &mut self.text);
        &self.text
    }
}

fn decode(raw: &[u8], encoding: Encoding, text: &mut Vec<u8>) {
    let units = raw.chunks_exact(2).map(|pair| encoding.unit([pair[0], pair[1]]));
    for unit in char::decode_utf16(units) {
        let mut utf8 = [0; 4];
        text.extend_from_slice(unit.unwrap_or('\u{fffd}').encode_utf8(&mut utf8).as_bytes());
    }
}

/// A part of a file as UTF-8.
pub(super) fn whole(raw: &[u8], encoding: Encoding) -> Vec<u8> {
    if encoding == Encoding::Utf8 {
        return raw.to_vec();
    }
    let mut text = Vec::with_capacity(raw.len() / 2);
    decode(raw, encoding, &mut text);
    text
}

/// How many bytes of the file this text is: characters of four bytes are pairs of units, all others are one.
pub(super) fn raw_len(text: &[u8], encoding: Encoding) -> usize {
    if encoding == Encoding::Utf8 {
        return text.len();
    }
    2 * text.iter().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{Decoder, Encoding, raw_len, whole};

    #[test]
    fn blocks_of_any_size_make_the_same_text() {
        let text = "{\"a\":\"gr\u{fc}n \u{1f600}\u{2028}\"}\n";
        let raw: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for size in 1..raw.len() {
            let mut decoder = Decoder::new(Encoding::Utf16Be);
            let mut out = Vec::new();
            for block in raw.chunks(size) {
                out.extend_from_slice(decoder.decode(block));
            }
            out.extend_from_slice(decoder.finish());
            assert_eq!(String::from_utf8(out).unwrap(), text, "blocks of {size}");
        }
        assert_eq!(whole(&raw, Encoding::Utf16Be), text.as_bytes());
        assert_eq!(raw_len(text.as_bytes(), Encoding::Utf16Be), raw.len());
    }

    #[test]
    fn the_encoding_is_told_by_the_first_bytes() {
        assert_eq!(Encoding::of(b"{\"a\":1}"), Encoding::Utf8);
        assert_eq!(Encoding::of(b"\0\0\0\0{\"a\":1}"), Encoding::Utf8);
        assert_eq!(Encoding::of(b"\xef\xbb\xbf{\"a\""), Encoding::Utf8);
        assert_eq!(Encoding::of(b"\xff\xfe{\0\"\0"), Encoding::Utf16Le);
        assert_eq!(Encoding::of(b"\xfe\xff\0{\0\""), Encoding::Utf16Be);
        assert_eq!(Encoding::of(b"{\0\"\0"), Encoding::Utf16Le);
        assert_eq!(Encoding::of(b"\0{\0\""), Encoding::Utf16Be);
    }
}
