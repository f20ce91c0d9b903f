//! Values that begin on the line below their name, as YAML has them: `key: |` and what is indented under it.

use std::ops::Range;

/// A block: its first line, and all of its lines up to the first that is no part of it.
pub(crate) struct Block {
    pub(crate) first: Range<usize>,
    /// Up to the end of the last line that is base64 like the first.
    pub(crate) encoded: Range<usize>,
    pub(crate) lines: usize,
    /// Whether a sign announced it, or only the line's end.
    pub(crate) announced: bool,
}

/// So many lines are looked at: twice a private key of 8192 bits.
const LONGEST: usize = 256;

/// Reads the block of a name, where its value would begin.
pub(crate) fn after(text: &[u8], name: usize, at: usize) -> Option<Block> {
    let line = text.get(at..)?;
    let sign = line.iter().take(3).take_while(|byte| b"|>-+".contains(byte)).count();
    let announced = matches!(line.first(), Some(b'|' | b'>'));
    if sign > 0 && !announced {
        return None;
    }
    let blank = line[sign..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    if line.get(sign + blank) != Some(&b'\n') {
        return None;
    }
    let above = &text[..name];
    let start = above.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let indent = above[start..].iter().take_while(|byte| **byte == b' ').count();
    let (mut from, mut lines) = (at + sign + blank + 1, 0);
    let mut block: Option<Block> = None;
    let mut encoded = true;
    for line in text[from..].split_inclusive(|byte| *byte == b'\n').take(LONGEST) {
        let inner = line.iter().take_while(|byte| **byte == b' ').count();
        let place = from + inner..from + line.trim_ascii_end().len();
        if place.is_empty() || inner <= indent {
            break;
        }
        from += line.len();
        lines += 1;
        encoded &=
            text[place.clone()].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
        match &mut block {
            None => block = Some(Block { first: place.clone(), encoded: place, lines, announced }),
            Some(block) => {
                block.lines = lines;
                if encoded {
                    block.encoded.end = place.end;
                }
            }
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_where_the_indentation_does() {
        let text = b"a:\n  key: |\n    abcd\n    efgh\n  b: c\n";
        let block =
            after(text, 5, 10).map(|block| (block.first, block.encoded, block.lines, block.announced));
        assert_eq!(block, Some((16..20, 16..29, 2, true)));
        assert!(after(b"key: value\n  x", 0, 5).is_none());
        assert!(after(b"key:\nother: x", 0, 4).is_none());
    }
}
