//! The history of the state (`state.git`): a repository of our own is made anew from what is left. Its past held the text in
//! any of its commits, and git has no way to take something out of one without making all later ones anew.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use sessions::{ask_git, git_agreed};
use store::lock::Lock;
use store::{StateDir, durable};

use crate::{Error, PATIENCE, Subject, reading};

const DEADLINE: Duration = Duration::from_secs(60);
const FRESH: &str = ".rekindle-history";

/// Makes the history anew; what cannot be reached, in words.
pub(crate) fn rewrite(state: &StateDir, subject: &Subject) -> Result<Vec<String>, Error> {
    let fresh = state.path().join(FRESH);
    // A killed run left it: the new one that never got its place, or the old one.
    durable::remove_tree(&fresh)?;
    let git = state.history();
    if !git.exists() {
        return Ok(Vec::new());
    }
    if !state.has_history() {
        return Ok(vec![format!(
            "{} is a repository that rekindle did not make: commits in it may hold the conversation",
            git.display()
        )]);
    }
    let _alone = Lock::acquire(&state.locks().join("git"), PATIENCE)?;
    // Not only the upstream: a forget before this one has unset it, and the remote may still have the text.
    let remotes = ask(state.path(), &git, &["remote"])?;
    told(&remotes)?;
    let remotes: Vec<String> =
        String::from_utf8_lossy(&remotes.stdout).lines().map(|name| name.trim().to_owned()).collect();
    let committed = ask(state.path(), &git, &["ls-files", "-z"])?;
    told(&committed)?;
    let committed = committed.stdout;
    durable::private_dir(&fresh)?;
    told(&ask(state.path(), &fresh, &["init", "--quiet", "--initial-branch=main"])?)?;
    for name in ["config", "info/exclude"] {
        let bytes = store::files::read(git.join(name)).map_err(reading(&git))?;
        durable::private_dir(&fresh.join("info"))?;
        durable::replace(&fresh.join(name), &bytes)?;
    }
    // Without an upstream nothing is pushed: the old commits are there, and only their owner may take them away.
    for key in ["branch.main.remote", "branch.main.merge"] {
        ask(state.path(), &fresh, &["config", "--unset-all", key])?;
    }
    let there: Vec<&str> = committed
        .split(|byte| *byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok())
        .filter(|name| !name.is_empty() && state.path().join(name).exists())
        .collect();
    for names in there.chunks(200) {
        let words: Vec<&str> = ["add", "--"].into_iter().chain(names.iter().copied()).collect();
        told(&ask(state.path(), &fresh, &words)?)?;
    }
    let message = format!("begin anew: {} is forgotten", subject.session.short());
    told(&ask(
        state.path(),
        &fresh,
        &["commit", "--quiet", "--no-verify", "--allow-empty", "-m", &message],
    )?)?;
    durable::exchange(&git, &fresh)?;
    durable::remove_tree(&fresh)?;
    let still_there = |name: &String| {
        format!(
            "the remote {name} of the state's history may still have it: `git -C {} push --force --set-upstream {name} main` \
             replaces what is there",
            state.path().display()
        )
    };
    Ok(remotes.iter().filter(|name| !name.is_empty()).map(still_there).collect())
}

fn ask(folder: &Path, git: &Path, words: &[&str]) -> Result<Output, Error> {
    ask_git(folder, Some(git), words, DEADLINE).map_err(Error::Git)
}

fn told(output: &Output) -> Result<(), Error> {
    git_agreed(output).map_err(Error::Git)
}
