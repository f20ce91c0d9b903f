//! What rekindle remembers: whether it is private, readable, up to date, and nothing waits.

use crate::facts::{Facts, KeyFound, StateFound};
use crate::finding::{Finding, Id, or_well};
use crate::words::{age, count, list};

/// Clocks of one machine differ by less; a jump back is more.
const CLOCK_SLACK_SECONDS: i64 = 120;
/// A turn that ended an hour ago was mirrored long since, where hooks run.
const MIRRORED_AFTER_SECONDS: i64 = 3_600;

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let state = &facts.state;
    let path = state.path.display();
    match &state.found {
        StateFound::Nothing | StateFound::Ours => {}
        StateFound::Foreign { owner, user } => {
            findings.push(
                Finding::problem(
                    Id::StateForeign,
                    format!("{path} belongs to user {owner}, and this is user {user}"),
                )
                .why("files written by another user would lock its owner out, so nothing is written")
                .fix("run rekindle as its owner, or set REKINDLE_STATE_DIR"),
            );
            return findings;
        }
        StateFound::Unreadable(why) => {
            findings.push(
                Finding::problem(Id::StateUnreadable, format!("{path} cannot be used: {why}"))
                    .why("nothing can be recorded or looked up")
                    .fix("make it a folder that you can read and write"),
            );
            return findings;
        }
    }
    modes(facts, &mut findings);
    key(facts, &mut findings);
    records(facts, &mut findings);
    waiting(facts, &mut findings);
    story(facts, &mut findings);
    vault(facts, &mut findings);
    let what = match (&state.found, facts.vault.synced) {
        (StateFound::Nothing, _) => "nothing is remembered yet".to_owned(),
        (_, None) => format!("{} on record", count(state.records.all, "session", "sessions")),
        (_, Some(synced)) => format!(
            "{} on record, the vault last grew {} ago",
            count(state.records.all, "session", "sessions"),
            age(facts.now.as_second() - synced.as_second())
        ),
    };
    or_well(findings, Id::StateWell, what)
}

fn modes(facts: &Facts, findings: &mut Vec<Finding>) {
    let state = &facts.state;
    if let Some(mode) = state.open {
        findings.push(
            Finding::problem(
                Id::StateOpen,
                format!("{} is open to others (mode {mode:04o})", state.path.display()),
            )
            .why("conversations hold secrets, and other users of this machine can read them")
            .ours(),
        );
    }
    if let Some((first, mode)) = state.open_inside.first() {
        let what = match state.open_inside.len() {
            1 => format!("{} has mode {mode:04o}", first.display()),
            many => format!("{many} files and folders have open modes, such as {}", first.display()),
        };
        findings.push(
            Finding::warning(Id::StateFilesOpen, what)
                .why("only the state directory's own mode keeps other users from reading them")
                .ours(),
        );
    }
}

fn key(facts: &Facts, findings: &mut Vec<Finding>) {
    let path = facts.state.key.path.display();
    match facts.state.key.found {
        KeyFound::Key(mode) if mode & 0o077 != 0 => findings.push(
            Finding::problem(Id::KeyOpen, format!("the machine's key {path} is open to others (mode {mode:04o})"))
                .why("whoever has it can make records that rekindle takes for its own")
                .ours(),
        ),
        KeyFound::Key(_) => {}
        KeyFound::Nothing if facts.state.records.all == 0 => {}
        KeyFound::Nothing => findings.push(
            Finding::warning(Id::KeyMissing, format!("the machine's key {path} is gone"))
                .why("no record can be told from an imported one, so none is restored by itself, and rekindle changes no state but the vault's copies")
                .fix("put it back from a backup, or run `rekindle trust`: it shows what each record would start, and makes a new key after a yes"),
        ),
        KeyFound::Broken => findings.push(
            Finding::problem(Id::KeyBroken, format!("{path} is no key of 32 bytes"))
                .why("records can be neither sealed nor believed, so nothing is settled")
                .fix("put it back from a backup, or move it away and run `rekindle trust`"),
        ),
    }
}

