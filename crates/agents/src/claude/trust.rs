//! Whether a user trusts a folder, by the agent's own file. **It is read and never written.**

use std::path::Path;

use serde_json::Value;

/// Whether a folder, or one above it, was trusted; `None` where that cannot be told.
///
/// `settings` is `.claude.json`: in the home, or inside of `CLAUDE_CONFIG_DIR` where that is set (measured).
pub fn is_trusted(settings: &Path, folder: &Path) -> Option<bool> {
    let value: Value = serde_json::from_slice(&crate::files::read(settings).ok()?).ok()?;
    let projects = value.get("projects")?.as_object()?;
    let trusted = |folder: &Path| {
        let project = folder.to_str().and_then(|folder| projects.get(folder));
        project.is_some_and(|project| project["hasTrustDialogAccepted"] == true)
    };
    let real = std::fs::canonicalize(folder);
    let real = real.as_deref().unwrap_or(folder);
    Some(folder.ancestors().chain(real.ancestors()).any(trusted))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "throwaway files")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_by_itself_or_from_above() {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join(".claude.json");
        assert_eq!(is_trusted(&settings, Path::new("/a")), None);
        let text = r#"{"projects":
            {"/a": {"hasTrustDialogAccepted": true}, "/b": {"hasTrustDialogAccepted": false}}}"#;
        std::fs::write(&settings, text).unwrap();
        assert_eq!(is_trusted(&settings, Path::new("/a")), Some(true));
        assert_eq!(is_trusted(&settings, Path::new("/a/deep/er")), Some(true));
        assert_eq!(is_trusted(&settings, Path::new("/b")), Some(false));
        assert_eq!(is_trusted(&settings, Path::new("/elsewhere")), Some(false));
    }
}
