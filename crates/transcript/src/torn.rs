//! What a torn row still tells: the row that it followed. Agents write that first, so it is what is left longest.
//!
//! Where the first prompt of a branch is torn, its reply dangles, and the row before it in the file is one that the user went
//! back from. What is left of the prompt says where the branch begins.

use std::collections::HashMap;

use memchr::memmem;

use crate::index::{NONE, RowNo, identity};
use crate::tree::Tree;

/// The ids in what is left of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Torn {
    /// The row that it followed.
    parent: u128,
    /// Its own, where that is still there.
    id: Option<u128>,
}

/// So many torn rows that follow each other are looked through, and so many rows without an id before a row.
const FAR: usize = 64;

impl Torn {
    /// Reads what is left of a row.
    pub(crate) fn of(fragment: &[u8]) -> Option<Torn> {
        let text = |key: &[u8], at: usize| {
            let rest = &fragment[at + key.len()..];
            memchr::memchr(b'"', rest).map(|end| identity(&rest[..end]))
        };
        // In a text, quotes are escaped: there it is neither of these.
        const PARENT: &[u8] = b"\"parentUuid\":\"";
        const ID: &[u8] = b"\"uuid\":\"";
        let parent = memmem::find(fragment, PARENT).and_then(|at| text(PARENT, at))?;
        let id = memmem::rfind(fragment, ID).and_then(|at| text(ID, at));
        Some(Torn { parent, id })
    }
}

/// Rows whose parent was a torn prompt by which the user went back, and the row that the prompt followed.
pub(crate) fn behind_torn_prompts(tree: &Tree<'_>) -> HashMap<RowNo, RowNo> {
    let index = tree.index;
    if index.dangling.is_empty() || index.broken.iter().all(|line| line.torn.is_none()) {
        return HashMap::new();
    }
    let by_id: HashMap<u128, usize> =
        (0..).zip(&index.broken).filter_map(|(at, line)| Some((line.torn?.id?, at))).collect();
    // How many prompts stand before each row.
    let mut prompts = 0u32;
    let before: Vec<u32> = tree
        .numbers()
        .map(|no| {
            let before = prompts;
            prompts += u32::from(tree.is_own(no) && tree.is_prompt(no));
            before
        })
        .collect();
    // A torn line with nothing between it and the place that has one.
    let right_before = |offset: u64| {
        let at = index.broken.partition_point(|line| line.offset < offset).checked_sub(1)?;
        let next = index.rows.partition_point(|row| row.offset < index.broken[at].offset);
        let mut between = index.rows[next..].iter().take_while(|row| row.offset < offset);
        (!between.by_ref().take(FAR).any(|row| row.uuid != 0) && between.next().is_none()).then_some(at)
    };
    let followed = |no: RowNo, id: u128| {
        let mut at = by_id.get(&id).copied().or_else(|| right_before(tree.row(no).offset))?;
        for _ in 0..FAR {
            let parent = index.broken[at].torn?.parent;
            if let Some(row) = index.find(parent) {
                return Some(row);
            }
            at = by_id.get(&parent).copied().or_else(|| right_before(index.broken[at].offset))?;
        }
        None
    };
    let mut rows = HashMap::new();
    for (no, id) in index.dangling.iter().copied() {
        if !tree.is_own(no) || tree.parent[no as usize] != NONE {
            continue;
        }
        let Some(parent) = followed(no, id).filter(|parent| *parent < no && tree.is_main(*parent)) else {
            continue;
        };
        // Within a turn, the nearest row is as good, or better.
        let went_back = before[no as usize] > before[parent as usize + 1];
        if went_back && tree.segment(parent) == tree.segment(no) && !tree.descends(parent, no) {
            rows.insert(no, parent);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::Torn;
    use crate::index::identity;

    #[test]
    fn a_torn_row_tells_what_it_followed() {
        let of = |text: &str| Torn::of(text.as_bytes());
        let id = |text: &str| identity(text.as_bytes());
        assert_eq!(of(r#"{"parentUuid":"a","type":"us"#), Some(Torn { parent: id("a"), id: None }));
        assert_eq!(
            of(r#"{"parentUuid":"a","uuid":"b","t"#),
            Some(Torn { parent: id("a"), id: Some(id("b")) })
        );
        assert_eq!(of(r#"{"parentUuid":"a"#), None);
        assert_eq!(of(r#"{"parentUuid":null,"type"#), None);
        assert_eq!(of(r#"{"message":"\"parentUuid\":\"a\"","type"#), None);
    }
}
