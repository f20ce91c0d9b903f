//! What a name says of the value behind it: `PGPASSWORD`, `--api-key`, `token_count`.

use std::ops::Range;

use crate::edge;

/// How far a name reaches to each side of the word that was found; longer names are no names.
const REACH: usize = 64;

/// What stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Any literal is secret.
    Password,
    /// Secret if it looks random, ids included.
    Strong(&'static str),
    /// Secret only if it looks random beyond doubt: `key` names many things.
    Weak(&'static str),
}

/// The name around a found word, with the dashes of an option.
pub(crate) fn around(text: &[u8], word: Range<usize>) -> Range<usize> {
    let part = |byte: &&u8| edge::is_word(**byte) || matches!(byte, b'-' | b'.');
    let before = text[..word.start].iter().rev().take(REACH).take_while(part).count();
    let after = text[word.end..].iter().take(REACH).take_while(part).count();
    let mut name = word.start - before..word.end + after;
    // The letter of `\n` is no part of the name that follows.
    if before > 0 && edge::escaped(text, name.start + 1) {
        name.start += 1;
    }
    // Nor is what is left of a colour before it, as in `ESC[32mPASSWORD`.
    let digits = text[name.start..word.start].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let colour = name.start + digits + 1;
    if digits > 0 && colour <= word.start && edge::coloured(text, colour) {
        name.start = colour;
    }
    // A sentence ends in a dot.
    while name.end > word.end && matches!(text[name.end - 1], b'.' | b'-') {
        name.end -= 1;
    }
    name
}

/// What a name says; nothing where it names no secret.
pub(crate) fn class(name: &[u8]) -> Option<Class> {
    let words = Words::of(name);
    let mut words = words.backwards().skip_while(|word| one_of(word, ADDED));
    let (head, before) = (words.next()?, words.next().unwrap_or_default());
    // `-no-pass` asks for none.
    if one_of(before, "no") {
        return None;
    }
    let ends = |endings: &str| endings.split_ascii_whitespace().any(|ending| ends_with(head, ending));
    if ends("password passwd passphrase passwort passcode") {
        return Some(Class::Password);
    }
    if one_of(head, "pw psk bindpw rootpw authtok")
        || (one_of(head, "auth") && one_of(before, "redis rediscli valkey"))
        || (head.len() > 2 && head.ends_with(b"PW") && !name.iter().any(u8::is_ascii_lowercase))
    {
        return Some(Class::Password);
    }
    if ends("pwd pass") {
        // `PWD` is the shell's directory.
        // A compiler has passes.
        let own = ends("bypass compass surpass trespass underpass oldpwd")
            || one_of(before, "debug first second next last")
            || name == b"PWD";
        return (!own).then_some(Class::Password);
    }
    if ends("secret secrets credential credentials creds") {
        return Some(Class::Strong("secret"));
    }
    if ends("token") {
        return (!one_of(before, HARMLESS)).then_some(Class::Strong("token"));
    }
    if ends(KEYS) || (one_of(head, "key") && one_of(before, KEY_KINDS)) {
        return Some(Class::Strong("key"));
    }
    if one_of(head, "key") {
        return (!one_of(before, HARMLESS)).then_some(Class::Weak("key"));
    }
    one_of(head, "auth").then_some(Class::Weak("secret"))
}

/// Added to a name without changing what it is: `API_KEY_PROD`, `SECRET_KEY_BASE`.
const ADDED: &str = "\
    value val string text plain plaintext raw prod production dev staging test old new current default base \
    b64 base64 data env live primary secondary backup admin root";

/// Keys that are written as one word.
const KEYS: &str = "\
    apikey secretkey accesskey privatekey authkey masterkey signingkey encryptionkey accountkey appkey \
    licensekey deploykey servicekey presharedkey";

/// What makes a key a secret.
const KEY_KINDS: &str = "\
    api secret access private auth master signing encryption account service subscription app application \
    admin license shared client consumer deploy webhook hmac jwt session ingest ingestion write preshared \
    integration developer rest";

/// What makes a key or a token a name for something else.
const HARMLESS: &str = "\
    public pub publishable cache primary foreign sort partition row page next previous continuation sync \
    cancellation idempotency dedup object translation i18n cursor message commit lock group resume start \
    author hot map dict index unique composite hash routing issue ticket project host react design bos eos \
    pad mask special pagination";

/// The words of a name: between `_`, `-` and `.`, and at the humps of `camelCase`. Digits at a word's end go.
struct Words<'a> {
    name: &'a [u8],
}

impl<'a> Words<'a> {
    fn of(name: &'a [u8]) -> Words<'a> {
        Words { name }
    }

    fn backwards(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.name;
        std::iter::from_fn(move || {
            while let [shorter @ .., b'_' | b'-' | b'.' | b'0'..=b'9'] = rest {
                rest = shorter;
            }
            if rest.is_empty() {
                return None;
            }
            let mut start = rest.len();
            while start > 0 {
                let byte = rest[start - 1];
                let hump =
                    start < rest.len() && byte.is_ascii_lowercase() && rest[start].is_ascii_uppercase();
                if hump || matches!(byte, b'_' | b'-' | b'.') {
                    break;
                }
                start -= 1;
            }
            let word = &rest[start..];
            rest = &rest[..start];
            Some(word)
        })
    }
}

fn one_of(word: &[u8], list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

fn ends_with(word: &[u8], ending: &str) -> bool {
    word.len().checked_sub(ending.len()).is_some_and(|at| word[at..].eq_ignore_ascii_case(ending.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for (name, expected) in [
            ("PGPASSWORD", Class::Password),
            ("--db-password", Class::Password),
            ("spring.datasource.password", Class::Password),
            ("MYSQL_PWD", Class::Password),
            ("smtpPass", Class::Password),
            ("DB_PW", Class::Password),
            ("DBPW", Class::Password),
            ("REDIS_AUTH", Class::Password),
            ("bindpw", Class::Password),
            ("client-key-data", Class::Strong("key")),
            ("GITHUB_TOKEN", Class::Strong("token")),
            ("accessToken", Class::Strong("token")),
            ("SECRET_KEY_BASE", Class::Strong("key")),
            ("API_KEY_2", Class::Strong("key")),
            ("aws_secret_access_key", Class::Strong("key")),
            ("clientSecret", Class::Strong("secret")),
            ("STRIPE_KEY", Class::Weak("key")),
            ("_auth", Class::Weak("secret")),
        ] {
            assert_eq!(class(name.as_bytes()), Some(expected), "{name}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "token_count",
            "input_tokens",
            "tokenizer",
            "PWD",
            "OLDPWD",
            "public_key",
            "AWS_ACCESS_KEY_ID",
            "password_file",
            "secretName",
            "keyboard",
            "author",
            "bypass",
            "pwsh",
            "cscBPW",
            "SSH_AUTH_SOCK",
            "IFLA_LOCALBYPASS",
            "passed",
            "nextPageToken",
            "cache-key",
            "-no-pass",
            "-debug-pass",
            "--no-password",
        ] {
            assert_eq!(class(name.as_bytes()), None, "{name}");
        }
    }
}
