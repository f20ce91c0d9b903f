//! A start that fails is followed by the next rung, or by another try; nothing is lost on the way.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::Value;

const NEWEST: &str = VERSIONS[2];

/// An agent in `work:0.0`, the pane's own command, that answered `ask-00`; saved and crashed.
fn crashed() -> (Lab, String) {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    before_each_start(&lab, "");
    lab.shell().unwrap();
    lab.tmux(&["respawn-pane", "-k", "-t", "work:0.0", "exec claude 'ask-00 please'"]).unwrap();
    let session = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    (lab, session)
}

/// From now on every start of the agent is counted, and this is done before it, where `$n` says the how manieth it is.
fn before_each_start(lab: &Lab, line: &str) {
    let starts = lab.home.root().join("starts");
    let _ = fs::remove_file(&starts);
    let starts = starts.display();
    let agent = lab.agent.shell_words();
    // Its name stays the one that was typed, as that of an agent that is installed.
    let script = format!(
        "echo x >> '{starts}'\nn=$(wc -l < '{starts}')\n{line}\nexec bash -c 'exec -a claude \"$0\" \"$@\"' {agent} \"$@\""
    );
    lab.home.script("claude", &script).unwrap();
}

fn starts(lab: &Lab) -> usize {
    fs::read_to_string(lab.home.root().join("starts")).unwrap_or_default().lines().count()
}

/// What became of the only agent.
fn restored(lab: &Lab) -> (String, String) {
    let done = lab.rekindle(&["restore", "--yes", "--json"]).unwrap();
    let json: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    let pane = &json["panes"][0];
    let word = |key: &str| pane[key].as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
    (word("outcome"), word("reason"))
}

/// Its transcript vanishes at the very start, after everything was checked: it is put back from the copy that was taken before
/// the start. When the copy vanishes, too, a fresh agent is told what is known.
/// F-resume-15
#[test]
fn a_conversation_that_is_not_found_is_put_back_or_begun_anew() {
    let (lab, session) = crashed();
    let transcript = lab.record(&session).unwrap()["transcriptPath"].as_str().unwrap().to_owned();
    lab.home.lose_vault().unwrap();
    let remove = format!("[ $n = 1 ] && rm '{transcript}'");
    before_each_start(&lab, &remove);
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "vault_resumed", "{why}");
    assert!(why.contains("No conversation found"), "what failed is written down: {why}");
    assert_eq!(starts(&lab), 2);
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));

    lab.idle_at("work:0.0", "probe-one").unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    before_each_start(&lab, &format!("{remove} && rm -rf '{}'", lab.home.state().join("vault").display()));
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "fresh_with_context", "{why}");
    assert!(why.contains("No conversation found"), "{why}");
    assert_eq!(starts(&lab), 2);
    let sent = lab.probe("work:0.0", "probe-two").unwrap();
    assert!(sent.contains("RESTORATION CONTEXT") && sent.contains("probe-one"), "{sent}");
}

/// An agent that fails for a reason of its own is tried again. When it keeps failing its conversation is not given up for a
/// fresh one: the pane stays, says why, and waits.
/// F-others-5
#[test]
fn an_agent_that_does_not_start_is_tried_again() {
    let (lab, session) = crashed();
    before_each_start(&lab, "[ $n -lt 3 ] && { echo 'Error: out of luck'; exit 1; }");
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "resumed", "{why}");
    assert!(why.contains("out of luck"), "{why}");
    assert_eq!(starts(&lab), 3);
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));

    lab.idle_at("work:0.0", "probe-one").unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    before_each_start(&lab, "echo 'Error: out of luck'; exit 1");
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "failed", "{why}");
    assert!(why.contains("out of luck") && why.contains("3 times"), "{why}");
    assert_eq!(starts(&lab), 3);
    let shows = || lab.screen("work:0.0");
    assert!(wait_until(PATIENCE, || shows().contains("was not resumed")), "{}", shows());
    before_each_start(&lab, "");
    lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).unwrap();
    let back = || lab.record(&session).is_some_and(|record| record["status"] == "active");
    assert!(wait_until(PATIENCE, || lab.home.rekindle(&["settle"]).is_ok() && back()), "{}", shows());
    assert!(lab.probe("work:0.0", "probe-two").unwrap().contains("probe-one"));
}

