//! Ids that a tool has written in another way: in upper case, in braces, without hyphens. Agents compare texts, so such a
//! link leads nowhere; but it names its row beyond doubt.

use std::collections::HashMap;

use crate::index::{Index, RowNo, canonical};

/// Rows with an id or a parent's id that is a UUID in another spelling; by its number.
#[derive(Default)]
pub(crate) struct Spellings {
    parents: HashMap<RowNo, u128>,
    ids: HashMap<u128, RowNo>,
}

impl Spellings {
    /// Notes a row's own id.
    pub(crate) fn id(&mut self, no: RowNo, raw: &[u8]) {
        if let Some(id) = number(raw) {
            self.ids.entry(id).or_insert(no);
        }
    }

    /// Notes the id that a row follows.
    pub(crate) fn parent(&mut self, no: RowNo, raw: &[u8]) {
        if let Some(id) = number(raw) {
            self.parents.insert(no, id);
        }
    }

    /// Rows whose parent is there under another spelling of its id, and the parent.
    pub(crate) fn links(&self, index: &Index) -> Vec<(RowNo, RowNo)> {
        if self.parents.is_empty() && self.ids.is_empty() {
            return Vec::new();
        }
        let meant = |(no, id): &(RowNo, u128)| {
            let id = self.parents.get(no).unwrap_or(id);
            let parent = index.find(*id).or_else(|| self.ids.get(id).copied())?;
            (parent != *no).then_some((*no, parent))
        };
        index.dangling.iter().filter_map(meant).collect()
    }
}

/// The number of a UUID that is not written as agents write it.
fn number(raw: &[u8]) -> Option<u128> {
    const LONGEST: usize = 64;
    if raw.len() > LONGEST || canonical(raw).is_some() {
        return None;
    }
    let text = raw.strip_prefix(b"urn:uuid:").unwrap_or(raw);
    let (mut number, mut digits) = (0u128, 0);
    for byte in text {
        match char::from(*byte).to_digit(16) {
            Some(digit) => {
                number = number << 4 | u128::from(digit);
                digits += 1;
            }
            None if matches!(byte, b'-' | b'{' | b'}' | b' ' | b'_') => {}
            None => return None,
        }
        if digits > 32 {
            return None;
        }
    }
    (digits == 32 && number != 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn every_spelling_of_a_uuid_is_one_number() {
        let id = 0x0102_0304_0506_4708_890a_0b0c_0d0e_0f10;
        for text in [
            &b"01020304-0506-4708-890A-0B0C0D0E0F10"[..],
            b"{01020304-0506-4708-890a-0b0c0d0e0f10}",
            b"0102030405064708890a0b0c0d0e0f10",
            b"urn:uuid:01020304-0506-4708-890a-0b0c0d0e0f10",
            b" 01020304-0506-4708-890a-0b0c0d0e0f10",
        ] {
            assert_eq!(number(text), Some(id), "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(number(b"01020304-0506-4708-890a-0b0c0d0e0f10"), None, "as agents write it");
        for text in [&b"reply-1"[..], b"", b"0102", b"01020304-0506-4708-890a-0b0c0d0e0f1000"] {
            assert_eq!(number(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
