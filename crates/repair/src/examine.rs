//! Scans with everything that is known: the file, who owns it, what the vault saw happen to it, and the cache.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use agents::claude::{
    Kind, Owner, Owners, Root, Source, TranscriptFile, Trouble, Walk, distinct_accounts, slug, walk,
};
use agents::{SessionId, SessionKey, Stamp};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use store::file_cache::{Entry, FileCache, nanoseconds};
use transcript::{Buffer, Class, Finding, Forks, Loss, Scan, Status, Transcript};
use vault::Event;

use crate::{Error, Lost, Repairer, Target};

/// Entries of the scan cache change their meaning with this number: raise it when a scan says something new.
const CACHE_VERSION: u32 = 5;

/// What is said of one conversation.
#[derive(Debug, Clone)]
pub struct SessionScan {
    /// The session.
    pub session: SessionId,
    /// Where its transcript is, or was.
    pub path: PathBuf,
    /// The verdict.
    pub status: Status,
    /// Whether an agent is in it right now.
    pub live: bool,
    /// Rows on the walk from the last row.
    pub chain_depth: u64,
    /// Rows whose parent is not there.
    pub orphan_count: u64,
    /// Rows with a uuid.
    pub message_count: u64,
    /// Bytes.
    pub file_size: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Prompts a resume would lose.
    pub loss: Loss,
    /// Where it forks, and why.
    pub forks: Forks,
    /// What of it only the vault still has.
    pub lost: Option<Lost>,
    /// What is in no copy at all, by the repair that joined the rest.
    pub missing: Option<String>,
}

/// A scan of everything.
pub struct ScanAll {
    /// Every session, by path.
    pub sessions: Vec<SessionScan>,
    /// Folders and files that could not be looked at.
    pub troubles: Vec<Trouble>,
    /// Configuration directories whose transcripts cannot be listed.
    pub unreadable: Vec<PathBuf>,
}

/// What is known of all conversations at one moment, to scan several of them.
pub struct Survey {
    live: HashSet<String>,
    seen: vault::LastSeen,
    losses: Vec<vault::Loss>,
}

/// What the cache keeps of a scan: short, for ten thousand of them are read at every start.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known(Status, [u64; 3], [u64; 3], Vec<KnownFinding>, Option<String>, Option<Forks>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownFinding(String, Vec<u64>, u64, String, String);

impl Known {
    fn of(scan: &Scan) -> Known {
        let findings = scan.findings.iter().map(|finding| {
            let Finding { class, rows, count, loses, repair } = finding;
            KnownFinding(class.id().to_owned(), rows.clone(), *count, loses.clone(), repair.clone())
        });
        let loss = [scan.loss.prompts, scan.loss.older, scan.loss.newer];
        let counts = [scan.chain_depth, scan.orphan_count, scan.message_count];
        let forks = (scan.forks != Forks::default()).then_some(scan.forks);
        Known(scan.status, counts, loss, findings.collect(), scan.cwd.clone(), forks)
    }

    fn scan(&self, file_size: u64) -> Scan {
        let Known(status, counts, [prompts, older, newer], findings, cwd, forks) = self;
        let [chain_depth, orphan_count, message_count] = counts;
        let findings = findings.iter().filter_map(|KnownFinding(id, rows, count, loses, repair)| {
            let class = Class::ALL.iter().copied().find(|class| class.id() == id)?;
            let (rows, loses, repair) = (rows.clone(), loses.clone(), repair.clone());
            Some(Finding { class, rows, count: *count, loses, repair })
        });
        Scan {
            status: *status,
            chain_depth: *chain_depth,
            orphan_count: *orphan_count,
            message_count: *message_count,
            file_size,
            findings: findings.collect(),
            loss: Loss { prompts: *prompts, older: *older, newer: *newer },
            forks: forks.unwrap_or_default(),
            cwd: cwd.clone(),
            inner_session: None,
        }
    }
}

