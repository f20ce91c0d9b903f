//! Exit codes, and how a failure is told.

use std::process::ExitCode;

use store::machine_key::KeyTrouble;
use store::saves::SaveError;

/// Every way a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// It failed; nothing was changed by half.
    Failed = 1,
    /// What was typed makes no sense.
    Usage = 2,
    /// A guard said no.
    Refused = 3,
    /// Some of it was done.
    Partly = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what it should: one sentence, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What is wrong and what to do, on one line.
    pub(crate) fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// Says it on standard error; scripts that wait for JSON get it as an object, too.
    pub(crate) fn report(self, for_scripts: bool) -> ExitCode {
        if for_scripts {
            crate::output::json_error(self.exit as u8, &self.message, self.hint.as_deref());
        }
        crate::output::say(&format!("rekindle: {}", self.message));
        if let Some(hint) = self.hint {
            crate::output::say(&format!("  {hint}"));
        }
        self.exit.into()
    }

    /// What clap has to say: help and version are no failures.
    pub(crate) fn usage(error: &clap::Error, for_scripts: bool) -> ExitCode {
        if for_scripts && error.use_stderr() {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let message = first.strip_prefix("error: ").unwrap_or(first);
            crate::output::json_error(Exit::Usage as u8, message, None);
        }
        let _ = error.print();
        if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
    }
}

/// Whether this process must not write, since the state directory's key is not here.
fn is_key_trouble(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<KeyTrouble>()
            || matches!(cause.downcast_ref(), Some(sessions::Error::Key(_)))
            || matches!(cause.downcast_ref(), Some(SaveError::Key(_)))
    })
}

/// Errors of libraries become one sentence: the error and its causes.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        let error = error.into();
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let is_space = error.chain().any(|cause| {
            cause
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.kind() == std::io::ErrorKind::StorageFull)
        });
        let is_key = is_key_trouble(&error);
        let exit = if is_key { Exit::Refused } else { Exit::Failed };
        let failure = Failure::new(exit, format!("cannot {}", causes.join(": ")));
        if is_space { failure.hint("the disk is full: make room and try again") } else { failure }
    }
}
