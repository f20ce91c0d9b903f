//! Ways to break a transcript, one for every class of damage that a file can show.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Line, SESSION, timestamp, uuid};

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        /// What is done to the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names, reason = "many are about a parent")]
        pub enum Kind { $($kind,)* }

        pub const KINDS: &[Kind] = &[$(Kind::$kind),*];
    };
}

kinds! {
    DropRow, MissingParent, NullParent, SelfParent, Ring, NoParentKey, NonsenseParent, OtherParent,
    ExactCopy, CopyOtherParent, CopyNullParent, CopyOtherMessage, ForeignUuid, NoUuid,
    BadTime, NoTime, NumberTime, FutureTime, PastTime, EqualTimes, NoTimes,
    NoMessage, NullMessage, NumberMessage, NullContent, NullBlock, NullAttachment, BadInput,
    EmptyText, BlankText, EmptyBlock, NoBlocks, BadThinking, BadImage, HalfCharacter, Nul,
    OrphanResult, RepeatedCall, LateResult, StaleContinue, StraySystem, SystemOnOld, Checkpoint, LastIsSidechain,
    ProgressBehind, UnknownParentKind,
    SortByTime, NewestFirst, Reverse, SwapRows, Double, RepeatRun, TwinId, OtherSession, LoseFork, NulFork,
    LoseResults, ResumedAtEqualTime,
    CutTail, CutInside, Splice, Glue, NulBefore, NulAfter, NulLine, NullLine, Garbage, OpenEnd, CarriageReturn,
}

/// The session whose rows are appended to a file.
const OTHER_SESSION: &str = "0bad5e55-0000-4000-8000-000000000002";

/// One act of damage; numbers choose where.
#[derive(Debug, Clone)]
pub struct Damage {
    pub kind: Kind,
    pub at: usize,
    pub other: usize,
}

pub fn damage(most: usize) -> impl Strategy<Value = Vec<Damage>> {
    damage_of(KINDS, most)
}

/// Up to so many acts of damage of these kinds.
pub fn damage_of(kinds: &'static [Kind], most: usize) -> impl Strategy<Value = Vec<Damage>> {
    let one = (prop::sample::select(kinds), 0..1000usize, 0..1000usize)
        .prop_map(|(kind, at, other)| Damage { kind, at, other });
    prop::collection::vec(one, 1..=most)
}

/// The lines that are rows of the tree.
fn rows(lines: &[Line]) -> Vec<usize> {
    // A row of this session that hangs on another's makes both one conversation.
    let in_tree = |line: &Line| {
        line.row().is_some_and(|row| row["uuid"].is_string() && row["sessionId"] != OTHER_SESSION)
    };
    (0..lines.len()).filter(|at| in_tree(&lines[*at])).collect()
}

fn turns(lines: &[Line]) -> Vec<usize> {
    let turn =
        |at: &usize| lines[*at].row().is_some_and(|row| row["type"] == "user" || row["type"] == "assistant");
    // A late result or a continuation of which nothing is left cannot be told from a prompt of which nothing is left.
    let late = |at: &usize| lines[*at].row().is_some_and(|row| is_late(row) || row["isMeta"] == true);
    rows(lines).into_iter().filter(|at| turn(at) && !late(at)).collect()
}

fn is_late(row: &Value) -> bool {
    row["message"]["content"][0]["content"] == "late"
}

