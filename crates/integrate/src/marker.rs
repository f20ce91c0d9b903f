//! The mark that says: the settings of this configuration directory are wired.
//!
//! Hot: a plugin's hook asks for it on every event, and then costs one hash of a path and one `stat`.

use std::path::{Path, PathBuf};

use crate::line::is_tmux_line;
use crate::record::{Record, place};

/// Where everything about the wiring lies in the state directory.
pub(crate) fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("wiring")
}

/// The short name of a path: stable, and safe as a file's name.
pub(crate) fn name_of(path: &Path) -> String {
    // Two spellings that differ by slashes and dots are one.
    let clean: PathBuf = path.components().collect();
    blake3::hash(clean.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// The mark of a configuration directory.
pub(crate) fn marker(state_dir: &Path, config_dir: &Path) -> PathBuf {
    folder(state_dir).join(format!("wired-{}", name_of(config_dir)))
}

/// Whether `rekindle init` wired the settings of a configuration directory: then a plugin's hooks have nothing to do.
pub fn is_wired(state_dir: &Path, config_dir: &Path) -> bool {
    std::fs::symlink_metadata(marker(state_dir, config_dir)).is_ok()
}

/// Whether `rekindle init --tmux` wired the configuration of tmux.
pub fn is_tmux_wired(state_dir: &Path) -> bool {
    let record = Record::read(&place(state_dir, None));
    let has_line = |record: Record| record.lines.iter().any(|added| is_tmux_line(&added.line));
    record.is_ok_and(|record| record.is_some_and(has_line))
}

/// The paths by which an agent may name this directory: as it is spelled, and as it is.
pub(crate) fn spellings(config_dir: &Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(config_dir).unwrap_or_else(|_| config_dir.to_path_buf());
    if real == config_dir { vec![real] } else { vec![config_dir.to_path_buf(), real] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::TmuxWish;
    use crate::record::LineRecord;

    #[test]
    fn one_directory_has_one_name() {
        let name = name_of(Path::new("/home/u/.claude"));
        assert_eq!(name, name_of(Path::new("/home/u/./.claude/")));
        assert_ne!(name, name_of(Path::new("/home/u/.claude-2")));
        assert_eq!(name.len(), 16);
    }

    #[test]
    fn a_chosen_look_of_the_status_line_is_no_wiring_of_tmux() {
        let state = tempfile::tempdir().unwrap();
        store::durable::private_dir(&folder(state.path())).unwrap();
        let wired = |lines: &[&str]| {
            let lines =
                lines.iter().map(|line| LineRecord { line: (*line).to_owned(), ..Default::default() });
            let record = Record { lines: lines.collect(), ..Record::default() };
            record.write(&place(state.path(), None)).unwrap();
            is_tmux_wired(state.path())
        };
        assert!(!wired(&["statusline.preset = \"plain\""]));
        let tmux = TmuxWish { conf: "/c".into(), file: "/home/u/it's.conf".into(), text: Vec::new() };
        assert!(wired(&["statusline.preset = \"plain\"", &tmux.line()]));
    }

    #[test]
    fn wired_is_what_has_the_mark() {
        let state = tempfile::tempdir().unwrap();
        let config = Path::new("/home/u/.claude");
        assert!(!is_wired(state.path(), config));
        store::durable::private_dir(&folder(state.path())).unwrap();
        store::durable::replace(&marker(state.path(), config), b"").unwrap();
        assert!(is_wired(state.path(), Path::new("/home/u/.claude/")));
    }
}
