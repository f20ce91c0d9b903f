//! Puts back what the vault still has of a conversation that was deleted, emptied, cut short or overwritten.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::claude::{ConfigDir, TranscriptFile, config_of, is_account};
use agents::{SessionId, Stamp};
use jiff::Timestamp;
use store::durable::{self, Kept};
use transcript::{Buffer, Transcript};
use vault::{
    Conversation, Event, FileKind, GenerationInfo, Key, MirroredFile, Origination, Relation, Wanted,
};

use crate::account::one_account;
use crate::backup::Backup;
use crate::examine::{is_main, scan_file};
use crate::fullest::{Fullest, Lost, ROWS_MISSING, Remade};
use crate::repair::{RepairOutcome, RepairStatus, refuse};
use crate::swap::{self, Placement};
use crate::{Error, Refusal, Repairer};

/// What came of putting a conversation back.
#[derive(Debug, Clone)]
pub struct PutBack {
    /// The session to resume: a new one where the old id holds another conversation by now.
    pub session: SessionId,
    /// Where it is.
    pub path: PathBuf,
    /// Which generation of the vault.
    pub generation: u32,
    /// What stood there, where something did.
    pub backup: Option<PathBuf>,
    /// How many other files of the conversation (subagents, tool results) came back with it.
    pub others: usize,
    /// Which other files stay away, because damage leaves a doubt about what they held.
    pub left_out: Vec<String>,
    /// Why this may not be everything that was there, where somebody asked for less than that.
    pub doubt: Option<String>,
}

impl Repairer {
    /// Puts back what a conversation lost, before a repair looks at what is there. `None`: nothing is lost.
    pub(crate) fn put_back_lost(
        &self,
        file: &TranscriptFile,
        path: &Path,
        dry_run: bool,
    ) -> Result<Option<RepairOutcome>, Error> {
        // The vault itself is asked, not what its last sync noticed: the loss may be a minute old.
        let Some(config) = self.config_of(&file.path) else { return Ok(None) };
        let key = self.vault.key(config, Some(&file.session));
        let Some((conversation, mirrored)) = self.mirrored(&key, &file.path)? else { return Ok(None) };
        let fullest = self.fullest(path, &conversation, &mirrored)?;
        let Some(lost) = fullest.lost() else { return Ok(None) };
        if !fullest.is_certain(&mirrored) {
            let doubt = self.vault.choose(&conversation, &mirrored, Wanted::Best).err().map(doubtful);
            let refusal = doubt.transpose()?.unwrap_or_else(|| Refusal::Doubtful(UNPROVEN.to_owned()));
            return Ok(Some(RepairOutcome::refused(file, &refusal)));
        }
        let mut outcome = RepairOutcome::new(file, RepairStatus::Repaired);
        outcome.reason = Some(reason(&lost, dry_run));
        outcome.missing = lost.missing().map(str::to_owned);
        if dry_run {
            return Ok(Some(outcome));
        }
        match self.put_back_fullest(&conversation, &mirrored, fullest, path)? {
            Ok(back) => {
                outcome.resume_id = back.session;
                outcome.path = back.path;
                outcome.backup = back.backup;
                outcome.left_out = back.left_out;
                outcome.missing = back.doubt;
                outcome.new_chain_depth = scan_file(&outcome.path, &mut Buffer::default()).chain_depth;
                Ok(Some(outcome))
            }
            Err(refusal) => Ok(Some(RepairOutcome::refused(file, &refusal))),
        }
    }

    /// Whether a scan's loss is one: agents cut and rewrite their own files too.
    pub(crate) fn is_lost(&self, key: &Key, path: &Path) -> Result<bool, Error> {
        Ok(self.lost(key, path)?.is_some())
    }

    /// Whether what the vault saw happen to a file lost anything: agents cut and rewrite their own transcripts, too.
    ///
    /// # Errors
    /// The vault cannot be read.
    pub fn loses(&self, key: &Key, path: &Path, event: Event) -> Result<bool, Error> {
        let rewritten = event.is_loss() && event != Event::Deleted;
        let rows = path.extension().is_some_and(|extension| extension == "jsonl");
        if !rewritten || !rows || key.session().is_none() {
            return Ok(event.is_loss());
        }
        if is_main(path) {
            return self.is_lost(key, path);
        }
        // A subagent's rows are no conversation: nothing is proven of their order.
        let Some((conversation, mirrored)) = self.mirrored(key, path)? else { return Ok(false) };
        let Some(best) = mirrored.best_generation() else { return Ok(false) };
        Ok(self.relation(path, &conversation, &mirrored, best)? == Relation::Subset)
    }