impl Repairer {
    /// Scans every transcript of every configuration directory; unchanged ones come from the cache.
    ///
    /// # Errors
    /// The vault cannot be asked.
    pub fn scan_all(&self, progress: impl Fn(u64, u64) + Sync) -> Result<ScanAll, Error> {
        let mut walks: Vec<Walk> = distinct_accounts(&self.configs).into_iter().map(walk).collect();
        let troubles = walks.iter_mut().flat_map(|walk| std::mem::take(&mut walk.troubles)).collect();
        let unreadable = walks.iter().filter(|walk| walk.root == Root::Unreadable);
        let unreadable = unreadable.map(|walk| walk.config.projects()).collect();
        let sources = walks.iter().flat_map(|walk| &walk.sources);
        let sources: Vec<&Source> = sources.filter(|source| source.kind == Kind::Transcript).collect();
        let mut cache: FileCache<Known> = FileCache::load(&self.cache_path(), CACHE_VERSION);
        let stale: Vec<&Source> = {
            let mut stale: Vec<&Source> = sources
                .iter()
                .copied()
                .filter(|source| cache.fresh(&source.path, &source.stamp).is_none())
                .collect();
            // The largest first: the last file to finish should be a small one.
            stale.sort_by_key(|source| std::cmp::Reverse(source.stamp.size));
            stale
        };
        let scanned = scan_files(&stale, &progress);
        let changed = !scanned.is_empty();
        for (path, entry) in scanned {
            cache.insert(&path, entry);
        }
        let before = cache.len();
        if before > sources.len() {
            let there: HashSet<&Path> = sources.iter().map(|source| &*source.path).collect();
            cache.retain(|path, _| there.contains(path));
        }
        if changed || cache.len() != before {
            // The next scan is slower where the cache cannot be written; this one is as good.
            let _ = store::durable::private_dir(&self.state.cache()).and_then(|()| cache.save());
        }
        let live = Owners::look(&self.configs).live_sessions();
        let losses = self.vault.losses_in(&walks)?;
        let mut places = Places::default();
        let missing = self.missing_rows();
        let mut sessions: Vec<SessionScan> = sources
            .iter()
            .filter_map(|source| {
                let session = source.session.clone()?;
                let live = live.contains(session.as_str());
                let mut scan = cache.entry(&source.path)?.value.scan(source.stamp.size);
                places.add(&source.path, &mut scan);
                let mut scan = assemble(session, source.path.clone(), live, scan);
                scan.note_missing(&missing);
                Some(scan)
            })
            .collect();
        self.add_losses(&mut sessions, None, &losses)?;
        for scan in &mut sessions {
            self.add_copy(scan)?;
        }
        sessions.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        Ok(ScanAll { sessions, troubles, unreadable })
    }

    /// Scans one conversation anew.
    ///
    /// # Errors
    /// The vault cannot be asked. A file that cannot be read is a verdict, not an error.
    pub fn scan_one(&self, target: &Target) -> Result<SessionScan, Error> {
        let file = match target {
            Target::File(file) => file,
            Target::Gone(absent) => {
                let session = &absent.session;
                let scan = unread(Status::Missing);
                let mut sessions = vec![assemble(session.clone(), PathBuf::new(), false, scan)];
                sessions[0].path = self.lost_path(session)?.unwrap_or_default();
                self.add_losses(&mut sessions, Some(session), &self.vault.losses()?)?;
                return Ok(sessions.swap_remove(0));
            }
        };
        let mut scan = self.scan_file(file, &self.survey()?, &mut Buffer::default())?;
        scan.note_missing(&self.missing_rows());
        Ok(scan)
    }

    /// Looks at what runs and at what the vault saw happen.
    ///
    /// # Errors
    /// The vault cannot be asked.
    pub fn survey(&self) -> Result<Survey, Error> {
        self.survey_beside(&Owners::look(&self.configs))
    }

