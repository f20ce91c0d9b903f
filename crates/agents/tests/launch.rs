//! The arguments of a first launch, and those that resume its conversation.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use agents::SessionId;
use agents::claude::launch::{
    Argv, Bypass, Note, OnResume, Refusal, Resume, Transcript, Value, find, flags, resume_argv,
};
use proptest::prelude::*;
use semver::Version;

const ID: &str = "11111111-2222-4333-8444-555555555555";
const V31: Version = Version::new(2, 1, 31);
const V100: Version = Version::new(2, 1, 100);
const V325: Version = Version::new(2, 1, 325);

fn resume(words: &[String], from: &Version, to: &Version, bypass: Bypass) -> Result<Argv, Refusal> {
    let session = SessionId::new(ID).unwrap();
    resume_argv(&Resume {
        recorded: Some(words),
        recorded_by: from,
        version: to,
        session: &session,
        transcript: Transcript::Exists,
        bypass,
    })
}

/// Words are separated by `|`, as some hold blanks.
fn split(line: &str) -> Vec<String> {
    line.split('|').map(str::to_owned).collect()
}

fn newest(line: &str) -> Result<Argv, Refusal> {
    resume(&split(line), &V325, &V325, Bypass::Refuse)
}

/// F-resume-3
#[test]
fn identity_prompt_and_print_go_and_the_rest_stays_in_order() {
    let check = |line: &str, expect: &str| {
        let argv = newest(line).unwrap();
        assert_eq!(argv.words.join("|"), expect.replace("ID", &format!("--resume|{ID}")), "{line}");
        assert_eq!(argv.notes, []);
    };
    check("claude", "claude|ID");
    check("claude|fix the tests", "claude|ID");
    check("claude|fix it|--model|opus|and more", "claude|ID|--model|opus");
    check("claude|--resume|my title|--model=opus", "claude|ID|--model=opus");
    check("claude|-r", "claude|ID");
    check("claude|-r|abc|hello", "claude|ID");
    check("claude|-rabc|--verbose", "claude|ID|--verbose");
    check("claude|--resume=abc", "claude|ID");
    check("claude|-c|--fork-session|--ide", "claude|ID|--ide");
    check("claude|--from-pr|12|--effort|high", "claude|ID|--effort|high");
    check("claude|--session-id|abc|--effort|high", "claude|ID|--effort|high");
    check("claude|-p|--output-format|json|--max-turns|3|q", "claude|ID");
    check("claude|-pc|q", "claude|ID");
    check("claude|-pd", "claude|ID|-d");
    check("claude|-pdhooks|q", "claude|ID|-dhooks");
    check("claude|-d2e|q", "claude|ID|-d2e");
    check("claude|-d|hooks|q", "claude|ID|-d|hooks");
    check("claude|--debug|--model|x", "claude|ID|--debug|--model|x");
    check("claude|--add-dir|a|b|--ide|q", "claude|ID|--add-dir|a|b|--ide");
    check("claude|--add-dir=a|q", "claude|ID|--add-dir=a");
    check(
        "claude|--allowedTools|Bash(git *)|Edit|--|q|--model|x",
        "claude|ID|--allowedTools|Bash(git *)|Edit",
    );
    check("claude|--append-system-prompt|--be brief|q", "claude|ID|--append-system-prompt|--be brief");
    check("claude|--tools||--ide", "claude|ID|--tools||--ide");
    check("claude|-w|tree|--tmux=classic|--tmux|q", "claude|ID");
    check("claude|-n|a name|--remote-control|--chrome", "claude|ID|--remote-control|--chrome");
    check("claude|--permission-mode|plan", "claude|ID|--permission-mode|plan");
    check(
        "claude|--settings|{\"a\": 1}|--mcp-config|a.json|b.json",
        "claude|ID|--settings|{\"a\": 1}|--mcp-config|a.json|b.json",
    );
    check("claude|fix|mcp", "claude|ID");
    check("npx|-y|@anthropic-ai/claude-code|--ide|q", "npx|-y|@anthropic-ai/claude-code|ID|--ide");
    check("node|/x/claude-code/cli.js|--ide|q", "node|/x/claude-code/cli.js|ID|--ide");
    check("claude|-", "claude|ID");
}

