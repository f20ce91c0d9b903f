//! What rounds showed, as a page: per version of the agent what became of the agents, and how often what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::fault;
use super::judge::{Fate, Trouble};
use super::round::Record;

/// The columns behind the version, in order.
const COLUMNS: [&str; 14] = [
    "rounds", "panes", "agents", "resumed", "repaired", "put back", "fresh", "refused", "left", "wrong",
    "lost", "twice", "broken", "well",
];

/// The page. `command` is what made it.
pub fn page(records: &[Record], command: &str) -> String {
    let mut out = String::from(INTRODUCTION);
    let mut versions: Vec<&str> = Vec::new();
    for record in records {
        if !versions.contains(&record.agent.as_str()) {
            versions.push(&record.agent);
        }
    }
    let _ = writeln!(out, "| agent | {} |", COLUMNS.join(" | "));
    let _ = writeln!(out, "| --- |{}", " ---: |".repeat(COLUMNS.len()));
    for version in versions {
        let of_version: Vec<&Record> = records.iter().filter(|record| record.agent == version).collect();
        row(&mut out, version, &of_version);
    }
    row(&mut out, "all", &records.iter().collect::<Vec<_>>());
    let _ = write!(out, "\nMade by `{command}`.\n{MEANING}");
    faults(&mut out, records);
    reasons(&mut out, records);
    out
}

const INTRODUCTION: &str = "\
# Survival

Real agents in panes of a real tmux, each with a word that only its conversation knows. Then things go wrong, and everything
is restored. In the end each agent is asked through its pane, and what it sends to the API is counted: all of its own
conversation, each prompt once, and nothing of another one.

";

const MEANING: &str = "
- **resumed**, **repaired**, **put back**: its own conversation goes on; after a repair of its transcript; after the vault put it
  back.
- **fresh**: nothing was left to resume; a new agent was told what is known.
- **refused**: not resumed, and the restore said why. Only where the round itself destroyed what proves whose pane it is.
- **left**: it had been killed before the last save, so it is in no pane; its conversation is whole, and `recover` has it.
- **wrong**: a pane is missing, too many, of another shape, without its agent for no reason, or knows too little or too much.
- **lost**: an exchange that was complete is neither in the transcript nor in the vault.
- **twice**: two agents, or a prompt that was submitted twice. **broken**: a round that could not be run to its end.
";

fn row(out: &mut String, name: &str, records: &[&Record]) {
    let fates = |wanted: fn(&Fate) -> bool| {
        records.iter().flat_map(|record| &record.fates).filter(|fate| wanted(fate)).count()
    };
    let troubles = |wanted: fn(&Trouble) -> bool| {
        records.iter().flat_map(|record| &record.troubles).filter(|one| wanted(one)).count()
    };
    let sum = |number: fn(&Record) -> usize| records.iter().map(|record| number(record)).sum::<usize>();
    let cells: [usize; COLUMNS.len()] = [
        records.len(),
        sum(|record| record.panes),
        sum(|record| record.agents),
        fates(|fate| *fate == Fate::Resumed),
        fates(|fate| *fate == Fate::Repaired),
        fates(|fate| *fate == Fate::PutBack),
        fates(|fate| *fate == Fate::Fresh),
        fates(|fate| matches!(fate, Fate::Refused(_))),
        fates(|fate| *fate == Fate::Left),
        troubles(|trouble| matches!(trouble, Trouble::Wrong(_))),
        troubles(|trouble| matches!(trouble, Trouble::Lost(_))),
        troubles(|trouble| matches!(trouble, Trouble::Twice(_))),
        sum(|record| usize::from(record.broken.is_some())),
        sum(|record| usize::from(record.is_well())),
    ];
    let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
}

fn faults(out: &mut String, records: &[Record]) {
    let _ = write!(out, "\n## What went wrong\n\nThe tmux server died in every round. Besides:\n\n");
    let _ = writeln!(out, "| | rounds |\n| --- | ---: |");
    for fault in fault::ALL {
        let rounds = records.iter().filter(|record| record.faults.contains(&fault)).count();
        let _ = writeln!(out, "| {} | {rounds} |", fault.words());
    }
}

fn reasons(out: &mut String, records: &[Record]) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for fate in records.iter().flat_map(|record| &record.fates) {
        if let Fate::Refused(reason) = fate {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    if !reasons.is_empty() {
        let _ = write!(out, "\n## Why agents were refused\n\n| | agents |\n| --- | ---: |\n");
        for (reason, times) in reasons {
            let _ = writeln!(out, "| {} | {times} |", reason.replace('|', "\\|"));
        }
    }
    let bad: BTreeSet<String> = records.iter().filter(|record| !record.is_well()).map(again).collect();
    if !bad.is_empty() {
        let _ = write!(out, "\n## Not well\n\n");
        for words in bad {
            let _ = writeln!(out, "- {words}");
        }
    }
}

fn again(record: &Record) -> String {
    format!("seed {}, agent {}", record.seed, record.agent)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_agent_is_counted_once_under_its_version() {
        let record = |agent: &str, fates: Vec<Fate>, troubles: Vec<Trouble>| Record {
            agent: agent.to_owned(),
            seed: 7,
            panes: 9,
            agents: fates.len(),
            faults: BTreeSet::from([fault::Fault::PowerCut]),
            fates,
            troubles,
            broken: None,
            took: Duration::ZERO,
            folder: None,
        };
        let refused = Fate::Refused("offered: it is only guessed".to_owned());
        let page = page(
            &[
                record("2.1.31", vec![Fate::Resumed, Fate::PutBack, refused], Vec::new()),
                record("2.1.325", vec![Fate::Wrong], vec![Trouble::Twice("two".to_owned())]),
            ],
            "cargo xtask chaos --rounds 2",
        );
        let has = |line: &str| assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        has("| 2.1.31 | 1 | 9 | 3 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |");
        has("| 2.1.325 | 1 | 9 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |");
        has("| all | 2 | 18 | 4 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 1 | 0 | 1 |");
        has("| a power cut | 2 |");
        has("| offered: it is only guessed | 1 |");
        has("- seed 7, agent 2.1.325");
        has("Made by `cargo xtask chaos --rounds 2`.");
    }
}
