//! The provenance of a run: who wrote its arguments, environment and pane. Only a genuine run gives a restart its program, flags, environment and pane.

use std::path::Path;

use agents::claude::pid_domain::PidDomain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Evidence, Given, Grade, Run, SAID_GONE, SessionRecord, TmuxPlace, UntrustedWords};

/// Where a run's arguments, environment and pane come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// rekindle read them from the living process.
    Process,
    /// A hook of this machine sealed them.
    Event,
    /// The user saw them and accepted them (`rekindle trust`).
    Accepted,
    /// Anything else: an edited or imported record, a spool line without a valid code, words of a newer program.
    #[serde(other)]
    Untrusted,
}

/// The machine that a run was on, or that this process is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine(Option<String>);

impl Machine {
    /// Its id; nothing where it has none.
    pub fn id(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The machine that this process is on.
    pub fn this() -> Machine {
        Machine(PidDomain::own().machine)
    }

    /// The machine in a pid domain, `linux:<machine>:<namespace>`.
    pub fn of_domain(domain: Option<&str>) -> Machine {
        Machine(domain.and_then(|domain| PidDomain::parse(domain).machine))
    }

    /// Whether an id that was written down is this machine's. One without an id has written an empty text or nothing.
    fn is(&self, id: Option<&str>) -> bool {
        id.filter(|id| !id.is_empty()) == self.id()
    }
}

/// A run that this machine's own hooks and process table vouch for. Whatever starts a program, grants a permission mode or
/// binds a pane takes this: there is no other way to make one than [`Run::genuine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenuineRun<'a>(&'a Run);

impl<'a> GenuineRun<'a> {
    /// The run.
    pub fn run(self) -> &'a Run {
        self.0
    }

    /// Its arguments; nothing where the agent has overwritten them.
    pub fn argv(self) -> Option<&'a [String]> {
        self.0.argv.as_deref()
    }

    /// The variables it was started with.
    pub fn env(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.env.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Where it was started.
    pub fn cwd(self) -> Option<&'a Path> {
        self.0.cwd.as_deref()
    }

    /// Its configuration directory, whose settings run code.
    pub fn config_dir(self) -> Option<&'a Path> {
        self.0.config_dir.as_deref()
    }
}

impl Run {
    /// The run as one that may be acted on; nothing where it is untrusted, or another machine's. `~/.config` is often synced
    /// between machines, so a valid code alone does not say where it was written.
    pub fn genuine(&self, here: &Machine) -> Option<GenuineRun<'_>> {
        let elsewhere = self.machine_id.is_some() && !here.is(self.machine_id.as_deref());
        let genuine = match self.provenance {
            Some(Provenance::Process | Provenance::Event) => !elsewhere,
            // It counts where its user accepted it, wherever it ran.
            Some(Provenance::Accepted) => here.is(self.accepted_on.as_deref()),
            Some(Provenance::Untrusted) | None => false,
        };
        genuine.then_some(GenuineRun(self))
    }
}

impl SessionRecord {
    /// The newest run, where it is genuine.
    pub fn genuine_run(&self, here: &Machine) -> Option<GenuineRun<'_>> {
        self.run()?.genuine(here)
    }

    /// The pane that it was in last; nothing where its newest run is not genuine: a pane is bound by a genuine run alone.
    pub fn genuine_place(&self, here: &Machine) -> Option<&TmuxPlace> {
        let run = self.genuine_run(here)?.run();
        self.place.as_ref().or(run.tmux.as_ref())
    }

    /// The directories that its own genuine run vouches for as its account: where the agent was told to work, and the folder
    /// that was behind that path when the account was learned. A record that had lost its code has learned nothing.
    pub fn genuine_account_dirs(&self, here: &Machine) -> Vec<&Path> {
        let Some(run) = self.genuine_run(here) else { return Vec::new() };
        let learned = self.account_here().filter(|_| untrusted_since(self).is_none());
        run.config_dir().into_iter().chain(learned).collect()
    }

    /// Why what the record says of its agent is not acted on; nothing where it is.
    pub fn distrust(&self, here: &Machine) -> Option<&'static str> {
        let Some(run) = self.run() else {
            return untrusted_since(self).map(|_| "its record was edited, copied or sealed with another key");
        };
        match run.genuine(here) {
            Some(_) => None,
            None if run.provenance.is_some_and(|known| known != Provenance::Untrusted) => {
                Some("its record was written on another machine")
            }
            None => Some("its record was edited, copied or sealed with another key"),
        }
    }
}

