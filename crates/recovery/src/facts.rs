//! What is known of a conversation before its pane is decided upon: asked of records, transcripts, vault and machine.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::SessionKey;
use agents::claude::launch::{Bypass, StartAccount};
use agents::claude::versions::of_program;
use agents::claude::{Owner, Owners, is_trusted, slug};
use jiff::{SignedDuration, Timestamp};
use repair::{Lost, Repairer, Survey, Target, TargetError};
use semver::Version;
use sessions::Settled;
use sessions::view::{Sources, View};
use store::age::is_within;
use store::config::ResumeFallback;
use store::record::{GenuineRun, Grade, Machine, SessionRecord};
use store::spool;
use transcript::{Buffer, Status as Scanned};

use crate::decide::{OwnerFact, Remembered, TranscriptFact, ladder};
use crate::known_accounts::{KnownAccount, KnownAccounts};
use crate::live_owner::LiveOwner;
use crate::preconditions::quota;
use crate::recipe::{Launch, Recipe, in_words};
use crate::still_running::{StillRunning, still_running};

/// Where facts come from: one look at everything, for all panes.
pub struct Ground<'a> {
    repairer: &'a Repairer,
    pub(crate) settled: &'a Settled,
    /// Who is in which conversation.
    owners: Owners,
    /// The session whose agent is gone by its user's word, where rekindle cannot tell.
    said_gone: Option<SessionKey>,
    /// What is believed of living agents; only asked for where one is in the way.
    view: OnceCell<View>,
    /// The socket of the tmux server that its user is in.
    around: Option<PathBuf>,
    /// What the vault saw happen; nothing where it cannot be asked.
    survey: Option<Survey>,
    pub(crate) now: Timestamp,
    home: Option<PathBuf>,
    /// The machine that this is.
    pub(crate) machine: Machine,
    /// The configuration directories that an agent may be started with.
    accounts: KnownAccounts,
    /// Until when the quota of an account is spent.
    spent: BTreeMap<PathBuf, String>,
}

/// Everything that is known of a saved pane's conversation.
pub struct Known {
    /// What is decided upon.
    pub facts: Remembered,
    /// How it would be started.
    pub recipe: Option<Recipe>,
    /// Where: the record says so, else the save.
    pub directory: Option<PathBuf>,
}

/// Modes that ask nothing come back only from what was recorded here within this time.
const BYPASS_FRESH: SignedDuration = SignedDuration::from_hours(24);

/// The version that is assumed where none is known: the oldest whose flags are known, which knows the fewest.
const OLDEST: Version = Version::new(2, 1, 31);

