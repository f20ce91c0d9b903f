//! One session id in several accounts: a conversation is named by its id and its configuration directory.

use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, account as account_of, distinct_accounts};
use agents::{SessionId, is_mark, mark};

use crate::TargetError;

/// A conversation beyond doubt: the account it belongs to, and its id there. (`agents::SessionKey` is the name that rekindle's
/// own files give it.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSession {
    /// The account: the agent's configuration directory.
    pub config: ConfigDir,
    /// Its id.
    pub session: SessionId,
}

/// The id and the account of `ID@ACCOUNT`, where one of these directories is the account that is meant.
pub(crate) fn split<'a>(text: &'a str, configs: &[ConfigDir]) -> Option<(&'a str, Vec<ConfigDir>)> {
    let (id, account) = text.rsplit_once('@')?;
    if id.is_empty() || id.contains('/') {
        return None;
    }
    let is_meant = |config: &&ConfigDir| {
        is(config.path(), account) || (is_mark(account) && mark(&account_of(config.path())) == account)
    };
    let meant: Vec<ConfigDir> = configs.iter().filter(is_meant).cloned().collect();
    (!meant.is_empty()).then_some((id, meant))
}

/// Whether a word means this directory: its path, or the end of it (`.claude`, `work/.claude`). Its mark means it, too.
fn is(config: &Path, word: &str) -> bool {
    let word = word.strip_prefix("~/").unwrap_or(word);
    !word.is_empty() && (config == Path::new(word) || config.ends_with(word))
}

/// The shortest name that tells each of these directories from the others.
pub(crate) fn names(configs: &[ConfigDir]) -> Vec<String> {
    let name = |config: &ConfigDir| {
        let parts: Vec<_> = config.path().components().collect();
        let ends = (0..parts.len()).rev().map(|from| parts[from..].iter().collect::<PathBuf>());
        let unique = |end: &PathBuf| configs.iter().filter(|other| other.path().ends_with(end)).count() == 1;
        let end = ends.into_iter().find(unique).unwrap_or_else(|| config.path().to_path_buf());
        end.to_string_lossy().into_owned()
    };
    configs.iter().map(name).collect()
}

/// The one conversation that a text means among these: an id, its beginning, or either with `@ACCOUNT`. Nothing where none
/// is meant.
///
/// # Errors
/// It means several.
pub fn pick(text: &str, known: &[AccountSession]) -> Result<Option<AccountSession>, TargetError> {
    let mut configs: Vec<ConfigDir> = Vec::new();
    for key in known {
        if !configs.contains(&key.config) {
            configs.push(key.config.clone());
        }
    }
    let (id, meant) = split(text, &configs).unwrap_or((text, configs));
    let begins = |key: &&AccountSession| !id.is_empty() && key.session.as_str().starts_with(id);
    let mut found: Vec<&AccountSession> =
        known.iter().filter(|key| meant.contains(&key.config)).filter(begins).collect();
    if found.iter().any(|key| key.session.as_str() == id) {
        found.retain(|key| key.session.as_str() == id);
    }
    let mut ids: Vec<SessionId> = found.iter().map(|key| key.session.clone()).collect();
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        [] => Ok(None),
        [id] => {
            let accounts: Vec<ConfigDir> = found.into_iter().map(|key| key.config.clone()).collect();
            one_account(id, &accounts).map(Some)
        }
        _ => Err(TargetError::Ambiguous { prefix: text.to_owned(), ids }),
    }
}

/// The conversation, where only one account has it. Directories that share their transcripts are one account.
pub(crate) fn one_account(id: &SessionId, accounts: &[ConfigDir]) -> Result<AccountSession, TargetError> {
    match distinct_accounts(accounts).as_slice() {
        [config] => Ok(AccountSession { config: (*config).clone(), session: id.clone() }),
        several => {
            let several: Vec<ConfigDir> = several.iter().map(|config| (*config).clone()).collect();
            Err(TargetError::Accounts { id: id.clone(), accounts: names(&several) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(config: &str, id: &str) -> AccountSession {
        AccountSession { config: ConfigDir::new(config), session: SessionId::new(id).unwrap() }
    }

    #[test]
    fn an_id_in_two_accounts_is_refused_until_one_is_named() {
        let known = [key("/h/.claude", "aaaa1"), key("/h/work/.claude", "aaaa1"), key("/h/.claude", "bbbb1")];
        let check = |text: &str, expect: Option<usize>| {
            assert_eq!(pick(text, &known).unwrap(), expect.map(|index| known[index].clone()), "{text}");
        };
        check("bbbb", Some(2));
        check("bbbb1@.claude", Some(2));
        check("aaaa1@work/.claude", Some(1));
        check("aaaa@/h/work/.claude", Some(1));
        check("cccc", None);
        check("bbbb@elsewhere", None);
        let refused = pick("aaaa", &known).unwrap_err().to_string();
        assert!(refused.contains("aaaa1@h/.claude") && refused.contains("aaaa1@work/.claude"), "{refused}");
        assert!(pick("aaaa1@.claude", &known).is_err(), "both end so");
    }
}