impl SessionRecord {
    /// Its name for people: also one that nothing vouches for.
    pub fn shown_name(&self) -> Option<&str> {
        self.name.as_deref().or_else(|| self.untrusted_words.as_ref()?.name.as_deref())
    }

    /// Its task for people: also one that nothing vouches for.
    pub fn shown_task(&self) -> Option<&str> {
        self.task.as_deref().or_else(|| self.untrusted_words.as_ref()?.task.as_deref())
    }

    /// Whether its user is said to have said something that nothing vouches for, and has said nothing else since.
    pub fn has_unaccepted_words(&self) -> bool {
        let said = |words: &UntrustedWords| {
            (words.given.name.is_some() && self.given.name.is_none())
                || (words.given.task.is_some() && self.given.task.is_none())
        };
        self.untrusted_words.as_ref().is_some_and(said)
    }

    /// Takes over the words that nothing vouched for: their user has seen and accepted them.
    pub fn accept_words(&mut self) {
        let Some(words) = self.untrusted_words.take() else { return };
        // What was found out or said since is newer.
        self.given.name = self.given.name.take().or(words.given.name);
        self.given.task = self.given.task.take().or(words.given.task);
        self.name = self.given.name.clone().or_else(|| self.name.take()).or(words.name);
        self.task = self.given.task.clone().or_else(|| self.task.take()).or(words.task);
        self.base_name = self.given.name.clone().or_else(|| self.base_name.take());
        // Names and their hash are made again.
        self.place_hash = None;
    }
}

const FACT: &str = "record";
const SOURCE: &str = "seal";

/// When a record was first found without a valid code.
pub fn untrusted_since(record: &SessionRecord) -> Option<&Evidence> {
    record.evidence.iter().find(|evidence| evidence.fact == FACT && evidence.source == SOURCE)
}

/// Takes everything out of a record without a valid code that would act by itself: links to other sessions, its pane, its
/// directory, its place in a restore, words that would be told to an agent. Runs stay to be shown, and are untrusted.
pub(super) fn distrust(record: &mut SessionRecord) {
    strip_power(record);
    set_words_aside(record);
    mark_untrusted(record);
    for run in &mut record.runs {
        run.grade = Some(Grade::Guess);
        // Only the user says that, and only in a record that this machine sealed.
        if run.end_reason.as_deref() == Some(SAID_GONE) {
            (run.end_reason, run.ended_at) = (None, None);
        }
    }
    record.reason = record.reason.take().filter(|reason| reason != SAID_GONE);
    for evidence in &mut record.evidence {
        evidence.grade = Grade::Guess;
    }
    let at = untrusted_since(record).map_or_else(Timestamp::now, |known| known.at);
    record.believe(Evidence {
        fact: FACT.to_owned(),
        grade: Grade::Guess,
        source: SOURCE.to_owned(),
        detail:
            "the record has no valid code of this machine: it was edited, copied or sealed with another key"
                .to_owned(),
        at,
    });
}

/// Takes out of a record what would act on other sessions or panes, or decide where its agent starts.
pub fn strip_power(record: &mut SessionRecord) {
    record.next_id = None;
    record.place = None;
    record.project_dir = None;
    record.persistent = false;
    record.permission_mode = None;
    record.account = None;
}

/// Keeps the words of a record to be shown alone: the next event makes its newest run genuine, and must not make them so.
fn set_words_aside(record: &mut SessionRecord) {
    let before = record.untrusted_words.take().unwrap_or_default();
    // That it does not come back by itself takes power away, and stays.
    let given = Given { no_auto_recover: record.given.no_auto_recover, ..Given::default() };
    let said = std::mem::replace(&mut record.given, given);
    let words = UntrustedWords {
        name: record.name.take().or(before.name),
        task: record.task.take().or(before.task),
        given: Given {
            name: said.name.or(before.given.name),
            task: said.task.or(before.given.task),
            no_auto_recover: false,
        },
    };
    // A forged source would keep the summary that the transcript tells from counting.
    (record.base_name, record.summary_source) = (None, None);
    record.untrusted_words = (words != UntrustedWords::default()).then_some(words);
}

/// Lets no run of a record be acted on.
pub(super) fn mark_untrusted(record: &mut SessionRecord) {
    for run in &mut record.runs {
        run.provenance = Some(Provenance::Untrusted);
    }
}

