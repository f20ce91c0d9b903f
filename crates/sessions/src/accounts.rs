//! Whose session an id means: two accounts may have a session with the same id, and each has a record of its own.

use std::collections::BTreeMap;
use std::path::Path;

use agents::{SessionId, SessionKey};
use store::mac::Origin;
use store::record::{SessionRecord, SeveralClaims, key_among};
use store::spool::Read;

/// The key of this account's session with this id. An id that no record has yet, or that this account's record has, needs no
/// mark; one that another account has gets the account's mark. Where several records claim the account, the first counts.
pub(crate) fn key_of(
    records: &BTreeMap<SessionKey, SessionRecord>,
    id: &SessionId,
    config: Option<&Path>,
) -> SessionKey {
    let known: Vec<&SessionRecord> = with_id(records, id).collect();
    let first = || SessionKey::first(id.clone());
    match (config, known.as_slice()) {
        (None, [only]) => only.session_id.clone(),
        (None, _) => first(),
        (Some(config), known) => key_among(known, id, config).unwrap_or_else(|SeveralClaims| first()),
    }
}

/// Every record of a session with this id.
pub(crate) fn with_id<'a>(
    records: &'a BTreeMap<SessionKey, SessionRecord>,
    id: &SessionId,
) -> impl Iterator<Item = &'a SessionRecord> {
    // The key without a mark is the smallest of its id's, and marks follow it.
    let (id, begins) = (id.clone(), id.clone());
    records
        .range(SessionKey::first(id.clone())..)
        .take_while(move |(key, _)| key.as_str().starts_with(begins.as_str()))
        .filter(move |(key, _)| *key.id() == id)
        .map(|(_, record)| record)
}

