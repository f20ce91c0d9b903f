//! Which conversation a pane had, where the save only says that an agent ran there. Pure.
//!
//! What comes out of this is never more than likely: pane and directory agree, or it is a guess and the user decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agents::SessionKey;
use layouts::{asks_its_user, words};
use store::record::{Grade, SessionRecord, Status};
use tmux::PaneShot;

use crate::likeness::most_alike;
use crate::pane_match::MatchedBy;
use crate::search_log::SearchLog;

/// InferredSession pane it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InferredSession {
    /// This conversation's.
    Found {
        /// Which.
        session: SessionKey,
        /// How sure that is.
        grade: Grade,
        /// By which step.
        rung: MatchedBy,
    },
    /// One of these, the newest first; nothing says which.
    Choice(Vec<SessionKey>),
    /// Nobody's that is known: a fresh start.
    Nobody,
}

/// The conversation as which this one goes on by now; itself where it does not.
pub(crate) fn goes_on_as<'a>(
    session: &'a SessionKey,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
) -> &'a SessionKey {
    let next = |session: &&'a SessionKey| {
        records.get(*session)?.next_id.as_ref().filter(|next| records.contains_key(*next))
    };
    // Records are what agents and hooks say: they may even point at each other.
    std::iter::successors(Some(session), next).take(records.len()).last().unwrap_or(session)
}

/// Whether a pane ran an agent, by what the save says of its program.
pub fn ran_agent(pane: &PaneShot) -> bool {
    is_agent(&pane.command) || is_agent(first_word(pane)) || asks_its_user(&pane.start_command, &pane.command)
}

/// Whether a pane was its agent and nothing else, so that it ended with it. Behind `claude; exec bash` a shell followed.
pub(crate) fn was_only_agent(pane: &PaneShot) -> bool {
    is_agent(first_word(pane)) && !pane.start_command.contains([';', '&', '|', '\n'])
}

fn is_agent(word: &str) -> bool {
    Path::new(word).file_name().is_some_and(|name| name == "claude")
}

fn first_word(pane: &PaneShot) -> &str {
    pane.start_command.trim_matches('"').split_whitespace().next().unwrap_or_default()
}

/// The program that the agent of a pane was, where the save tells it.
pub(crate) fn agent_word(pane: &PaneShot) -> Option<&str> {
    let word = match asks_its_user(&pane.start_command, &pane.command) {
        true => words(&pane.start_command).skip_while(|word| *word != "--fresh").nth(1)?,
        false => first_word(pane),
    };
    Some(word).filter(|word| is_agent(word))
}