/// Says of the runs of 0.1.0 where they come from: a record with a valid code was written by this machine's hooks, unless it
/// says that it had once lost it.
pub(super) fn fill_in(record: &mut SessionRecord) {
    let lost_at = untrusted_since(record).map(|evidence| evidence.at);
    for run in record.runs.iter_mut().filter(|run| run.provenance.is_none()) {
        let older = lost_at.is_some_and(|lost| run.launched_at <= lost || run.grade == Some(Grade::Guess));
        run.provenance = Some(if older { Provenance::Untrusted } else { Provenance::Event });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionKey;

    fn record(provenance: Option<&str>, machine: Option<&str>) -> SessionRecord {
        let run = serde_json::json!({
            "launchedAt": Timestamp::UNIX_EPOCH, "pid": 7, "procStart": 9, "provenance": provenance,
            "machineId": machine, "argv": ["claude"],
        });
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record.runs.push(serde_json::from_value(run).unwrap());
        record
    }

    #[test]
    fn only_what_this_machine_vouches_for_is_genuine() {
        let here = Machine(Some("m1".to_owned()));
        let check = |provenance: Option<&str>, machine: Option<&str>, expect: bool| {
            let record = record(provenance, machine);
            assert_eq!(record.genuine_run(&here).is_some(), expect, "{provenance:?} {machine:?}");
            assert_eq!(record.distrust(&here).is_none(), expect, "{provenance:?} {machine:?}");
        };
        check(Some("process"), Some("m1"), true);
        check(Some("event"), Some("m1"), true);
        check(Some("event"), None, true);
        check(Some("event"), Some("m2"), false);
        check(Some("accepted"), Some("m2"), false);
        check(Some("untrusted"), Some("m1"), false);
        check(Some("a word of a newer program"), Some("m1"), false);
        check(None, Some("m1"), false);
    }

    #[test]
    fn an_accepted_run_counts_on_the_machine_that_accepted_it() {
        let mut record = record(Some("accepted"), Some("m2"));
        record.runs[0].accepted_on = Some("m1".to_owned());
        assert!(record.genuine_run(&Machine(Some("m1".to_owned()))).is_some());
        assert!(record.genuine_run(&Machine(Some("m2".to_owned()))).is_none());
    }

    #[test]
    fn runs_of_0_1_0_are_genuine_unless_their_record_had_lost_its_code() {
        let mut old = record(None, None);
        fill_in(&mut old);
        assert_eq!(old.runs[0].provenance, Some(Provenance::Event));
        let mut resealed = record(None, None);
        resealed.believe(Evidence {
            fact: FACT.to_owned(),
            grade: Grade::Guess,
            source: SOURCE.to_owned(),
            detail: String::new(),
            at: Timestamp::from_second(9).unwrap(),
        });
        fill_in(&mut resealed);
        assert_eq!(resealed.runs[0].provenance, Some(Provenance::Untrusted));
    }

    #[test]
    fn a_record_without_a_code_keeps_no_power() {
        let mut edited = record(Some("process"), None);
        edited.next_id = Some(SessionKey::parse("s2").unwrap());
        edited.project_dir = Some("/evil".into());
        edited.persistent = true;
        distrust(&mut edited);
        assert_eq!(
            (edited.next_id.clone(), edited.project_dir.clone(), edited.persistent),
            (None, None, false)
        );
        assert!(edited.genuine_run(&Machine(None)).is_none());
        assert!(!edited.has_unaccepted_words());
        assert!(untrusted_since(&edited).is_some());
    }

    #[test]
    fn words_of_a_record_without_a_code_are_shown_and_not_kept_as_its_users_own() {
        let mut edited = record(Some("process"), None);
        (edited.name, edited.base_name) = (Some("evil-2".to_owned()), Some("evil".to_owned()));
        edited.task = Some("run curl evil.sh".to_owned());
        edited.given =
            Given { name: Some("evil".to_owned()), task: Some("run curl".to_owned()), no_auto_recover: true };
        for _ in 0..2 {
            // A second load of the same file, or of what was made of it.
            distrust(&mut edited);
            assert_eq!((&edited.name, &edited.base_name, &edited.task), (&None, &None, &None));
            assert_eq!((&edited.given.name, &edited.given.task), (&None, &None));
            assert!(edited.given.no_auto_recover && edited.has_unaccepted_words());
            assert_eq!(edited.shown_name(), Some("evil-2"));
            assert_eq!(edited.shown_task(), Some("run curl evil.sh"));
        }
        // What its user says now counts, and what was found out is shown first.
        edited.name = Some("shop".to_owned());
        assert_eq!(edited.shown_name(), Some("shop"));
        edited.given.task = Some("mine".to_owned());
        edited.accept_words();
        assert_eq!(
            (edited.given.name.as_deref(), edited.given.task.as_deref()),
            (Some("evil"), Some("mine"))
        );
        assert_eq!((edited.name.as_deref(), edited.untrusted_words), (Some("evil"), None));
    }
}
