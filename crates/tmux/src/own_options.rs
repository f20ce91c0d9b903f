//! What users have set on single panes (`@name`), and nothing of what their windows, sessions and servers have.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::list::tmux;
use crate::quoting::value;

/// What each pane has: by its id, and by name.
pub(crate) type OwnOptions = HashMap<String, BTreeMap<String, String>>;

/// Commands of tmux that list the options of all panes behind a line with an `o`. tmux has no format for it, but can make the
/// commands by itself (from 3.2 on). They run a moment later: `-q` is for panes that are gone by then.
pub(crate) const ASK: [&str; 7] = [
    "display-message",
    "-p",
    "o",
    ";",
    "run-shell",
    "-C",
    "#{S:#{W:#{P:show-options -q -p -t #{pane_id} ; }}}",
];

/// The same, each pane's behind a line with its number. It takes twice as long, and few have any. The number has no `%`, which
/// `display-message` would take for a time.
const ASK_EACH: [&str; 3] = [
    "run-shell",
    "-C",
    "#{S:#{W:#{P:display-message -p o#{s/%//:pane_id} ; show-options -q -p -t #{pane_id} ; }}}",
];

/// Whether what [`ASK`] printed speaks of any that are not ours.
pub(crate) fn any(answer: &str) -> bool {
    answer.lines().any(|line| option(line).is_some())
}

/// Asks which pane has which; nothing where tmux does not answer.
pub(crate) fn ask(socket: &Path, deadline: Duration) -> Option<OwnOptions> {
    match run(tmux(socket).args(ASK_EACH), deadline) {
        Ran::Done(output) if output.status.success() => Some(parse(&String::from_utf8_lossy(&output.stdout))),
        _ => None,
    }
}

/// Whether this names an option of a user; ours are set by a restore itself. Other names than these are not kept.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let ours = name.starts_with("@rekindle_");
    name.strip_prefix('@').is_some_and(|rest| !rest.is_empty() && !ours && rest.bytes().all(fits))
}

/// A user's option with its value.
fn option(line: &str) -> Option<(&str, String)> {
    let (name, shown) = line.split_once(' ').unwrap_or((line, ""));
    is_name(name).then(|| (name, value(shown)))
}

fn parse(answer: &str) -> OwnOptions {
    let mut found = OwnOptions::new();
    let mut pane = None;
    for line in answer.lines() {
        let number = line.strip_prefix('o').filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(number) = number {
            pane = Some(format!("%{number}"));
        } else if let (Some(pane), Some((name, value))) = (&pane, option(line)) {
            found.entry(pane.clone()).or_default().insert(name.to_owned(), value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pane_has_its_own_and_ours_are_left_out() {
        let answer = "o0\no12\n@a \"b  c\"\nwindow-style bg=red\n@rekindle_id x\n@b\no3\n@a 'd'\n";
        let of = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let expect: OwnOptions =
            [("%12".to_owned(), of(&[("@a", "b  c"), ("@b", "")])), ("%3".to_owned(), of(&[("@a", "d")]))]
                .into();
        assert_eq!(parse(answer), expect);
        assert_eq!(parse("@a b\n"), OwnOptions::new());
        assert!(any("window-style bg=red\n@a b\n") && !any("window-style bg=red\n@rekindle_id x\n"));
    }

    #[test]
    fn a_name_is_a_word() {
        assert!(is_name("@a-b_c.9"));
        for no in ["@", "a", "@rekindle_pane", "@a b", "@a;b", "@a\nb", "@a'"] {
            assert!(!is_name(no), "{no}");
        }
    }
}
