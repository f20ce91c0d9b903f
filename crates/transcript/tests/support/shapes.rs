//! Conversations of any length in the shapes that once took quadratic time. Without dependencies: benchmarks make them, too.

use std::fmt::Write as _;

/// A shape: about so many rows of it.
pub(crate) type Shape = fn(usize) -> Vec<u8>;

/// Every shape and its name.
pub(crate) const ALL: &[(&str, Shape)] = &[
    ("plain chain", chain),
    ("ten parallel tools a turn", |rows| parallel_tools(rows, 10)),
    ("one turn of parallel tools", |rows| parallel_tools(rows, rows / 2)),
    ("ids that differ in their first bytes", ids_differ_in_front),
    ("reversed with a checkpoint", |rows| checkpoint(reversed(&chain(rows)), 2)),
    ("reversed", |rows| reversed(&chain(rows))),
    ("reversed parallel tools", |rows| reversed(&parallel_tools(rows, 10))),
    ("reversed without every tenth row", |rows| reversed(&lost_rows(rows))),
    ("every tenth row lost", lost_rows),
    ("forks", forks),
    ("forks with a checkpoint", |rows| checkpoint(forks(rows), 3)),
    ("rewinds", rewinds),
    ("comb of rewinds", comb),
    ("comb that was left", abandoned_comb),
    ("a child before its parent", |rows| swapped(&chain(rows))),
    ("a child before its parent with a checkpoint", |rows| checkpoint(swapped(&chain(rows)), 2)),
    ("stop hooks aside", stop_hooks),
    ("stop hooks in a row", stop_hooks_in_a_row),
    ("chain of unknown kinds", unknown_chain),
    ("children of a chain of unknown kinds", unknown_comb),
    ("late results", late_results),
    ("late results reversed", |rows| reversed(&late_results(rows))),
    ("one id on half of the rows", one_id),
    ("the file twice", |rows| chain(rows / 2).repeat(2)),
    ("the file twice, reversed", |rows| reversed(&chain(rows / 2).repeat(2))),
    ("rings", rings),
    ("one ring", one_ring),
    ("missing parents", missing_parents),
    ("missing parents and swapped rows", |rows| swapped(&missing_parents(rows))),
    ("rows without a parent", false_roots),
    ("many compactions", compactions),
    ("sidechains", sidechains),
    ("compactions of sidechains", sidechain_compactions),
    ("progress rows without a parent", lost_progress),
    ("system rows behind the end", trailing_system_rows),
    ("attachments behind the end", trailing_attachments),
    ("star", star),
    ("open calls", open_calls),
    ("emptied rows", emptied_rows),
    ("server tools", server_tools),
    ("rows without a parent among nested links", nested_links),
    ("missing parents among nested links", |rows| missing_roots(&nested_links(rows))),
    ("late results with a checkpoint elsewhere", |rows| checkpoint(late_results(rows), 2)),
    ("late results and a child before its parent", |rows| swapped(&late_results(rows))),
    ("late results with a checkpoint at the end", |rows| {
        checkpoint_at(late_results(rows), rows - rows / 4 - 1)
    }),
    ("the second half of the file first", second_half_first),
];

const SESSION: &str = "5e551000-0000-4000-8000-000000000001";

/// One row; its id is made from its number.
struct Row {
    id: usize,
    parent: Option<usize>,
    /// Everything between the head and the end, such as the type and the message.
    rest: String,
}

fn id(n: usize) -> String {
    format!("{:08x}-1111-4222-8333-{n:012x}", n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff)
}

/// Half a second after the one before.
fn time(n: usize) -> String {
    let millis = n * 500;
    let (minute, hour, day) = (millis / 60_000 % 60, millis / 3_600_000 % 24, millis / 86_400_000);
    format!(
        "2026-{:02}-{:02}T{hour:02}:{minute:02}:{:02}.{:03}Z",
        1 + day / 28,
        1 + day % 28,
        millis / 1000 % 60,
        millis % 1000
    )
}

fn lines(rows: &[Row]) -> Vec<u8> {
    let mut out = String::new();
    for (n, row) in rows.iter().enumerate() {
        let parent = row.parent.map_or("null".to_owned(), |parent| format!("\"{}\"", id(parent)));
        let _ = writeln!(
            out,
            r#"{{"parentUuid":{parent},"sessionId":"{SESSION}","uuid":"{}","timestamp":"{}",{}}}"#,
            id(row.id),
            time(n),
            row.rest
        );
    }
    out.into_bytes()
}

