//! Pictures as the API sees them: is it one, and how large; and pictures made for cases.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Width and height of the picture in a base64 source; `None` where the bytes are no picture the API knows.
pub(super) fn size(data: &str) -> Option<(u32, u32)> {
    // Every header that tells a size stands in the first kilobytes; a JPEG's may come after its EXIF preview.
    let head = data.get(..data.len().min(256 << 10) & !3)?;
    let bytes = STANDARD.decode(head.trim_end_matches('=')).or_else(|_| STANDARD.decode(head)).ok()?;
    match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', rest @ ..] => {
            let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
            Some((number(12).unwrap_or(1), number(16).unwrap_or(1)))
        }
        [0xff, 0xd8, rest @ ..] => Some(jpeg_size(rest).unwrap_or((1, 1))),
        [b'G', b'I', b'F', b'8', _, _, w0, w1, h0, h1, ..] => {
            Some((u16::from_le_bytes([*w0, *w1]).into(), u16::from_le_bytes([*h0, *h1]).into()))
        }
        [b'R', b'I', b'F', b'F', ..] => Some((1, 1)),
        _ => None,
    }
}

fn jpeg_size(mut segments: &[u8]) -> Option<(u32, u32)> {
    loop {
        let [0xff, marker, high, low, rest @ ..] = segments else { return None };
        // Start-of-frame markers carry the size; C4, C8 and CC share their range but are something else.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let [_, h0, h1, w0, w1, ..] = rest else { return None };
            return Some((u16::from_be_bytes([*w0, *w1]).into(), u16::from_be_bytes([*h0, *h1]).into()));
        }
        segments = rest.get(usize::from(u16::from_be_bytes([*high, *low])).checked_sub(2)?..)?;
    }
}

/// An image block whose PNG header tells this size, padded to about `bytes` bytes of base64.
pub fn png_block(width: u32, height: u32, bytes: usize) -> Value {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(width.to_be_bytes());
    png.extend(height.to_be_bytes());
    png.extend([8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde]);
    png.resize((bytes / 4 * 3).max(png.len()), 0);
    image_block(&png)
}

/// An image block of any bytes, called a PNG.
pub fn image_block(bytes: &[u8]) -> Value {
    let source = json!({"type": "base64", "media_type": "image/png", "data": STANDARD.encode(bytes)});
    json!({"type": "image", "source": source})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of(block: &Value) -> Option<(u32, u32)> {
        size(block["source"]["data"].as_str().unwrap_or_default())
    }

    #[test]
    fn sizes_are_read_from_headers() {
        assert_eq!(size_of(&png_block(8001, 3, 0)), Some((8001, 3)));
        assert_eq!(size_of(&png_block(20, 30, 1 << 20)), Some((20, 30)));
        let jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 0x0b, 0xb8, 0x07, 0xd0, 3];
        assert_eq!(size_of(&image_block(&jpeg)), Some((2000, 3000)));
        assert_eq!(size_of(&image_block(b"<html>not a picture</html>")), None);
        assert_eq!(size(""), None);
    }
}
