//! What was said on the conversation's own way from its first row to its last.

use std::collections::HashSet;
use std::io;

use crate::conversation::{Utterance, said_in};
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, Row, RowNo};
use crate::scan::{AsSource, Transcript};
use crate::skips::Skips;
use crate::tree::{RowSet, Tree};

impl<S: AsSource> Transcript<S> {
    /// Visits what an agent that resumes here would know, oldest first: neither subagents, nor what the agent said to
    /// itself, nor branches that were left. What a compaction summed up comes before its summary. Results come even
    /// where they are empty: that one came is what they say. Stops when `visit` says no.
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn walked(&self, mut visit: impl FnMut(Utterance) -> bool) -> io::Result<()> {
        let tree = Tree::new(&self.index);
        let own = own_rows(&tree);
        for no in tree.as_said().into_iter().filter(|no| own.contains(*no)) {
            let row = tree.row(no);
            if !row.kind().is_turn() || row.flags.intersects(Flags::META | Flags::SIDECHAIN | Flags::REPEATED)
            {
                continue;
            }
            let bytes = self.row_bytes(row)?;
            for said in said_in(&tree, no, &bytes, false) {
                if !visit(said) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The rows of the walk and what stands beside it, of every compaction.
fn own_rows(tree: &Tree<'_>) -> RowSet {
    let mut beside = Beside::new(tree);
    let mut own = RowSet::with_capacity(tree.parent.len());
    // The root of each row that was walked: a walk that meets another one ends where that one did.
    let mut roots: Vec<RowNo> = vec![NONE; tree.parent.len()];
    let mut end = tree.live_end(|no| tree.row(no).time);
    while let Some(leaf) = end {
        let mut walk = Vec::new();
        let mut at = leaf;
        while at != NONE && roots[at as usize] == NONE {
            roots[at as usize] = leaf; // a ring that comes back here ends at the row before
            walk.push(at);
            at = tree.parent[at as usize];
        }
        let joined = at != NONE && roots[at as usize] != leaf;
        let root = if joined { roots[at as usize] } else { walk.last().copied().unwrap_or(leaf) };
        for no in walk {
            roots[no as usize] = root;
            own.insert(no);
            beside.reply(tree.row(no), |no| {
                own.insert(no);
            });
        }
        let compacted = Flags::COMPACT_BOUNDARY | Flags::COMPACT_SUMMARY;
        // Nobody reads what a boundary says of the row before it; the last one in file order it is.
        end = Some(root).filter(|root| tree.row(*root).flags.intersects(compacted)).and_then(|root| {
            let said = |no: RowNo| tree.is_main(no) && tree.row(no).kind() != Kind::System;
            beside.skips.last(root, |no| said(no) && !own.contains(no))
        });
    }
    own
}

/// What stands beside a walk: the other rows of its replies, and their results.
struct Beside {
    /// Rows by the reply they belong to, sorted.
    rows: Vec<(u32, RowNo)>,
    taken: HashSet<u32>,
    skips: Skips,
}

impl Beside {
    fn new(tree: &Tree<'_>) -> Beside {
        let mut rows: Vec<(u32, RowNo)> = Vec::new();
        for no in tree.numbers().filter(|no| tree.is_main(*no)) {
            let row = tree.row(no);
            let parent = tree.index.row_at(tree.parent[no as usize]).filter(|_| row.is(Flags::HAS_RESULT));
            let of = [Some(row), parent].into_iter().flatten();
            rows.extend(of.filter(|row| row.kind() == Kind::Assistant).map(|row| (row.reply(), no)));
        }
        rows.sort_unstable();
        Beside { rows, taken: HashSet::new(), skips: Skips::default() }
    }

    /// Takes what belongs to the reply of a walked row, once.
    fn reply(&mut self, row: &Row, mut take: impl FnMut(RowNo)) {
        let reply = row.reply();
        if row.kind() != Kind::Assistant || reply == 0 || !self.taken.insert(reply) {
            return;
        }
        let start = self.rows.partition_point(|(of, _)| *of < reply);
        for (_, no) in self.rows[start..].iter().take_while(|(of, _)| *of == reply) {
            take(*no);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Speaker;

    fn row(id: u32, parent: Option<u32>, rest: &str) -> String {
        let uuid = |id: u32| format!("00000000-0000-4000-8000-{id:012}");
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", uuid(parent)));
        format!(
            "{{\"parentUuid\":{parent},\"uuid\":\"{}\",\"timestamp\":\"2026-01-01T00:00:{id:02}.000Z\",{rest}}}\n",
            uuid(id)
        )
    }

    fn said(id: u32, parent: Option<u32>, text: &str) -> String {
        row(id, parent, &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#))
    }

    fn heard(rows: &[String]) -> Vec<String> {
        let bytes = rows.concat();
        let mut heard = Vec::new();
        let visit = |said: Utterance| {
            let mark = match &said.speaker {
                Speaker::Call(tool) => format!("{tool} {}:", said.call.unwrap_or_default()),
                Speaker::Result if said.failed => format!("failed {}:", said.call.unwrap_or_default()),
                Speaker::Result => format!("result {}:", said.call.unwrap_or_default()),
                _ => String::new(),
            };
            heard.push(format!("{mark}{}", said.text));
            true
        };
        Transcript::of(bytes.as_bytes(), None).walked(visit).unwrap();
        heard
    }

    #[test]
    fn keeps_to_the_own_way() {
        let rows = [
            said(1, None, "first"),
            said(2, Some(1), "left behind"),
            said(3, Some(1), "second"),
            row(4, Some(3), r#""type":"user","isMeta":true,"message":{"content":"to itself"}"#),
            row(5, Some(4), r#""type":"user","isSidechain":true,"message":{"content":"of a subagent"}"#),
            said(6, Some(4), "third"),
        ];
        assert_eq!(heard(&rows), ["first", "second", "third"]);
    }

    #[test]
    fn calls_know_their_results_also_beside_the_walk() {
        let call = |id: u32, parent: u32, tool: &str| {
            let use_ = format!(
                r#"{{"type":"tool_use","id":"{tool}","name":"Bash","input":{{"command":"run {tool}"}}}}"#
            );
            row(
                id,
                Some(parent),
                &format!(r#""type":"assistant","message":{{"id":"m1","content":[{use_}]}}"#),
            )
        };
        let result = |id: u32, parent: u32, tool: &str, failed: bool| {
            let answer = format!(
                r#"{{"type":"tool_result","tool_use_id":"{tool}","content":"","is_error":{failed}}}"#
            );
            row(id, Some(parent), &format!(r#""type":"user","message":{{"content":[{answer}]}}"#))
        };
        // As 2.1.325 writes two calls at once: the walk goes through one of the results only.
        let rows = [
            said(1, None, "ask"),
            call(2, 1, "a"),
            call(3, 2, "b"),
            result(4, 3, "b", true),
            result(5, 2, "a", false),
            said(6, Some(5), "next"),
        ];
        assert_eq!(heard(&rows), ["ask", "Bash a:run a", "Bash b:run b", "failed b:", "result a:", "next"]);
    }

    #[test]
    fn goes_on_behind_a_compaction() {
        let rows = [
            said(1, None, "old"),
            said(2, Some(1), "rewound"),
            said(3, Some(1), "older"),
            row(4, None, r#""type":"system","subtype":"compact_boundary""#),
            row(5, Some(4), r#""type":"user","isCompactSummary":true,"message":{"content":"the sum"}"#),
            said(6, Some(5), "new"),
        ];
        assert_eq!(heard(&rows), ["old", "older", "the sum", "new"]);
    }
}