impl Damage {
    /// Breaks the file. Returns the id of a row whose place nobody can tell any more, if there is one.
    pub fn apply(&self, lines: &mut Vec<Line>) -> Option<String> {
        let pick = |from: &[usize], n: usize| (!from.is_empty()).then(|| from[n % from.len()]);
        let at = pick(&rows(lines), self.at)?;
        let other = pick(&rows(lines), self.other)?;
        let turn = pick(&turns(lines), self.at).unwrap_or(at);
        let fresh = uuid(0x00ff_0000 + self.at * 1000 + self.other + lines.len());
        let id = |lines: &[Line], at: usize| lines[at].row().map_or(Value::Null, |row| row["uuid"].clone());
        let (own, others) = (id(lines, at), id(lines, other));
        let touched = own.as_str().map(str::to_owned);
        let newest = timestamp(80_000_000 + i64::try_from(lines.len()).unwrap_or(0));
        let set = |lines: &mut Vec<Line>, at: usize, key: &str, value: Value| {
            if let Line::Row(row) = &mut lines[at] {
                row[key] = value;
            }
        };
        let unset = |lines: &mut Vec<Line>, at: usize, key: &str| {
            if let Line::Row(row) = &mut lines[at]
                && let Some(row) = row.as_object_mut()
            {
                row.shift_remove(key);
            }
        };
        let say = |lines: &mut Vec<Line>, value: Value| {
            if let Line::Row(row) = &mut lines[turn]
                && row["message"].is_object()
            {
                row["message"]["content"] = value;
            }
        };
        let add_block = |lines: &mut Vec<Line>, of: &str, block: Value| {
            if let Line::Row(row) = &mut lines[turn]
                && row["type"] == of
                && row["message"]["content"].is_array()
                && let Some(blocks) = row["message"]["content"].as_array_mut()
            {
                blocks.insert(0, block);
            }
        };
        match self.kind {
            Kind::DropRow => {
                lines.remove(at);
            }
            Kind::MissingParent => set(lines, at, "parentUuid", json!(fresh)),
            Kind::NullParent => set(lines, at, "parentUuid", Value::Null),
            Kind::SelfParent => set(lines, at, "parentUuid", own),
            Kind::Ring => {
                // A later row of another branch would be a parent like any other; a descendant makes a ring.
                let mut below = vec![own.clone()];
                for row in lines.iter().skip(at).filter_map(Line::row) {
                    if row["uuid"].is_string() && below.contains(&row["parentUuid"]) {
                        below.push(row["uuid"].clone());
                    }
                }
                let parent = below[self.other % below.len()].clone();
                set(lines, at, "parentUuid", parent);
            }
            Kind::NoParentKey => unset(lines, at, "parentUuid"),
            Kind::NonsenseParent => set(lines, at, "parentUuid", json!(7)),
            Kind::OtherParent => {
                // A parent of another branch is what a rewind looks like; only one that no agent keeps is damage.
                set(lines, at, "parentUuid", json!("x"));
            }
            Kind::ExactCopy => {
                let copy = lines[at].clone();
                lines.insert(at.max(other) + 1, copy);
            }
            Kind::CopyOtherParent | Kind::CopyNullParent | Kind::CopyOtherMessage => {
                let mut copy = lines[at].clone();
                if let Line::Row(row) = &mut copy {
                    match self.kind {
                        Kind::CopyOtherParent => row["parentUuid"] = others,
                        Kind::CopyNullParent => row["parentUuid"] = Value::Null,
                        // A late result that says something is a prompt on an old branch, as a rewind has one.
                        _ if row["message"].is_object() && !is_late(row) => {
                            row["message"]["content"] = json!([{"type": "text", "text": "a copy"}]);
                        }
                        _ => row["cwd"] = json!("/elsewhere"),
                    }
                }
                lines.insert(at.max(other) + 1, copy);
            }
            Kind::ForeignUuid => {
                let upper = format!("ABCDEF00-0000-4000-8000-{:012X}", self.at);
                let name = if self.other.is_multiple_of(2) {
                    json!(format!("row-{}", self.at))
                } else {
                    json!(upper)
                };
                for line in lines.iter_mut() {
                    if let Line::Row(row) = line {
                        for key in ["uuid", "parentUuid", "leafUuid"] {
                            if row[key] == own && !own.is_null() {
                                row[key] = name.clone();
                            }
                        }
                        unset_nulls(row);
                    }
                }
            }
            Kind::NoUuid => unset(lines, at, "uuid"),
            Kind::BadTime => set(lines, at, "timestamp", json!("yesterday")),
            Kind::NoTime => unset(lines, at, "timestamp"),
            Kind::NumberTime => set(lines, at, "timestamp", json!(1_700_000_000)),
            Kind::FutureTime => set(lines, at, "timestamp", json!("2099-01-01T00:00:00.000Z")),
            Kind::PastTime => set(lines, at, "timestamp", json!("2001-01-01T00:00:00.000Z")),
            Kind::EqualTimes => {
                rows(lines).into_iter().for_each(|at| set(lines, at, "timestamp", json!(newest)));
            }
            Kind::NoTimes => rows(lines).into_iter().for_each(|at| unset(lines, at, "timestamp")),
            Kind::NoMessage => unset(lines, turn, "message"),
            Kind::NullMessage => set(lines, turn, "message", Value::Null),
            Kind::NumberMessage => set(lines, turn, "message", json!(5)),
            Kind::NullContent => say(lines, Value::Null),
            Kind::NullBlock => say(lines, json!([null])),
            Kind::NullAttachment => {
                let of = |at: &usize| lines[*at].row().is_some_and(|row| row["type"] == "attachment");
                let attachments: Vec<usize> = rows(lines).into_iter().filter(of).collect();
                if let Some(at) = pick(&attachments, self.at) {
                    set(lines, at, "attachment", Value::Null);
                }
            }
            Kind::BadInput => {
                for line in lines.iter_mut().skip(at) {
                    if let Line::Row(row) = line
                        && row["message"]["content"][0]["type"] == "tool_use"
                    {
                        row["message"]["content"][0]["input"] = json!("text");
                        break;
                    }
                }
            }
            Kind::EmptyText => say(lines, json!("")),
            Kind::BlankText => say(lines, json!(" \n ")),
            Kind::EmptyBlock => say(lines, json!([{"type": "text", "text": ""}])),
            Kind::NoBlocks => say(lines, json!([])),
            Kind::BadThinking => add_block(
                lines,
                "assistant",
                json!({"type": "thinking", "thinking": "", "signature": "QUJD"}),
            ),
            Kind::BadImage => {
                let source =
                    json!({"type": "base64", "media_type": "image/png", "data": "PCFkb2N0eXBlIGh0bWw+"});
                add_block(lines, "user", json!({"type": "image", "source": source}));
            }
            Kind::HalfCharacter => {
                add_block(lines, "assistant", json!({"type": "text", "text": "half HALF"}));
            }
            Kind::Nul => add_block(lines, "assistant", json!({"type": "text", "text": "zero \0"})),
            Kind::OrphanResult => {
                say(lines, json!([{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}]));
            }
            Kind::RepeatedCall => {
                let first = lines.iter().find_map(|line| {
                    line.row()
                        .filter(|row| row["message"]["content"][0]["type"] == "tool_use")
                        .map(|row| row["message"]["content"][0]["id"].clone())
                });
                for line in lines.iter_mut().skip(at) {
                    if let (Some(first), Line::Row(row)) = (&first, line)
                        && row["message"]["content"][0]["type"] == "tool_use"
                    {
                        row["message"]["content"][0]["id"] = first.clone();
                        break;
                    }
                }
            }
            Kind::LateResult => {
                let call = lines.iter().find_map(|line| {
                    line.row().filter(|row| row["message"]["content"][0]["type"] == "tool_use").cloned()
                })?;
                let block = json!([{"type": "tool_result", "tool_use_id": call["message"]["content"][0]["id"], "content": "late"}]);
                lines.push(Line::Row(json!({"parentUuid": call["uuid"], "isSidechain": false, "type": "user", "sessionId": SESSION, "message": {"role": "user", "content": block}, "uuid": fresh, "timestamp": newest})));
            }
            Kind::StaleContinue => {
                let parent = lines.get(turn).and_then(Line::row)?["uuid"].clone();
                lines.push(Line::Row(json!({"parentUuid": parent, "isSidechain": false, "type": "user", "isMeta": true, "sessionId": SESSION, "message": {"role": "user", "content": "Continue from where you left off."}, "uuid": fresh, "timestamp": newest})));
            }
            Kind::StraySystem | Kind::SystemOnOld => {
                let parent = if self.kind == Kind::StraySystem { Value::Null } else { own };
                lines.push(Line::Row(json!({"parentUuid": parent, "isSidechain": false, "type": "system", "subtype": "informational", "content": "x", "sessionId": SESSION, "uuid": fresh, "timestamp": newest})));
            }
            Kind::Checkpoint => {
                lines.push(Line::Row(json!({"type": "last-prompt", "leafUuid": own, "sessionId": SESSION})));
            }
            Kind::LastIsSidechain => {
                lines.push(Line::Row(json!({"parentUuid": null, "isSidechain": true, "type": "user", "sessionId": SESSION, "message": {"role": "user", "content": "aside"}, "uuid": fresh, "timestamp": newest})));
            }
            Kind::ProgressBehind => {
                let parent = lines[at].row()?["parentUuid"].clone();
                let time = lines[at].row()?["timestamp"].clone();
                set(lines, at, "parentUuid", json!(fresh));
                lines.insert(at + 1, Line::Row(json!({"parentUuid": parent, "isSidechain": false, "type": "progress", "sessionId": SESSION, "uuid": fresh, "timestamp": time})));
            }
            Kind::UnknownParentKind => {
                let parent = lines[at].row()?["parentUuid"].clone();
                set(lines, at, "parentUuid", json!(fresh));
                lines.insert(at, Line::Row(json!({"parentUuid": parent, "isSidechain": false, "type": "new-invention", "sessionId": SESSION, "uuid": fresh, "timestamp": newest})));
            }
            Kind::SortByTime | Kind::NewestFirst => {
                if lines.iter().any(|line| line.row().is_none()) {
                    return None; // a tool that sorts by a field must be able to read it
                }
                let time =
                    |line: &Line| line.row().and_then(|row| row["timestamp"].as_str().map(str::to_owned));
                if self.kind == Kind::SortByTime {
                    lines.sort_by_key(time);
                } else {
                    lines.sort_by_key(|line| std::cmp::Reverse(time(line)));
                }
                return None;
            }
            Kind::Reverse => {
                lines.reverse();
                return None;
            }
            Kind::SwapRows => {
                if at + 1 < lines.len() {
                    lines.swap(at, at + 1);
                }
                return None;
            }
            Kind::Double => {
                lines.extend(lines.clone());
                return None;
            }
            Kind::RepeatRun => {
                let run = lines[at..(at + 1 + self.other % 6).min(lines.len())].to_vec();
                lines.extend(run);
                return None;
            }
            Kind::TwinId => {
                // Two turns get one id, and the children of each name it.
                let turns = turns(lines);
                let (Some(a), Some(b)) = (pick(&turns, self.at), pick(&turns, self.other)) else {
                    return None;
                };
                let (first, second) = (a.min(b), a.max(b));
                let (keep, lose) = (id(lines, first), id(lines, second));
                if lines[first].row()?["type"] != lines[second].row()?["type"] || keep == lose {
                    return None;
                }
                // Where the user went back to one twin and the other one stands behind it, nothing tells which one is meant: a
                // row follows the twin that was written last before it.
                let time = |id: &Value| {
                    let row = lines.iter().filter_map(Line::row).find(|row| row["uuid"] == *id);
                    row.and_then(|row| row["timestamp"].as_str())
                };
                let is_unclear = |no: &usize| {
                    lines[*no].row().is_some_and(|row| {
                        let parent = &row["parentUuid"];
                        let other = if *parent == keep { &lose } else { &keep };
                        // Ids count up; where all times are equal they tell what was written first.
                        let between = |a: Option<&str>, b: Option<&str>, c: Option<&str>| a < b && b < c;
                        let lies_between = between(time(parent), time(other), row["timestamp"].as_str())
                            || between(parent.as_str(), other.as_str(), row["uuid"].as_str());
                        row["promptId"].is_string() && (*parent == keep || *parent == lose) && lies_between
                    })
                };
                let unclear = (0..lines.len()).find(is_unclear).and_then(|no| lines[no].row());
                let unclear = unclear.and_then(|row| row["uuid"].as_str().map(str::to_owned));
                for line in lines.iter_mut() {
                    if let Line::Row(row) = line {
                        for key in ["uuid", "parentUuid", "leafUuid"] {
                            if row[key] == lose && !lose.is_null() {
                                row[key] = keep.clone();
                            }
                        }
                        unset_nulls(row);
                    }
                }
                return unclear;
            }
            Kind::OtherSession => {
                let other_id = OTHER_SESSION;
                let mut parent = Value::Null;
                for n in 0..2 + self.other % 4 {
                    let own = json!(uuid(0x00ee_0000 + self.at * 10 + n));
                    let (kind, role) = if n % 2 == 0 { ("user", "user") } else { ("assistant", "assistant") };
                    let time = timestamp(81_000_000 + i64::try_from(n).unwrap_or(0) * 60_000);
                    lines.push(Line::Row(json!({"parentUuid": parent, "isSidechain": false, "type": kind, "sessionId": other_id, "message": {"id": format!("msg_o{n}"), "role": role, "content": [{"type": "text", "text": format!("stranger {n}")}]}, "uuid": own, "timestamp": time})));
                    parent = own;
                }
                lines.push(Line::Row(
                    json!({"type": "last-prompt", "leafUuid": parent, "sessionId": other_id}),
                ));
                return None;
            }
            Kind::LoseFork | Kind::NulFork => {
                // The row that several prompts follow: where the user went back to.
                let parents: Vec<Value> = lines
                    .iter()
                    .filter_map(Line::row)
                    .filter(|row| row["promptId"].is_string())
                    .map(|row| row["parentUuid"].clone())
                    .filter(|parent| !parent.is_null())
                    .collect();
                let fork =
                    parents.iter().find(|id| parents.iter().filter(|other| other == id).count() > 1)?;
                let at = lines.iter().position(|line| line.row().is_some_and(|row| row["uuid"] == *fork))?;
                // Of a system row that is gone without a trace nothing tells, unless others of its kind are there.
                let system = |line: &Line| {
                    line.row().is_some_and(|row| {
                        row["type"] == "system"
                            && row["subtype"] != "compact_boundary"
                            && parents.contains(&row["uuid"])
                    })
                };
                let told = !system(&lines[at]) || lines.iter().filter(|line| system(line)).count() > 1;
                if self.kind == Kind::LoseFork && told {
                    lines.remove(at);
                } else {
                    lines[at] = Line::Raw(vec![0; lines[at].bytes().len()]);
                }
                return None;
            }
            Kind::LoseResults => {
                // The results of a call that was answered; the conversation goes on from the call.
                let result = |line: &Line| {
                    line.row().is_some_and(|row| {
                        row["message"]["content"][0]["type"] == "tool_result"
                            && row["message"]["content"][0]["content"] == "done"
                    })
                };
                let found: Vec<usize> = (0..lines.len()).filter(|at| result(&lines[*at])).collect();
                let at = pick(&found, self.at)?;
                let (own, parent) = (id(lines, at), lines[at].row()?["parentUuid"].clone());
                if lines.iter().filter_map(Line::row).filter(|row| row["parentUuid"] == own).count() > 1 {
                    return None; // where the agent resumed could not be told any more
                }
                let call = |id: &Value| {
                    lines
                        .iter()
                        .filter_map(Line::row)
                        .any(|row| row["uuid"] == *id && row["message"]["content"][0]["type"] == "tool_use")
                };
                let has_id = |row: &&Value| row["uuid"] == own && !call(&row["parentUuid"]);
                if lines.iter().filter_map(Line::row).filter(has_id).any(|row| row["promptId"].is_string()) {
                    return None; // a prompt has the same id: what follows it goes on from the prompt
                }
                lines.remove(at);
                for at in 0..lines.len() {
                    if lines[at].row().is_some_and(|row| row["parentUuid"] == own) {
                        set(lines, at, "parentUuid", parent.clone());
                    }
                }
                return None;
            }
            Kind::ResumedAtEqualTime => {
                // 2.1.31 resumed at the first of two rows with the newest time, a tool's result.
                let last = *rows(lines).last()?;
                let reply = lines[last].row()?.clone();
                let parent = lines
                    .iter()
                    .position(|line| line.row().is_some_and(|row| row["uuid"] == reply["parentUuid"]))?;
                let newest = lines.iter().filter_map(|line| line.row()?["timestamp"].as_str()).max();
                // It never resumes in a subagent's rows.
                if reply["type"] != "assistant"
                    || reply["isSidechain"] == true
                    || reply["timestamp"].as_str() != newest
                    || lines[parent].row()?["message"]["content"][0]["type"] != "tool_result"
                {
                    return None;
                }
                let time = reply["timestamp"].clone();
                let result = lines[parent].row()?["uuid"].clone();
                // The row may be there twice.
                for at in 0..lines.len() {
                    if lines[at].row().is_some_and(|row| row["uuid"] == result) {
                        set(lines, at, "timestamp", time.clone());
                    }
                }
                let (answer, ask) = (uuid(0x00dd_0000 + lines.len()), uuid(0x00dd_8000 + lines.len()));
                lines.push(Line::Row(json!({"parentUuid": result, "isSidechain": false, "type": "assistant", "sessionId": SESSION, "message": {"id": "msg_synthetic", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]}, "uuid": answer, "timestamp": timestamp(82_000_000)})));
                lines.push(Line::Row(json!({"parentUuid": answer, "isSidechain": false, "type": "user", "sessionId": SESSION, "promptId": "p_after", "message": {"role": "user", "content": "and now"}, "uuid": ask, "timestamp": timestamp(82_060_000)})));
                return None;
            }
            Kind::CutTail => {
                let cut = id(lines, lines.len() - 1);
                let mut bytes = lines.pop()?.bytes();
                bytes.truncate(bytes.len() * (1 + self.at % 20) / 21);
                lines.push(Line::Raw(bytes));
                return cut.as_str().map(str::to_owned);
            }
            Kind::CutInside | Kind::Splice => {
                let mut bytes = lines[at].bytes();
                bytes.truncate(bytes.len() * (1 + self.other % 20) / 21);
                if self.kind == Kind::Splice && at + 1 < lines.len() {
                    bytes.extend(lines.remove(at + 1).bytes());
                }
                lines[at] = Line::Raw(bytes);
            }
            Kind::Glue => {
                if at + 1 < lines.len() {
                    let next = lines.remove(at + 1).bytes();
                    lines[at] = Line::Raw([lines[at].bytes(), next].concat());
                }
            }
            Kind::NulBefore => {
                lines[at] = Line::Raw([vec![0; 1 + self.other % 9], lines[at].bytes()].concat());
            }
            Kind::NulAfter => {
                lines[at] = Line::Raw([lines[at].bytes(), vec![0; 1 + self.other % 9]].concat());
            }
            Kind::NulLine => lines.insert(at, Line::Raw(vec![0; 4096])),
            Kind::NullLine => lines.insert(at, Line::Raw(b"null".to_vec())),
            Kind::Garbage => lines.insert(at, Line::Raw(b"[2026] \xff\xfe something".to_vec())),
            Kind::OpenEnd => {} // the file's end is cut by the caller
            Kind::CarriageReturn => {
                for line in lines.iter_mut() {
                    *line = Line::Raw([line.bytes(), b"\r".to_vec()].concat());
                }
            }
        }
        touched
    }
}

