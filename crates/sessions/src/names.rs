//! What sessions are called: one name each, which stays, and no two living sessions of the same name but those that their user
//! called so.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use store::record::{SessionRecord, Status};

/// Gives every session its name. A name that is taken gets a number (`docs-2`), and keeps it: a session that had its name when
/// the last settle ended goes before one that came since. Names that the user gave go before all others. `before` are the
/// records as they were; a session that crashed before `since` gives its name to one that comes.
pub(crate) fn name_all<K: Ord + Clone>(
    before: &BTreeMap<K, SessionRecord>,
    records: &mut BTreeMap<K, SessionRecord>,
    since: Timestamp,
) {
    let held = |key: &K, record: &SessionRecord| {
        before.get(key).is_some_and(|old| lives(old, since) && old.name.is_some() && old.name == record.name)
    };
    let mut order: Vec<(_, K)> = records
        .iter()
        .map(|(key, record)| {
            let given = record.given.name.is_some();
            let passing = record.run().is_some_and(|run| run.is_passing());
            let rank = (!lives(record, since), !given, passing, !held(key, record), record.created);
            (rank, key.clone())
        })
        .collect();
    order.sort();
    let mut taken = BTreeSet::new();
    for (_, key) in order {
        let Some(record) = records.get_mut(&key) else { continue };
        let Some(base) = record.base_name.clone().or_else(|| record.name.clone()) else { continue };
        let holds = holds(record);
        let free =
            |name: &str| !holds || record.given.name.is_some() || !taken.contains(&name.to_lowercase());
        let kept = record.name.clone().filter(|name| is_made_from(name, &base) && free(name));
        let kept = kept.filter(|_| record.given.name.is_none());
        let name = kept.or_else(|| numbered(&base).find(|name| free(name))).unwrap_or(base);
        if holds {
            taken.insert(name.to_lowercase());
        }
        record.name = Some(name);
    }
}

/// Whether no other session may have its name: a command that is given the name means this one.
fn holds(record: &SessionRecord) -> bool {
    match record.status {
        Status::Active => true,
        Status::Crashed => record.next_id.is_none(),
        Status::EndedCleanly => false,
    }
}

/// Whether it holds its name, and against one that comes.
fn lives(record: &SessionRecord, since: Timestamp) -> bool {
    holds(record) && (record.status == Status::Active || record.last_seen >= since)
}

/// `docs`, `docs-2`, `docs-3`, …
fn numbered(base: &str) -> impl Iterator<Item = String> {
    std::iter::once(base.to_owned()).chain((2_u32..).map(move |number| format!("{base}-{number}")))
}

fn is_made_from(name: &str, base: &str) -> bool {
    let number = name.strip_prefix(base).and_then(|rest| rest.strip_prefix('-'));
    name == base || number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionKey;

    type Records = BTreeMap<&'static str, SessionRecord>;

    fn session(base: &str, created: i64) -> SessionRecord {
        let at = Timestamp::from_second(created).unwrap();
        let mut record = SessionRecord::new(SessionKey::parse(&format!("s{created}")).unwrap(), at);
        record.base_name = Some(base.to_owned());
        record
    }

    /// Settles once.
    fn settle(records: &Records, change: impl FnOnce(&mut Records)) -> Records {
        let mut after = records.clone();
        change(&mut after);
        name_all(records, &mut after, Timestamp::from_second(100).unwrap());
        after
    }

    fn names(records: &Records) -> Vec<&str> {
        records.values().map(|record| record.name.as_deref().unwrap_or_default()).collect()
    }

    #[test]
    fn a_name_is_given_once_and_stays() {
        let one = settle(&Records::new(), |all| _ = all.insert("b", session("docs", 200)));
        assert_eq!(names(&one), ["docs"]);
        // An older session comes back: who has the name keeps it.
        let two = settle(&one, |all| _ = all.insert("a", session("Docs", 150)));
        assert_eq!(names(&two), ["Docs-2", "docs"]);
        let ended = settle(&two, |all| all.get_mut("b").unwrap().status = Status::EndedCleanly);
        assert_eq!(names(&ended), ["Docs-2", "docs"], "a free name is no reason to change");
        let third = settle(&ended, |all| _ = all.insert("c", session("docs", 300)));
        assert_eq!(names(&third), ["Docs-2", "docs", "docs"], "the one that ended does not hold it");
        let back = settle(&third, |all| all.get_mut("b").unwrap().status = Status::Active);
        assert_eq!(names(&back), ["Docs-2", "docs-3", "docs"]);
    }

    #[test]
    fn a_given_name_wins() {
        let one = settle(&Records::new(), |all| {
            all.insert("a", session("docs", 200));
            all.insert("b", session("shop", 201));
        });
        let named = settle(&one, |all| {
            let record = all.get_mut("b").unwrap();
            (record.given.name, record.base_name) = (Some("docs".to_owned()), Some("docs".to_owned()));
        });
        assert_eq!(names(&named), ["docs-2", "docs"]);
        let both = settle(&named, |all| {
            let record = all.get_mut("a").unwrap();
            (record.given.name, record.base_name) = (Some("docs".to_owned()), Some("docs".to_owned()));
        });
        assert_eq!(names(&both), ["docs", "docs"], "their user called both so");
    }

    #[test]
    fn who_crashed_long_ago_gives_its_name_up_and_who_went_on_has_none_to_hold() {
        let gone = |seen: i64, next: bool| {
            settle(&Records::new(), |all| {
                let mut old = session("docs", 1);
                old.status = Status::Crashed;
                old.last_seen = Timestamp::from_second(seen).unwrap();
                old.next_id = next.then(|| SessionKey::parse("next").unwrap());
                all.insert("a", old);
                all.insert("b", session("docs", 200));
            })
        };
        assert_eq!(names(&gone(150, false)), ["docs", "docs-2"], "it may come back tomorrow");
        assert_eq!(names(&gone(99, false)), ["docs-2", "docs"]);
        assert_eq!(names(&gone(150, true)), ["docs", "docs"]);
    }

    /// Records of 0.1.0 know only their names.
    #[test]
    fn names_without_a_base_are_their_own() {
        let old = settle(&Records::new(), |all| {
            for (key, created) in [("a", 200), ("b", 201)] {
                let mut record = session("", created);
                (record.base_name, record.name) = (None, Some("docs".to_owned()));
                all.insert(key, record);
            }
        });
        assert_eq!(names(&old), ["docs", "docs-2"]);
    }
}
