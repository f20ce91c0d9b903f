//! The short forms by which people see sessions and name them: the shortest beginning of an id that no other id has.
//!
//! One form for the whole process: every list and every hint shows the same, and every command takes it back. Whoever runs
//! the process says which sessions there are (`known_by`); without that, eight characters are shown.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::{SessionId, SessionKey};

/// Enough to tell thousands of sessions apart, and few enough to be read and typed.
const SHORTEST: usize = 8;

/// The sessions that short forms tell apart.
#[derive(Debug, Clone, Default)]
pub struct ShortIds {
    ids: BTreeSet<SessionId>,
    /// The mark of the account that had an id first, where several accounts have it.
    firsts: HashMap<SessionId, String>,
}

impl ShortIds {
    /// Of these sessions. `firsts` are the marks of the accounts that had an id first which several accounts have.
    pub fn new(ids: impl IntoIterator<Item = SessionId>, firsts: HashMap<SessionId, String>) -> ShortIds {
        ShortIds { ids: ids.into_iter().collect(), firsts }
    }

    /// The shortest beginning of an id that no other has, at least eight characters.
    pub fn beginning(&self, id: &SessionId) -> String {
        let before = self.ids.range(..id.clone()).next_back();
        let after = self.ids.range(id.clone()..).find(|other| *other != id);
        let common = |other: &SessionId| {
            let pairs = id.as_str().chars().zip(other.as_str().chars());
            pairs.take_while(|(one, two)| one == two).count() + 1
        };
        let length = before.into_iter().chain(after).map(common).max().unwrap_or_default();
        id.as_str().chars().take(length.max(SHORTEST)).collect()
    }

    /// The short form of a session, with the mark of its account where several accounts have its id.
    pub fn short(&self, session: &SessionKey) -> String {
        let beginning = self.beginning(session.id());
        match session.account_mark().or_else(|| self.firsts.get(session.id()).map(String::as_str)) {
            Some(mark) => format!("{beginning}@{mark}"),
            None => beginning,
        }
    }
}

type Source = Box<dyn Fn() -> ShortIds + Send + Sync>;

static SOURCE: OnceLock<Source> = OnceLock::new();
static KNOWN: RwLock<Option<Arc<ShortIds>>> = RwLock::new(None);

/// Says which sessions there are; asked when the first short form is needed. The first to say it counts.
pub fn known_by(source: impl Fn() -> ShortIds + Send + Sync + 'static) {
    let _ = SOURCE.set(Box::new(source));
}

/// Lets the sessions be looked up again: for what runs long.
pub fn look_again() {
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The sessions that there are.
pub(crate) fn known() -> Arc<ShortIds> {
    if let Some(known) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone() {
        return known;
    }
    let made = Arc::new(SOURCE.get().map(|source| source()).unwrap_or_default());
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "abcdabcd-1111-4111-8111-111111111111";
    const TWO: &str = "abcdabcd-2222-4222-8222-222222222222";
    const FAR: &str = "5e55105e-2222-4222-8222-222222222222";

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[test]
    fn what_begins_alike_is_told_apart() {
        let ids = ShortIds::new([id(ONE), id(TWO), id(FAR), id("abc")], HashMap::new());
        let check = |text: &str, expect: &str| assert_eq!(ids.beginning(&id(text)), expect);
        check(ONE, "abcdabcd-1");
        check(TWO, "abcdabcd-2");
        check(FAR, "5e55105e");
        check("abc", "abc");
        // One that was not there when the others were looked up.
        check("5e55105e-2223-4222-8222-222222222222", "5e55105e-2223");
    }

    #[test]
    fn an_id_of_two_accounts_has_a_mark_in_both() {
        let firsts = HashMap::from([(id(FAR), "0a0a0a0a".to_owned())]);
        let ids = ShortIds::new([id(ONE), id(FAR)], firsts);
        let second = SessionKey::parse(&format!("{FAR}@1b1b1b1b")).unwrap();
        assert_eq!(ids.short(&SessionKey::first(id(FAR))), "5e55105e@0a0a0a0a");
        assert_eq!(ids.short(&second), "5e55105e@1b1b1b1b");
        assert_eq!(ids.short(&SessionKey::first(id(ONE))), "abcdabcd");
    }

    #[test]
    fn every_list_shows_what_the_process_knows() {
        assert_eq!(id(ONE).short(), "abcdabcd");
        look_again();
        known_by(|| ShortIds::new([id(ONE), id(TWO)], HashMap::new()));
        assert_eq!(SessionKey::first(id(ONE)).short(), "abcdabcd-1");
        assert_eq!(SessionKey::first(id(ONE)).prefix(), "abcdabcd", "names of files stay");
    }
}