    /// Makes the file hold the fullest copy. What cannot be proven to belong to it is kept under an id of its own.
    fn put_back_fullest(
        &self,
        conversation: &Conversation,
        mirrored: &MirroredFile,
        fullest: Fullest,
        path: &Path,
    ) -> Result<Result<PutBack, Refusal>, Error> {
        let session = match self.free_session(conversation, path) {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let folder = path.parent().unwrap_or(path);
        let mut copied = None;
        for beside in &fullest.beside {
            let newest = beside.generations.last().copied().unwrap_or_default();
            let mtime =
                mirrored.generation(newest).map(|generation| self.spared(conversation, generation, path));
            durable::private_dir(folder)?;
            let kept = Kept { mode: None, mtime };
            let (id, copy) = crate::as_copy::write_copy(folder, session.as_str(), &beside.bytes, kept)?;
            self.note_copy(&id, &copy)?;
            self.tell("put_back", |entry| {
                entry
                    .with("sessionId", session.as_str())
                    .with("path", copy.to_string_lossy())
                    .with("generation", newest)
            })?;
            copied = Some(PutBack {
                session: id,
                path: copy,
                generation: newest,
                backup: None,
                others: 0,
                left_out: Vec::new(),
                doubt: None,
            });
        }
        let back = match fullest.remade {
            Some(Remade::Copy(generation)) => self.put_back(conversation, mirrored, &generation, path)?,
            Some(Remade::Joined { bytes, generations, gap, .. }) => {
                let newest = generations.last().copied().unwrap_or_default();
                let mtime =
                    mirrored.generation(newest).map(|generation| self.spared(conversation, generation, path));
                let content = Content { generation: newest, mtime, read: Some(fullest.read) };
                let fill = |out: &mut dyn std::io::Write| out.write_all(&bytes);
                let back = self.replace(conversation, &session, path, content, &fill)?;
                back.map(|back| PutBack { doubt: gap.then(|| ROWS_MISSING.to_owned()), ..back })
            }
            None => {
                // The copy has what was lost: asked again, nothing is lost any more.
                self.acknowledge(&session, path)?;
                return Ok(copied.ok_or_else(|| Refusal::Diverged("nothing is lost".to_owned())));
            }
        };
        self.weighed(back, &session, conversation, None)
    }

    /// Tells the vault that nothing is lost any more, though the file stays as it is.
    fn acknowledge(&self, session: &SessionId, path: &Path) -> Result<(), Error> {
        let Some(config) = self.config_of(path).cloned() else { return Ok(()) };
        let file = TranscriptFile { config, session: session.clone(), path: path.to_path_buf() };
        // A loss that no sync has seen yet must stand before it can be made good.
        if let Some(source) = self.source_of(&file) {
            self.mirror(&source, Origination::Theirs, Timestamp::now())?;
        }
        self.note_ours(session, path)
    }

    /// Puts back a conversation that the user names: of this account, else of the one that its record names. What is in doubt
    /// is refused, unless less than everything is wanted.
    ///
    /// # Errors
    /// The vault or the file system failed.
    pub fn restore(
        &self,
        session: &SessionId,
        account: Option<&ConfigDir>,
        wanted: Wanted,
    ) -> Result<Option<Result<PutBack, Refusal>>, Error> {
        let found = self.vault.find(session)?;
        let recorded =
            if account.is_none() && found.len() > 1 { self.recorded_accounts(session) } else { Vec::new() };
        let account = account.or(match recorded.as_slice() {
            [only] => Some(only),
            _ => None,
        });
        if account.is_none() && found.len() > 1 {
            let accounts: Vec<ConfigDir> =
                found.into_iter().map(|conversation| ConfigDir::new(conversation.config)).collect();
            let refusal = one_account(session, &accounts).err().map(|error| error.to_string());
            return Ok(Some(Err(Refusal::Diverged(refusal.unwrap_or_default()))));
        }
        self.restore_where(session, wanted, |config, path| {
            let is_it = |own: &ConfigDir| {
                path.starts_with(own.path())
                    || (own.path().is_dir() && is_account(&agents::claude::account(config), own.path()))
            };
            account.is_none_or(is_it)
        })
    }

    /// Puts back the best generation of the conversation that was at this path.
    ///
    /// # Errors
    /// The vault or the file system failed.
    pub fn restore_at(&self, file: &TranscriptFile) -> Result<Option<Result<PutBack, Refusal>>, Error> {
        let is_same = |one: &Path| {
            let real = |path: &Path| std::fs::canonicalize(path).ok();
            one == file.path || real(one).is_some_and(|one| Some(one) == real(&file.path))
        };
        self.restore_where(&file.session, Wanted::Best, |_, path| is_same(path))
    }

    fn restore_where(
        &self,
        session: &SessionId,
        wanted: Wanted,
        is_there: impl Fn(&Path, &Path) -> bool,
    ) -> Result<Option<Result<PutBack, Refusal>>, Error> {
        let found = self.vault.find(session)?.into_iter().find_map(|conversation| {
            let mirrored = conversation.transcript()?.clone();
            let path = conversation.config.join(&mirrored.name);
            is_there(&conversation.config, &path).then_some((conversation, mirrored, path))
        });
        let Some((conversation, mirrored, path)) = found else { return Ok(None) };
        if self.is_retargeted(&conversation) {
            let config = conversation.config.display();
            return Ok(Some(Err(Refusal::Doubtful(format!(
                "{config} is another account's directory now than when the copy was made; point it back first"
            )))));
        }
        let choice = match self.vault.choose(&conversation, &mirrored, wanted) {
            Ok(Some(choice)) => choice,
            Ok(None) => return Ok(None),
            Err(error) => return doubtful(error).map(|refusal| Some(Err(refusal))),
        };
        // The file behind a link is the one to change; the link stays.
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let _lock = self.lock(session)?;
        self.recover(&path, session)?;
        if wanted == Wanted::Best {
            let fullest = self.fullest(&path, &conversation, &mirrored)?;
            if fullest.read.is_none()
                && let Some(beside) = fullest.beside.first()
            {
                let lost = Lost::Choice { generations: beside.generations.clone(), doubt: beside.doubt };
                return Ok(Some(Err(Refusal::Diverged(lost.remedy(&self.key_at(session, &path))))));
            }
            if fullest.remade.is_some() {
                if !fullest.is_certain(&mirrored) {
                    return Ok(Some(Err(Refusal::Doubtful(UNPROVEN.to_owned()))));
                }
                return Ok(Some(self.put_back_fullest(&conversation, &mirrored, fullest, &path)?));
            }
        }
        let back = self.put_back(&conversation, &mirrored, &choice.generation, &path)?;
        match wanted {
            // Its user knows that there are other versions.
            Wanted::Number(_) => Ok(Some(back.map(|back| PutBack { doubt: choice.doubt, ..back }))),
            Wanted::Best | Wanted::Whole => {
                self.weighed(back, session, &conversation, choice.doubt).map(Some)
            }
        }
    }

    pub(crate) fn mirrored(
        &self,
        key: &Key,
        path: &Path,
    ) -> Result<Option<(Conversation, MirroredFile)>, Error> {
        let Some(conversation) = self.vault.conversation(key)? else { return Ok(None) };
        // By another path of its account, too.
        let below = |config: &Path| path.strip_prefix(config).ok();
        let name = below(&conversation.config).or_else(|| below(config_of(path)?));
        let name = name.unwrap_or(path).to_path_buf();
        let known = conversation.files.iter().find(|file| Path::new(&file.name) == name).cloned();
        // Lines that are lost may have held versions of a file of which no other line is left.
        let unknown = || MirroredFile {
            name: name.to_string_lossy().into_owned(),
            kind: FileKind::Transcript,
            gone: None,
            generations: Vec::new(),
        };
        let file = known.or_else(|| (!conversation.damage.is_empty() && is_main(path)).then(unknown));
        Ok(file.map(|file| (conversation, file)))
    }

    /// How the rows that are there relate to a generation.
    pub(crate) fn relation(
        &self,
        path: &Path,
        conversation: &Conversation,
        mirrored: &MirroredFile,
        generation: &GenerationInfo,
    ) -> Result<Relation, Error> {
        let mut vaulted = Vec::new();
        self.vault.read(&conversation.key, &mirrored.name, Some(generation.number), &mut vaulted)?;
        let vaulted: HashSet<u128> = Transcript::of(&vaulted, None).ids().collect();
        let current = match Transcript::open(path, &mut Buffer::default()) {
            Ok(current) => current,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Relation::Subset),
            Err(source) => return Err(Error::Read { path: path.to_path_buf(), source }),
        };
        Ok(vault::compare_uuid_sets(&current.ids().collect(), &vaulted))
    }

