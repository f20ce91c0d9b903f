//! Files of ours in other people's folders: each ends with a line that says so and seals the rest, so that one its user
//! has changed is never overwritten and never removed.

const WORDS: &str = "written by rekindle init; rekindle uninstall removes it while it is unchanged; seal ";

/// How a kind of file writes a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comment {
    /// Markdown.
    Html,
    /// Shells.
    Hash,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Ours, as we wrote it.
    Ours,
    /// Ours, changed by its user.
    Changed,
    /// Somebody else's.
    Foreign,
}

/// A text with our line at its end.
pub(crate) fn sign(text: &[u8], comment: Comment) -> Vec<u8> {
    let mut signed = text.to_vec();
    if !signed.ends_with(b"\n") {
        signed.push(b'\n');
    }
    let seal = seal(&signed);
    let line = match comment {
        Comment::Html => format!("\n<!-- {WORDS}{seal} -->\n"),
        Comment::Hash => format!("\n# {WORDS}{seal}\n"),
    };
    signed.extend(line.as_bytes());
    signed
}

fn seal(text: &[u8]) -> String {
    blake3::hash(text).to_hex()[..16].to_owned()
}

/// Whose a file is, by its last line.
pub(crate) fn whose(bytes: &[u8]) -> Whose {
    let Ok(text) = std::str::from_utf8(bytes) else { return Whose::Foreign };
    let Some(at) = text.rfind(WORDS) else { return Whose::Foreign };
    let given = &text[at + WORDS.len()..];
    let (sealed, begin) = text[..at].rsplit_once('\n').unwrap_or_default();
    let whole = given.get(..16).is_some_and(|given| given == seal(sealed.as_bytes()))
        && matches!((begin, given.get(16..)), ("# ", Some("\n")) | ("<!-- ", Some(" -->\n")));
    if whole { Whose::Ours } else { Whose::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_is_noticed() {
        for comment in [Comment::Html, Comment::Hash] {
            let signed = sign(b"one\ntwo", comment);
            assert_eq!(whose(&signed), Whose::Ours);
            for at in 0..signed.len() {
                let mut other = signed.clone();
                other[at] ^= 1;
                assert_ne!(whose(&other), Whose::Ours, "byte {at}");
            }
            assert_eq!(whose(&[&signed[..], b"more"].concat()), Whose::Changed);
        }
        assert_eq!(whose(b"one\ntwo\n"), Whose::Foreign);
        assert_eq!(whose(b""), Whose::Foreign);
    }
}
