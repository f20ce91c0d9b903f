//! How three versions of the agent load a transcript, as measured: bytes to rows, leaf, walk, cut at the compaction.
//!
//! Written anew from the measurements, on purpose without a line of the crate: it judges the repairs.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::{parse, tokens};

/// A version of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// 2.1.31
    A,
    /// 2.1.100
    B,
    /// 2.1.325
    C,
}

pub const AGENTS: [Agent; 3] = [Agent::A, Agent::B, Agent::C];

/// A row in the agent's map.
#[derive(Debug, Clone)]
pub struct Node {
    pub row: Value,
    pub uuid: String,
    pub parent: Option<String>,
    pub time: Option<i64>,
}

impl Node {
    pub fn kind(&self) -> &str {
        self.row["type"].as_str().unwrap_or_default()
    }
    fn sidechain(&self) -> bool {
        self.row["isSidechain"] == true
    }
    pub fn is_turn(&self) -> bool {
        matches!(self.kind(), "user" | "assistant")
    }
    fn subtype(&self) -> &str {
        self.row["subtype"].as_str().unwrap_or_default()
    }
    fn reply(&self) -> Option<&str> {
        self.row["message"]["id"].as_str().filter(|_| self.kind() == "assistant")
    }
    fn has_result(&self) -> bool {
        let blocks = self.row["message"]["content"].as_array();
        self.kind() == "user"
            && blocks.is_some_and(|blocks| blocks.iter().any(|b| b["type"] == "tool_result"))
    }
    /// What the row says, as tokens.
    pub fn says(&self) -> Vec<String> {
        if !self.is_turn() {
            return Vec::new();
        }
        match &self.row["message"]["content"] {
            Value::String(said) => tokens(said),
            Value::Array(blocks) => {
                blocks.iter().filter_map(|b| b["text"].as_str()).flat_map(tokens).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What an agent holds after loading.
#[derive(Debug, Default)]
pub struct Loaded {
    pub nodes: Vec<Node>,
    by_uuid: HashMap<String, usize>,
    checkpoint: Option<(Option<String>, bool)>,
    any_checkpoint: bool,
    deleted: HashSet<usize>,
    preserved: bool,
}

/// The rows an agent sends, oldest first, cut at the last compaction; nothing where it finds no conversation.
pub fn resume(agent: Agent, file: &[u8]) -> Vec<Node> {
    let mut loaded = load(agent, file);
    loaded.preserve(agent);
    let Some(leaf) = loaded.leaf(agent) else { return Vec::new() };
    let mut walk = loaded.walk(agent, leaf);
    walk.reverse();
    if agent != Agent::A {
        walk = loaded.with_siblings(&walk);
    }
    let start = walk.iter().rposition(|at| loaded.nodes[*at].subtype() == "compact_boundary").unwrap_or(0);
    walk[start..].iter().map(|at| loaded.nodes[*at].clone()).collect()
}

/// The tokens an agent reaches.
pub fn reached(agent: Agent, file: &[u8]) -> BTreeSet<String> {
    resume(agent, file).iter().flat_map(Node::says).collect()
}

fn load(agent: Agent, file: &[u8]) -> Loaded {
    let mut it = Loaded::default();
    let mut bridge: HashMap<String, Option<String>> = HashMap::new();
    for line in file.split(|b| *b == b'\n') {
        let Some(row) = read_line(agent, line) else { continue };
        if row.is_null() && agent != Agent::C {
            break; // `null.type` throws: everything behind is lost
        }
        let Some(kind) = row["type"].as_str() else { continue };
        if kind == "last-prompt" && (row["leafUuid"].is_string() || row["explicit"] == true) {
            it.any_checkpoint = true;
            it.checkpoint = Some((row["leafUuid"].as_str().map(str::to_owned), row["explicit"] == true));
        }
        let Some(uuid) = row["uuid"].as_str().map(str::to_owned) else { continue };
        let mut parent = row["parentUuid"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        if let Some(bridged) = parent.as_ref().and_then(|parent| bridge.get(parent)) {
            parent.clone_from(bridged);
        }
        if kind == "progress" && agent != Agent::A {
            bridge.insert(uuid, parent);
            continue;
        }
        if !matches!(kind, "user" | "assistant" | "attachment" | "system") && kind != "progress" {
            continue;
        }
        if agent == Agent::C
            && matches!(kind, "user" | "assistant")
            && !admitted(&row)
            && !it.by_uuid.contains_key(&uuid)
        {
            bridge.insert(uuid, parent);
            continue;
        }
        if row["subtype"] == "compact_boundary" {
            it.checkpoint = None;
        }
        let time = row["timestamp"].as_str().and_then(millis);
        let node = Node { uuid: uuid.clone(), parent, time, row };
        match it.by_uuid.get(&uuid) {
            Some(at) => it.nodes[*at] = node,
            None => {
                it.by_uuid.insert(uuid, it.nodes.len());
                it.nodes.push(node);
            }
        }
    }
    it
}

fn read_line(agent: Agent, line: &[u8]) -> Option<Value> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return None;
    }
    parse(line).or_else(|| {
        // The newest agent keeps the first of two glued rows, and one with padding behind it.
        let text = String::from_utf8_lossy(line).replace("\\ud83d", "\\ufffd");
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        (agent == Agent::C).then(|| values.next()?.ok()).flatten()
    })
}

fn admitted(row: &Value) -> bool {
    match &row["message"]["content"] {
        Value::String(said) => row["type"] == "user" || !said.trim().is_empty(),
        Value::Array(blocks) => blocks.is_empty() || blocks.iter().any(Value::is_object),
        _ => false,
    }
}

impl Loaded {
    fn get(&self, uuid: &str) -> Option<usize> {
        self.by_uuid.get(uuid).copied().filter(|at| !self.deleted.contains(at))
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.nodes[at].parent.as_deref().and_then(|id| self.get(id))
    }

    fn main(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|at| !self.nodes[*at].sidechain() && !self.deleted.contains(at))
    }

    fn descends(&self, mut at: usize, ancestor: usize) -> bool {
        let mut seen = HashSet::new();
        while seen.insert(at) {
            if at == ancestor {
                return true;
            }
            let Some(parent) = self.parent(at) else { return false };
            at = parent;
        }
        false
    }

    /// Relinks what the last compaction kept, and forgets everything else before it.
    fn preserve(&mut self, agent: Agent) {
        let Some(boundary) =
            (0..self.nodes.len()).rev().find(|at| self.nodes[*at].subtype() == "compact_boundary")
        else {
            return;
        };
        let metadata = self.nodes[boundary].row["compactMetadata"].clone();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (messages, segment) = (&metadata["preservedMessages"], &metadata["preservedSegment"]);
        let list: Option<(String, Vec<String>)> = match agent {
            Agent::A => None,
            Agent::C if messages.is_object() => text(&messages["anchorUuid"])
                .zip(messages["uuids"].as_array().map(|ids| ids.iter().filter_map(text).collect())),
            _ => text(&segment["anchorUuid"]).zip(text(&segment["headUuid"]).map(|head| vec![head])), // ours keep one row
        };
        let Some((anchor, kept)) = list else { return };
        if kept.iter().chain([&anchor]).any(|id| self.get(id).is_none()) {
            return;
        }
        self.preserved = agent == Agent::C;
        let Some(last) = kept.last().cloned() else { return };
        let kept_at: Vec<usize> = kept.iter().filter_map(|id| self.get(id)).collect();
        for at in 0..self.nodes.len() {
            if self.nodes[at].parent.as_ref() == Some(&anchor) && !kept_at.contains(&at) {
                self.nodes[at].parent = Some(last.clone());
            }
        }
        self.deleted = (0..boundary).filter(|at| !kept_at.contains(at)).collect();
        let mut parent = anchor;
        for at in kept_at {
            self.nodes[at].parent = Some(std::mem::replace(&mut parent, self.nodes[at].uuid.clone()));
        }
        if agent == Agent::C {
            for at in 0..self.nodes.len() {
                let gone = self.nodes[at]
                    .parent
                    .as_ref()
                    .and_then(|id| self.by_uuid.get(id))
                    .is_some_and(|p| self.deleted.contains(p));
                if gone && self.nodes[at].is_turn() {
                    self.nodes[at].parent = Some(last.clone());
                }
            }
        }
    }

    fn leaf(&self, agent: Agent) -> Option<usize> {
        if agent != Agent::C {
            let mut best: Option<(i64, usize)> = None;
            for at in self.main() {
                if let Some(time) = self.nodes[at].time
                    && best.is_none_or(|(newest, _)| time > newest)
                {
                    best = Some((time, at));
                }
            }
            return best.map(|(_, at)| at);
        }
        let last = self.main().filter(|at| self.nodes[*at].subtype() != "file_snapshot").last()?;
        let explicit = self.checkpoint.as_ref().is_some_and(|(_, explicit)| *explicit);
        let named = self.checkpoint.as_ref().and_then(|(id, _)| id.as_deref()).and_then(|id| self.get(id));
        let mut picked = None;
        if !self.preserved || explicit {
            picked = named;
            if let Some(at) = picked
                && !explicit
                && (self.descends(last, at) || self.same_batch(last, at))
            {
                picked = Some(last);
            }
            let newest = || {
                let mut best = (String::new(), last);
                if self.any_checkpoint {
                    return last;
                }
                for at in self.main().filter(|at| *at != last && self.descends(*at, last)) {
                    let time = self.nodes[at].row["timestamp"].as_str().unwrap_or_default().to_owned();
                    if time >= best.0 {
                        best = (time, at);
                    }
                }
                best.1
            };
            picked = picked.or_else(|| Some(newest()));
            picked = picked.and_then(|at| self.climb(at));
        }
        let leaf = picked.or_else(|| {
            let tips = self.tips();
            match tips.as_slice() {
                [] => None,
                [tip] => Some(*tip),
                _ => named
                    .filter(|at| tips.contains(at) && !self.descends(last, *at))
                    .or_else(|| self.climb(last)),
            }
        })?;
        let node = &self.nodes[leaf];
        (!node.sidechain() && node.is_turn() && node.time.is_some()).then_some(leaf)
    }

    fn same_batch(&self, a: usize, b: usize) -> bool {
        let reply = |at: usize| {
            let node = &self.nodes[at];
            let of = if node.has_result() { self.parent(at).map(|p| &self.nodes[p]) } else { Some(node) };
            of.and_then(|node| node.reply()).map(str::to_owned)
        };
        // A row further down from another result of the same batch counts too.
        let Some(batch) = reply(b) else { return false };
        let mut at = Some(a);
        let mut seen = HashSet::new();
        while let Some(here) = at.filter(|at| seen.insert(*at)) {
            if reply(here).as_ref() == Some(&batch) {
                return true;
            }
            at = self.parent(here);
        }
        false
    }

    fn tips(&self) -> Vec<usize> {
        let all = || (0..self.nodes.len()).filter(|at| !self.deleted.contains(at));
        let parents: HashSet<&str> = all().filter_map(|at| self.nodes[at].parent.as_deref()).collect();
        let spoken: HashSet<&str> = all()
            .filter(|at| self.nodes[*at].is_turn())
            .filter_map(|at| self.nodes[at].parent.as_deref())
            .collect();
        let mut tips: Vec<usize> = all()
            .filter(|at| !parents.contains(self.nodes[*at].uuid.as_str()))
            .filter_map(|at| self.climb(at))
            .filter(|at| !spoken.contains(self.nodes[*at].uuid.as_str()))
            .collect();
        tips.dedup();
        tips
    }

    fn climb(&self, mut at: usize) -> Option<usize> {
        let mut seen = HashSet::new();
        while seen.insert(at) {
            if self.nodes[at].is_turn() {
                return Some(at);
            }
            at = self.parent(at)?;
        }
        None
    }

    fn walk(&self, agent: Agent, leaf: usize) -> Vec<usize> {
        let (mut walk, mut seen) = (Vec::new(), HashSet::new());
        let mut at = leaf;
        loop {
            seen.insert(at);
            walk.push(at);
            let Some(id) = self.nodes[at].parent.as_deref() else { return walk };
            let next = match (self.get(id), agent) {
                (Some(next), _) if !seen.contains(&next) => Some(next),
                (None, Agent::B | Agent::C) | (Some(_), Agent::C) => self.guess(agent, at, &seen),
                _ => None,
            };
            let Some(next) = next else { return walk };
            at = next;
        }
    }

    fn guess(&self, agent: Agent, at: usize, seen: &HashSet<usize>) -> Option<usize> {
        let time = self.nodes[at].time?;
        (0..self.nodes.len())
            .filter(|c| !seen.contains(c) && !self.deleted.contains(c))
            .filter(|c| agent == Agent::B || self.nodes[*c].sidechain() == self.nodes[at].sidechain())
            .filter_map(|c| self.nodes[c].time.map(|then| (time - then, c)))
            .filter(|(before, _)| (0..=5_000).contains(before))
            .min()
            .map(|(_, c)| c)
    }

    fn with_siblings(&self, walk: &[usize]) -> Vec<usize> {
        let on: HashSet<usize> = walk.iter().copied().collect();
        let mut done: HashSet<&str> = HashSet::new();
        let mut extra: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in walk {
            let Some(reply) = self.nodes[*at].reply().filter(|reply| done.insert(reply)) else { continue };
            let rows: Vec<usize> = (0..self.nodes.len())
                .filter(|n| self.nodes[*n].reply() == Some(reply) && !self.deleted.contains(n))
                .collect();
            let mut more: Vec<usize> = rows.iter().copied().filter(|n| !on.contains(n)).collect();
            more.extend((0..self.nodes.len()).filter(|n| {
                !on.contains(n)
                    && self.nodes[*n].has_result()
                    && self.parent(*n).is_some_and(|p| rows.contains(&p))
            }));
            let last =
                walk.iter().rev().find(|n| self.nodes[**n].reply() == Some(reply)).copied().unwrap_or(*at);
            extra.insert(last, more);
        }
        walk.iter().flat_map(|at| [vec![*at], extra.remove(at).unwrap_or_default()].concat()).collect()
    }
}

/// Milliseconds of an ISO date, on a scale of its own: only differences and order matter.
fn millis(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    if text.len() != 24 || !text.ends_with('Z') {
        return None;
    }
    let days = number(0..4)? * 372 + number(5..7)? * 31 + number(8..10)?;
    let seconds = (days * 24 + number(11..13)?) * 3600 + number(14..16)? * 60 + number(17..19)?;
    Some(seconds * 1000 + number(20..23)?)
}