fn user(n: usize) -> String {
    format!(r#""type":"user","message":{{"role":"user","content":"ask {n}"}}"#)
}

fn assistant(n: usize) -> String {
    format!(
        r#""type":"assistant","message":{{"id":"msg_{n}","role":"assistant","content":[{{"type":"text","text":"reply {n}"}}]}}"#
    )
}

fn call(reply: usize, tool: usize) -> String {
    format!(
        r#""type":"assistant","message":{{"id":"msg_{reply}","role":"assistant","content":[{{"type":"tool_use","id":"toolu_{tool}","name":"Bash","input":{{}}}}]}}"#
    )
}

fn result(tool: usize) -> String {
    format!(
        r#""type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{tool}","content":"done"}}]}}"#
    )
}

fn system(subtype: &str) -> String {
    format!(r#""type":"system","subtype":"{subtype}","content":"x""#)
}

fn turn(n: usize) -> String {
    if n.is_multiple_of(2) { user(n) } else { assistant(n) }
}

/// Rows `0..rows`, each with what `rest` says and the parent that `parent` says.
fn build(rows: usize, parent: impl Fn(usize) -> Option<usize>, rest: impl Fn(usize) -> String) -> Vec<u8> {
    lines(&(0..rows).map(|n| Row { id: n, parent: parent(n), rest: rest(n) }).collect::<Vec<_>>())
}

fn before(n: usize) -> Option<usize> {
    n.checked_sub(1)
}

fn chain(rows: usize) -> Vec<u8> {
    build(rows, before, turn)
}

fn reversed(file: &[u8]) -> Vec<u8> {
    let mut rows: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    rows.reverse();
    rows.concat()
}

/// Every eighth row before the one before it.
fn swapped(file: &[u8]) -> Vec<u8> {
    let mut rows: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    for at in (0..rows.len().saturating_sub(1)).step_by(8) {
        rows.swap(at, at + 1);
    }
    rows.concat()
}

/// With a checkpoint at the row that is this part of the file; always a prompt, so that files of any length are alike.
fn checkpoint(mut file: Vec<u8>, part: usize) -> Vec<u8> {
    let rows = file.iter().filter(|byte| **byte == b'\n').count();
    let row = format!(
        "{{\"type\":\"last-prompt\",\"leafUuid\":\"{}\",\"sessionId\":\"{SESSION}\"}}\n",
        id(rows / part / 4 * 4)
    );
    file.extend(row.into_bytes());
    file
}

/// With a checkpoint at this row.
fn checkpoint_at(mut file: Vec<u8>, row: usize) -> Vec<u8> {
    let row =
        format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"{}\",\"sessionId\":\"{SESSION}\"}}\n", id(row));
    file.extend(row.into_bytes());
    file
}

/// Rows without a parent behind rows that each follow one of them, the nearest the first: a row that finds a place brings
/// the next one to look for its own.
fn nested_links(rows: usize) -> Vec<u8> {
    let half = rows / 2;
    let file = build(2 * half, |n| (n >= half).then(|| (n - half + 1).min(half - 1)), turn);
    let written: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let behind = &written[..half];
    let before: Vec<&[u8]> = written[half..].iter().rev().copied().collect();
    [before.concat(), behind.concat()].concat()
}

/// Rows without a parent name one that is not there.
fn missing_roots(file: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(file);
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        let missing = format!(r#""parentUuid":"{}""#, id(30_000_000 + n));
        let _ = writeln!(out, "{}", line.replace(r#""parentUuid":null"#, &missing));
    }
    out.into_bytes()
}

fn second_half_first(rows: usize) -> Vec<u8> {
    let file = chain(rows);
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let (first, second) = lines.split_at(rows / 2);
    [second.concat(), first.concat()].concat()
}

fn ids_differ_in_front(rows: usize) -> Vec<u8> {
    let text = String::from_utf8(chain(rows)).unwrap_or_default();
    let id = |n: usize| format!("{n:08x}-1111-4222-8333-000000000000");
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        let parent = n.checked_sub(1).map(|parent| (self::id(parent), id(parent)));
        let line = line.replace(&self::id(n), &id(n));
        let line = parent.map_or(line.clone(), |(old, new)| line.replace(&old, &new));
        let _ = writeln!(out, "{line}");
    }
    out.into_bytes()
}

/// A prompt, so many calls of one reply, a result beside each, a reply behind the last of them.
fn parallel_tools(rows: usize, tools: usize) -> Vec<u8> {
    let mut all: Vec<Row> = Vec::new();
    let mut end = None;
    while all.len() < rows {
        let (first, number) = (all.len(), all.len());
        all.push(Row { id: first, parent: end, rest: user(number) });
        for tool in 0..tools.max(1) {
            let row = all.len();
            all.push(Row { id: row, parent: Some(row - 1), rest: call(number, first + tool) });
        }
        for tool in 0..tools.max(1) {
            let row = all.len();
            all.push(Row { id: row, parent: Some(first + 1 + tool), rest: result(first + tool) });
        }
        let row = all.len();
        all.push(Row { id: row, parent: Some(row - 1), rest: assistant(row) });
        end = Some(row);
    }
    lines(&all)
}

fn lost_rows(rows: usize) -> Vec<u8> {
    let all = (0..rows).filter(|n| n % 10 != 4).map(|n| Row { id: n, parent: before(n), rest: turn(n) });
    lines(&all.collect::<Vec<_>>())
}

/// Two processes write in turn: every row follows the one before the last.
fn forks(rows: usize) -> Vec<u8> {
    build(rows, |n| n.checked_sub(2).or(before(n)), |n| turn(n / 2))
}

/// After every fourth row the user goes back two rows.
fn rewinds(rows: usize) -> Vec<u8> {
    build(rows, |n| if n % 4 == 0 { n.checked_sub(3) } else { before(n) }, turn)
}

/// A spine from which a prompt and a reply were left at every turn.
fn comb(rows: usize) -> Vec<u8> {
    build(rows, |n| if n % 4 == 0 { n.checked_sub(3) } else { before(n) }, |n| turn(n % 2))
}

/// A long branch that was left, with a branch of its own at every turn.
fn abandoned_comb(rows: usize) -> Vec<u8> {
    let last = rows.saturating_sub(2);
    let parent = |n: usize| match n {
        n if n == last => Some(1),
        n if n < last && n % 4 == 0 => n.checked_sub(3),
        n => before(n),
    };
    build(rows, parent, turn)
}

/// A hook's summary beside every reply, from which the conversation goes on.
fn stop_hooks(rows: usize) -> Vec<u8> {
    let parent = |n: usize| if n % 3 == 2 { n.checked_sub(2) } else { before(n) };
    let rest = |n: usize| match n % 3 {
        0 => user(n),
        1 => assistant(n),
        _ => system("stop_hook_summary"),
    };
    build(rows, parent, rest)
}

fn stop_hooks_in_a_row(rows: usize) -> Vec<u8> {
    build(rows, before, |n| if n < 4 || n + 2 > rows { turn(n) } else { system("stop_hook_summary") })
}

fn unknown_chain(rows: usize) -> Vec<u8> {
    build(rows, before, |n| if n % 40 < 4 { turn(n) } else { r#""type":"invented""#.to_owned() })
}

/// A chain of rows that no agent knows, and a turn that hangs on each of them.
fn unknown_comb(rows: usize) -> Vec<u8> {
    let parent = |n: usize| match n {
        0 => None,
        n if n % 2 == 1 => Some(n - 1),
        n => Some(n - 2),
    };
    build(rows, parent, |n| if n == 0 || n % 2 == 1 { turn(n) } else { r#""type":"invented""#.to_owned() })
}

/// Calls that are answered only at the end, when the conversation has long gone on.
fn late_results(rows: usize) -> Vec<u8> {
    let late = rows / 4;
    let parent = |n: usize| if n + late < rows { before(n) } else { Some((n + late - rows) * 3 + 1) };
    let rest = |n: usize| match n {
        n if n + late >= rows => result(n + late - rows),
        n if n % 3 == 1 => call(n, n / 3),
        n => turn(n % 3),
    };
    build(rows, parent, rest)
}

fn one_id(rows: usize) -> Vec<u8> {
    let all = (0..rows).map(|n| Row {
        id: if n % 2 == 0 { 2 } else { n },
        parent: before(n).map(|n| if n % 2 == 0 { 2 } else { n }),
        rest: turn(n),
    });
    lines(&all.collect::<Vec<_>>())
}

fn rings(rows: usize) -> Vec<u8> {
    build(rows, |n| if n % 8 == 1 { Some((n + 6).min(rows - 1)) } else { before(n) }, turn)
}

fn one_ring(rows: usize) -> Vec<u8> {
    build(rows, |n| before(n).or(Some(rows - 1)), turn)
}

fn missing_parents(rows: usize) -> Vec<u8> {
    build(rows, |n| if n % 4 == 2 { Some(n + 10_000_000) } else { before(n) }, turn)
}

fn false_roots(rows: usize) -> Vec<u8> {
    build(rows, |n| if n % 4 == 0 { None } else { before(n) }, turn)
}

fn compactions(rows: usize) -> Vec<u8> {
    let parent = |n: usize| if n.is_multiple_of(10) { None } else { before(n) };
    let rest = |n: usize| match n % 10 {
        0 if n > 0 => system("compact_boundary"),
        1 if n > 1 => format!(r#"{},"isCompactSummary":true"#, user(n)),
        _ => turn(n),
    };
    build(rows, parent, rest)
}

/// A subagent's rows beside every turn, as old agents wrote them.
fn sidechains(rows: usize) -> Vec<u8> {
    let parent = |n: usize| match n % 8 {
        0 => n.checked_sub(7).or(before(n)),
        2 => None,
        _ => before(n),
    };
    let rest = |n: usize| match n % 8 {
        0 | 1 => turn(n),
        _ => format!(r#"{},"isSidechain":true"#, turn(n)),
    };
    build(rows, parent, rest)
}

fn sidechain_compactions(rows: usize) -> Vec<u8> {
    let parent = |n: usize| match n % 4 {
        3 => None,
        0 => n.checked_sub(2).map(|n| n + 20_000_000),
        _ => before(n),
    };
    let rest = |n: usize| match n % 4 {
        3 => format!(r#"{},"isSidechain":true"#, system("compact_boundary")),
        _ => turn(n),
    };
    build(rows, parent, rest)
}

fn lost_progress(rows: usize) -> Vec<u8> {
    let parent = |n: usize| if n < 4 { before(n) } else { Some(n + 10_000_000) };
    build(rows, parent, |n| if n < 4 { turn(n) } else { r#""type":"progress","data":{}"#.to_owned() })
}

fn trailing_system_rows(rows: usize) -> Vec<u8> {
    let half = rows / 2;
    let parent = |n: usize| if n <= half { before(n) } else { Some(half - 2) };
    build(rows, parent, |n| if n <= half { turn(n) } else { system("informational") })
}

/// Attachments behind the last turn, and system rows that hang on the turn before it.
fn trailing_attachments(rows: usize) -> Vec<u8> {
    let third = rows / 3;
    let parent = |n: usize| if n <= 2 * third { before(n) } else { Some(third - 2) };
    let rest = |n: usize| match n / third.max(1) {
        0 => turn(n),
        1 => r#""type":"attachment","attachment":{"type":"x"}"#.to_owned(),
        _ if n <= 2 * third => turn(n),
        _ => system("informational"),
    };
    build(rows, parent, rest)
}

fn star(rows: usize) -> Vec<u8> {
    build(rows, |n| (n > 0).then_some(0), turn)
}

fn open_calls(rows: usize) -> Vec<u8> {
    build(rows, before, |n| if n < 2 || n + 2 > rows { turn(n) } else { call(n, n) })
}

fn emptied_rows(rows: usize) -> Vec<u8> {
    let thought =
        r#""type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}"#;
    build(rows, before, |n| if n % 4 == 1 { thought.to_owned() } else { turn(n) })
}

fn server_tools(rows: usize) -> Vec<u8> {
    let block = |n: usize, block: &str| {
        format!(r#""type":"assistant","message":{{"id":"msg_{n}","role":"assistant","content":[{block}]}}"#)
    };
    let rest = |n: usize| match n {
        0 => user(n),
        1 => block(1, r#"{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}"#),
        n => block(1, &format!(r#"{{"type":"web_search_tool_result","tool_use_id":"srv","content":"{n}"}}"#)),
    };
    build(rows, before, rest)
}