impl<'a> Ground<'a> {
    /// Looks at transcripts, vault, records and the machine. `home` is where the agent's own settings are; at so many per
    /// cent nothing is left of a quota. `around` is the socket of the tmux server that its user is in. `accounts` are those that
    /// an agent may be started with.
    pub fn look(
        repairer: &'a Repairer,
        settled: &'a Settled,
        home: Option<PathBuf>,
        around: Option<PathBuf>,
        accounts: KnownAccounts,
        quota_spent_at: u32,
        now: Timestamp,
    ) -> Ground<'a> {
        let owners = repairer.owners();
        let survey = repairer.survey_beside(&owners).ok();
        let machine = settled.world.machine();
        let spent = spent(repairer, settled, quota_spent_at, now);
        Ground {
            repairer,
            settled,
            owners,
            said_gone: None,
            view: OnceCell::new(),
            around,
            survey,
            now,
            home,
            machine,
            accounts,
            spent,
        }
    }

    /// The same, with its user's word that the agent of this session is gone. An agent that is seen stays its owner.
    #[must_use]
    pub fn believing_gone(self, session: Option<&SessionKey>) -> Ground<'a> {
        Ground { said_gone: session.cloned(), ..self }
    }

    /// What is known of the conversation of a saved pane, and how it would be started.
    pub fn remember(
        &self,
        agent: &layouts::Agent,
        reference: &str,
        imported: bool,
        fallback: ResumeFallback,
    ) -> Known {
        let session = &agent.session_id;
        let record = self.settled.records.get(session);
        let (path, transcript, lost) = self.transcript(session, record);
        let directory = record.and_then(|record| record.project_dir.clone()).or_else(|| agent.cwd.clone());
        let recipe = self.recipe(session, record);
        let argv = recipe.as_ref().map(|recipe| recipe.argv(ladder(transcript, fallback).act));
        // The save says which pane it was; how sure that is, no more than the record does.
        let on_record = record.and_then(SessionRecord::run).and_then(|run| run.grade);
        let grade = match record {
            Some(_) if !imported => on_record.map_or(agent.grade, |grade| grade.min(agent.grade)),
            _ => Grade::Guess,
        };
        let places_agree = record.is_some_and(|record| {
            let place = record.genuine_place(&self.machine);
            place.is_some_and(|place| place.reference == reference) && record.cwd == agent.cwd
        });
        let account = self.accounts.of_session(self.repairer, session, record);
        let remembered = Remembered {
            session: session.clone(),
            grade,
            status: record.map_or(store::record::Status::Crashed, |record| record.status),
            reason: record.and_then(|record| record.reason.clone()),
            distrusted: record.and_then(|record| record.distrust(&self.machine)),
            persistent: record.is_some_and(|record| record.persistent),
            last_seen: record.map_or(Timestamp::UNIX_EPOCH, |record| record.last_seen),
            clock_doubted: record.is_some_and(|record| record.is_clock_doubted(self.now)),
            out_of_sight: record.and_then(SessionRecord::config_dir).filter(|account| !self.sees(account)),
            unknown_account: account.as_ref().err().cloned(),
            owner: self.owner_fact(session, path.as_deref()),
            transcript,
            places_agree,
            directory_there: directory.as_deref().is_some_and(Path::is_dir),
            transcript_there: path
                .clone()
                .or_else(|| self.in_vault(session, transcript))
                .zip(directory.as_deref())
                .is_none_or(|(path, at)| belongs(&path, at)),
            trusted: directory
                .as_deref()
                .and_then(|folder| self.trusted(record, account.as_ref().ok()?.as_ref(), folder)),
            argv_refused: match &argv {
                Some(argv) => argv.as_ref().err().map(ToString::to_string),
                None => Some("no new conversation can be named".to_owned()),
            },
            notes: argv
                .into_iter()
                .flatten()
                .flat_map(|argv| argv.notes)
                .map(|note| {
                    recipe.as_ref().and_then(Recipe::says_untrusted).unwrap_or_else(|| in_words(&note))
                })
                .chain(self.still_running(session).iter().map(StillRunning::says))
                .chain(lost.map(|lost| note_of(&lost, session)))
                .collect(),
            quota_spent: record
                .and_then(SessionRecord::config_dir)
                .and_then(|account| self.spent.get(&account).cloned()),
        };
        Known { facts: remembered, recipe, directory }
    }

    /// Where a transcript that only the vault has is put back.
    fn in_vault(&self, session: &SessionKey, transcript: TranscriptFact) -> Option<PathBuf> {
        if transcript != (TranscriptFact::Missing { in_vault: true }) {
            return None;
        }
        let first = self.repairer.vaulted_of(session).ok()?.into_iter().next()?;
        Some(first.config.join(&first.transcript()?.name))
    }

    /// The commands that outlive a conversation's agent.
    pub fn still_running(&self, session: &SessionKey) -> Vec<StillRunning> {
        let record = self.settled.records.get(session);
        record.map(|record| still_running(record, self.owners.processes())).unwrap_or_default()
    }

    /// Whether conversations and agents of an account are looked at.
    fn sees(&self, account: &Path) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let configs = &self.repairer.configs;
        configs.iter().any(|config| config.path() == account)
            || configs.iter().any(|config| real(config.path()) == real(account))
    }

    fn owner(&self, session: &SessionKey, path: Option<&Path>) -> Owner {
        let expected = || expected_transcript(session, self.settled.records.get(session));
        match self.owners.of(session.id(), &path.map_or_else(expected, Path::to_path_buf)) {
            Owner::Unknown { .. } if self.said_gone.as_ref() == Some(session) => Owner::Nobody,
            owner => owner,
        }
    }

    fn owner_fact(&self, session: &SessionKey, path: Option<&Path>) -> OwnerFact {
        let owner = self.owner(session, path);
        let live = self.live_owner(session, &owner);
        OwnerFact::of(owner, live.as_ref(), self.around.as_deref())
    }

    fn live_owner(&self, session: &SessionKey, owner: &Owner) -> Option<LiveOwner> {
        if !matches!(owner, Owner::Process(_)) {
            return None;
        }
        let (records, world) = (&self.settled.records, &self.settled.world);
        let sources = Sources { records, world, newest: &|_, _| None, now: self.now };
        LiveOwner::of(session, owner, self.view.get_or_init(|| View::of(&sources)), world)
    }

    /// The living agent that is in a conversation, beyond doubt.
    pub fn inside(&self, session: &SessionKey) -> Option<LiveOwner> {
        let record = self.settled.records.get(session);
        let (path, _, _) = self.transcript(session, record);
        self.live_owner(session, &self.owner(session, path.as_deref()))
    }

    /// Whether its user has trusted a directory, by the settings that its agent will read.
    fn trusted(
        &self,
        record: Option<&SessionRecord>,
        account: Option<&KnownAccount>,
        folder: &Path,
    ) -> Option<bool> {
        record.and_then(SessionRecord::run)?;
        let home = self.home.as_deref();
        let genuine = record.and_then(|record| record.genuine_run(&self.machine)).map(GenuineRun::run);
        let named = genuine.and_then(|run| run.env.get("CLAUDE_CONFIG_DIR")).filter(|dir| !dir.is_empty());
        let of_account = account.map(|account| StartAccount::of(account.dir(), home));
        let settings = match (named, of_account) {
            (Some(named), _) => Path::new(named).join(".claude.json"),
            // Without a genuine run nothing but the account names it.
            (None, Some(StartAccount::At(config))) if genuine.is_none() => config.join(".claude.json"),
            (None, _) => home?.join(".claude.json"),
        };
        is_trusted(&settings, folder)
    }

    fn transcript(
        &self,
        session: &SessionKey,
        record: Option<&SessionRecord>,
    ) -> (Option<std::path::PathBuf>, TranscriptFact, Option<Lost>) {
        transcript(self.repairer, self.survey.as_ref(), session, record)
    }

    fn recipe(&self, session: &SessionKey, record: Option<&SessionRecord>) -> Option<Recipe> {
        let genuine = record.and_then(|record| record.genuine_run(&self.machine));
        let run = genuine.map(GenuineRun::run);
        let recorded_by = run.and_then(|run| run.claude_version.as_deref()?.parse().ok()).unwrap_or(OLDEST);
        // An agent that was updated in between may know other flags.
        let installed = run.and_then(|run| {
            let word = run.argv.as_ref().and_then(|argv| argv.first()).map_or("claude", String::as_str);
            let path = std::env::split_paths(run.env.get("PATH")?).collect::<Vec<_>>();
            of_program(word, &path)
        });
        let version = installed.unwrap_or_else(|| recorded_by.clone());
        let is_fresh = |record: &SessionRecord| {
            !record.is_clock_doubted(self.now) && is_within(record.last_seen, self.now, BYPASS_FRESH)
        };
        let fresh = record.is_some_and(is_fresh);
        Some(Recipe {
            recorded: Launch::of(record, genuine),
            recorded_by,
            version,
            bypass: if fresh { Bypass::Keep } else { Bypass::LeaveOut },
            session: session.clone(),
            fresh: SessionKey::parse(&uuid::Uuid::new_v4().to_string()).ok()?,
        })
    }
}

