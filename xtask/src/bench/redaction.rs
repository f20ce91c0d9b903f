//! Redaction, in this process: the program has no command that only redacts.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::corpus::Corpus;
use super::measure::median;
use super::report::Line;
use super::{cpu, megabytes};

/// As much text as is held at once; more says nothing more.
const MOST: usize = 100_000_000;

/// A key of GitHub's form that is nobody's, in two halves, so that no scanner takes this file for a leak.
const PLANTED: [&str; 2] = ["gh", "p_aB3dE5gH7jK9mN2pQ4sT6vW8xY1zaB3dE5gH7jK9"];

/// One secret in so many bytes: more than any transcript has.
const SPACING: usize = 4096;

/// Slower than this it would hold up what stores and injects.
const LEAST: f64 = 50.0;

/// Redacts a corpus without secrets, and the same with many, beside `grep` looking for one word in it.
pub(super) fn redact(corpus: &Corpus) -> Vec<Line> {
    let wanted = "at least 50 MB/s, at most 20 times";
    let plain = Line::of(format!("redaction, {} files", corpus.files.len()), wanted, || {
        let (texts, taken) = texts(corpus)?;
        check(&texts)?;
        compare(corpus, &texts, taken)
    });
    let planted = Line::of("redaction, a key in every 4 KiB".to_owned(), wanted, || {
        let (texts, taken) = texts(corpus)?;
        let texts: Vec<String> = texts.iter().map(|text| with_secrets(text)).collect();
        if texts.iter().any(|text| redact::redact(text).contains(PLANTED[1])) {
            bail!("redaction missed a planted key");
        }
        compare(corpus, &texts, taken)
    });
    vec![plain, planted]
}

/// The texts of the corpus, and how many of its files they are.
fn texts(corpus: &Corpus) -> Result<(Vec<String>, usize)> {
    let mut texts: Vec<String> = Vec::new();
    let mut bytes = 0;
    for file in &corpus.files {
        if bytes >= MOST {
            break;
        }
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        bytes += text.len();
        texts.push(text);
    }
    let taken = texts.len();
    Ok((texts, taken))
}

fn compare(corpus: &Corpus, texts: &[String], taken: usize) -> Result<(String, String, String, bool)> {
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut times: Vec<Duration> = (0..5).map(|_| time(texts)).collect();
    times.sort();
    let ours = times[times.len() / 2].as_secs_f64();
    let grep = || {
        let mut command = Command::new("grep");
        command.args(["-ci", "password"]).args(&corpus.files[..taken]).env("LC_ALL", "C");
        Ok(command)
    };
    let reference = median(5, |cost| cost.cpu, grep)?;
    let ratio = ours / reference.cpu.as_secs_f64();
    let rate = bytes as f64 / 1e6 / ours;
    let speed = format!("{rate:.0} MB/s over {}", megabytes(bytes as u64));
    let fine = ratio <= 20.0 && rate >= LEAST;
    Ok((speed, format!("`grep -ci`: {}", cpu(&reference)), format!("{ratio:.1} times"), fine))
}

fn with_secrets(text: &str) -> String {
    let mut planted = String::with_capacity(text.len() + text.len() / 64);
    let mut rest = text;
    while rest.len() > SPACING {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(SPACING));
        planted.push_str(piece);
        planted.push_str(&format!(" {} ", PLANTED.concat()));
        rest = after;
    }
    planted.push_str(rest);
    planted
}

fn time(texts: &[String]) -> Duration {
    let start = Instant::now();
    for text in texts {
        std::hint::black_box(redact::redact(std::hint::black_box(text)));
    }
    start.elapsed()
}

/// Sees that nothing of the corpus is taken for a secret, and that a planted one is.
fn check(texts: &[String]) -> Result<()> {
    let alarms = texts.iter().filter(|text| redact::holds_secret(text)).count();
    if alarms > 0 {
        bail!("redaction changed {alarms} of {} files that hold no secret", texts.len());
    }
    let Some(text) = texts.iter().max_by_key(|text| text.len()) else { bail!("no text") };
    let (before, after) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let planted = format!("{before} {} {after}", PLANTED.concat());
    if redact::redact(&planted).contains(PLANTED[1]) {
        bail!("redaction missed a planted key");
    }
    Ok(())
}
