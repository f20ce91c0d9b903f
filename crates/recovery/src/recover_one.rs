//! One conversation, brought back because its user asked for this very one, or by itself after a crash.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use layouts::Agent;
use store::config::{AutoResume, ResumeFallback};
use store::record::{Grade, SessionRecord};
use tmux::{PanePlan, SessionPlan, WindowPlan};

use crate::decide::{Decision, OwnerFact, Remembered, decide};
use crate::facts::{Ground, Known};
use crate::pane_match::{Match, MatchedBy};
use crate::plan::{Asked, PaneStep, Plan, ServerPlan, Wanted, Weighed};

/// Where it is brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Into a pane that is there, in place of what runs in it.
    Pane {
        /// `%4`.
        pane: String,
        /// What it is called.
        reference: String,
        /// The program in front of it when it was looked at: another one is not ended for it. Nothing where its user has
        /// asked from within that pane.
        in_front: Option<String>,
    },
    /// Into a window of its own.
    Window {
        /// The session.
        session: String,
        /// Its id (`$1`), where it is there.
        there: Option<String>,
        /// The window's number.
        index: u32,
    },
}

impl Remembered {
    /// What is decided upon, and who asked: where nobody did, everything stays as it is known.
    fn weighed_for(self, wanted: Wanted) -> (Remembered, &'static str) {
        let says = match wanted.asked {
            Asked::ByItself => return (self, "nobody asked for it: it comes back by itself"),
            Asked::All => "its user asked for everything that crashed",
            Asked::Name => "its user asked for it",
        };
        (self.wanted_by_its_user(wanted.now), says)
    }

    /// The same, where its user has said that it is this conversation that is wanted, whatever is known of its place and
    /// age. Who is in it, what is left of it and whether this machine wrote its record remains what it is. Whether its folder is
    /// trusted, its user is there to say, unless a record names the folder that this machine did not write.
    #[must_use]
    fn wanted_by_its_user(self, now: Timestamp) -> Remembered {
        Remembered {
            grade: Grade::Proven,
            persistent: true,
            last_seen: now,
            clock_doubted: false,
            trusted: self.trusted.filter(|_| self.distrusted.is_some()),
            quota_spent: None,
            ..self
        }
    }
}

impl Wanted {
    /// The same for one conversation. It is no restore that its user could have turned off, and whoever asks for it wants as
    /// much of it as can be had.
    fn for_one(self) -> Wanted {
        let by_itself = self.asked == Asked::ByItself;
        let fallback = if by_itself { self.fallback } else { ResumeFallback::Repair };
        Wanted { resume: AutoResume::Always, fallback, ..self }
    }
}

/// The plan that brings one conversation back.
pub fn bring_back(
    ground: &Ground<'_>,
    session: &SessionKey,
    socket: PathBuf,
    destination: &Destination,
    wanted: Wanted,
) -> Plan {
    let wanted = wanted.for_one();
    let record = ground.settled.records.get(session);
    let known = known(ground, session, wanted);
    let (facts, asked) = known.facts.weighed_for(wanted);
    let mut evidence = vec![Weighed { rung: None, says: asked.to_owned() }];
    evidence.extend(facts.says().into_iter().map(|says| Weighed { rung: None, says }));
    // Its own each time: a pane may still have the one of an earlier wish.
    let mark = format!("wanted-{session}-{}", uuid::Uuid::new_v4().simple());
    let (seat, reference, in_front, sessions) = match destination {
        Destination::Pane { pane, reference, in_front } => {
            let seat = Match::There { pane: pane.clone(), rung: MatchedBy::Identity };
            (seat, reference.clone(), in_front.clone(), Vec::new())
        }
        Destination::Window { session: name, there, index } => {
            let plan = SessionPlan {
                name: name.clone(),
                there: there.clone(),
                windows: vec![window(record, *index, &mark, session)],
                ..SessionPlan::default()
            };
            (Match::New, format!("{name}:{index}"), None, vec![plan])
        }
    };
    let step = PaneStep {
        mark,
        reference,
        session: Some(session.clone()),
        guessed: false,
        seat,
        decision: decide(&facts, &wanted),
        evidence,
        recipe: known.recipe,
        directory: known.directory,
        in_front,
        own_command: false,
        ours: true,
        asks: None,
        text: None,
    };
    Plan {
        servers: vec![ServerPlan { socket, sessions, fills: Vec::new(), panes: vec![step] }],
        fallback: wanted.fallback,
    }
}

