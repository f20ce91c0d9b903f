//! Just enough of picture formats to know what the API would refuse: no picture at all, or too many pixels.

/// What base64 data turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picture {
    /// No picture: the API answers `Could not process image` (C6).
    None,
    /// A picture whose longest side is known, or 0 where it could not be read.
    Side(u32),
}

/// How much base64 is decoded to find a JPEG's size: its frame header follows colour profiles and thumbnails.
const LOOK: usize = 256 * 1024;

impl Picture {
    /// Looks at the beginning of base64 data.
    pub(crate) fn read(base64: &[u8]) -> Picture {
        let head = decode(&base64[..base64.len().min(64)]);
        let big =
            |at: usize| head.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let small =
            |at: usize| head.get(at..at + 2).map_or(0, |b| u32::from(u16::from_le_bytes([b[0], b[1]])));
        if head.starts_with(b"\x89PNG") {
            Picture::Side(big(16).max(big(20)))
        } else if head.starts_with(b"GIF8") {
            Picture::Side(small(6).max(small(8)))
        } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            Picture::Side(match head.get(12..16) {
                Some(b"VP8X") => head.get(24..30).map_or(0, |b| {
                    let side = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], 0]) + 1;
                    side(&b[..3]).max(side(&b[3..]))
                }),
                Some(b"VP8 ") => (small(26) & 0x3fff).max(small(28) & 0x3fff),
                _ => 0,
            })
        } else if head.starts_with(b"\xff\xd8") {
            Picture::Side(jpeg_side(&decode(&base64[..base64.len().min(LOOK)])))
        } else {
            Picture::None
        }
    }
}

/// The longest side by the first start-of-frame marker.
fn jpeg_side(bytes: &[u8]) -> u32 {
    let mut at = 2;
    while let Some(&[0xff, marker, high, low]) = bytes.get(at..at + 4).and_then(|b| b.first_chunk()) {
        let is_frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            let side =
                |at: usize| bytes.get(at..at + 2).map_or(0, |b| u32::from(u16::from_be_bytes([b[0], b[1]])));
            return side(at + 5).max(side(at + 7));
        }
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
    }
    0
}

/// Decodes base64 up to the first byte that is none; a picture's head needs no more.
fn decode(base64: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(base64.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for &byte in base64 {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Picture;

    #[test]
    fn knows_pictures_from_pages() {
        // 1×1 GIF, a PNG header of 3000×20, and a page saved as a picture.
        assert_eq!(
            Picture::read(b"R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
            Picture::Side(1)
        );
        assert_eq!(Picture::read(b"iVBORw0KGgoAAAANSUhEUgAAC7gAAAAUCAYAAAA="), Picture::Side(3000));
        assert_eq!(Picture::read(b"PCFkb2N0eXBlIGh0bWw+"), Picture::None);
        assert_eq!(Picture::read(b""), Picture::None);
    }
}