/// The key of the session that an event is about: the one that its process is in, else its account's. Only a line that this
/// machine wrote, about a path that means here what it means to the agent, makes a second session of an id. Any other line is
/// of the only session with its id; where there are several, it is nobody's.
pub(crate) fn of_event(
    records: &BTreeMap<SessionKey, SessionRecord>,
    id: &SessionId,
    read: &Read,
) -> Option<SessionKey> {
    let mut known = with_id(records, id);
    let Some(first) = known.next() else { return Some(SessionKey::first(id.clone())) };
    let is_agents = |record: &&SessionRecord| {
        let chain = &read.event.chain;
        record.runs.iter().any(|run| chain.iter().any(|link| run.is(link.pid, link.start)))
    };
    let several = known.next().is_some();
    if several && read.origin == Origin::Genuine {
        let mut its_agents = with_id(records, id).filter(is_agents);
        if let (Some(only), None) = (its_agents.next(), its_agents.next()) {
            return Some(only.session_id.clone());
        }
    }
    let only = (!several).then(|| first.session_id.clone());
    let Some(config) = read.event.config_dir() else { return only };
    let key = key_among(&with_id(records, id).collect::<Vec<_>>(), id, &config).ok()?;
    let makes = || read.origin == Origin::Genuine && read.event.means_the_same_here();
    if records.contains_key(&key) || makes() { Some(key) } else { only }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use agents::claude::pid_domain::PidDomain;
    use jiff::Timestamp;
    use store::spool::Launch;

    const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";

    fn id() -> SessionId {
        SessionId::new(ID).unwrap()
    }

    fn record(key: SessionKey, config: Option<&Path>) -> (SessionKey, SessionRecord) {
        let mut record = SessionRecord::new(key.clone(), Timestamp::UNIX_EPOCH);
        record.transcript_path = config.map(|config| config.join(format!("projects/-x/{ID}.jsonl")));
        record.account = config.map(store::record::Account::here);
        (key, record)
    }

    fn read(config: &Path, origin: Origin) -> Read {
        let event = serde_json::json!({"schema": 1, "event": "Stop", "at": 5,
            "input": {"transcript_path": config.join(format!("projects/-x/{ID}.jsonl"))}});
        Read { offset: 0, event: serde_json::from_value(event).unwrap(), origin }
    }

    /// Two accounts that are there.
    struct Room {
        _dir: tempfile::TempDir,
        a: PathBuf,
        b: PathBuf,
    }

    impl Room {
        fn new() -> Room {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            let (a, b) = (root.join("a"), root.join("b"));
            for account in [&a, &b] {
                store::durable::private_dir(&account.join("projects")).unwrap();
            }
            Room { _dir: dir, a, b }
        }
    }

    #[test]
    fn an_id_that_another_account_has_gets_a_mark() {
        let room = Room::new();
        let (a, b) = (room.a.as_path(), room.b.as_path());
        let marked = SessionKey::of_account(id(), b);
        let none = BTreeMap::new();
        assert_eq!(key_of(&none, &id(), Some(b)), SessionKey::first(id()));
        let first = BTreeMap::from([record(SessionKey::first(id()), Some(a))]);
        assert_eq!(key_of(&first, &id(), Some(a)), SessionKey::first(id()));
        assert_eq!(key_of(&first, &id(), Some(b)), marked);
        let contained = Path::new("/a-container/.claude");
        assert_eq!(key_of(&first, &id(), Some(contained)), SessionKey::first(id()), "a path of a container");
        assert_eq!(key_of(&first, &id(), None), SessionKey::first(id()));
        let unknown = BTreeMap::from([record(SessionKey::first(id()), None)]);
        assert_eq!(key_of(&unknown, &id(), Some(b)), SessionKey::first(id()), "nobody knows whose it is");
        // The first account's session was forgotten: the second keeps its name.
        let second = BTreeMap::from([record(marked.clone(), Some(b))]);
        assert_eq!(key_of(&second, &id(), Some(b)), marked);
        assert_eq!(key_of(&second, &id(), None), marked);
        assert_eq!(key_of(&second, &id(), Some(a)), SessionKey::first(id()));
        let both = first.into_iter().chain(second).collect();
        assert_eq!(with_id(&both, &id()).count(), 2);
        let short = |text: &str| record(SessionKey::parse(text).unwrap(), None);
        let alike = BTreeMap::from([short("s1"), short("s10"), short("s1@1a2b3c4d")]);
        assert_eq!(with_id(&alike, &SessionId::new("s1").unwrap()).count(), 1, "ids that begin alike");
        assert_eq!(
            (key_of(&both, &id(), Some(a)), key_of(&both, &id(), Some(b))),
            (SessionKey::first(id()), marked)
        );
    }

    fn write_transcript(config: &Path) {
        let project = config.join("projects/-x");
        store::durable::private_dir(&project).unwrap();
        std::fs::File::create(project.join(format!("{ID}.jsonl"))).unwrap();
    }

    #[test]
    fn a_line_without_a_code_makes_no_second_session() {
        let Room { _dir, a, b } = &Room::new();
        write_transcript(b);
        let first = BTreeMap::from([record(SessionKey::first(id()), Some(a))]);
        let marked = SessionKey::of_account(id(), b);
        assert_eq!(of_event(&first, &id(), &read(b, Origin::Genuine)), Some(marked));
        assert_eq!(of_event(&first, &id(), &read(b, Origin::Foreign)), Some(SessionKey::first(id())));
        assert_eq!(of_event(&first, &id(), &read(a, Origin::Foreign)), Some(SessionKey::first(id())));
    }

    #[test]
    fn a_containers_path_that_is_another_folder_here_makes_no_second_session() {
        let Room { _dir, a, b } = &Room::new();
        let first = BTreeMap::from([record(SessionKey::first(id()), Some(a))]);
        let started_in = |namespace: Option<String>| {
            let mut read = read(b, Origin::Genuine);
            read.event.launch = Some(Launch {
                pid_domain: namespace.map(|namespace| format!("linux:m:{namespace}")),
                ..Launch::default()
            });
            of_event(&first, &id(), &read).unwrap()
        };
        assert_eq!(started_in(Some("pid:[7]".to_owned())), SessionKey::first(id()), "a container");
        assert_eq!(
            started_in(PidDomain::own().namespace),
            SessionKey::of_account(id(), b),
            "before its first prompt"
        );
        assert_eq!(
            of_event(&first, &id(), &read(b, Origin::Genuine)),
            Some(SessionKey::first(id())),
            "no transcript here"
        );
        write_transcript(b);
        assert_eq!(started_in(Some("pid:[7]".to_owned())), SessionKey::of_account(id(), b));
    }

    /// The second account's directory is a link into a disk that is gone: its events are still its own.
    #[test]
    fn events_of_an_account_that_is_out_of_sight_are_not_the_other_ones() {
        let Room { _dir, a, b } = &Room::new();
        let link = a.with_file_name("link");
        std::os::unix::fs::symlink(b, &link).unwrap();
        let marked = SessionKey::of_account(id(), b);
        let both =
            BTreeMap::from([record(SessionKey::first(id()), Some(a)), record(marked.clone(), Some(&link))]);
        std::fs::rename(b, b.with_file_name("unmounted")).unwrap();
        assert_eq!(of_event(&both, &id(), &read(&link, Origin::Genuine)), Some(marked));
        let strange = a.with_file_name("strange");
        assert_eq!(of_event(&both, &id(), &read(&strange, Origin::Genuine)), None, "it could be either's");
    }
}
