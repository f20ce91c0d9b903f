//! A repaired copy under a new id; the original is left alone.

use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::TranscriptFile;
use store::durable::{self, Kept};
use transcript::{Change, Finding, Status, repair_bytes};

use crate::{Error, Refusal, Repairer, space};

/// What a copy is to hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct CopyOptions {
    /// Only this many of the last turns (C11).
    pub last_turns: Option<u64>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// A copy that was made.
#[derive(Debug, Clone)]
pub struct Copied {
    /// Its id; the original's in a dry run.
    pub session: SessionId,
    /// Where it is.
    pub path: PathBuf,
    /// What was wrong with the original.
    pub findings: Vec<Finding>,
    /// What is different in the copy.
    pub changes: Vec<Change>,
    /// Rows on its walk.
    pub chain_depth: u64,
    /// Dangling parents that have a row now.
    pub orphans_fixed: u64,
}

impl Repairer {
    /// Makes a repaired copy, with the conversation's own folder and file history.
    ///
    /// # Errors
    /// The original cannot be read or the copy not written.
    pub fn copy(
        &self,
        file: &TranscriptFile,
        options: CopyOptions,
    ) -> Result<Result<Copied, Refusal>, Error> {
        let bytes = store::files::read(&file.path).map_err(Error::read(&file.path))?;
        let meta = std::fs::metadata(&file.path).map_err(Error::read(&file.path))?;
        let name = Some(file.session.as_str());
        let (mut mended, plans) = repair_bytes(&bytes, name).map_err(Error::read(&file.path))?;
        if let Some(turns) = options.last_turns {
            mended = transcript::Transcript::of(&mended, name)
                .last_turns(turns)
                .map_err(Error::read(&file.path))?;
        }
        let after = transcript::Transcript::of(&mended, name).examine().map_err(Error::read(&file.path))?.0;
        let mut copied = Copied {
            session: file.session.clone(),
            path: file.path.clone(),
            findings: plans.iter().flat_map(|plan| plan.findings.clone()).collect(),
            changes: plans.iter().flat_map(|plan| plan.changes.clone()).collect(),
            chain_depth: after.chain_depth,
            orphans_fixed: plans.iter().map(|plan| plan.orphans_fixed).sum(),
        };
        if options.dry_run {
            return Ok(Ok(copied));
        }
        if after.status != Status::Healthy {
            return Ok(Err(Refusal::NotProven(after.status.word().to_owned())));
        }
        let folder = file.path.parent().unwrap_or(&file.path);
        if let Err(refusal) = space::room_for(folder, mended.len() as u64) {
            return Ok(Err(refusal));
        }
        let (session, path) = write_copy(folder, file.session.as_str(), &mended, Kept::of(&meta))?;
        let own = |session: &SessionId| folder.join(session.as_str());
        copy_folder(&own(&file.session), &own(&session), file.session.as_str(), session.as_str())?;
        let history = |session: &SessionId| file.config.path().join("file-history").join(session.as_str());
        copy_folder(&history(&file.session), &history(&session), "", "")?;
        self.tell("copy", |entry| {
            entry.with("sessionId", file.session.as_str()).with("copy", session.as_str())
        })?;
        (copied.session, copied.path) = (session, path);
        Ok(Ok(copied))
    }
}

/// Writes rows under a new id into a folder. The time stays: a newer file would be what `--continue` picks.
pub(crate) fn write_copy(
    folder: &Path,
    old: &str,
    bytes: &[u8],
    kept: Kept,
) -> Result<(SessionId, PathBuf), Error> {
    let id = uuid::Uuid::new_v4().to_string();
    let session = SessionId::new(&id).map_err(|error| Error::Read {
        path: folder.to_path_buf(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let path = folder.join(format!("{id}.jsonl"));
    let renamed = transcript::rename_session(bytes, old, &id);
    durable::create_new(&path, kept, |out| out.write_all(&renamed))?;
    Ok((session, path))
}

/// Copies a folder with all below; rows in `.jsonl` files get the new id.
fn copy_folder(from: &Path, to: &Path, old: &str, new: &str) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(from) else { return Ok(()) };
    durable::private_dir(to)?;
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            copy_folder(&source, &target, old, new)?;
        } else if kind.is_file() && !old.is_empty() && source.extension().is_some_and(|ext| ext == "jsonl") {
            let bytes = store::files::read(&source).map_err(Error::read(&source))?;
            let renamed = transcript::rename_session(&bytes, old, new);
            durable::create_new(&target, Kept::default(), |out| out.write_all(&renamed))?;
        } else if kind.is_file() {
            durable::copy_exact(&source, &target)?;
        }
    }
    Ok(())
}