/// F-resume-16
#[test]
fn refusals_name_what_they_are_about() {
    let check = |line: &str, expect: &str| {
        assert_eq!(newest(line).unwrap_err().to_string(), expect, "{line}");
    };
    check("claude|--frobnicate=1|x", "agent 2.1.325 has no flag --frobnicate");
    check("claude|-pz", "agent 2.1.325 has no flag -z");
    check("claude|--verbose=1", "agent 2.1.325 has no flag --verbose");
    check("claude|--mcp-debug", "agent 2.1.325 has no flag --mcp-debug");
    check("claude|--model", "--model has no value");
    check("claude|mcp|list", "`claude mcp` holds no conversation");
    check("claude|--model|x|agents", "`claude agents` holds no conversation");
    check("claude|--|doctor", "`claude doctor` holds no conversation");
    check("claude|--version", "with --version an agent holds no conversation");
    check("claude|--bg|do it", "with --bg another program runs the conversation");
    check("claude|--cloud", "with --cloud another program runs the conversation");
    check("claude|--agent-id|a@team", "with --agent-id another program runs the conversation");
    check("claude|--settings|{\"k\":\"[redacted: token]\"}", "the value of --settings is not on record");
    check("claude|--add-dir|/a/\u{fffd}", "the value of --add-dir is not on record");
    check(
        "claude|--dangerously-skip-permissions",
        "--dangerously-skip-permissions bypasses permission questions",
    );
    check("vim|x", "vim is not an agent");
    assert!(matches!(resume(&[], &V325, &V325, Bypass::Keep), Err(Refusal::NotAnAgent(_))));
    // What goes anyway may be withheld: a prompt, a title.
    assert!(newest("claude|use [redacted: token]|--resume|[redacted: token]").is_ok());
}

/// F-others-8
#[test]
fn a_mode_that_asks_nothing_is_its_callers_to_allow() {
    let lines = [
        "--dangerously-skip-permissions",
        "--allow-dangerously-skip-permissions",
        "--permission-mode|bypassPermissions",
        "--permission-mode=bypassPermissions",
        "--inherit-permission-mode|bypassPermissions",
    ];
    for flag in lines {
        let words = split(&format!("claude|--ide|{flag}|q"));
        let with = |bypass| resume(&words, &V325, &V325, bypass);
        let kept = with(Bypass::Keep).unwrap();
        assert!(kept.words.join("|").ends_with(flag) && kept.notes.is_empty(), "{flag}");
        let left = with(Bypass::LeaveOut).unwrap();
        assert_eq!(left.words[1..], ["--resume", ID, "--ide"], "{flag}");
        assert!(matches!(&left.notes[..], [Note::BypassLeftOut(name)] if flag.starts_with(name.as_str())));
        assert!(matches!(with(Bypass::Refuse), Err(Refusal::Bypass(_))), "{flag}");
    }
    let settings = split("claude|--settings|{\"permissions\":{\"defaultMode\":\"bypassPermissions\"}}");
    for bypass in [Bypass::Refuse, Bypass::LeaveOut] {
        assert!(matches!(resume(&settings, &V325, &V325, bypass), Err(Refusal::Bypass(_))));
    }
    assert!(resume(&settings, &V325, &V325, Bypass::Keep).is_ok());
}

/// F-resume-1
#[test]
fn the_file_decides_how_it_is_named_and_unknown_arguments_are_said() {
    let session = SessionId::new(ID).unwrap();
    let words = split("claude|--resume|other|-n|a name");
    let mut resume = Resume {
        recorded: Some(&words),
        recorded_by: &V325,
        version: &V325,
        session: &session,
        transcript: Transcript::NotYet,
        bypass: Bypass::Refuse,
    };
    assert_eq!(resume_argv(&resume).unwrap().words, ["claude", "--session-id", ID, "-n", "a name"]);
    resume.recorded = None;
    let argv = resume_argv(&resume).unwrap();
    assert_eq!(
        (argv.words, argv.notes),
        (split(&format!("claude|--session-id|{ID}")), vec![Note::FlagsUnknown])
    );
    let bad = SessionId::new("-x").unwrap();
    resume.session = &bad;
    assert_eq!(resume_argv(&resume), Err(Refusal::NotAnId(bad.clone())));
}

