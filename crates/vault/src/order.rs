//! The lines of a manifest in the order in which they were written, which need not be the order in which they stand.

use std::collections::{HashMap, HashSet};

use crate::frame::Digest;
use crate::manifest::{BadLine, Line, START, Skipped, open};
use crate::replay::{Bad, BadKind};

/// One intact line.
pub(crate) struct Item {
    /// Nothing where a newer version wrote it.
    pub(crate) line: Option<Line>,
    pub(crate) chain: Digest,
    pub(crate) prev: Digest,
    /// Bytes before it that are no line: where they begin, the number of their first line, and what they are.
    pub(crate) torn: Option<(usize, u64, Skipped)>,
    pub(crate) offset: u64,
    /// Counted from 1.
    pub(crate) number: u64,
}

/// What the bytes of a manifest hold.
pub(crate) struct Scanned {
    pub(crate) items: Vec<Item>,
    /// Where the bytes behind the last intact line begin that are no line, and the number of their first line.
    pub(crate) rest: Option<(usize, u64)>,
    /// Lines, intact or not.
    pub(crate) lines: u64,
}

pub(crate) fn scan(bytes: &[u8]) -> Scanned {
    let mut scanned = Scanned { items: Vec::new(), rest: None, lines: 0 };
    let mut at = 0;
    while at < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |found| at + found);
        scanned.lines += 1;
        let (line, chain) = match open(&bytes[at..end]) {
            Ok((line, chain)) => (Some(line), chain),
            Err(BadLine::Newer(chain)) => (None, chain),
            Err(BadLine::Damaged) => {
                scanned.rest.get_or_insert((at, scanned.lines));
                at = end + 1;
                continue;
            }
        };
        let before = scanned.items.last().map_or(START, |item: &Item| item.chain);
        // Where a newer line keeps its link is not known: it is taken to follow.
        let prev = line.as_ref().map_or(before, |line| line.prev);
        let torn = scanned.rest.take().map(|(from, number)| (from, number, skipped(&bytes[from..at])));
        scanned.items.push(Item { line, chain, prev, torn, offset: at as u64, number: scanned.lines });
        at = end + 1;
    }
    scanned
}

/// Lines in the order of their links.
pub(crate) struct Ordered {
    pub(crate) items: Vec<Item>,
    /// Those that stood at a wrong place, or twice.
    pub(crate) out_of_order: Vec<Bad>,
    /// Lines are missing and others are out of order: which of them came last cannot be told.
    pub(crate) ambiguous: bool,
}

pub(crate) fn in_order(mut items: Vec<Item>) -> Ordered {
    let mut out_of_order = Vec::new();
    let mut seen = HashSet::new();
    items.retain(|item| {
        let new = seen.insert(item.chain);
        if !new {
            out_of_order.push(Bad { line: item.number, offset: item.offset, kind: BadKind::Chain });
        }
        new
    });
    // A line whose predecessor stands further down, or not right before it while that one is here.
    let mut before = START;
    let linked = items.iter().all(|item| {
        let follows = item.prev == before || !(item.prev == START || seen.contains(&item.prev));
        before = item.chain;
        follows
    });
    if linked {
        return Ordered { items, out_of_order, ambiguous: false };
    }
    let offsets: Vec<u64> = items.iter().map(|item| item.offset).collect();
    let items = relink(items, &seen);
    let mut breaks = 0;
    let mut before = START;
    for (item, offset) in items.iter().zip(offsets) {
        if item.offset != offset {
            out_of_order.push(Bad { line: item.number, offset: item.offset, kind: BadKind::Chain });
        }
        breaks += usize::from(item.prev != before);
        before = item.chain;
    }
    Ordered { items, out_of_order, ambiguous: breaks > 0 }
}

// Chains of lines, one after another by where their first line stands; what begins the manifest comes first.
fn relink(items: Vec<Item>, chains: &HashSet<Digest>) -> Vec<Item> {
    let mut next: HashMap<Digest, Vec<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate().rev() {
        next.entry(item.prev).or_default().push(index);
    }
    let starts = |item: &Item| item.prev == START || !chains.contains(&item.prev);
    let mut heads: Vec<usize> = (0..items.len()).filter(|index| starts(&items[*index])).collect();
    heads.sort_by_key(|index| items[*index].prev != START);
    let mut left: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(left.len());
    let every: Vec<usize> = (0..left.len()).collect();
    // Rings and second lines behind the same one are reached by the list of all.
    for head in heads.into_iter().chain(every) {
        let mut at = Some(head);
        while let Some(item) = at.and_then(|index| left[index].take()) {
            let followers = next.get(&item.chain).map(Vec::as_slice).unwrap_or_default();
            at = followers.iter().rev().copied().find(|index| left[*index].is_some());
            ordered.push(item);
        }
    }
    ordered
}

// What a crash leaves is the beginning of a write: an unended line, before it perhaps the one that such a crash left
// earlier (the writer that was to name it died as well). A line that was once whole ends like one.
pub(crate) fn is_torn(tail: &[u8]) -> bool {
    let mut lines = tail.split(|byte| *byte == b'\n').rev();
    let unended = lines.next().is_some_and(|last| !last.is_empty());
    unended && lines.all(|line| !line.ends_with(b"\"}"))
}

pub(crate) fn skipped(bytes: &[u8]) -> Skipped {
    Skipped { length: bytes.len() as u64, blake3: Digest::of(bytes) }
}
