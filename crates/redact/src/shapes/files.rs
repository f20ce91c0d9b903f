//! Secrets in files that have a form of their own: kubeconfigs, password files, key files, and what tools print of them.

use crate::shape::{Judge, Shape, command, hosted, key, within};

pub(super) static SHAPES: [Shape; 13] = [
    // A key of age, as its `age-keygen` prints it.
    key("private key", &["age-secret-key-"], r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}"),
    // `-----BEGIN … PRIVATE KEY-----`, encoded again, as kubeconfigs and variables have it. `-----BEGIN CERTIFICATE` has
    // the first word in common and stays.
    key(
        "private key",
        &["ls0tls1crudjtib"],
        r"LS0tLS1CRUdJTiB(?:SU0EgUFJJ|QUklWQVRF|FQyBQUklW|PUEVOU1NI|FTkNSWVBU|EU0EgUFJJ|QR1AgUFJJ)[A-Za-z0-9+/=]{40,}",
    ),
    hosted(
        &[
            ":5432:", ":5433:", ":5434:", ":5439:", ":6432:", ":6543:", ":15432:", ":25060:", ":26257:",
            ":54321:", ":54322:", ":55432:", ":*:",
        ],
        r#"[^\s:]+:(?:[0-9]{2,5}|\*):(?:\*|[^\s:]*[^\s:0-9][^\s:]*):[^\s:0-9][^\s:]*:((?:[^\s:"'`\\]|\\[:\\])+)(?:\z|[\s"'`\\]|\|)"#,
    ),
    within(
        "private key",
        Judge::Shape,
        &["private-lines:"],
        r"Private-Lines: [0-9]+\r?\n((?:[A-Za-z0-9+/=]{20,64}\r?\n)*[A-Za-z0-9+/=]{20,64}(?:\r?\n[A-Za-z0-9+/]{1,63}={1,2})?)",
    ),
    within(
        "private key",
        Judge::Token,
        &["\"d\"", "\"d\\\""],
        r#""d\\{0,3}"[ \t]*:[ \t]*\\{0,3}"([A-Za-z0-9_-]{40,})"#,
    ),
    // How `crypt` keeps passwords, in /etc/shadow and .htpasswd.
    key(
        "password hash",
        &["$1$", "$5$", "$6$", "$y$", "$gy$", "$7$", "$apr1$", "$2a$", "$2b$", "$2y$"],
        r"\$(?:2[aby]\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:1|5|6|y|gy|7|apr1)\$[A-Za-z0-9./=,$]{0,60}\$[A-Za-z0-9./]{22,86})",
    ),
    key(
        "password hash",
        &["$argon2"],
        r"\$argon2(?:id|i|d)\$v=[0-9]+\$[a-z0-9=,]+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{20,}",
    ),
    within(
        "aws key",
        Judge::Token,
        &["secret access key ["],
        r"(?i)secret access key \[[^\]\n]{0,24}\]:[ \t]*([A-Za-z0-9/+]{30,})",
    ),
    command(
        "vault key",
        Judge::Token,
        &["unseal key", "recovery key"],
        r"(?i)(?:unseal|recovery) key(?: [0-9]+)?:[ \t]*([A-Za-z0-9+/=]{30,})",
    ),
    within(
        "azure key",
        Judge::Token,
        &["?code=", "&code="],
        r"[?&]code=([A-Za-z0-9_-]{40,}(?:={1,2}|(?:%3D){1,2}))",
    ),
    command(
        "cookie",
        Judge::Token,
        &["cookie:"],
        r"(?i)cookie:[^\n]{0,200}?(?:session|sess|sid|auth|token|jwt)[a-z_.-]*=([A-Za-z0-9%._~+/-]{16,})",
    ),
    command("token", Judge::Token, &["x-honeycomb-team"], r"(?i)x-honeycomb-team[=: \t]+([A-Za-z0-9_]{20,})"),
    within("token", Judge::Password, &["_pat="], r#"_(?i:pat)=\\{0,3}["']?([^\s"'`\\]{16,})"#),
];

/// A bot's token: its id, a time and a signature, each in base64. The id is made of digits, so that its first letters
/// are few (`discord_words`), and they are all that such a token is known by.
pub(super) static DISCORD: Shape =
    key("discord token", &[], r"[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}");

/// Every beginning of the base64 of three digits.
pub(super) fn discord_words() -> impl Iterator<Item = String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (100..1000_u32).map(|number| {
        let digits = number.to_string();
        let bits = digits.bytes().fold(0, |bits, digit| bits << 8 | usize::from(digit));
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[bits >> shift & 63])).iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bots_id_begins_with_one_of_the_words() {
        // Base64 of `123456789012345678`.
        assert!(discord_words().any(|word| "MTIzNDU2Nzg5MDEyMzQ1Njc4".starts_with(&word)));
        assert_eq!(discord_words().count(), 900);
    }
}
