//! The processes that a record knows of a conversation, to tell whether an agent may be in it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agents::claude::chain::Link;
use agents::claude::pid_domain::PidDomain;
use agents::claude::{RecordedRun, RunLookup, are_two_accounts, config_of};
use agents::{SessionId, SessionKey};

use super::{Held, Provenance, RecordError, Run, SessionRecord, Status, key_for, load, untrusted_since};
use crate::StateDir;
use crate::mac::{Key, Origin};
use crate::machine_key::MachineKey;
use crate::spool::{self, Read};

/// Why a run ended whose user said that its process is gone (`recover ID --owner-gone`).
pub const SAID_GONE: &str = "owner_gone";

impl Run {
    /// Where its process id means something.
    pub fn domain(&self) -> PidDomain {
        let known = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
        PidDomain {
            machine: known(&self.machine_id),
            boot: known(&self.boot_id),
            namespace: known(&self.pid_namespace),
        }
    }
}

/// Looks into the records and spools of this state directory. `machine_key` is where the machine's key lies.
///
/// **State that this machine did not write never lowers protection**: it may name a process that is in the conversation, and
/// its word that a process has ended or is gone does not count. The process table tells that then.
pub fn recorded_runs(state: &StateDir, machine_key: Option<&Path>) -> RunLookup {
    let (state, machine_key) = (state.clone(), machine_key.map(Path::to_path_buf));
    let key = OnceLock::new();
    Box::new(move |session: &SessionId, transcript: &Path| {
        let find = || MachineKey::look(&state, machine_key.as_deref()?).ok().flatten()?.reading().cloned();
        look_up(&state, key.get_or_init(find).as_ref(), session, config_of(transcript))
    })
}

fn look_up(
    state: &StateDir,
    key: Option<&Key>,
    session: &SessionId,
    config: Option<&Path>,
) -> Vec<RecordedRun> {
    let unreadable = |why: String| vec![RecordedRun::Unreadable { why }];
    let name = match config {
        Some(config) => key_for(state, session, config),
        None => Ok(SessionKey::first(session.clone())),
    };
    let held = match name.and_then(|name| load(state, key, &name)) {
        Ok(held) => held,
        Err(error @ RecordError::Broken { .. }) => {
            return unreadable(format!("rekindle cannot {error}; `rekindle settle` makes the record again"));
        }
        Err(error) => return unreadable(format!("rekindle cannot {error}")),
    };
    let mut runs = held.as_ref().map_or_else(Vec::new, of);
    match unread_starts(&spool::path(state, session), held.as_ref(), key, session, config) {
        Ok(starts) => runs.extend(starts),
        Err(error) => runs.extend(unreadable(format!("rekindle cannot read its events: {error}"))),
    }
    runs
}

/// The processes that may still be in the conversation, and those that have left it. The newest is in it as long as the record is active: what it said of
/// its end may have been another one's. An earlier one may live on behind a newer one that has crashed.
fn of(held: &Held) -> Vec<RecordedRun> {
    let record = &held.record;
    let newest = record.runs.len().saturating_sub(1);
    let mut known = Vec::new();
    for (at, run) in record.runs.iter().enumerate() {
        let ended = match at == newest {
            true => record.status != Status::Active,
            false => run.ended_at.is_some(),
        };
        if said_gone(held, run) {
            known.push(RecordedRun::SaidGone { pid: run.pid });
        } else if !ended || !is_vouched_for(run) {
            let (pid, start, domain) = (run.pid, run.proc_start, run.domain());
            known.push(RecordedRun::Open { pid, start, domain, genuine: is_vouched_for(run) });
        } else if let Some(at) = run.ended_at {
            known.push(RecordedRun::Ended { pid: run.pid, at_ms: at.as_millisecond() });
        }
    }
    known
}

/// Whether the user said so: the word counts in a record that this machine sealed. It is taken out of every other one before
/// that is sealed again.
fn said_gone(held: &Held, run: &Run) -> bool {
    held.origin == Origin::Genuine && run.end_reason.as_deref() == Some(SAID_GONE)
}

