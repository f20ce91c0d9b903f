//! What is true of any text, with secrets at any place in it.

use std::borrow::Cow;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use redact::{holds_secret, redact};

const SECRETS: [&str; 2] = [include_str!("corpus/secrets.txt"), include_str!("corpus/published.txt")];
const HARMLESS: [&str; 2] = [include_str!("corpus/harmless.txt"), include_str!("corpus/lookalikes.txt")];

/// The same cases in every run; `PROPTEST_CASES=50000` hunts for new ones.
fn config(cases: u32) -> Config {
    let hunt = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let rng_seed = if hunt.is_some() { RngSeed::Random } else { RngSeed::Fixed(20_261_115) };
    Config { cases: hunt.unwrap_or(cases), failure_persistence: None, rng_seed, ..Config::default() }
}

fn lines(corpus: [&'static str; 2]) -> Vec<String> {
    let text =
        |line: &str| line.replace("{_}", "").replace("\\n", "\n").replace("\\t", "\t").replace("{\\}", "\\");
    let cases = |file: &'static str| file.lines().skip_while(|line| line.starts_with('#')).map(text);
    corpus.into_iter().flat_map(cases).collect()
}

/// Keys that need no paths to be known, whole lines of the corpus.
fn keys() -> Vec<String> {
    let whole = |line: &String| line.starts_with('⟦') && line.ends_with('⟧') && !line.contains('\n');
    lines(SECRETS).into_iter().filter(whole).map(|line| line.replace(['⟦', '⟧'], "")).collect()
}

/// Pieces that rules trip over: triggers, separators, halves of characters' neighbours.
fn piece() -> impl Strategy<Value = String> {
    let signs = [
        "password",
        "token",
        "key",
        "secret",
        "auth",
        "=",
        ": ",
        "\"",
        "\\\"",
        "'",
        "://",
        "@",
        ":",
        "\n",
        "\\n",
        " ",
        "--",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "eyJ",
        "sk-",
        "ghp_",
        "ß",
        "日",
        "🚀",
        "\0",
        "[redacted: ",
        "]",
        "<",
        ">",
        "</",
        "value",
        "Bearer ",
        "curl -u ",
        "a1B2c3D4e5F6g7H8i9J0",
        "0a1b2c3d4e5f9687",
        "\u{1b}[32m",
        "$",
        "{",
        "}",
        ",",
        ";",
        "&",
        "?",
        "is ",
        " │\n│ ",
        "│",
        "\n     ",
        "docker login -p ",
        "bw unlock ",
        "psexec.py CORP/bob:",
        ":_authToken=",
        "[client]\n",
        "\npassword = ",
        "\nEnter password: ",
        "\n    key: |\n      ",
        "correct-horse-battery",
        "kGskPcweIjzs",
        "echo bob:",
        " | chpasswd",
        ":5432:",
        "MTIz",
        "Private-Lines: 1\n",
        "LS0tLS1CRUdJTiBSU0EgUFJJ",
        "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zaB3dE5gH7jK9",
    ];
    prop_oneof![
        4 => prop::sample::select(signs.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
        1 => prop::sample::select(lines(SECRETS)).prop_map(|line| line.replace(['⟦', '⟧'], "")),
    ]
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn any_text_is_redacted_once_and_for_all(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let once = redact(&text);
        prop_assert_eq!(matches!(once, Cow::Borrowed(_)), !holds_secret(&text));
        prop_assert_eq!(redact(&once), once.as_ref(), "{}", text);
    }

    #[test]
    fn arbitrary_text_is_no_trouble(text in any::<String>()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once.as_ref());
    }

    #[test]
    fn surroundings_are_kept(
        before in prop::collection::vec(prop::sample::select(lines(HARMLESS)), 0..6),
        after in prop::collection::vec(prop::sample::select(lines(HARMLESS)), 0..6),
        key in prop::sample::select(keys()),
    ) {
        let (before, after) = (before.join("\n.\n"), after.join("\n.\n"));
        let clean = redact(&format!("{before}\n.\n{key}\n.\n{after}")).into_owned();
        let rest = clean.strip_prefix(&format!("{before}\n.\n[redacted: "));
        let rest = rest.and_then(|rest| rest.strip_suffix(&format!("]\n.\n{after}")));
        prop_assert!(rest.is_some_and(|kind| !kind.contains(['\n', ']'])), "{}", clean);
    }
}

#[test]
fn a_secret_is_found_at_every_place_of_a_text() {
    let text = "Größe: 12 · naïve “words”,\n  let x = y[0]; // 日本\n\n{\"a\": [1, 2]}\n\ttail 🚀 end\n";
    let keys = keys();
    for (place, key) in (0..=text.len()).filter(|at| text.is_char_boundary(*at)).zip(keys.iter().cycle()) {
        let (before, after) = text.split_at(place);
        let clean = redact(&format!("{before} {key} {after}")).into_owned();
        let rest = clean.strip_prefix(before).expect("what stands before stays");
        let kind = rest.strip_suffix(after).expect("what stands behind stays");
        assert!(kind.starts_with(" [redacted: ") && kind.ends_with("] "), "{kind}");
    }
}

#[test]
fn long_secrets_go_whole() {
    let tail = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1z".repeat(400);
    for text in
        [format!("sk-ant-{tail}"), format!("eyJhbGciOiJub25lIn0.{tail}.{tail}"), format!("Bearer {tail}")]
    {
        let clean = redact(&text);
        assert!(clean.ends_with(']') && !clean.contains("gH7jK"), "{} bytes are left", clean.len());
    }
}

#[test]
fn a_cut_never_halves_a_character() {
    // Longer than what a rule looks at; at some of the shifts its bound is inside of a character. The rest must stay.
    for shift in 0..12 {
        let text = format!("password=\"{}{} end", "a".repeat(shift), "ß9é日🚀".repeat(2000));
        let clean = redact(&text);
        assert!(
            clean.starts_with("password=\"[redacted: password]") && clean.ends_with("日🚀 end"),
            "shift {shift}"
        );
    }
}

#[test]
fn text_made_to_be_slow_is_not() {
    // Without bounds each of these takes time with the square of its length: minutes.
    for piece in [
        "sk-",
        "eyJ",
        "key",
        "://",
        "-----BEGIN PRIVATE KEY-----",
        "curl ",
        "password=",
        "token ",
        "-----END PRIVATE KEY-----",
        "a:AA",
        "\\",
        "docker login -p ",
        "echo a:b ",
        "ldapsearch -w ",
        "psexec.py a:",
        "GetTGT a/b:",
        "poll x user ",
        "user a\npassword ",
        "bw unlock --raw ",
        "[client]\npassword = a\n",
        "password = a\n",
        "Enter password: a b\n",
        "key: |\n  a\n",
        "key: |\n",
        "(password=a,password=b",
        "password for ",
        "a:*:b:",
        "MTIz",
        "aB3dE5gH7jK9mN2pQ4sT6vW8xY1z\n",
        "│ token=aB3dE5gH7jK9mN2pQ4sT │\n",
        "ghp_aB3dE5gH7jK9mN2pQ4sT6vW8xY1z\n",
        "-----BEGIN PRIVATE KEY-----\naB3dE5gH7jK9mN2pQ4sT6vW8\n",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let _ = redact(&text);
    }
}

/// The text in lines of a width, as a program breaks it that draws its own screen.
fn broken(text: &str, width: usize, before: &str, behind: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let line = |part: &[char]| {
        let part: String = part.iter().collect();
        format!("{before}{part:<width$}{behind}").trim_end().to_owned()
    };
    letters.chunks(width).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn of_a_key_that_is_broken_over_lines_no_part_is_left() {
    let mut left = Vec::new();
    for key in keys() {
        for width in [34, 40, 61, 80, 100] {
            for (before, behind) in [("", ""), ("  ⎿  ", ""), ("│ ", " │"), ("     ", "")] {
                let text =
                    format!("$ ls\n{}\n$ next", broken(&format!("export X={key}"), width, before, behind));
                let clean = redact(&text);
                let letters: Vec<char> = key.chars().collect();
                // A dozen of a key's letters say nothing; its known beginning may be as long.
                let kept = letters.windows(16).any(|part| clean.contains(&part.iter().collect::<String>()));
                if kept || !clean.starts_with("$ ls\n") || !clean.ends_with("\n$ next") {
                    left.push(format!("{width} {before:?}\n{text}\n{clean}\n"));
                }
            }
        }
    }
    assert!(left.is_empty(), "{}:\n{}", left.len(), left.join("\n"));
}