    /// The same, for one who has looked at what runs.
    ///
    /// # Errors
    /// The vault cannot be asked.
    pub fn survey_beside(&self, owners: &Owners) -> Result<Survey, Error> {
        let seen = self.vault.last_seen()?;
        let losses = seen.losses();
        Ok(Survey { live: owners.live_sessions(), seen, losses })
    }

    /// Scans one of several conversations anew.
    ///
    /// # Errors
    /// The vault cannot be asked. A file that is missing or cannot be read is a verdict, not an error.
    pub fn scan_file(
        &self,
        file: &TranscriptFile,
        survey: &Survey,
        buffer: &mut Buffer,
    ) -> Result<SessionScan, Error> {
        let live = survey.live.contains(file.session.as_str());
        let mut scan = scan_file(&file.path, buffer);
        let stamp = std::fs::metadata(&file.path).ok().map(|meta| Stamp::of(&meta));
        let own = survey.losses.iter().filter(|loss| loss.session.as_ref() == Some(&file.session)).cloned();
        let losses: Vec<vault::Loss> = own.chain(survey.seen.changed(&file.path, stamp)).collect();
        Places::default().add(&file.path, &mut scan);
        let mut sessions = vec![assemble(file.session.clone(), file.path.clone(), live, scan)];
        self.add_losses(&mut sessions, Some(&file.session), &losses)?;
        self.add_copy(&mut sessions[0])?;
        Ok(sessions.swap_remove(0))
    }

    fn cache_path(&self) -> PathBuf {
        self.state.cache().join("scan.json")
    }

    fn lost_path(&self, session: &SessionId) -> Result<Option<PathBuf>, Error> {
        let losses = self.vault.losses()?;
        Ok(losses.into_iter().find(|loss| loss.session.as_ref() == Some(session)).map(|loss| loss.path))
    }

    /// A damaged file may lack rows that no sync has missed yet: an agent that lost its transcript goes on behind rows
    /// that only the vault has. And one of which nothing is left is not hopeless where the vault has more.
    fn add_copy(&self, scan: &mut SessionScan) -> Result<(), Error> {
        if matches!(scan.status, Status::Healthy | Status::Missing) || scan.lost.is_some() {
            return Ok(());
        }
        let Some(config) = self.config_of(&scan.path) else { return Ok(()) };
        let hopeless = matches!(scan.status, Status::Empty | Status::Unrecoverable | Status::Unreadable);
        let lost = match self.lost(&self.vault.key(config, Some(&scan.session)), &scan.path) {
            // A repair says why the copy cannot be used.
            Err(Error::Read { .. } | Error::Vault(vault::Error::Foreign { .. })) => None,
            lost => lost?,
        };
        if let Some(lost) = lost {
            let class = if hopeless { Class::A6 } else { Class::A7 };
            let key = self.key_at(&scan.session, &scan.path);
            scan.note_loss(class, lost, &key, &self.owners_of(&scan.path));
        } else if scan.status == Status::Empty && self.was_spoken_in(&scan.session, &scan.path) {
            scan.status = Status::Unrecoverable;
        }
        Ok(())
    }

    /// Whether something was said in a conversation, by its record.
    fn was_spoken_in(&self, session: &SessionId, transcript: &Path) -> bool {
        let key = self.key_at(session, transcript);
        let held = store::record::load(&self.state, None, &key).ok().flatten();
        held.is_some_and(|held| held.record.last_prompt.is_some())
    }