#[test]
fn each_version_reads_and_gets_its_own_words() {
    let check = |line: &str, from: &Version, to: &Version, expect: Result<&str, &str>| {
        let got = resume(&split(line), from, to, Bypass::Refuse);
        let got = got.map(|argv| argv.words[3..].join("|")).map_err(|refusal| refusal.to_string());
        assert_eq!(got, expect.map(str::to_owned).map_err(str::to_owned), "{line} {from} {to}");
    };
    check("claude|--plugin-dir|a|b|--ide", &V31, &V31, Ok("--plugin-dir|a|b|--ide"));
    check("claude|--plugin-dir|a|b|--ide", &V31, &V325, Ok("--plugin-dir|a|--plugin-dir|b|--ide"));
    check("claude|--plugin-dir|a|b|--ide", &V325, &V325, Ok("--plugin-dir|a|--ide"));
    check("claude|--plugin-dir|a|--ide", &V325, &V31, Ok("--plugin-dir|a|--ide"));
    check("claude|--mcp-debug", &V31, &V100, Ok("--mcp-debug"));
    check("claude|--mcp-debug", &V100, &V325, Err("agent 2.1.325 has no flag --mcp-debug"));
    check("claude|--effort|high", &V325, &V31, Err("agent 2.1.31 has no flag --effort"));
    check("claude|agents", &V31, &V31, Ok(""));
}

/// A word as people type them, flags among them.
fn word() -> impl Strategy<Value = String> {
    let names: Vec<String> = flags(&V325).flat_map(|flag| flag.names).map(str::to_owned).collect();
    prop_oneof![
        4 => proptest::sample::select(names.clone()),
        1 => (proptest::sample::select(names), "[a-z/]{0,4}").prop_map(|(name, value)| format!("{name}={value}")),
        3 => "[a-z ./]{0,6}",
        1 => "-[a-z]{1,4}",
        1 => Just("--".to_owned()),
        1 => Just("bypassPermissions".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// F-resume-2
    #[test]
    fn a_resume_resumed_is_the_same_and_holds_one_identity_and_no_prompt(
        words in proptest::collection::vec(word(), 0..10),
        bypass in proptest::sample::select(vec![Bypass::Keep, Bypass::LeaveOut, Bypass::Refuse]),
    ) {
        let line: Vec<String> = ["claude".to_owned()].into_iter().chain(words).collect();
        let Ok(first) = resume(&line, &V325, &V325, bypass) else { return Ok(()) };
        prop_assert_eq!(&first.words[..3], ["claude", "--resume", ID]);
        let second = resume(&first.words, &V325, &V325, bypass).unwrap();
        prop_assert_eq!(&second.words, &first.words);
        prop_assert_eq!(&second.notes, &[]);

        // Read by other means: every word is a flag that is kept, or stands behind one that takes it.
        let mut taken = 0;
        let mut variadic = false;
        for word in &first.words[3..] {
            if taken > 0 { taken -= 1; continue; }
            if variadic && !(word.len() > 1 && word.starts_with('-')) { continue; }
            variadic = false;
            let name = word.split('=').next().unwrap_or_default();
            let flag = find(name, &V325).or_else(|| find(&word[..2], &V325));
            let flag = flag.ok_or_else(|| TestCaseError::fail(format!("{word} in {:?}", first.words)))?;
            prop_assert!(matches!(flag.on_resume, OnResume::Keep | OnResume::Bypass), "{}", word);
            if flag.names.contains(&word.as_str()) {
                taken = usize::from(matches!(flag.value, Value::Required | Value::Variadic));
                variadic = matches!(flag.value, Value::Variadic | Value::Optional);
            }
        }
    }
}
