//! Where each shell looks for completions of a user's own.

use std::path::{Path, PathBuf};

use crate::plan::Note;

/// A completion file and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Where it goes.
    pub path: PathBuf,
    /// What it says.
    pub text: Vec<u8>,
}

/// A shell that has completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// Bash, by way of bash-completion.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

impl Shell {
    /// All of them.
    pub const ALL: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

    /// The name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
        }
    }
}

/// The folders that matter, by the environment.
#[derive(Debug, Clone)]
pub struct ShellPlaces {
    /// The home directory.
    pub home: PathBuf,
    /// `$XDG_DATA_HOME`, or its default.
    pub data: PathBuf,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub config: PathBuf,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
}

impl ShellPlaces {
    /// Where the completions of a shell go; `None` where the shell, or a place for them, is not there.
    pub fn place(&self, shell: Shell, notes: &mut Vec<Note>) -> Option<PathBuf> {
        if !self.path.iter().any(|folder| folder.join(shell.name()).is_file()) {
            return None;
        }
        match shell {
            Shell::Bash => Some(self.data.join("bash-completion/completions/rekindle")),
            Shell::Fish => Some(self.config.join("fish/completions/rekindle.fish")),
            // Zsh reads no folder of a user's own by default; one that is there was put into `fpath` by somebody.
            Shell::Zsh => {
                let known = [
                    self.data.join("zsh/site-functions"),
                    self.home.join(".zfunc"),
                    self.home.join(".zsh/completions"),
                    self.home.join(".oh-my-zsh/completions"),
                ];
                let found =
                    known.iter().find(|folder| is_writable(folder)).map(|folder| folder.join("_rekindle"));
                if found.is_none() {
                    notes.push(Note::NoPlace("zsh"));
                }
                found
            }
        }
    }
}

fn is_writable(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::durable::{private_dir, replace};

    #[test]
    fn only_shells_that_are_there_get_completions() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().to_path_buf();
        let bin = home.join("bin");
        let places = ShellPlaces {
            home: home.clone(),
            data: home.join("data"),
            config: home.join("config"),
            path: vec![bin.clone()],
        };
        let mut notes = Vec::new();
        assert_eq!(places.place(Shell::Bash, &mut notes), None);
        private_dir(&bin).unwrap();
        for shell in Shell::ALL {
            replace(&bin.join(shell.name()), b"").unwrap();
        }
        assert_eq!(
            places.place(Shell::Bash, &mut notes),
            Some(home.join("data/bash-completion/completions/rekindle"))
        );
        assert_eq!(
            places.place(Shell::Fish, &mut notes),
            Some(home.join("config/fish/completions/rekindle.fish"))
        );
        assert_eq!(notes, []);
        assert_eq!(places.place(Shell::Zsh, &mut notes), None);
        assert_eq!(notes, [Note::NoPlace("zsh")]);
        private_dir(&home.join(".zfunc")).unwrap();
        assert_eq!(places.place(Shell::Zsh, &mut notes), Some(home.join(".zfunc/_rekindle")));
    }
}
