//! Settings of saves, restores and recoveries do what their words say.

use std::fs;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::Value;

/// `save.scrollback_lines`: so many lines above the screen, or nothing at all.
#[test]
fn scrollback_is_kept_as_far_as_its_user_wants() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "seq -f 'line-%g' 200; echo all-done").unwrap();
    assert!(wait_until(PATIENCE, || lab.screen("work:0.0").contains("\nall-done")));
    let kept = |lines: u32| {
        lab.home.configure(&format!("[save]\nscrollback_lines = {lines}\n")).unwrap();
        let saved = lab.home.rekindle_json(&["save"]).unwrap();
        let id = saved["save"].as_str().unwrap_or_else(|| panic!("{saved}")).to_owned();
        lab.rekindle(&["saves", "show", &id, "--scrollback", "work:0.0"]).unwrap()
    };
    let few = kept(10);
    assert!(few.stdout.contains("line-155") && !few.stdout.contains("line-145\n"), "{}", few.words());
    let many = kept(2000);
    assert!(many.stdout.contains("line-1\n"), "{}", many.words());
    let none = kept(0);
    assert!(none.code() == Some(1) && none.stderr.contains("has no scrollback"), "{}", none.words());
}

/// `recovery.max_context_tokens` bounds what is gathered, `recovery.inject_limit` what a restored agent is told, and
/// `restore.keep_map` how long one that ended is on the map.
#[test]
fn contexts_and_the_map_have_limits() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.home.configure("[recovery]\ninject_limit = 300\nmax_context_tokens = 400\n").unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:0.0", "ask-00").unwrap();
    let session = record["sessionId"].as_str().unwrap().to_owned();
    for turn in 1..4 {
        let words = format!("ask-0{turn} {}", "more and more words ".repeat(20));
        lab.probe("work:0.0", words.trim_end()).unwrap();
        lab.idle_at("work:0.0", &format!("ask-0{turn}")).unwrap();
    }
    let cached = lab.home.state().join(format!("instances/restore/context-cache/{session}.txt"));
    let text = || fs::read_to_string(&cached).unwrap_or_default();
    assert!(wait_until(PATIENCE, || text().contains("ask-03")), "{}", text());
    assert!(text().chars().count() <= 300, "{}", text());
    lab.crash(&[&session]).unwrap();
    let preview = |tokens: u32| {
        lab.home.configure(&format!("[recovery]\nmax_context_tokens = {tokens}\n")).unwrap();
        let done = lab.rekindle(&["recover", &session, "--preview", "--json"]).unwrap();
        let told: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
        told["text"].as_str().unwrap().to_owned()
    };
    let (short, long) = (preview(250), preview(100_000));
    assert!(long.contains("ask-01") && long.contains("ask-02") && long.contains("ask-03"), "{long}");
    assert!(short.contains("ask-00") && short.contains("ask-03"), "first and newest are kept: {short}");
    assert!(!short.contains("ask-01") && short.len() < long.len(), "{short}");

    assert!(lab.map().to_string().contains(&session), "{}", lab.map());
    lab.home.configure("[restore]\nkeep_map = \"1s\"\n").unwrap();
    let gone = || lab.home.rekindle(&["settle"]).is_ok() && !lab.map().to_string().contains(&session);
    assert!(wait_until(PATIENCE, gone), "{}", lab.map());
    // What is off the map is not forgotten: a save knows it, and so does its record.
    assert!(lab.record(&session).is_some());
}