/// Where the transcript of a session is or would be: it tells whose session is meant, where two accounts have its id.
pub fn expected_transcript(session: &SessionKey, record: Option<&SessionRecord>) -> PathBuf {
    let recorded = record.and_then(|record| {
        let in_account =
            || Some(record.config_dir()?.join("projects/-").join(format!("{}.jsonl", session.id())));
        record.transcript_path.clone().or_else(in_account)
    });
    recorded.unwrap_or_else(|| PathBuf::from("/nonexistent"))
}

/// The transcript of a conversation, what can be resumed of it, and what of it only the vault has. Nothing can be told where
/// the vault cannot be asked.
pub(crate) fn transcript(
    repairer: &Repairer,
    survey: Option<&Survey>,
    session: &SessionKey,
    record: Option<&SessionRecord>,
) -> (Option<PathBuf>, TranscriptFact, Option<Lost>) {
    let vault_or = |nothing: TranscriptFact, only_a_stub: TranscriptFact| match repairer.vaulted_of(session) {
        // Those in which something was said come first.
        Ok(found) if found.first().is_some_and(|first| first.talks()) => {
            let lost = found.first().and_then(|first| {
                let path = first.config.join(&first.transcript()?.name);
                repairer.lost(&first.key, &path).ok().flatten()
            });
            (undecided(lost.as_ref()).unwrap_or(TranscriptFact::Missing { in_vault: true }), lost)
        }
        Ok(found) if found.is_empty() => (nothing, None),
        Ok(_) => (only_a_stub, None),
        Err(_) => (TranscriptFact::Unknown, None),
    };
    let missing = || {
        let gone = TranscriptFact::Missing { in_vault: false };
        // A copy in which nothing is said shows that there was a file.
        let silent = record.is_some_and(|record| record.last_prompt.is_none());
        vault_or(if silent { TranscriptFact::Never } else { gone }, gone)
    };
    let file = match repairer.transcript_of(session) {
        Ok(Target::File(file)) => file,
        Ok(Target::Gone(_)) | Err(TargetError::Unknown(_)) => {
            let (fact, lost) = missing();
            return (None, fact, lost);
        }
        Err(_) => return (None, TranscriptFact::Unknown, None),
    };
    let scan = |survey| repairer.scan_file(&file, survey, &mut Buffer::default()).ok();
    let scan = survey.and_then(scan);
    let lost = scan.as_ref().and_then(|scan| scan.lost.clone());
    let (fact, lost) = match scan.map(|scan| scan.status) {
        Some(Scanned::Healthy) => (TranscriptFact::Healthy, lost),
        Some(Scanned::Corrupted) => (undecided(lost.as_ref()).unwrap_or(TranscriptFact::Corrupted), lost),
        Some(Scanned::Missing) => missing(),
        Some(Scanned::Empty) => vault_or(TranscriptFact::Empty, TranscriptFact::Empty),
        Some(Scanned::Unrecoverable) => {
            vault_or(TranscriptFact::Unrecoverable, TranscriptFact::Unrecoverable)
        }
        // Whoever cannot read it, or cannot ask the vault, knows nothing of what is lost.
        Some(Scanned::Unreadable) | None => (TranscriptFact::Unknown, None),
    };
    (Some(file.path.clone()), fact, lost)
}

