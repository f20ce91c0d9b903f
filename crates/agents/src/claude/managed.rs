//! What an organisation's managed settings say of how long conversations may be kept.

use std::path::Path;
use std::time::Duration;

/// Where managed settings are.
pub const MANAGED_SETTINGS: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

const DAY: Duration = Duration::from_secs(86_400);

/// How long a managed policy lets conversations be kept; `None` where there is no such policy.
///
/// A file that is there and cannot be understood keeps nothing from being kept: to erase on a guess is worse.
pub fn managed_retention(settings: &Path) -> Option<Duration> {
    let settings: serde_json::Value = serde_json::from_slice(&crate::files::read(settings).ok()?).ok()?;
    let days = settings.get("cleanupPeriodDays")?.as_u64()?;
    Some(DAY * u32::try_from(days).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::{DAY, managed_retention};

    #[test]
    fn only_a_number_of_days_is_a_policy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("managed-settings.json");
        let check = |text: &str, expect| {
            let mut file =
                std::fs::File::options().write(true).create(true).truncate(true).open(&path).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            assert_eq!(managed_retention(&path), expect, "{text}");
        };
        check(r#"{"cleanupPeriodDays": 7}"#, Some(DAY * 7));
        check(r#"{"cleanupPeriodDays": "7"}"#, None);
        check("{}", None);
        check("{", None);
        assert_eq!(managed_retention(&folder.path().join("none")), None);
    }
}
