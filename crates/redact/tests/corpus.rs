//! Lines with made-up secrets, of which exactly the secret goes, and lines that look alike and stay.
#![expect(clippy::expect_used, reason = "a test may panic")]

use redact::{holds_secret, redact};

const SECRETS: [&str; 2] = [include_str!("corpus/secrets.txt"), include_str!("corpus/published.txt")];
const HARMLESS: [&str; 2] = [include_str!("corpus/harmless.txt"), include_str!("corpus/lookalikes.txt")];

/// The lines of a corpus as text. `{_}` breaks values in the file, so that no scanner takes them for leaks.
fn lines(corpus: [&'static str; 2]) -> Vec<String> {
    let text =
        |line: &str| line.replace("{_}", "").replace("\\n", "\n").replace("\\t", "\t").replace("{\\}", "\\");
    let cases = |file: &'static str| file.lines().skip_while(|line| line.starts_with('#')).map(text);
    corpus.into_iter().flat_map(cases).collect()
}

/// What stands before, between and behind the secrets of a line, and the secrets.
fn parts(line: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut kept, mut secrets, mut rest) = (Vec::new(), Vec::new(), line);
    while let Some((before, marked)) = rest.split_once('⟦') {
        let (secret, after) = marked.split_once('⟧').expect("a closing mark");
        kept.push(before);
        secrets.push(secret);
        rest = after;
    }
    kept.push(rest);
    (kept, secrets)
}

/// Whether the text is the kept parts in order, with one replacement between each two.
fn is_redacted(text: &str, kept: &[&str]) -> bool {
    let Some((first, others)) = kept.split_first() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in others {
        let Some((kind, after)) = rest.strip_prefix("[redacted: ").and_then(|rest| rest.split_once(']'))
        else {
            return false;
        };
        let plain = kind
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" .".contains(&byte));
        let Some(after) = after.strip_prefix(part) else { return false };
        if !plain {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn report(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{} {what}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_enough_lines() {
    assert!(lines(SECRETS).len() >= 500);
    assert!(lines(HARMLESS).len() >= 400);
}

#[test]
fn of_every_secret_line_exactly_the_secret_goes() {
    let mut wrong = Vec::new();
    for line in lines(SECRETS) {
        let (kept, secrets) = parts(&line);
        assert!(!secrets.is_empty(), "no secret is marked: {line}");
        let text = line.replace(['⟦', '⟧'], "");
        let clean = redact(&text);
        if !is_redacted(&clean, &kept) || !holds_secret(&text) {
            wrong.push(format!("  {line}\n  {clean}\n"));
        }
    }
    report("lines are not redacted as marked", &wrong);
}

#[test]
fn every_harmless_line_stays() {
    let mut wrong = Vec::new();
    for line in lines(HARMLESS) {
        let clean = redact(&line);
        if clean != line.as_str() || holds_secret(&line) {
            wrong.push(format!("  {line}\n  {clean}\n"));
        }
    }
    report("harmless lines were changed", &wrong);
}

#[test]
fn redacting_twice_is_redacting_once() {
    for line in lines(SECRETS) {
        let once = redact(&line.replace(['⟦', '⟧'], "")).into_owned();
        assert_eq!(redact(&once), once);
        assert!(!holds_secret(&once), "{once}");
    }
}

#[test]
fn all_lines_in_one_text_are_redacted_as_each_alone() {
    let secrets: Vec<String> = lines(SECRETS).iter().map(|line| line.replace(['⟦', '⟧'], "")).collect();
    let harmless = lines(HARMLESS);
    // A harmless line between each two, as secrets stand in logs. A blank line keeps torn key blocks apart.
    let mixed: Vec<&String> = secrets.iter().zip(harmless.iter().cycle()).flat_map(|(a, b)| [a, b]).collect();
    let text = mixed.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n\n$ next\n\n");
    let expected = mixed.iter().map(|line| redact(line)).collect::<Vec<_>>().join("\n\n$ next\n\n");
    let clean = redact(&text);
    let same = clean.lines().zip(expected.lines()).take_while(|(is, should)| is == should).count();
    let around = |text: &str| {
        text.lines().skip(same.saturating_sub(8)).take(10).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(clean == expected, "{:#?}\nshould be {:#?}", around(&clean), around(&expected));
}