    /// The session that a file is put back for, where no agent is in it.
    fn free_session(&self, conversation: &Conversation, path: &Path) -> Result<SessionId, Refusal> {
        let session = conversation.session.clone();
        let session =
            session.ok_or_else(|| Refusal::Diverged("the history is restored with --to only".to_owned()))?;
        match refuse(self.owners_of(path).of(&session, path)) {
            Some(refusal) => Err(refusal),
            None => Ok(session),
        }
    }

    fn put_back(
        &self,
        conversation: &Conversation,
        mirrored: &MirroredFile,
        generation: &GenerationInfo,
        path: &Path,
    ) -> Result<Result<PutBack, Refusal>, Error> {
        let session = match self.free_session(conversation, path) {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let folder = path.parent().unwrap_or(path);
        let mtime = self.spared(conversation, generation, path);
        durable::private_dir(folder)?;
        // Only a file that holds nothing else is replaced by its past; what is more, or other, keeps its place.
        if path.exists() && self.relation(path, conversation, mirrored, generation)? == Relation::Diverged {
            let mode = std::fs::metadata(path).ok().and_then(|meta| Kept::of(&meta).mode);
            let kept = Kept { mode, mtime: Some(mtime) };
            let copied = self.copy_from_vault(conversation, mirrored, generation, folder, kept)?;
            self.note_copy(&copied.session, &copied.path)?;
            // What is there may stay: asked again, nothing is lost any more.
            self.acknowledge(&session, path)?;
            self.tell("put_back", |entry| {
                entry
                    .with("sessionId", session.as_str())
                    .with("path", copied.path.to_string_lossy())
                    .with("generation", generation.number)
            })?;
            return Ok(Ok(copied));
        }
        let fill = |out: &mut dyn std::io::Write| {
            let read = self.vault.read(&conversation.key, &mirrored.name, Some(generation.number), out);
            read.map(|_| ()).map_err(|error| std::io::Error::other(error.to_string()))
        };
        let content = Content { generation: generation.number, mtime: Some(mtime), read: None };
        self.replace(conversation, &session, path, content, &fill)
    }

    /// Puts a version in the place of what is there, or where nothing is, with the conversation's other files.
    fn replace(
        &self,
        conversation: &Conversation,
        session: &SessionId,
        path: &Path,
        content: Content,
        fill: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> Result<Result<PutBack, Refusal>, Error> {
        let config = ConfigDir::new(&conversation.config);
        durable::private_dir(path.parent().unwrap_or(path))?;
        let there = store::files::open(path).ok();
        let meta = there.as_ref().and_then(|file| file.metadata().ok());
        let stamp = meta.as_ref().map(Stamp::of);
        // What was joined must be what is there.
        if content.read.is_some_and(|read| read != stamp) {
            return Ok(Err(Refusal::Changing));
        }
        let mode = meta.as_ref().and_then(|meta| Kept::of(meta).mode);
        let kept = match &meta {
            Some(meta) if content.read.is_some() => Kept::of(meta),
            _ => Kept { mode, mtime: content.mtime },
        };
        let at = Timestamp::now();
        let backups = self.vault.backups();
        let mut backup = None;
        if let (Some(old), Some(meta)) = (there, meta) {
            let made = durable::write_beside(path, kept, fill)?;
            // A run that was killed when the file was back is run again: that is no second change to take back.
            if !swap::is_same(path, &old, &made)? {
                let file = TranscriptFile {
                    config: config.clone(),
                    session: session.clone(),
                    path: path.to_path_buf(),
                };
                if let Some(source) = self.source_of(&file) {
                    self.mirror(&source, Origination::Theirs, at)?;
                }
                let taken = Backup::take(&backups, session, path, at)?;
                backup = Some(taken.transcript());
                let (meta, classes) = (&meta, Vec::new());
                let placement = Placement { session, path, old, meta, made, backup: taken, classes, now: at };
                match self.place(placement)? {
                    Err(refusal) => return Ok(Err(refusal)),
                    Ok(swapped) => swap::watch(vec![swapped]).into_iter().collect::<Result<(), Error>>()?,
                }
            }
        } else {
            let taken = Backup::empty(&backups, session, at)?;
            self.note_change(session, path, &taken, true, None)?;
            let made = durable::write_beside(path, kept, fill)?;
            self.place_new(session, path, made, &taken, at)?;
        }
        let (others, left_out) = self.put_back_others(conversation)?;
        let file = TranscriptFile { config, session: session.clone(), path: path.to_path_buf() };
        if let Some(source) = self.source_of(&file) {
            self.mirror(&source, Origination::Ours, Timestamp::now())?;
        }
        self.tell("put_back", |entry| {
            entry
                .with("sessionId", session.as_str())
                .with("path", path.to_string_lossy())
                .with("generation", content.generation)
        })?;
        let (session, path, generation) = (session.clone(), path.to_path_buf(), content.generation);
        Ok(Ok(PutBack { session, path, generation, backup, others, left_out, doubt: None }))
    }

    /// The old id holds another conversation: the vaulted one comes back under a new id.
    fn copy_from_vault(
        &self,
        conversation: &Conversation,
        mirrored: &MirroredFile,
        generation: &GenerationInfo,
        folder: &Path,
        kept: Kept,
    ) -> Result<PutBack, Error> {
        let mut bytes = Vec::new();
        self.vault.read(&conversation.key, &mirrored.name, Some(generation.number), &mut bytes)?;
        let old = conversation.session.as_ref().map(|id| id.as_str().to_owned()).unwrap_or_default();
        let (session, path) = crate::as_copy::write_copy(folder, &old, &bytes, kept)?;
        let generation = generation.number;
        Ok(PutBack { session, path, generation, backup: None, others: 0, left_out: Vec::new(), doubt: None })
    }
}

const UNPROVEN: &str = "what is there shows that more was there";

/// What the vault cannot prove is refused; everything else that goes wrong is an error.
fn doubtful(error: vault::Error) -> Result<Refusal, Error> {
    match error {
        vault::Error::Doubtful { what, .. } => Ok(Refusal::Doubtful(what)),
        error => Err(error.into()),
    }
}

/// What a repair says it did, or would do.
fn reason(lost: &Lost, dry_run: bool) -> String {
    let done = if dry_run { "would be" } else { "was" };
    match lost {
        Lost::Copy { generation } => format!("version {generation} of the vault {done} put back"),
        Lost::Parts { generations, .. } => {
            let numbers: Vec<String> = generations.iter().map(ToString::to_string).collect();
            let (word, done) = match (numbers.len(), dry_run) {
                (1, true) => ("version", "would be"),
                (1, false) => ("version", "was"),
                (_, true) => ("versions", "would be"),
                (_, false) => ("versions", "were"),
            };
            let numbers = numbers.join(" and ");
            format!("{word} {numbers} of the vault {done} put back, with the newer rows behind")
        }
        Lost::Doubtful => UNPROVEN.to_owned(),
        Lost::Choice { generations, doubt } => {
            let newest = generations.last().copied().unwrap_or_default();
            format!(
                "the file stays; version {newest} of the vault {done} put back under a new id, because {}",
                doubt.words()
            )
        }
    }
}

/// What is put into the place of a file.
#[derive(Clone, Copy)]
struct Content {
    /// The newest generation in it.
    generation: u32,
    mtime: Option<SystemTime>,
    /// The file that it was made from (nothing where there was none), where that matters.
    read: Option<Option<Stamp>>,
}