    /// What the vault saw happen: deleted (D3), emptied (A6), overwritten (A7), cut short.
    fn add_losses(
        &self,
        sessions: &mut Vec<SessionScan>,
        only: Option<&SessionId>,
        losses: &[vault::Loss],
    ) -> Result<(), Error> {
        let owners = OnceCell::new();
        let owners = || owners.get_or_init(|| Owners::look(&self.configs));
        let mut by_path: HashMap<PathBuf, usize> =
            sessions.iter().enumerate().map(|(at, session)| (session.path.clone(), at)).collect();
        for loss in losses {
            let Some(session) = loss.session.clone() else { continue };
            if only.is_some_and(|only| *only != session) {
                continue;
            }
            if loss.path.extension().is_none_or(|extension| extension != "jsonl") || !is_main(&loss.path) {
                continue;
            }
            let lost = match self.lost(&loss.key, &loss.path) {
                // A file that cannot be read is a verdict of its own.
                Err(Error::Read { .. }) => continue,
                // One copy that cannot be used keeps no other conversation from being looked at.
                Err(Error::Vault(vault::Error::Foreign { .. })) if only.is_none() => {
                    if !by_path.contains_key(&loss.path) {
                        by_path.insert(loss.path.clone(), sessions.len());
                        sessions.push(assemble(session, loss.path.clone(), false, unread(Status::Missing)));
                    }
                    continue;
                }
                lost => lost?,
            };
            let Some(lost) = lost else { continue };
            let at = by_path.get(&loss.path).copied();
            let gone = at.is_none_or(|at| sessions[at].status == Status::Missing);
            let class = match (&lost, loss.event) {
                (_, Event::Deleted) if gone => Class::D3,
                // A file that was seen with nothing said in it may have grown since.
                (Lost::Copy { .. }, Event::Emptied) => Class::A6,
                _ => Class::A7,
            };
            match at {
                Some(at) if !gone || class == Class::D3 => {
                    let key = self.key_at(&sessions[at].session, &sessions[at].path);
                    sessions[at].note_loss(class, lost, &key, owners());
                }
                Some(_) => {}
                None => {
                    by_path.insert(loss.path.clone(), sessions.len());
                    let mut scan = assemble(session, loss.path.clone(), false, unread(Status::Missing));
                    let key = self.key_at(&scan.session, &scan.path);
                    scan.note_loss(class, lost, &key, owners());
                    sessions.push(scan);
                }
            }
        }
        Ok(())
    }
}

impl SessionScan {
    /// Notes what a repair could not find anywhere.
    fn note_missing(&mut self, missing: &HashMap<PathBuf, String>) {
        if missing.is_empty() {
            return;
        }
        let real = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        self.missing = missing.get(&real).or_else(|| missing.get(&self.path)).cloned();
    }

    /// Notes what only the vault still has.
    fn note_loss(&mut self, class: Class, lost: Lost, key: &SessionKey, owners: &Owners) {
        // What took the transcript may have taken the agent's registry as well: then only its process tells.
        self.live |= matches!(owners.of(&self.session, &self.path), Owner::Process(_));
        let whole = matches!(class, Class::D3 | Class::A6);
        let loses = match &lost {
            Lost::Copy { .. } if whole => "the whole conversation".to_owned(),
            Lost::Copy { .. } => "the end of the conversation".to_owned(),
            other => other.loses(),
        };
        let repair = if self.live {
            "nothing while its agent lives: rekindle puts it back before the next resume".to_owned()
        } else {
            lost.repair(key)
        };
        self.findings.retain(|finding| finding.class != class);
        self.findings.push(Finding { class, rows: Vec::new(), count: 1, loses, repair });
        if self.status != Status::Missing {
            self.status = Status::Corrupted;
        }
        self.lost = Some(lost);
    }
}

/// A main transcript lies right in its project's folder, a subagent's deeper.
pub(crate) fn is_main(path: &Path) -> bool {
    path.ancestors().nth(2).is_some_and(|projects| projects.ends_with("projects"))
}

fn scan_files(sources: &[&Source], progress: &(impl Fn(u64, u64) + Sync)) -> Vec<(PathBuf, Entry<Known>)> {
    let total: u64 = sources.iter().map(|source| source.stamp.size).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let buffers: Mutex<Vec<Buffer>> = Mutex::default();
    sources
        .par_iter()
        .map(|source| {
            let spare = buffers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
            let mut buffer = spare.unwrap_or_default();
            let read_at_ns = nanoseconds(SystemTime::now());
            // The stamp of what is read, not of what was listed: the file may have grown in between.
            let stamp = std::fs::metadata(&source.path).map_or(source.stamp, |meta| Stamp::of(&meta));
            let scan = scan_file(&source.path, &mut buffer);
            buffers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(buffer);
            let size = source.stamp.size;
            progress(done.fetch_add(size, std::sync::atomic::Ordering::Relaxed) + size, total);
            (source.path.clone(), Entry { stamp, read_at_ns, value: Known::of(&scan) })
        })
        .collect()
}