fn is_vouched_for(run: &Run) -> bool {
    !matches!(run.provenance, Some(Provenance::Untrusted) | None)
}

/// The agents of which the spool tells and the record does not: nobody has settled yet, the record is gone, or it was edited,
/// so that the whole spool counts. Nothing where the spool says that they ended.
fn unread_starts(
    path: &Path,
    held: Option<&Held>,
    key: Option<&Key>,
    session: &SessionId,
    config: Option<&Path>,
) -> io::Result<Vec<RecordedRun>> {
    let head = match spool::head(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        head => head?,
    };
    let record = held.map(|held| &held.record);
    let another = |record: &SessionRecord| record.spool_head.is_some() && record.spool_head != head;
    let read_to = record.filter(|record| !another(record)).map_or(0, |record| record.spool_offset);
    let edited = held.is_some_and(|held| {
        held.origin == Origin::Foreign
            || untrusted_since(&held.record).is_some()
            || !held.record.runs.iter().all(is_vouched_for)
    });
    // Lines without a code change nothing in a genuine record, also where settle has passed them: an agent in a container
    // without the machine's key is heard of in no other way.
    let from = if edited { 0 } else { read_to };
    let passed = if from > 0 { spool::read(path, 0, session, key, i64::MIN)?.0 } else { Vec::new() };
    let passed = passed.into_iter().filter(|read| read.offset < from && read.origin == Origin::Foreign);
    let events = passed.chain(spool::read(path, from, session, key, i64::MIN)?.0);
    let mut open: Vec<(u32, u64, PidDomain, bool)> = Vec::new();
    for Read { offset, event, origin } in events {
        // Two accounts may have a session with this id, and one spool. What names no account may be either's.
        let theirs = |of: PathBuf| config.is_some_and(|config| are_two_accounts(&of, config));
        if event.means_the_same_here() && event.config_dir().is_some_and(theirs) {
            continue;
        }
        let recorded = |link: &&Link| {
            record.is_some_and(|record| record.runs.iter().any(|run| run.is(link.pid, link.start)))
        };
        let known = |link: &&Link| {
            recorded(link) || open.iter().any(|(pid, start, ..)| (link.pid, link.start) == (*pid, *start))
        };
        let agent =
            event.chain.iter().find(known).or_else(|| event.chain.iter().find(|link| link.is_agent()));
        // Its agent was gone before the hook could look.
        let Some(agent) = agent else { continue };
        let at = open.iter().position(|(pid, start, ..)| (agent.pid, agent.start) == (*pid, *start));
        let before = at.map(|at| open.remove(at).2);
        let over = event.event == "SessionEnd" && origin == Origin::Genuine;
        let settled = offset < read_to && held.is_some_and(|held| is_over(held, agent));
        if over || settled {
            continue;
        }
        let of_record = || record?.runs.iter().find(|run| run.is(agent.pid, agent.start)).map(Run::domain);
        let domain = event.launch.map(|launch| PidDomain {
            boot: launch.boot_id,
            ..launch.pid_domain.as_deref().map(PidDomain::parse).unwrap_or_default()
        });
        let domain = domain.or(before).or_else(of_record).unwrap_or_default();
        // A line that was folded in may be of a process that has left since, without a word.
        open.push((agent.pid, agent.start, domain, origin == Origin::Genuine && offset >= read_to));
    }
    let open = open.into_iter();
    Ok(open.map(|(pid, start, domain, genuine)| RecordedRun::Open { pid, start, domain, genuine }).collect())
}

