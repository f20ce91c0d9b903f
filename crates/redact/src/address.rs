//! Logins of addresses: `postgres://user:password@host/db`.

use crate::value::{self, Setting};
use crate::{Evidence, Finding, entropy};

/// Longer than any login; an address without one ends much earlier.
const LONGEST: usize = 512;

/// Logins that every manual has.
const SAMPLES: &[&str] = &["user", "username", "login", "usr", "foo", "u"];

/// Looks at what follows `://`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Finding> {
    let rest = &text[at..text.len().min(at + LONGEST)];
    // A password may hold a bare `@`, `/` or `#` only by mistake; the last `@` before a path is taken.
    let ends = |byte: &u8| *byte <= b' ' || b"/?#\"'`<>\\,;|".contains(byte);
    let host = rest.iter().position(ends).unwrap_or(rest.len());
    let login = &rest[..rest[..host].iter().rposition(|byte| *byte == b'@')?];
    let secret = match login.iter().position(|byte| *byte == b':') {
        Some(colon) => is_login(&login[..colon], &login[colon + 1..]),
        None => {
            value::is_surely_token(login, Setting::Loose)
                || (entropy::hexadecimal(login) && login.len() >= 32)
        }
    };
    secret.then(|| Finding { place: at..at + login.len(), kind: "login", evidence: Evidence::Shape })
}

fn is_login(user: &[u8], password: &[u8]) -> bool {
    let sample = SAMPLES.iter().any(|known| user.eq_ignore_ascii_case(known.as_bytes()))
        && ["pass", "password", "pwd", "passwd", "secret", "bar", "p", "pw"]
            .iter()
            .any(|known| password.eq_ignore_ascii_case(known.as_bytes()));
    !password.is_empty() && !sample && !value::is_placeholder(password) && !password.starts_with(b"$")
}