fn records(facts: &Facts, findings: &mut Vec<Finding>) {
    let records = &facts.state.records;
    if !records.broken.is_empty() {
        let what = count(records.broken.len(), "record cannot", "records cannot");
        let first = records.broken.first().map(|path| path.display().to_string()).unwrap_or_default();
        findings.push(
            Finding::warning(Id::RecordsBroken, format!("{what} be understood, such as {first}"))
                .why("these sessions are not shown and not restored until their records are made again")
                .ours(),
        );
    }
    // Without the key every one of them is foreign, and that is told already.
    if records.foreign > 0 && matches!(facts.state.key.found, KeyFound::Key(_)) {
        let what = count(records.foreign, "record was", "records were");
        findings.push(
            Finding::note(Id::RecordsForeign, format!("{what} imported, pulled or edited, not written here"))
                .why("state is not code: such sessions are shown and offered, never started by themselves")
                .fix("rekindle trust shows them, and accepts them after a yes"),
        );
    }
    if records.newer > 0 {
        let what = count(records.newer, "record is", "records are");
        findings.push(
            Finding::warning(Id::RecordsNewer, format!("{what} of a newer rekindle"))
                .why("they are read, but never written by this one")
                .fix("update rekindle"),
        );
    }
}

fn waiting(facts: &Facts, findings: &mut Vec<Finding>) {
    let state = &facts.state;
    if let Some(since) = state.paused {
        let since = age(facts.now.as_second() - since.as_second());
        findings.push(
            Finding::warning(Id::Paused, format!("everything automatic is paused, for {since}"))
                .why("events are kept, but no record, map or vault follows them")
                .fix("rekindle unpause"),
        );
    }
    let settles = |finding: Finding| {
        if state.paused.is_some() { finding.fix("rekindle unpause") } else { finding.ours() }
    };
    if state.in_refuge > 0 {
        let sessions = count(state.in_refuge, "session wait", "sessions wait");
        findings.push(settles(
            Finding::warning(
                Id::RefugeWaiting,
                format!("events of {sessions} outside of the state directory"),
            )
            .why("the state could not be written when they came, and they lie where a reboot erases them"),
        ));
    }
    // While it is paused, this is what was asked for.
    if state.unsettled > 0 && state.paused.is_none() {
        let sessions = count(state.unsettled, "session has", "sessions have");
        findings.push(settles(
            Finding::warning(Id::SpoolUnsettled, format!("{sessions} events that no settle took in"))
                .why("records, map and vault are behind what the agents said"),
        ));
    }
}

fn story(facts: &Facts, findings: &mut Vec<Finding>) {
    if let Some(newest) = facts.state.errors.iter().max_by_key(|line| line.at) {
        let errors = count(facts.state.errors.len(), "error", "errors");
        let ago = age(facts.now.as_second() - newest.at.as_second());
        findings.push(
            Finding::warning(
                Id::LogErrors,
                format!("{errors} in a day; the newest, {ago} ago: {}", newest.text),
            )
            .why("hooks and settle never stop an agent, so what goes wrong is told only in their log")
            .fix(format!("read {}", facts.state.path.join("log").display())),
        );
    }
    if let Some(newest) = facts.state.newest_journal {
        let ahead = newest.as_second() - facts.now.as_second();
        if ahead > CLOCK_SLACK_SECONDS {
            findings.push(
                Finding::warning(
                    Id::ClockBehind,
                    format!("the journal is {} ahead of the clock", age(ahead)),
                )
                .why("the clock went back, so ages are wrong and nothing is pruned until it has caught up")
                .fix("set the clock (timedatectl status)"),
            );
        }
    }
}