/// Two versions of a conversation whose order nothing proves: its user chooses.
fn undecided(lost: Option<&Lost>) -> Option<TranscriptFact> {
    matches!(lost, Some(Lost::Choice { .. } | Lost::Doubtful)).then_some(TranscriptFact::Undecided)
}

/// What its user should know of rows that only the vault has.
fn note_of(lost: &Lost, session: &SessionKey) -> String {
    match lost {
        Lost::Choice { .. } | Lost::Doubtful => lost.remedy(session),
        _ => format!("rekindle first puts back {}", lost.loses()),
    }
}

/// Until when the quota of each account is spent, by the newest status line of any agent of it.
fn spent(repairer: &Repairer, settled: &Settled, at: u32, now: Timestamp) -> BTreeMap<PathBuf, String> {
    let mut newest: BTreeMap<PathBuf, (SystemTime, &SessionKey)> = BTreeMap::new();
    for record in settled.records.values() {
        let path = repairer.state.spool().join(format!("{}.status", record.session_id));
        let changed = std::fs::metadata(path).and_then(|meta| meta.modified());
        if let (Some(account), Ok(changed)) = (record.config_dir(), changed) {
            let known = newest.entry(account).or_insert((changed, &record.session_id));
            *known = (*known).max((changed, &record.session_id));
        }
    }
    let quota = |session: &SessionKey| {
        let status = spool::status_of(&repairer.state, settled.records.get(session)?)?;
        quota(&serde_json::from_slice(&status).ok()?, at, now)
    };
    newest.into_iter().filter_map(|(account, (_, session))| Some((account, quota(session)?))).collect()
}

/// Whether an agent in a directory looks for this transcript: it knows the folder by the directory's name, links resolved or
/// not.
fn belongs(transcript: &Path, directory: &Path) -> bool {
    let folder = transcript.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let real = std::fs::canonicalize(directory).ok();
    let names = [Some(directory), real.as_deref()].map(|at| slug(at?.to_str()?));
    names.iter().all(Option::is_none) || names.iter().flatten().any(|name| Some(name.as_str()) == folder)
}