/// Finds the conversation of a pane among those that crashed and that no other pane has, and says what was tried.
pub fn whose(
    reference: &str,
    pane: &PaneShot,
    records: &BTreeMap<SessionKey, SessionRecord>,
    claimed: &BTreeSet<SessionKey>,
) -> (InferredSession, SearchLog) {
    let mut here: Vec<&SessionRecord> = records
        .values()
        .filter(|record| record.status == Status::Crashed && !claimed.contains(&record.session_id))
        .filter(|record| record.run().is_none_or(|run| !run.is_passing()))
        .filter(|record| goes_on_as(&record.session_id, records) == &record.session_id)
        .filter(|record| record.cwd.as_deref() == Some(Path::new(&pane.cwd)))
        .collect();
    here.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.session_id.cmp(&b.session_id)));
    let mut tried = SearchLog::default();
    // The save names none.
    tried.add(MatchedBy::Identity, 0);
    let found = |record: &SessionRecord, grade, rung| InferredSession::Found {
        session: record.session_id.clone(),
        grade,
        rung,
    };
    let place = |record: &SessionRecord| record.place.as_ref().map(|place| place.reference.clone());
    let placed: Vec<_> = here.iter().filter(|record| place(record).as_deref() == Some(reference)).collect();
    tried.add(MatchedBy::PaneRef, placed.len());
    if let [only] = placed.as_slice() {
        return (found(only, Grade::Likely, MatchedBy::PaneRef), tried);
    }
    tried.add(MatchedBy::Cwd, here.len());
    let whose = match here.as_slice() {
        [] => InferredSession::Nobody,
        [only] => found(only, Grade::Guess, MatchedBy::Cwd),
        several => {
            let told: Vec<(&SessionRecord, String)> = several
                .iter()
                .map(|record| {
                    let words = [record.name.as_deref(), record.task.as_deref()];
                    (*record, words.into_iter().flatten().collect::<Vec<_>>().join(" "))
                })
                .collect();
            let like = told.iter().map(|(record, words)| (*record, words.as_str()));
            let alike = most_alike(&pane.title, like);
            tried.add(MatchedBy::Task, usize::from(alike.is_some()));
            match alike {
                Some(record) => found(record, Grade::Guess, MatchedBy::Task),
                None => {
                    InferredSession::Choice(several.iter().map(|record| record.session_id.clone()).collect())
                }
            }
        }
    };
    (whose, tried)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use store::record::TmuxPlace;

    use super::*;

    fn record(id: &str, cwd: &str, reference: &str, task: &str) -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::parse(id).unwrap(), Timestamp::UNIX_EPOCH);
        record.status = Status::Crashed;
        record.cwd = Some(cwd.into());
        record.task = Some(task.to_owned());
        record.place = Some(TmuxPlace {
            socket: "/s".into(),
            server: 1,
            started: 1,
            pane: "%0".to_owned(),
            reference: reference.to_owned(),
        });
        record
    }

    fn ask(records: &[SessionRecord], title: &str) -> InferredSession {
        let records = records.iter().map(|record| (record.session_id.clone(), record.clone())).collect();
        let pane = PaneShot { cwd: "/a".to_owned(), title: title.to_owned(), ..PaneShot::default() };
        whose("work:1.0", &pane, &records, &BTreeSet::new()).0
    }

    #[test]
    fn a_pane_ends_with_its_agent_where_nothing_followed() {
        for (command, only) in [
            ("\"claude 'mend it'\"", true),
            ("/opt/bin/claude --resume x", true),
            ("\"claude 'mend it'; exec bash --norc\"", false),
            ("\"claude || exec bash\"", false),
            ("bash", false),
            ("", false),
        ] {
            let pane = PaneShot { start_command: command.to_owned(), ..PaneShot::default() };
            assert_eq!(was_only_agent(&pane), only, "{command}");
        }
    }

    fn found(id: &str, grade: Grade, rung: MatchedBy) -> InferredSession {
        InferredSession::Found { session: SessionKey::parse(id).unwrap(), grade, rung }
    }

    #[test]
    fn the_place_tells_two_of_one_directory_apart() {
        let records = [record("s1", "/a", "work:1.0", "x"), record("s2", "/a", "work:2.0", "y")];
        assert_eq!(ask(&records, ""), found("s1", Grade::Likely, MatchedBy::PaneRef));
    }

    /// Windows were renumbered: at the old place was a conversation of another directory.
    #[test]
    fn the_directory_is_right_where_the_place_is_not() {
        let records = [record("s1", "/b", "work:1.0", "x"), record("s2", "/a", "work:2.0", "y")];
        assert_eq!(ask(&records, ""), found("s2", Grade::Guess, MatchedBy::Cwd));
    }

    #[test]
    fn the_task_is_right_where_the_directory_has_two() {
        let records =
            [record("s1", "/a", "work:7.0", "write notes"), record("s2", "/a", "work:8.0", "fix the login")];
        assert_eq!(ask(&records, "✳ Fix the login"), found("s2", Grade::Guess, MatchedBy::Task));
    }

    #[test]
    fn where_tasks_say_nothing_the_user_chooses() {
        let records = [record("s1", "/a", "work:7.0", "notes"), record("s2", "/a", "work:8.0", "notes")];
        let both = ["s1", "s2"].map(|id| SessionKey::parse(id).unwrap()).to_vec();
        assert_eq!(ask(&records, "notes"), InferredSession::Choice(both));
    }

    #[test]
    fn the_newest_comes_first_and_what_goes_on_is_no_choice() {
        let mut records = ["s1", "s2", "s3", "s4"].map(|id| record(id, "/a", "work:7.0", "notes"));
        records[1].last_seen = Timestamp::from_second(9).unwrap();
        records[2].next_id = Some(records[3].session_id.clone());
        let order = ["s2", "s1", "s4"].map(|id| SessionKey::parse(id).unwrap()).to_vec();
        assert_eq!(ask(&records, ""), InferredSession::Choice(order));
    }

    #[test]
    fn what_was_tried_is_told() {
        let check = |records: &[SessionRecord], title: &str, expect: &str| {
            let records = records.iter().map(|record| (record.session_id.clone(), record.clone())).collect();
            let pane = PaneShot { cwd: "/a".to_owned(), title: title.to_owned(), ..PaneShot::default() };
            assert_eq!(whose("work:1.0", &pane, &records, &BTreeSet::new()).1.to_string(), expect);
        };
        let two = [record("s1", "/a", "work:7.0", "notes"), record("s2", "/a", "work:8.0", "fix the login")];
        check(&[], "", "by identity: none; by pane_ref: none; by cwd: none");
        check(&two, "", "by identity: none; by pane_ref: none; by cwd: 2; by task: none");
        check(&two, "fix the login", "by identity: none; by pane_ref: none; by cwd: 2; by task: 1");
        check(&[record("s1", "/a", "work:1.0", "")], "", "by identity: none; by pane_ref: 1");
    }

    #[test]
    fn what_its_user_ended_is_no_choice() {
        let mut ended = record("s1", "/a", "work:1.0", "notes");
        ended.status = Status::EndedCleanly;
        assert_eq!(ask(&[ended], "notes"), InferredSession::Nobody);
    }

    #[test]
    fn an_agents_pane_is_known_by_its_program() {
        let pane = |command: &str, start: &str| PaneShot {
            command: command.to_owned(),
            start_command: start.to_owned(),
            ..PaneShot::default()
        };
        assert!(ran_agent(&pane("claude", "")));
        assert!(ran_agent(&pane("node", "/usr/bin/claude --resume x")));
        assert!(!ran_agent(&pane("bash", "")) && !ran_agent(&pane("vim", "vim claude")));
        let asks = "/x/rekindle pane wait --fresh claude --folder /a --more 0 --";
        assert!(ran_agent(&pane("rekindle", asks)), "nobody has answered yet");
        assert!(!ran_agent(&pane("bash", asks)), "its user wanted a shell");
    }

    #[test]
    fn a_conversation_goes_on_as_its_newest() {
        let mut records = BTreeMap::new();
        for (id, next) in [("s1", Some("s2")), ("s2", Some("s3")), ("s3", None), ("s4", Some("gone"))] {
            let mut record = record(id, "/a", "work:0.0", "");
            record.next_id = next.map(|next| SessionKey::parse(next).unwrap());
            records.insert(record.session_id.clone(), record);
        }
        let check = |from: &str, to: &str| {
            let from = SessionKey::parse(from).unwrap();
            assert_eq!(goes_on_as(&from, &records).as_str(), to);
        };
        check("s1", "s3");
        check("s3", "s3");
        check("s4", "s4");
        check("unknown", "unknown");
    }
}
