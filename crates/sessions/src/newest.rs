//! The newest conversation of a directory: the least that can be said of an agent that nothing names.

use agents::SessionId;
use agents::claude::{ConfigDir, slug};

/// The conversation whose transcript changed last in an agent's directory.
pub fn newest_transcript(config: &ConfigDir, cwd: &str) -> Option<SessionId> {
    let folder = config.projects().join(slug(cwd)?);
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let transcripts = entries.filter_map(|entry| {
        let name = entry.file_name();
        let session = SessionId::new(name.to_str()?.strip_suffix(".jsonl")?).ok()?;
        Some((entry.metadata().ok()?.modified().ok()?, session))
    });
    transcripts.max().map(|(_, session)| session)
}
