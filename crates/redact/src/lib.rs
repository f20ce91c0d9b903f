//! Secrets out of text. One function.
//!
//! [`redact`] puts `[redacted: github token]` where a secret stood and leaves every other byte as it is. The words say
//! the kind and nothing of the secret, not even its length. Text without a secret is given back as it came, borrowed.
//!
//! What goes:
//! - **Shapes.** Keys and tokens that their provider gave a form of their own, wherever they stand (`shapes/`).
//! - **Named values.** What a name gives away: `PGPASSWORD=…`, `--token …`, `"client_secret": "…"`. Behind a name for a
//!   password any literal goes, however poor. Behind a name for a key or a token only what looks random goes.
//! - **Logins** of addresses: `postgres://[redacted: login]@host/db`. The host stays readable.
//! - **Private keys**: whole blocks, and blocks that lost their first or last line.
//! - **Command lines**: passwords behind the options that take them, such as `docker login -p` (`shapes/commands.rs`,
//!   `shapes/accounts.rs`).
//! - **Files and prompts**: any password in a section of an INI file (`section`), the word behind `Enter password:` (`prompt`),
//!   what YAML has below a name (`block`), and files with forms of their own (`shapes/files.rs`, `shapes/logins.rs`).
//! - **Broken keys**: what a program broke over several lines at the width of its terminal (`wrapped`).
//!
//! What stays: placeholders (`<your-token>`, `${TOKEN}`, `xxxx`), code (`let token = parse(input)`), hashes, ids, paths,
//! and a random value that nothing calls a secret. Nobody can tell that from an id.
//!
//! How: one pass of an Aho-Corasick automaton finds every word that can begin a secret. Only there a rule looks, at a
//! bounded piece of text, with a regular expression that is anchored and compiled at its first use. Text without such a
//! word costs that one pass.
//!
//! Redacting twice is redacting once. A secret may hide another: what a replacement uncovers is looked at again.

mod address;
mod assigned;
mod block;
mod edge;
mod entropy;
mod gate;
mod letters;
mod name;
mod pem;
mod prompt;
mod section;
mod separator;
mod shape;
mod shapes;
mod value;
mod wrapped;

use std::borrow::Cow;
use std::ops::Range;

/// How every replacement begins; what already has one is left alone.
const MARK: &str = "[redacted: ";

/// Passes over text in which each uncovers another secret. Random text never needed more in 60,000 tries; the bound
/// keeps text that was made to be slow from being slow.
const MOST_PASSES: usize = 4;

/// A secret's place and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    place: Range<usize>,
    kind: &'static str,
    evidence: Evidence,
}

/// What gave a secret away. Where several did, the kind is that of the earliest here, which says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    Shape,
    Name,
}

/// Puts a word for its kind in the place of every secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some(mut clean) = pass(text) else { return Cow::Borrowed(text) };
    for _ in 1..MOST_PASSES {
        let Some(cleaner) = pass(&clean) else { break };
        clean = cleaner;
    }
    Cow::Owned(clean)
}

/// Whether [`redact`] would change the text. To judge a variable, give it whole: `NAME=value`.
pub fn holds_secret(text: &str) -> bool {
    findings(text).next().is_some()
}

/// Every secret that can be seen in the text as it is, in no order.
fn findings(text: &str) -> impl Iterator<Item = Finding> {
    gate::findings(text).chain(wrapped::findings(text))
}

/// The text without the secrets that can be seen in it as it is; nothing where there are none.
fn pass(text: &str) -> Option<String> {
    let mut findings: Vec<Finding> = findings(text).collect();
    if findings.is_empty() {
        return None;
    }
    findings.sort_by_key(|finding| (finding.place.start, finding.evidence));
    let mut clean = String::with_capacity(text.len());
    let (mut kept, mut findings) = (0, findings.into_iter().peekable());
    while let Some(first) = findings.next() {
        let mut end = first.place.end;
        while let Some(next) = findings.next_if(|next| next.place.start < end) {
            end = end.max(next.place.end);
        }
        // Rules look at bytes, and a bounded piece of text may end inside of a character.
        clean.push_str(text.get(kept..text.floor_char_boundary(first.place.start)).unwrap_or_default());
        clean.push_str(MARK);
        clean.push_str(first.kind);
        clean.push(']');
        kept = text.ceil_char_boundary(end);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Some(clean)
}
