//! Hand-made facts for the tests of checks.

use super::*;
use integrate::settings::{StatusLineSeen, WiredEvent};

/// The moment of all hand-made facts.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn seen(version: &str) -> Seen {
    Seen { version: Version::parse(version).unwrap(), place: "/x".into() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A machine on which everything is as it should be.
pub(crate) fn well() -> Facts {
    let stop = WiredEvent { name: "Stop".to_owned(), ours: true, foreign: false };
    let reading = Reading { events: vec![stop], status_line: StatusLineSeen::Ours, ..Reading::default() };
    let site = SiteFacts {
        path: "/h/.claude".into(),
        there: true,
        settings: Settings::Read(reading),
        programs: vec![("/bin/rekindle".into(), Called::Same)],
        marked: true,
        agents: vec![seen("2.1.325")],
        ..SiteFacts::default()
    };
    Facts {
        now: at(NOW),
        on_path: true,
        sites: vec![site],
        agents: AgentFacts {
            on_path: Some(("/bin/claude".into(), Some(Version::new(2, 1, 325)))),
            ..AgentFacts::default()
        },
        tmux: TmuxFacts { installed: tmux::Installed::Version("3.3a".to_owned()), ..TmuxFacts::default() },
        state: StateFacts {
            path: "/s".into(),
            found: StateFound::Ours,
            key: KeyFacts { path: "/k".into(), found: KeyFound::Key(0o600) },
            records: RecordFacts { all: 3, ..RecordFacts::default() },
            newest_journal: Some(at(NOW - 10)),
            ..StateFacts::default()
        },
        vault: VaultFacts {
            synced: Some(at(NOW - 3600)),
            transcripts: 3,
            newest_transcript: Some(at(NOW - 7200)),
            ..VaultFacts::default()
        },
        disks: vec![("/s".into(), Space { free: 1 << 36, total: 1 << 40 })],
        ..Facts::default()
    }
}

/// A machine with much to do.
pub(crate) fn broken_in_many_ways() -> Facts {
    let mut facts = well();
    facts.state.open = Some(0o755);
    facts.state.open_inside = vec![("/s/a".into(), 0o644)];
    facts.state.key.found = KeyFound::Key(0o640);
    facts.state.in_refuge = 1;
    facts.state.unsettled = 2;
    facts.state.records.broken = vec!["/s/session-health/x.lock".into()];
    facts.sites[0].programs = vec![("/old/rekindle".into(), Called::Missing)];
    facts.links = vec![LinkFacts { path: "/h/.claude/instances".into(), found: LinkFound::Nothing }];
    facts
}