/// What would be done for a conversation if whoever is in it were gone: nobody is ended for one that cannot come back.
pub fn if_nobody_were_in_it(ground: &Ground<'_>, session: &SessionKey, wanted: Wanted) -> Decision {
    let wanted = wanted.for_one();
    let (facts, _) = known(ground, session, wanted).facts.weighed_for(wanted);
    decide(&Remembered { owner: OwnerFact::Nobody, ..facts }, &wanted)
}

fn known(ground: &Ground<'_>, session: &SessionKey, wanted: Wanted) -> Known {
    let record = ground.settled.records.get(session);
    let agent = Agent {
        pane: String::new(),
        session_id: session.clone(),
        grade: Grade::Proven,
        argv_known: record.and_then(SessionRecord::run).is_some_and(|run| run.argv.is_some()),
        cwd: record.and_then(|record| record.cwd.clone()),
        config_dir: record.and_then(SessionRecord::config_dir),
    };
    ground.remember(&agent, "", false, wanted.fallback)
}

/// A size for a window that nobody looks at yet; it follows its clients.
const SIZE: (u32, u32) = (200, 50);

fn window(record: Option<&SessionRecord>, index: u32, mark: &str, session: &SessionKey) -> WindowPlan {
    let cwd = record.and_then(|record| record.project_dir.as_ref().or(record.cwd.as_ref()));
    let pane = PanePlan {
        cwd: cwd.map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default(),
        title: String::new(),
        active: true,
        mark: mark.to_owned(),
        tag: Some(session.to_string()),
        options: BTreeMap::new(),
        command: Vec::new(),
        variables: Vec::new(),
    };
    WindowPlan {
        index,
        name: record.and_then(|record| record.name.clone()).unwrap_or_else(|| session.short().to_owned()),
        renames_itself: false,
        layout: String::new(),
        width: SIZE.0,
        height: SIZE.1,
        zoomed: false,
        panes: vec![pane],
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use store::record::Status;

    use super::*;
    use crate::decide::{Act, OwnerFact, TranscriptFact};

    fn crashed() -> Remembered {
        Remembered {
            session: SessionKey::parse("s1").unwrap(),
            grade: Grade::Proven,
            status: Status::Crashed,
            reason: Some("process_died".to_owned()),
            distrusted: None,
            persistent: false,
            last_seen: Timestamp::UNIX_EPOCH,
            clock_doubted: false,
            out_of_sight: None,
            unknown_account: None,
            owner: OwnerFact::Nobody,
            transcript: TranscriptFact::Healthy,
            places_agree: false,
            directory_there: true,
            transcript_there: true,
            trusted: None,
            notes: Vec::new(),
            argv_refused: None,
            quota_spent: None,
        }
    }

    #[test]
    fn what_its_user_may_waive_stands_where_nobody_asked() {
        let check = |change: &dyn Fn(&mut Remembered), by_itself: Act, asked_for: Act| {
            for (asked, expect, says) in [
                (Asked::ByItself, by_itself, "by itself"),
                (Asked::All, asked_for, "its user"),
                (Asked::Name, asked_for, "its user"),
            ] {
                let mut facts = crashed();
                change(&mut facts);
                let wanted = Wanted {
                    now: Timestamp::from_second(3600).unwrap(),
                    stale_after: SignedDuration::from_mins(90),
                    again: true,
                    asked,
                    resume: AutoResume::Never,
                    fallback: ResumeFallback::Error,
                };
                let (facts, told) = facts.weighed_for(wanted);
                assert!(told.contains(says), "{told}");
                assert_eq!(decide(&facts, &wanted.for_one()).act, expect, "{asked:?}");
            }
        };
        check(&|_| {}, Act::Resume, Act::Resume);
        check(&|facts| facts.trusted = Some(false), Act::Refuse, Act::Resume);
        check(&|facts| facts.quota_spent = Some("99% used".to_owned()), Act::Offer, Act::Resume);
        check(&|facts| facts.transcript = TranscriptFact::Corrupted, Act::Refuse, Act::RepairResume);
    }
}