/// After a boot nobody has the key that a shell's profile gave to the agent: the restore says so, by its name.
#[test]
fn a_key_that_is_missing_is_named() {
    let (lab, _) = crashed();
    let mut command = lab.home.rekindle_command(&["restore", "--yes", "--json"]);
    let bare = lab.env().into_iter().filter(|(name, _)| name != "ANTHROPIC_API_KEY");
    command.env_clear().envs(bare);
    let done = lab::process::run(&mut command, PATIENCE).unwrap();
    let json: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    let why = json["panes"][0]["reason"].as_str().unwrap();
    assert!(why.contains("ANTHROPIC_API_KEY was in its environment"), "{json}");
}

/// Somebody goes into the conversation at the same moment: nobody is ended for it, and nothing is called resumed.
/// F-resume-12
#[test]
fn two_agents_in_one_conversation_are_no_success() {
    let (lab, session) = crashed();
    let agent = lab.agent.shell_words();
    let other = lab.home.root().join("other");
    fs::write(&other, format!("exec -a claude {agent} --resume {session}\n")).unwrap();
    before_each_start(&lab, &format!("tmux split-window -d -t work:0.0 \"exec bash '{}'\"", other.display()));
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "unverified", "{why}");
    assert!(why.contains("several agents are in its conversation"), "{why}");
    let alive = lab.tmux(&["list-panes", "-t", "work:0", "-F", "#{pane_dead}"]).unwrap().stdout;
    assert_eq!(alive, "0\n0\n", "nobody is ended for it");
}

/// Makes a transcript old and large, as its agent sees it.
fn age(transcript: &str) {
    let text = fs::read_to_string(transcript).unwrap();
    let rows = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        if let Some(at) = row["timestamp"].as_str() {
            let year: u16 = at[..4].parse().unwrap();
            row["timestamp"] = format!("{}{}", year - 1, &at[4..]).into();
        }
        if row["message"]["usage"].is_object() {
            row["message"]["usage"]["input_tokens"] = 150_000.into();
        }
        format!("{row}\n")
    });
    let aged: String = rows.collect();
    fs::write(transcript, aged).unwrap();
}

/// The agent asks whether an old and large conversation is to be resumed whole: it is, and its user finds it ready. The agent's
/// word comes before that question.
/// F-resume-14
#[test]
fn the_agents_own_question_about_resuming_is_answered() {
    let (lab, session) = crashed();
    age(lab.record(&session).unwrap()["transcriptPath"].as_str().unwrap());
    let settings = lab.home.home().join(".claude.json");
    let mut known: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    // What switches the question on; nothing is fetched, since nobody answers behind that proxy.
    known["cachedFeatureFlags"]["tengu_gleaming_fair"] = true.into();
    known["cachedGrowthBookFeatures"]["tengu_gleaming_fair"] = true.into();
    fs::write(&settings, known.to_string()).unwrap();
    let nowhere = "http://127.0.0.1:9";
    let proxies = format!("export HTTPS_PROXY={nowhere} HTTP_PROXY={nowhere} NO_PROXY=127.0.0.1,localhost");
    let switches = "unset DISABLE_TELEMETRY CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";
    before_each_start(&lab, &format!("{proxies}\n{switches}"));
    let (outcome, why) = restored(&lab);
    assert_eq!(outcome, "resumed", "{why}");
    let shown = lab.screen("work:0.0");
    assert!(!shown.contains("Resume full session as-is") && shown.contains("ask-00"), "{shown}");
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00") && sent.contains("probe-one"), "{sent}");
}
