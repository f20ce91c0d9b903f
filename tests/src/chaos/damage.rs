//! Files as a power cut leaves them: cut short, or with NULs where bytes were not written yet.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

use super::random::Random;
use super::stage::Stage;
use crate::process::wait_until;

/// A block of a disk: what was appended last is lost in such pieces.
const BLOCK: usize = 4096;

/// The vault takes a turn a moment after it ended.
const VAULTED: Duration = Duration::from_secs(30);

/// Damages the end of a file from somewhere behind `from`, and says how. The modification time stays.
pub(super) fn tear(path: &Path, from: usize, random: &mut Random) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("no {}", path.display()))?;
    let modified = fs::metadata(path)?.modified()?;
    let at = random.between(from.min(bytes.len())..=bytes.len().saturating_sub(1));
    let (left, how) = if random.chance(50) {
        (bytes[..at].to_vec(), "cut")
    } else {
        ([&bytes[..at], &vec![0; bytes.len() - at]].concat(), "NULs")
    };
    fs::write(path, left)?;
    fs::File::options().append(true).open(path)?.set_modified(modified)?;
    Ok(format!("{how} from {at} of {} in {}", bytes.len(), path.display()))
}

impl Stage {
    /// A few of the conversations.
    fn some(&self, random: &mut Random) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.talkers.len()).collect();
        random.shuffle(&mut all);
        let many = random.between(1..=all.len().div_ceil(2));
        all.truncate(many);
        all
    }

    /// Waits until the vault has all that a few conversations must get back, and says which.
    pub(super) fn vaulted(&mut self, random: &mut Random) -> Result<Vec<usize>> {
        self.look();
        // As the timer does it: what settles is killed now and then, and nobody else mirrors what it left.
        self.lab.home.rekindle(&["tick"])?;
        let chosen = self.some(random);
        for at in &chosen {
            let talker = &self.talkers[*at];
            let all = || {
                let held = super::ledger::Held::in_rows(&self.in_vault(&talker.session).unwrap_or_default());
                talker.owed().into_iter().all(|number| held.has(number))
            };
            if !wait_until(VAULTED, all) {
                bail!("the vault has not got all of {}", talker.word);
            }
        }
        self.spared.extend(chosen.iter().map(|at| self.talkers[*at].session.clone()));
        Ok(chosen)
    }

    /// Tears the last rows of transcripts.
    pub(super) fn tear_transcripts(&mut self, chosen: &[usize], random: &mut Random) -> Result<()> {
        for at in chosen {
            let path = &self.talkers[*at].transcript;
            let bytes = fs::read(path)?;
            let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
            // The last row, or one of the two before it.
            let back = random.between(2..=4).min(ends.len());
            let from = ends.get(ends.len() - back).map_or(0, |end| end + 1);
            let how = tear(path, from, random)?;
            self.log.say(&how);
        }
        Ok(())
    }

    /// Deletes transcripts; of some the vault's copy with them.
    pub(super) fn delete_transcripts(&mut self, chosen: &[usize], random: &mut Random) -> Result<()> {
        for at in chosen {
            let talker = &mut self.talkers[*at];
            fs::remove_file(&talker.transcript)?;
            let everywhere = random.chance(30);
            self.log.say(&format!("deleted {}, vault too: {everywhere}", talker.transcript.display()));
            if everywhere {
                let vault = self.lab.home.state().join("vault/conversations");
                for config in fs::read_dir(vault)?.flatten() {
                    let copy = config.path().join(&talker.session);
                    if copy.is_dir() {
                        fs::remove_dir_all(copy)?;
                    }
                }
                talker.exchanges.iter_mut().for_each(|exchange| exchange.destroyed = true);
                self.excuses.insert(talker.session.clone());
            }
        }
        Ok(())
    }

    /// Tears the newest save, or the word which one is current: that alone where a power cut has left no other whole one.
    pub(super) fn tear_save(&mut self, random: &mut Random) -> Result<()> {
        let newest = self.current_id()?;
        let folder = self.lab.home.state().join("saves");
        let last_whole = self.saves.first().is_some_and(|first| newest == *first);
        let name =
            if random.chance(25) || last_whole { "current".to_owned() } else { format!("{newest}.json") };
        let how = tear(&folder.join(name), 0, random)?;
        self.log.say(&how);
        Ok(())
    }

    /// Cuts the newest files of the state, or fills them with NULs. The first save is older than any of them; the vault's copies
    /// of conversations whose transcripts are hit in the same round are spared: with both gone nothing is left to judge.
    pub(super) fn cut_power(&mut self, random: &mut Random) -> Result<()> {
        let state = self.lab.home.state();
        let first = self.saves.first().cloned().unwrap_or_default();
        let mut files: Vec<(SystemTime, PathBuf)> = crate::tree::look(&state)?
            .into_keys()
            .filter_map(|path| {
                let meta = fs::symlink_metadata(&path).ok()?;
                let name = path.to_string_lossy();
                let only_copy =
                    |session: &String| name.contains("/vault/") && name.contains(session.as_str());
                let spared = name.contains(&first) || self.spared.iter().any(only_copy);
                (meta.is_file() && meta.len() > 0 && !spared).then_some((meta.modified().ok()?, path))
            })
            .collect();
        files.sort();
        for (_, path) in files.iter().rev().take(random.between(1..=8)) {
            let length = usize::try_from(fs::metadata(path)?.len())?;
            let how = tear(path, length.saturating_sub(BLOCK), random)?;
            self.log.say(&how);
            let name = path.to_string_lossy().into_owned();
            let of_record = name.contains("/session-health/") || name.contains("/spool/");
            // Who a conversation belongs to stands there; without it nobody is resumed by himself.
            let hit = self.talkers.iter().filter(|talker| of_record && name.contains(&talker.session));
            let sessions: Vec<String> = hit.map(|talker| talker.session.clone()).collect();
            self.excuses.extend(sessions);
        }
        Ok(())
    }
}
