//! Damage whose repair once made it worse: an agent reached less than before, or got back what was rewound.

use anyhow::Result;
use serde_json::{Value, json};
use transcript::Class::{A8, A13, B1, B7, B15};

use super::Case;
use super::order::{put, rewind};
use crate::agent::VERSIONS;
use crate::base::Base;
use crate::conversation::Story;

const OTHER: &str = "0bad5e55-0000-4000-8000-000000000003";

pub(super) fn cases() -> Vec<Case> {
    [formatted(), rotations(), branches(), sessions(), shapes()].concat()
}

/// Behind turn 4 the user went back: turns 5 to 7 were given up.
fn of_rewound(case: Case) -> Case {
    case.turns([0, 1, 2, 3, 4, 8]).never(&["ask-06", "reply-06"])
}

fn of_compacted(case: Case) -> Case {
    case.of(Story::Compacted).turns(4..6).must(&["the story until 03"]).never(&["ask-01"])
}

fn formatted() -> Vec<Case> {
    let [_, _, newest] = VERSIONS;
    vec![
        of_rewound(Case::bytes(
            "pretty-and-torn",
            &[A13, B1],
            "an editor formatted every row but one, which was torn",
            |b| {
                rewind(b, false)?;
                pretty_and_torn(b, 1)
            },
        ))
        .replies([0, 2, 3, 4, 8])
        .on(newest),
        of_compacted(Case::bytes(
            "pretty-and-torn-compacted",
            &[A13, B1],
            "the same before a compaction, which must not be undone",
            |b| pretty_and_torn(b, 1),
        ))
        .on(newest),
    ]
}

fn rotations() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        of_rewound(Case::rows("rotated", &[B15], "the two halves of the file changed places", |b| {
            rewind(b, true)?;
            rotated(b, 4);
            Ok(())
        }))
        .on(oldest),
        of_rewound(Case::rows("rotated-late", &[B15], "the last part of the file stands first", |b| {
            rewind(b, false)?;
            rotated(b, 6);
            Ok(())
        }))
        .on(newest),
        of_compacted(Case::rows(
            "rotated-compacted",
            &[B15],
            "the last part of a compacted file stands first",
            |b| {
                rotated(b, 7);
                Ok(())
            },
        ))
        .on(older),
    ]
}

fn branches() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        of_rewound(Case::bytes(
            "new-branch-torn",
            &[B1],
            "the prompt by which the user went back is torn",
            |b| {
                rewind(b, false)?;
                let line = b.line(b.ask(8)?);
                Ok(super::order::replace(&b.bytes(), &line, &line[..line.len() * 9 / 10]))
            },
        ))
        .asks([0, 1, 2, 3, 4])
        .on(older),
        Case::bytes("prompt-torn", &[B1], "a prompt is torn, and nobody went back", |b| {
            let line = b.line(b.ask(6)?);
            Ok(super::order::replace(&b.bytes(), &line, &line[..line.len() * 9 / 10]))
        })
        .asks(super::without(&[6]))
        .on(newest),
        of_rewound(Case::rows("upper-case-links", &[B1], "a tool wrote all links in upper case", |b| {
            rewind(b, false)?;
            for row in b.rows() {
                upper_case(&mut b[row]);
            }
            Ok(())
        }))
        .on(oldest),
        of_rewound(Case::rows("upper-case-fork", &[B1], "only the link by which the user went back", |b| {
            rewind(b, false)?;
            let fork = b.ask(8)?;
            upper_case(&mut b[fork]);
            Ok(())
        }))
        .on(newest),
        Case::rows(
            "unasked-answer",
            &[B7],
            "\"No response requested.\" at the end, on a tool's result in the middle",
            |b| {
                let (result, reply) = (b.result(5)?, b.reply(7)?);
                let time = b.later(3600)?;
                let answer = b.twin(reply);
                b[answer]["parentUuid"] = b.uuid(result);
                b[answer]["timestamp"] = time.into();
                b[answer]["message"] = json!({"id": "11111111-2222-4333-8444-555555555555", "type": "message",
                    "role": "assistant", "model": "<synthetic>", "stop_reason": "stop_sequence", "stop_sequence": "",
                    "usage": {"input_tokens": 0, "output_tokens": 0},
                    "content": [{"type": "text", "text": "No response requested."}]});
                b.append(&[answer]);
                Ok(())
            },
        )
        .on(older),
    ]
}

fn sessions() -> Vec<Case> {
    let [oldest, _, newest] = VERSIONS;
    vec![
        of_compacted(Case::rows(
            "session-id-changes",
            &[],
            "from the compaction on, all rows carry another session's id",
            |b| {
                let boundary = b.find("boundary", |row| row["subtype"] == "compact_boundary")?;
                other_session(b, boundary)
            },
        ))
        .unchanged()
        .on(oldest),
        Case::rows("session-id-changes-later", &[], "the second half carries another session's id", |b| {
            let ask = b.ask(4)?;
            other_session(b, ask)
        })
        .unchanged()
        .on(newest),
    ]
}

fn shapes() -> Vec<Case> {
    let [oldest, older, _] = VERSIONS;
    vec![
        Case::rows("block-without-list", &[A8], "a reply's content is one block, not a list", |b| {
            let reply = b.reply(3)?;
            b[reply]["message"]["content"] = b[reply]["message"]["content"][0].clone();
            Ok(())
        })
        .on(oldest),
        Case::rows("list-of-texts", &[A8], "a prompt's content is a list of texts without blocks", |b| {
            let ask = b.ask(3)?;
            b[ask]["message"]["content"] = json!(["ask-03 please"]);
            Ok(())
        })
        .on(older),
    ]
}

/// Every row over several lines, but for the reply of one turn: half of it, on one line.
fn pretty_and_torn(base: &Base, turn: u8) -> Result<Vec<u8>> {
    let torn = base.reply(turn)?;
    let mut out = Vec::new();
    for row in base.rows() {
        if row == torn {
            let line = base.line(row);
            out.extend_from_slice(&line[..line.len() / 2]);
        } else {
            out.extend(serde_json::to_vec_pretty(&base[row])?);
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// So many eighths of the file stand behind the rest.
fn rotated(base: &mut Base, parts: usize) {
    let mut rows = base.rows();
    let cut = rows.len() * parts / 8;
    rows.rotate_left(cut);
    put(base, &rows);
}

fn upper_case(row: &mut Value) {
    if let Some(id) = row["parentUuid"].as_str() {
        row["parentUuid"] = id.to_uppercase().into();
    }
}

fn other_session(base: &mut Base, from: crate::base::Row) -> Result<()> {
    let start = base.at(from)?;
    for row in base.rows().into_iter().skip(start) {
        if base[row].get("sessionId").is_some() {
            base[row]["sessionId"] = OTHER.into();
        }
    }
    Ok(())
}
