//! The slash commands and skills of this workspace, as files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// The workspace, which is the plugin.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every slash command and skill, by its path in the workspace.
pub fn all() -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(workspace().join("commands"))? {
        texts.push(format!("commands/{}", entry?.file_name().to_string_lossy()));
    }
    for entry in fs::read_dir(workspace().join("skills"))? {
        texts.push(format!("skills/{}/SKILL.md", entry?.file_name().to_string_lossy()));
    }
    texts.sort();
    Ok(texts)
}

/// What stands between backticks in a text, and begins with these words.
pub fn quoted<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| span.starts_with(begin)).collect()
}