/// The verdict on a file alone, also where it cannot be read.
pub fn scan_file(path: &Path, buffer: &mut Buffer) -> Scan {
    let examined = Transcript::open(path, buffer).and_then(|transcript| transcript.examine());
    match examined {
        Ok((scan, _)) => scan,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => unread(Status::Missing),
        Err(_) => unread(Status::Unreadable),
    }
}

fn unread(status: Status) -> Scan {
    Scan {
        status,
        chain_depth: 0,
        orphan_count: 0,
        message_count: 0,
        file_size: 0,
        findings: Vec::new(),
        loss: Loss::default(),
        forks: Forks::default(),
        cwd: None,
        inner_session: None,
    }
}

/// Which directories exist: not a fact about a transcript, so it is looked up anew, once for each.
#[derive(Default)]
struct Places(HashMap<String, bool>);

impl Places {
    /// D4: the directory the conversation was held in is gone, or its transcript lies in another one's folder.
    fn add(&mut self, path: &Path, scan: &mut Scan) {
        let Some(cwd) = scan.cwd.as_ref().filter(|_| is_main(path)) else { return };
        let exists = match self.0.get(cwd) {
            Some(exists) => *exists,
            None => *self.0.entry(cwd.clone()).or_insert_with(|| Path::new(cwd).exists()),
        };
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let moved = folder.is_some() && slug(cwd).is_some_and(|slug| Some(slug.as_str()) != folder);
        if exists && !moved {
            return;
        }
        let repair = if exists {
            format!("nothing: resume it from {cwd}, or move the file to that directory's folder")
        } else {
            format!("nothing: make {cwd} again, older agents resume only from there")
        };
        let loses = "nothing on newer agents; older ones do not find it".to_owned();
        scan.findings.push(Finding { class: Class::D4, rows: Vec::new(), count: 1, loses, repair });
    }
}

fn assemble(session: SessionId, path: PathBuf, live: bool, scan: Scan) -> SessionScan {
    let Scan { status, chain_depth, orphan_count, message_count, file_size, findings, loss, forks, .. } =
        scan;
    let mut findings = findings;
    if live {
        let repair = "nothing while it runs".to_owned();
        let loses = "nothing: a process owns it".to_owned();
        findings.push(Finding { class: Class::D6, rows: Vec::new(), count: 1, loses, repair });
    }
    SessionScan {
        session,
        path,
        status,
        live,
        chain_depth,
        orphan_count,
        message_count,
        file_size,
        findings,
        loss,
        forks,
        lost: None,
        missing: None,
    }
}

/// Files to repair: every transcript that a repair would change. Vanished ones stay so unless they are named.
pub(crate) fn repairable(scans: &[SessionScan], repairer: &Repairer) -> Vec<TranscriptFile> {
    let broken = scans.iter().filter(|scan| scan.status == Status::Corrupted);
    broken
        .filter_map(|scan| {
            let config = repairer.config_of(&scan.path)?.clone();
            Some(TranscriptFile { config, session: scan.session.clone(), path: scan.path.clone() })
        })
        .collect()
}

impl Repairer {
    /// Every conversation that a repair would change. `progress` is told how many bytes have been looked at, and of how many.
    ///
    /// # Errors
    /// The scan failed.
    pub fn broken(&self, progress: impl Fn(u64, u64) + Sync) -> Result<Vec<TranscriptFile>, Error> {
        Ok(repairable(&self.scan_all(progress)?.sessions, self))
    }
}
