use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One configuration directory of the agent (`CLAUDE_CONFIG_DIR`, by default `~/.claude`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigDir(Arc<Path>);

impl ConfigDir {
    /// Takes a path as it is; nothing is looked up.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self(Arc::from(path.as_ref()))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the transcripts of all projects are.
    pub fn projects(&self) -> PathBuf {
        self.0.join("projects")
    }

    /// The prompts of all sessions, one row each.
    pub fn history(&self) -> PathBuf {
        self.0.join("history.jsonl")
    }

    /// Where an agent registers itself while it runs, as `<pid>.json`.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }
}

/// The configuration directories to look at.
///
/// A given `CLAUDE_CONFIG_DIR` means only that one, as it does to the agent; otherwise `~/.claude` and those that
/// slots and session records name. Two spellings of one directory count once.
pub fn config_dirs(
    claude_config_dir: Option<&Path>,
    home: Option<&Path>,
    extra: &[PathBuf],
) -> Vec<ConfigDir> {
    let wanted: Vec<PathBuf> = match claude_config_dir {
        // The agent treats an empty variable as unset.
        Some(only) if !only.as_os_str().is_empty() => vec![only.to_path_buf()],
        _ => home.map(|home| home.join(".claude")).into_iter().chain(extra.iter().cloned()).collect(),
    };
    let mut seen = Vec::new();
    let mut dirs = Vec::new();
    for path in wanted {
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !seen.contains(&real) {
            seen.push(real);
            dirs.push(ConfigDir::new(path));
        }
    }
    dirs
}

/// Whose transcripts a configuration directory has: the directory in which its `projects` really lies. Accounts that share
/// their transcripts by a link are one account here; two copies of a directory are two.
pub fn account(config: &Path) -> PathBuf {
    let real = |path: PathBuf| std::fs::canonicalize(path).ok();
    let of_projects =
        real(config.join("projects")).and_then(|projects| Some(projects.parent()?.to_path_buf()));
    of_projects.or_else(|| real(config.to_path_buf())).unwrap_or_else(|| config.to_path_buf())
}

/// Whether two configuration directories are two accounts beyond doubt: both are here, and have different transcripts. A path
/// that does not exist here may be the other one's name in a container, or where it was before it was moved.
pub fn are_two_accounts(one: &Path, two: &Path) -> bool {
    one != two && one.is_dir() && two.is_dir() && !is_account(&account(one), two)
}

/// Whether a configuration directory is of the account with this folder. One folder may have two paths, by a bind mount.
pub fn is_account(folder: &Path, config: &Path) -> bool {
    let identity = |path: &Path| {
        let meta = std::fs::metadata(path.join("projects")).ok()?;
        Some((meta.dev(), meta.ino()))
    };
    folder == account(config) || identity(folder).is_some_and(|folder| Some(folder) == identity(config))
}

/// One configuration directory for each account, the first of each: those that share their transcripts by a link would
/// else be read twice.
pub fn distinct_accounts(configs: &[ConfigDir]) -> Vec<&ConfigDir> {
    let mut known = std::collections::HashSet::new();
    configs.iter().filter(|config| known.insert(account(config.path()))).collect()
}

/// The configuration directory that a transcript lies in: `<config>/projects/<slug>/<session>.jsonl`.
pub fn config_of(transcript: &Path) -> Option<&Path> {
    let projects = transcript.parent()?.parent()?;
    (projects.file_name()? == "projects").then(|| projects.parent())?
}

// Longer slugs are cut here and get a hash appended (seen in transcripts).
const LONGEST_SLUG: usize = 200;

/// The folder name the agent gives to a working directory: lossy, so the `cwd` inside the rows is the truth.
///
/// `None` above 200 characters: the agent cuts those and appends a hash that is not documented, so such a folder is
/// found by listing, never by computing its name.
pub fn slug(cwd: &str) -> Option<String> {
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    (slug.len() <= LONGEST_SLUG).then_some(slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_means_only_that_directory() {
        let extra = [PathBuf::from("/slots/2")];
        let only = config_dirs(Some(Path::new("/c")), Some(Path::new("/home/u")), &extra);
        assert_eq!(only, [ConfigDir::new("/c")]);
        let all = config_dirs(None, Some(Path::new("/home/u")), &extra);
        assert_eq!(all, [ConfigDir::new("/home/u/.claude"), ConfigDir::new("/slots/2")]);
        let unset = config_dirs(Some(Path::new("")), Some(Path::new("/home/u")), &[]);
        assert_eq!(unset, [ConfigDir::new("/home/u/.claude")]);
    }

    #[test]
    fn two_spellings_of_one_directory_count_once() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::os::unix::fs::symlink(home.path().join(".claude"), home.path().join("link")).unwrap();
        let dirs = config_dirs(None, Some(home.path()), &[home.path().join("link")]);
        assert_eq!(dirs, [ConfigDir::new(home.path().join(".claude"))]);
    }

    #[test]
    fn a_link_to_the_same_transcripts_is_the_same_account_and_a_copy_is_not() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (first, second, copy) = (root.join("first"), root.join("second"), root.join("copy"));
        for dir in [first.join("projects"), second.clone(), copy.join("projects")] {
            std::fs::create_dir_all(dir).unwrap();
        }
        std::os::unix::fs::symlink(first.join("projects"), second.join("projects")).unwrap();
        assert_eq!(account(&second), first);
        assert_eq!(account(&copy), copy);
        assert_eq!(account(&root.join("gone")), root.join("gone"));
        assert!(are_two_accounts(&first, &copy));
        assert!(!are_two_accounts(&first, &second) && !are_two_accounts(&first, &first));
        assert!(!are_two_accounts(&first, &root.join("gone")), "a container may see it under that path");
        assert_eq!(config_of(&first.join("projects/-x/s1.jsonl")), Some(first.as_path()));
        assert_eq!(config_of(Path::new("/elsewhere/-x/s1.jsonl")), None);
    }

    #[test]
    fn slugs_as_the_agent_makes_them() {
        assert_eq!(slug("/home/me/my_app.rs").as_deref(), Some("-home-me-my-app-rs"));
        assert_eq!(slug("/ü").as_deref(), Some("--"));
        assert_eq!(slug(&"x".repeat(201)), None);
    }
}