fn vault(facts: &Facts, findings: &mut Vec<Finding>) {
    let vault = &facts.vault;
    if let Some(why) = &vault.trouble {
        findings.push(
            Finding::problem(Id::VaultUnreadable, format!("the vault cannot be read: {why}"))
                .why("conversations are not mirrored, and what was lost cannot come back")
                .fix("rekindle vault verify"),
        );
    }
    match (vault.synced, vault.newest_transcript) {
        (None, Some(_)) => {
            let all = count(vault.transcripts, "conversation is", "conversations are");
            findings.push(
                Finding::warning(Id::VaultEmpty, format!("{all} in no vault yet"))
                    .why("what an agent deletes, empties or overwrites now is gone for good")
                    .fix("rekindle vault sync"),
            );
        }
        (Some(synced), Some(newest))
            if newest > synced && facts.now.as_second() - newest.as_second() > MIRRORED_AFTER_SECONDS =>
        {
            let old = age(facts.now.as_second() - synced.as_second());
            findings.push(
                Finding::warning(
                    Id::VaultBehind,
                    format!("the vault is {old} old, and conversations grew since"),
                )
                .why("what was said since then exists only in the agent's own files")
                .fix("rekindle vault sync"),
            );
        }
        _ => {}
    }
    if !vault.unmirrored.is_empty() {
        let failed = count(vault.unmirrored.len(), "conversation is", "conversations are");
        findings.push(
            Finding::problem(
                Id::VaultFailing,
                format!("{failed} not copied into the vault: {}", list(&vault.unmirrored)),
            )
            .why("what is said in them now is only in the agent's own files")
            .fix("rekindle vault sync says what fails, and tries again"),
        );
    }
    if !vault.losses.is_empty() {
        let lost = count(vault.losses.len(), "conversation", "conversations");
        findings.push(
            Finding::warning(
                Id::VaultLosses,
                format!("{lost} lost rows that the vault has: {}", list(&vault.losses)),
            )
            .why("a resume would continue without them")
            .fix(format!("rekindle repair {}", vault.losses[0])),
        );
    }
    if !vault.unusable.is_empty() {
        let copies = count(vault.unusable.len(), "copy", "copies");
        findings.push(
            Finding::warning(
                Id::VaultDamaged,
                format!("{copies} in the vault cannot be used whole: {}", list(&vault.unusable)),
            )
            .why("what is damaged there cannot be put back")
            .fix("rekindle vault verify"),
        );
    }
    for doubtful in &vault.doubtful {
        findings.push(
            Finding::warning(Id::TombstoneDoubtful, doubtful.clone())
                .why("a conversation that was forgotten is not mirrored, so rekindle must know that you meant it")
                .fix("rekindle vault status"),
        );
    }
    if !vault.damaged.is_empty() {
        let damaged = count(vault.damaged.len(), "conversation is", "conversations are");
        let what = format!("{damaged} damaged: {}", list(&vault.damaged));
        findings.push(
            Finding::warning(Id::TranscriptsDamaged, what)
                .why("a resume loses some of what was said, or fails; rekindle scan says what")
                .fix("rekindle repair --all"),
        );
    }
    if let [first, ..] = vault.damaged_live.as_slice() {
        let damaged = count(vault.damaged_live.len(), "running agent has", "running agents have");
        let what = format!("{damaged} a damaged conversation: {}", list(&vault.damaged_live));
        findings.push(
            Finding::warning(Id::TranscriptsDamaged, what)
                .why("its next resume loses some of what was said; rekindle changes no conversation that an agent has open")
                .fix(format!("end the agent, then: rekindle repair {first}")),
        );
    }
    if let [first, ..] = vault.unreadable.as_slice() {
        let unreadable = count(vault.unreadable.len(), "conversation", "conversations");
        let what = format!("{unreadable} cannot be read: {}", list(&vault.unreadable));
        findings.push(
            Finding::warning(Id::TranscriptsDamaged, what)
                .why("the file holds no row, and the vault has no copy")
                .fix(format!("rekindle scan {first} says what is in the file")),
        );
    }
    if !vault.deleted.is_empty() {
        let deleted = count(vault.deleted.len(), "deleted conversation is", "deleted conversations are");
        let what = format!("{deleted} in the vault: {}", list(&vault.deleted));
        findings.push(
            Finding::note(Id::TranscriptsDeleted, what)
                .why("an agent deletes old transcripts by itself; rekindle keeps a copy")
                .fix(format!("rekindle repair {}", vault.deleted[0])),
        );
    }
    if let (number @ 1.., bytes) = vault.old_backups {
        let backups = count(number, "backup", "backups");
        // A tenth of a megabyte more or less tells nobody anything.
        let size = format!("{:.1} MB", bytes as f64 / 1e6);
        findings.push(
            Finding::note(
                Id::OldBackups,
                format!(
                    "{backups} of an earlier repair tool (*.jsonl.backup-*, {size}) lie beside transcripts"
                ),
            )
            .why("nothing uses or removes them; the vault keeps copies of every conversation")
            .fix("rekindle vault prune --old-backups"),
        );
    }
    for session in &vault.unfinished {
        findings.push(
            Finding::warning(Id::ForgetUnfinished, format!("forgetting {session} was interrupted"))
                .why("rekindle may still keep text of it")
                .fix(format!("rekindle vault forget {session} --yes")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::tests::{NOW, well};
    use crate::facts::{LogLine, RecordFacts};
    use jiff::Timestamp;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn check_state(change: impl FnOnce(&mut Facts), expect: &[&str]) {
        let mut facts = well();
        change(&mut facts);
        assert_eq!(ids(check, &facts), expect);
    }

    #[test]
    fn another_users_state_ends_the_look() {
        let foreign = StateFound::Foreign { owner: 0, user: 1 };
        check_state(|facts| facts.state.found = foreign, &["state-foreign"]);
        check_state(
            |facts| facts.state.found = StateFound::Unreadable("x".to_owned()),
            &["state-unreadable"],
        );
        check_state(|facts| facts.state.found = StateFound::Nothing, &["state-well"]);
    }

    #[test]
    fn modes_of_directory_files_and_key() {
        check_state(|facts| facts.state.open = Some(0o755), &["state-open"]);
        check_state(|facts| facts.state.open_inside = vec![("/s/a".into(), 0o644)], &["state-files-open"]);
        check_state(|facts| facts.state.key.found = KeyFound::Key(0o644), &["key-open"]);
        check_state(|facts| facts.state.key.found = KeyFound::Broken, &["key-broken"]);
        check_state(|facts| facts.state.key.found = KeyFound::Nothing, &["key-missing"]);
        let fresh = |facts: &mut Facts| {
            facts.state.key.found = KeyFound::Nothing;
            facts.state.records = RecordFacts::default();
        };
        check_state(fresh, &["state-well"]);
    }

    #[test]
    fn records_that_are_not_ours_or_no_records() {
        let records = RecordFacts { all: 9, foreign: 2, broken: vec!["/s/x.lock".into()], newer: 1 };
        check_state(
            |facts| facts.state.records = records.clone(),
            &["records-broken", "records-foreign", "records-newer"],
        );
        // Where the key is gone, that is the one thing to tell.
        let keyless = |facts: &mut Facts| {
            facts.state.records = RecordFacts { broken: Vec::new(), newer: 0, ..records.clone() };
            facts.state.key.found = KeyFound::Nothing;
        };
        check_state(keyless, &["key-missing"]);
    }

    #[test]
    fn what_waits_is_taken_in_unless_everything_is_paused() {
        let waits = |facts: &mut Facts| {
            facts.state.in_refuge = 1;
            facts.state.unsettled = 3;
        };
        let mut facts = well();
        waits(&mut facts);
        assert_eq!(ids(check, &facts), ["refuge-waiting", "spool-unsettled"]);
        assert!(check(&facts).iter().all(|finding| finding.fixable));
        facts.state.paused = Some(at(NOW - 7200));
        assert_eq!(ids(check, &facts), ["paused", "refuge-waiting"]);
        let found = check(&facts);
        assert!(found[0].what.contains("for 2 h") && found.iter().all(|finding| !finding.fixable));
    }

    #[test]
    fn errors_are_counted_and_the_newest_is_told() {
        let line = |second, text: &str| LogLine { at: at(second), text: text.to_owned() };
        let mut facts = well();
        facts.state.errors = vec![line(NOW - 60, "new"), line(NOW - 9000, "old")];
        assert_eq!(ids(check, &facts), ["log-errors"]);
        assert_eq!(check(&facts)[0].what, "2 errors in a day; the newest, 1 m ago: new");
    }

    #[test]
    fn a_clock_that_went_back() {
        check_state(|facts| facts.state.newest_journal = Some(at(NOW + 60)), &["state-well"]);
        check_state(|facts| facts.state.newest_journal = Some(at(NOW + 7200)), &["clock-behind"]);
    }

    #[test]
    fn the_vault_is_there_fresh_and_without_losses() {
        check_state(|facts| facts.vault.synced = None, &["vault-empty"]);
        check_state(|facts| facts.vault.synced = Some(at(NOW - 90_000)), &["vault-behind"]);
        let busy = |facts: &mut Facts| {
            facts.vault.synced = Some(at(NOW - 90));
            facts.vault.newest_transcript = Some(at(NOW - 30));
        };
        check_state(busy, &["state-well"]);
        check_state(|facts| facts.vault.unmirrored = vec!["1a2b3c4d (no)".to_owned()], &["vault-failing"]);
        check_state(|facts| facts.vault.losses = vec!["1a2b3c4d emptied".to_owned()], &["vault-losses"]);
        check_state(|facts| facts.vault.unfinished = vec!["1a2b3c4d".to_owned()], &["forget-unfinished"]);
        check_state(|facts| facts.vault.unusable = vec!["1a2b3c4d".to_owned()], &["vault-damaged"]);
        check_state(|facts| facts.vault.doubtful = vec!["words".to_owned()], &["tombstone-doubtful"]);
        check_state(|facts| facts.vault.trouble = Some("x".to_owned()), &["vault-unreadable"]);
    }
}