/// Whether the record says that a process of a line that is folded in is gone, and may say so.
fn is_over(held: &Held, agent: &Link) -> bool {
    let overruled = held.origin == Origin::Genuine && held.record.reason.as_deref() == Some(SAID_GONE);
    let ended = |run: &Run| run.is(agent.pid, agent.start) && run.ended_at.is_some() && is_vouched_for(run);
    overruled
        || held
            .record
            .runs
            .iter()
            .any(|run| ended(run) || (run.is(agent.pid, agent.start) && said_gone(held, run)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn run(pid: u32, ended: bool, reason: Option<&str>) -> Run {
        let ended_at = ended.then_some(Timestamp::UNIX_EPOCH);
        serde_json::from_value(serde_json::json!({
            "launchedAt": Timestamp::UNIX_EPOCH, "pid": pid, "procStart": 9, "endedAt": ended_at,
            "endReason": reason, "provenance": "event",
        }))
        .unwrap()
    }

    fn check(status: Status, runs: &[Run], open: &[u32], said_gone: &[u32]) {
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        (record.status, record.runs) = (status, runs.to_vec());
        let mut found: (Vec<u32>, Vec<u32>) = Default::default();
        for known in of(&Held::fresh(record)) {
            match known {
                RecordedRun::Open { pid, .. } => found.0.push(pid),
                RecordedRun::SaidGone { pid } => found.1.push(pid),
                RecordedRun::Ended { .. } => {}
                RecordedRun::Unreadable { why } => panic!("{why}"),
            }
        }
        found.0.sort_unstable();
        assert_eq!(found, (open.to_vec(), said_gone.to_vec()), "{status:?} {runs:?}");
    }

    #[test]
    fn every_run_without_an_end_counts() {
        let (open, over) = (run(1, false, None), run(2, true, Some("other")));
        check(Status::Active, &[run(1, false, None)], &[1], &[]);
        // The newest one said that it ended; as long as nothing shows it, it may be there.
        check(Status::Active, std::slice::from_ref(&over), &[2], &[]);
        check(Status::Crashed, std::slice::from_ref(&over), &[], &[]);
        check(Status::Crashed, &[open.clone(), over.clone()], &[1], &[]);
        check(Status::EndedCleanly, &[open.clone(), over.clone()], &[1], &[]);
        check(Status::Active, &[open.clone(), run(3, false, None)], &[1, 3], &[]);
        // 0.1.0 noted no end where an agent had left without a word.
        check(Status::EndedCleanly, &[over, run(3, false, None)], &[], &[]);
        let gone = run(4, true, Some(SAID_GONE));
        check(Status::Crashed, std::slice::from_ref(&gone), &[], &[4]);
        check(Status::Crashed, &[open, gone], &[1], &[4]);
    }

    struct Room {
        _dir: tempfile::TempDir,
        state: StateDir,
        key: Key,
        id: SessionKey,
    }

    impl Room {
        fn new() -> Room {
            let dir = tempfile::tempdir().unwrap();
            let state = StateDir::open(dir.path().join("state")).unwrap();
            let key = Key::create(&dir.path().join("key")).unwrap();
            Room { _dir: dir, state, key, id: SessionKey::parse("s1").unwrap() }
        }

        /// Process 1 says something; at its start in a container.
        fn hear(&self, name: &str, key: Option<&Key>) {
            let launch = (name == "SessionStart")
                .then(|| serde_json::json!({"bootId": "b", "pidDomain": "linux:m:pid:[7]"}));
            let event = serde_json::json!({"schema": 1, "event": name, "at": 5, "launch": launch,
                "chain": [{"pid": 3, "start": 4, "comm": "sh"}, {"pid": 1, "start": 9, "comm": "claude"}],
                "input": {}});
            let event = serde_json::from_value(event).unwrap();
            spool::append(&self.state.spool(), self.id.id(), &event, key, crate::durable::Sync::No).unwrap();
        }

        fn store(&self, change: impl FnOnce(&mut SessionRecord)) {
            let mut record = SessionRecord::new(self.id.clone(), Timestamp::UNIX_EPOCH);
            let path = spool::path(&self.state, self.id.id());
            record.spool_head = spool::head(&path).unwrap_or_default();
            record.spool_offset = std::fs::metadata(&path).map_or(0, |meta| meta.len());
            change(&mut record);
            crate::record::store(&self.state, &self.key, &Held::fresh(record)).unwrap();
        }

        fn open(&self, key: Option<&Key>) -> Vec<(u32, PidDomain)> {
            let found = look_up(&self.state, key, self.id.id(), None).into_iter();
            found
                .filter_map(|run| match run {
                    RecordedRun::Open { pid, domain, .. } => Some((pid, domain)),
                    _ => None,
                })
                .collect()
        }
    }

    fn contained() -> PidDomain {
        PidDomain { boot: Some("b".to_owned()), ..PidDomain::parse("linux:m:pid:[7]") }
    }

    #[test]
    fn events_that_no_record_has_name_the_agent_until_it_says_its_end() {
        let room = Room::new();
        assert_eq!(room.open(Some(&room.key)), [], "rekindle has never heard of it");
        room.hear("SessionStart", Some(&room.key));
        room.hear("Stop", Some(&room.key));
        assert_eq!(room.open(Some(&room.key)), [(1, contained())]);
        room.hear("SessionEnd", None);
        assert_eq!(room.open(Some(&room.key)), [(1, contained())], "an end without a code ends nothing");
        room.hear("SessionEnd", Some(&room.key));
        assert_eq!(room.open(Some(&room.key)), []);
        // The same process comes back behind what the record has read.
        room.store(|record| {
            (record.status, record.runs) = (Status::EndedCleanly, vec![run(1, true, Some("clear"))]);
        });
        assert_eq!(room.open(Some(&room.key)), []);
        let ended = look_up(&room.state, Some(&room.key), room.id.id(), None);
        assert_eq!(ended, [RecordedRun::Ended { pid: 1, at_ms: 0 }]);
        room.hear("SessionStart", Some(&room.key));
        assert_eq!(room.open(Some(&room.key)), [(1, contained())]);
    }

    /// The hook of an agent in a container has no key: what it says changes nothing in a record, and protects all the same.
    #[test]
    fn an_agent_that_could_not_seal_its_lines_is_known_behind_a_settle() {
        let room = Room::new();
        room.hear("SessionStart", None);
        let length = std::fs::metadata(spool::path(&room.state, room.id.id())).unwrap().len();
        room.store(|record| {
            (record.status, record.runs) = (Status::Crashed, vec![run(5, true, None)]);
            record.spool_offset = length;
        });
        assert_eq!(room.open(Some(&room.key)), [(1, contained())]);
    }

    #[test]
    fn an_edited_record_ends_no_agent() {
        let room = Room::new();
        room.hear("SessionStart", Some(&room.key));
        let crashed = |record: &mut SessionRecord| {
            (record.status, record.runs) = (Status::Crashed, vec![run(1, true, Some(SAID_GONE))]);
        };
        room.store(crashed);
        assert_eq!(room.open(Some(&room.key)), [], "the user's own word");
        // Without the key nothing is anybody's own word.
        assert!(!room.open(None).is_empty());
        let path = room.state.session_health().join("s1.lock");
        let text = std::fs::read_to_string(&path).unwrap();
        crate::durable::replace(&path, text.replace("\"pid\": 1", "\"pid\": 77").as_bytes()).unwrap();
        let open = room.open(Some(&room.key));
        assert!(open.iter().any(|(pid, _)| *pid == 77) && open.contains(&(1, contained())), "{open:?}");
        // Sealed again by a settle it keeps no word that was edited in.
        let held = load(&room.state, Some(&room.key), &room.id).unwrap().unwrap();
        crate::record::store(&room.state, &room.key, &held).unwrap();
        let open = room.open(Some(&room.key));
        assert!(open.iter().any(|(pid, _)| *pid == 77) && open.contains(&(1, contained())), "{open:?}");
    }

    #[test]
    fn a_truncated_record_is_not_no_owner() {
        let room = Room::new();
        room.store(|_| {});
        let path = room.state.session_health().join("s1.lock");
        crate::durable::replace(&path, b"").unwrap();
        let found = look_up(&room.state, Some(&room.key), room.id.id(), None);
        assert!(matches!(&found[..], [RecordedRun::Unreadable { why }] if why.contains("rekindle settle")));
    }
}