/// Looking at a missing key through an index adds nothing, but assigning does: keep rows as they were.
fn unset_nulls(row: &mut Value) {
    if let Some(row) = row.as_object_mut()
        && row.get("uuid").is_some_and(Value::is_null)
    {
        row.shift_remove("uuid");
    }
}

/// What was done to a file.
pub struct Broken {
    pub bytes: Vec<u8>,
    /// Rows whose place nobody can tell any more, and what was done to them.
    pub touched: Vec<(Kind, String)>,
    /// Whether a row may only be left as a copy with another parent: that is what a rewind looks like.
    pub misled: bool,
}

/// The damaged file.
pub fn break_file(whole: &[Line], damages: &[Damage]) -> Broken {
    let mut lines = whole.to_vec();
    let (mut touched, mut copied, mut renamed) = (Vec::new(), Vec::new(), Vec::new());
    let link = |row: &Value| (row["uuid"].clone(), row["parentUuid"].clone());
    for damage in damages {
        if lines.is_empty() {
            continue;
        }
        if matches!(damage.kind, Kind::CopyOtherParent | Kind::CopyNullParent) {
            let rows = rows(&lines);
            let at = (!rows.is_empty()).then(|| rows[damage.at % rows.len()]);
            let row = at.and_then(|at| lines[at].row());
            // The link as it was written: it may be broken by now.
            let written =
                row.and_then(|row| whole.iter().filter_map(Line::row).find(|it| it["uuid"] == row["uuid"]));
            copied.extend(written.or(row).map(link));
        }
        let ids = |lines: &[Line]| -> Vec<Option<String>> {
            lines.iter().map(|line| Some(line.row()?["uuid"].as_str()?.to_owned())).collect()
        };
        let old = ids(&lines);
        touched.extend(damage.apply(&mut lines).map(|id| (damage.kind, id)));
        if damage.kind == Kind::TwinId {
            let pairs = old.into_iter().zip(ids(&lines)).filter(|(old, new)| old != new);
            renamed.extend(pairs.filter_map(|(old, new)| Some((new?, old?))));
        }
    }
    // A row that got the id of another one counts by its own, too.
    let named = |(kind, id): &(Kind, String)| {
        let own = renamed.iter().find(|(new, _): &&(String, String)| new == id);
        own.map(|(_, old)| (*kind, old.clone()))
    };
    let by_own_id: Vec<_> = touched.iter().filter_map(named).collect();
    touched.extend(by_own_id);
    let mut bytes = super::file(&lines);
    let open = damages.iter().any(|damage| matches!(damage.kind, Kind::OpenEnd | Kind::CutTail));
    if open && bytes.ends_with(b"\n") {
        bytes.pop();
    }
    let left: Vec<Value> = bytes.split(|b| *b == b'\n').filter_map(super::parse).collect();
    let is_left = |(id, parent): &(Value, Value)| {
        left.iter().any(|row| row["uuid"] == *id && row["parentUuid"] == *parent)
    };
    let misled = copied.iter().any(|link| !is_left(link));
    Broken { bytes, touched, misled }
}
