//! The conversation's own id stands in every row; replaced by a placeholder, the rows of a fork become the same bytes.

use memchr::memmem;

/// Stands for the id. It cannot occur in JSON (control characters are escaped, 0xff is no UTF-8), and no end of it is
/// also a beginning of it, so that replacing can never make one by accident.
pub(crate) const PLACEHOLDER: &[u8] = b"\x02\xffid\x03";

// Shorter ids could make a folded chunk longer than the raw one, and save nothing.
const SHORTEST_ID: usize = 8;

/// Replaces the id; `false`, with nothing usable in `out`, where that could not be undone exactly or changes nothing.
pub(crate) fn fold(raw: &[u8], id: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    if id.len() < SHORTEST_ID || memmem::find(raw, PLACEHOLDER).is_some() {
        return false;
    }
    let mut from = 0;
    for at in memmem::find_iter(raw, id) {
        out.extend_from_slice(&raw[from..at]);
        out.extend_from_slice(PLACEHOLDER);
        from = at + id.len();
    }
    out.extend_from_slice(&raw[from..]);
    from > 0
}

/// Puts the id back.
pub(crate) fn unfold(folded: &[u8], id: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut from = 0;
    for at in memmem::find_iter(folded, PLACEHOLDER) {
        out.extend_from_slice(&folded[from..at]);
        out.extend_from_slice(id);
        from = at + PLACEHOLDER.len();
    }
    out.extend_from_slice(&folded[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_it_could_not_undo() {
        let mut out = Vec::new();
        assert!(!fold(b"12345678 \x02\xffid\x03", b"12345678", &mut out));
        assert!(!fold(b"nothing here", b"12345678", &mut out));
        assert!(!fold(b"short", b"short", &mut out));
        assert!(fold(b"a 12345678 b", b"12345678", &mut out));
        assert_eq!(out, b"a \x02\xffid\x03 b");
    }

    const PARTS: [&[u8]; 6] = [b"\x02", b"\xff", b"id\x03", b"aaaa", b"aaaabbbb", b"bb"];

    proptest! {
        // An alphabet of the placeholder's and the id's own bytes, so that near misses and overlaps are common.
        #[test]
        fn what_is_folded_comes_back(raw in proptest::collection::vec(
            proptest::sample::select(PARTS.to_vec()),
            0..40,
        )) {
            let raw = raw.concat();
            let (mut folded, mut back) = (Vec::new(), Vec::new());
            if fold(&raw, b"aaaabbbb", &mut folded) {
                unfold(&folded, b"aaaabbbb", &mut back);
                prop_assert_eq!(back, raw);
            }
        }
    }
}
