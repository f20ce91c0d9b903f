//! The modification time of a transcript that is put back: the agent sweeps old ones, and `--continue` takes the newest.

use std::path::Path;
use std::time::{Duration, SystemTime};

use agents::claude::ConfigDir;
use vault::{Conversation, GenerationInfo};

use crate::Repairer;

/// The agent sweeps transcripts older than this where its settings say nothing (cc#85466).
const SWEPT_AFTER_DAYS: u64 = 30;
const DAY: Duration = Duration::from_secs(86_400);

impl Repairer {
    /// The modification time for a version that is put back at this path.
    pub(crate) fn spared(
        &self,
        conversation: &Conversation,
        generation: &GenerationInfo,
        path: &Path,
    ) -> SystemTime {
        let config = ConfigDir::new(&conversation.config);
        let original =
            SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(generation.mtime_ns).unwrap_or(0));
        let period = DAY * u32::try_from(cleanup_days(&config)).unwrap_or(u32::MAX);
        let newest = newest_transcript(path.parent().unwrap_or(path), path);
        vault::put_back_mtime(original, period, SystemTime::now(), newest)
    }
}

/// The agent's own setting, or its default.
fn cleanup_days(config: &ConfigDir) -> u64 {
    let settings = store::files::read(config.path().join("settings.json")).unwrap_or_default();
    let settings: Option<serde_json::Value> = serde_json::from_slice(&settings).ok();
    settings.and_then(|settings| settings.get("cleanupPeriodDays")?.as_u64()).unwrap_or(SWEPT_AFTER_DAYS)
}

/// The newest modification time among the other transcripts of a folder: `--continue` must not change its mind.
fn newest_transcript(folder: &Path, but: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| path != but);
    let transcripts = others.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    transcripts.filter_map(|path| std::fs::metadata(path).ok()?.modified().ok()).max()
}
