use super::*;
use agents::claude::hook_events::{HookEvent, known_to_all};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

fn program() -> Program {
    Program::new(Path::new("/usr/bin/rekindle")).unwrap()
}

fn wanted() -> Wanted {
    Wanted { program: program(), events: known_to_all(&[]), status_line: StatusLineChoice::Keep }
}

fn value(bytes: &[u8]) -> Value {
    Document::parse(bytes).unwrap().value()
}

fn back(wired: &Wired) -> String {
    String::from_utf8(unwire(&wired.text, &program(), Some(&wired.traces)).unwrap()).unwrap()
}

/// Wires a text, and takes it out by structure: the same bytes. A second wiring changes nothing.
fn check(text: &str) -> String {
    let wired = wire(text.as_bytes(), &wanted()).unwrap();
    assert_eq!(back(&wired), text);
    assert_eq!(wire(&wired.text, &wanted()).unwrap().text, wired.text);
    String::from_utf8(wired.text).unwrap()
}

#[test]
fn what_is_written() {
    let one = Wanted { events: vec![HookEvent::Stop], ..wanted() };
    let text = wire(b"", &one).unwrap().text;
    let expect = json!({
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/rekindle hook Stop", "timeout": 5}]}]},
        "statusLine": {"type": "command", "command": "/usr/bin/rekindle statusline", "padding": 0},
    });
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expect);
    assert!(text.ends_with(b"}\n"));
}

#[test]
fn comments_order_indents_and_line_ends_stay() {
    let tabs = check("// mine\n{\n\t\"z\": 1, // last letter\n\t/* first */ \"a\": [1,2],\n\t\"m\": {}\n}\n");
    assert!(tabs.starts_with(
        "// mine\n{\n\t\"z\": 1, // last letter\n\t/* first */ \"a\": [1,2],\n\t\"m\": {},\n\t\"hooks\""
    ));
    let windows = check("{\r\n    \"a\": {\r\n        \"b\": 1\r\n    }\r\n}\r\n");
    assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count());
    let bom = check("\u{feff}{\n  \"a\": 1\n}");
    assert!(bom.starts_with("\u{feff}{\n  \"a\": 1,\n"));
    check("{\n  \"a\": 1,\n  // the end\n}\n");
    check("{\n  \"a\": [\n    1,\n  ],\n}\n");
}

#[test]
fn foreign_hooks_stay_and_ours_stand_behind_them() {
    let text = r#"{
  "hooks": {
    "Stop": [
      { "matcher": "", "hooks": [{ "type": "command", "command": "say done" }] } // mine
    ],
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "guard" }] }]
  },
  "permissions": { "deny": ["Read(.env)"] }
}
"#;
    let wired: Value = value(check(text).as_bytes());
    assert_eq!(wired["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(wired["hooks"]["Stop"][1]["hooks"][0]["command"], "/usr/bin/rekindle hook Stop");
    assert_eq!(wired["hooks"]["PreToolUse"], value(text.as_bytes())["hooks"]["PreToolUse"]);
    assert_eq!(wired["permissions"], json!({"deny": ["Read(.env)"]}));
}

#[test]
fn what_stood_there_empty_stays_empty() {
    for text in ["{\"hooks\": {}}", "{\"hooks\": {\"Stop\": []}}", "{}", " ", "{ }"] {
        let wired = wire(text.as_bytes(), &wanted()).unwrap();
        let empty = if text.trim().is_empty() { "{}" } else { text };
        assert_eq!(value(back(&wired).as_bytes()), value(empty.as_bytes()), "{text}");
    }
}

#[test]
fn events_that_an_agent_does_not_know_are_taken_out_again() {
    let all = Wanted { events: HookEvent::ALL.to_vec(), ..wanted() };
    let text = b"{\n  \"hooks\": {\n    \"StopFailure\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }] }]\n  }\n}\n";
    let wired = wire(text, &all).unwrap();
    let events = wired_events(&wired.text, &program()).unwrap();
    assert_eq!(events.iter().filter(|event| event.ours).count(), 10);
    let old = wire(&wired.text, &wanted()).unwrap();
    let events = wired_events(&old.text, &program()).unwrap();
    assert_eq!(events.iter().filter(|event| event.ours).count(), 7);
    // Somebody else's is not ours to take out; whoever asks is told.
    assert!(events.contains(&WiredEvent { name: "StopFailure".to_owned(), ours: false, foreign: true }));
    assert!(!events.iter().any(|event| event.name == "CwdChanged"));
}

#[test]
fn a_program_that_moved_is_followed_and_doubles_go() {
    let twice = r#"{"hooks":{"Stop":[
      {"hooks":[{"type":"command","command":"/old/rekindle hook Stop","timeout":60},{"type":"command","command":"x"}]},
      {"hooks":[{"type":"command","command":"/older/rekindle hook Stop"}]}]},
      "statusLine":{"type":"command","command":"/old/rekindle statusline --keep 'a b'"}}"#;
    let wired = wire(twice.as_bytes(), &wanted()).unwrap();
    let now = value(&wired.text);
    let stop = json!([{"hooks": [{"type": "command", "command": "/usr/bin/rekindle hook Stop", "timeout": 60},
                                 {"type": "command", "command": "x"}]}]);
    assert_eq!(now["hooks"]["Stop"], stop);
    assert_eq!(now["statusLine"]["command"], "/usr/bin/rekindle statusline --keep 'a b'");
    // Without a record, what the command keeps is what comes back.
    let bare = value(&unwire(&wired.text, &program(), None).unwrap());
    let expect = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]},
                        "statusLine": {"type": "command", "command": "a b"}});
    assert_eq!(bare, expect);
}

#[test]
fn a_status_line_is_kept_replaced_or_left() {
    let text = "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"~/my \\u0041 'line'\", \"padding\": 2 }\n}\n";
    let kept: Value = value(check(text).as_bytes());
    assert_eq!(kept["statusLine"]["padding"], 2);
    let words = shell_words::split(kept["statusLine"]["command"].as_str().unwrap()).unwrap();
    assert_eq!(words, ["/usr/bin/rekindle", "statusline", "--keep", "~/my A 'line'"]);

    let replace = Wanted { status_line: StatusLineChoice::Replace, ..wanted() };
    let replaced = wire(text.as_bytes(), &replace).unwrap();
    assert_eq!(value(&replaced.text)["statusLine"]["command"], "/usr/bin/rekindle statusline");
    assert_eq!(value(back(&replaced).as_bytes()), value(text.as_bytes()));
    // Kept first, replaced later: the old one still comes back.
    let later = wire(&wire(text.as_bytes(), &wanted()).unwrap().text, &replace).unwrap();
    assert_eq!(value(&later.text)["statusLine"]["command"], "/usr/bin/rekindle statusline");
    assert_eq!(value(back(&later).as_bytes()), value(text.as_bytes()));

    let skip = Wanted { status_line: StatusLineChoice::Skip, ..wanted() };
    assert_eq!(
        value(&wire(text.as_bytes(), &skip).unwrap().text)["statusLine"],
        value(text.as_bytes())["statusLine"]
    );
    assert_eq!(value(&wire(b"{}", &skip).unwrap().text).get("statusLine"), None);

    let odd = wire(br#"{"statusLine":"echo hi"}"#, &wanted()).unwrap();
    assert_eq!(odd.remarks, [Remark::OddStatusLine]);
    assert_eq!(value(&odd.text)["statusLine"], "echo hi");
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_line() {
    let refused = |text: &[u8]| wire(text, &wanted()).unwrap_err().to_string();
    assert_eq!(refused(b"{\n  \"a\": 1\n  \"b\": 2\n}"), "understand line 2: expected comma");
    assert!(wire("[".repeat(200_000).as_bytes(), &wanted()).is_err());
    assert!(wire(format!("{{\"a\":{}", "{\"a\":".repeat(200_000)).as_bytes(), &wanted()).is_err());
    for (text, words) in [
        (&b"[]"[..], "add to the file: it is no object"),
        (b"null", "add to the file: it is no object"),
        (b"{\"hooks\": []}", "add to hooks: it is no object"),
        (b"{\"hooks\": {\"Stop\": {}}}", "add to hooks.Stop: it is no array"),
        (b"{\"hooks\": {}, \"hooks\": {}}", "add to hooks: it stands there twice"),
        (b"\xff\xfe{", "read it: it is no UTF-8"),
    ] {
        assert_eq!(refused(text), words);
    }
    for broken in [&b"{"[..], b"{'a': 1}", b"{a: 1}", b"{} {}", b"{\"a\": 0x1}", b"\0"] {
        assert!(wire(broken, &wanted()).is_err(), "{broken:?}");
    }
}

#[test]
fn disabled_hooks_are_said() {
    let wired = wire(br#"{"disableAllHooks": true}"#, &wanted()).unwrap();
    assert_eq!(wired.remarks, [Remark::HooksDisabled]);
}

#[test]
fn what_no_agent_reads_is_said() {
    for text in ["{} // mine", "{\"a\": 1,}", "/* */ {}"] {
        assert_eq!(wire(text.as_bytes(), &wanted()).unwrap().remarks, [Remark::NotPlainJson], "{text}");
    }
    for text in ["", "{}", "\u{feff}{\"a\": \"// no comment\"}"] {
        assert_eq!(wire(text.as_bytes(), &wanted()).unwrap().remarks, [], "{text}");
    }
}

#[test]
fn odd_entries_of_others_stay() {
    let text = r#"{"hooks": {"Stop": [1, null, {"hooks": 3}, {"hooks": [4, {"command": 5}]}, "x"], "New": {"a": 1}}}"#;
    let wired = wire(text.as_bytes(), &wanted()).unwrap();
    assert_eq!(value(back(&wired).as_bytes()), value(text.as_bytes()));
}

#[test]
fn changes_around_ours_survive_the_undoing_byte_for_byte() {
    let before = "{\"theme\":\"dark\",\"env\":{\"A\":\"1\"}}";
    let wired = wire(before.as_bytes(), &wanted()).unwrap();
    let after = String::from_utf8(wired.text.clone()).unwrap();
    let edited =
        after.replace("dark", "light, very").replace("\"A\":\"1\"", "\"A\":\"1\", /* b */ \"B\":\"2\"");
    let undone =
        undo::take_back(edited.as_bytes(), before.as_bytes(), &wired.text, &program(), &wired.traces)
            .unwrap();
    let undone = String::from_utf8(undone).unwrap();
    assert_eq!(value(undone.as_bytes()), json!({"theme": "light, very", "env": {"A": "1", "B": "2"}}));
    assert!(undone.contains("\"A\":\"1\", /* b */ \"B\":\"2\""));
    // What was put among ours by hand stays too.
    let among = after.replace(
        "\"Stop\": [",
        "\"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}, ",
    );
    let undone =
        undo::take_back(among.as_bytes(), before.as_bytes(), &wired.text, &program(), &wired.traces).unwrap();
    assert_eq!(
        value(&undone)["hooks"],
        json!({"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]})
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::from("/usr/bin/rekindle hook Stop")),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let name = prop_oneof![
            "[a-z]{1,6}",
            Just("hooks".to_owned()),
            Just("Stop".to_owned()),
            Just("command".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn settings() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        4 => "[a-zA-Z]{1,8}",
        1 => Just("hooks".to_owned()),
        1 => Just("statusLine".to_owned()),
    ];
    let members = proptest::collection::vec((name, any_json()), 0..6);
    (members, 0..4_u8).prop_map(|(members, style)| {
        let value = Value::Object(members.into_iter().collect());
        match style {
            0 => value.to_string(),
            1 => serde_json::to_string_pretty(&value).unwrap(),
            2 => serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n"),
            _ => format!(
                "// a comment\n{}\n",
                serde_json::to_string_pretty(&value).unwrap().replace("  ", "\t")
            ),
        }
    })
}

proptest! {
    #[test]
    fn wiring_and_undoing_is_the_same_text(text in settings()) {
        let before = text.as_bytes();
        // Odd shapes are refused, and then nothing is written at all.
        let Ok(wired) = wire(before, &wanted()) else { return Ok(()) };
        // What was ours before the first wiring is nobody else's to keep.
        prop_assume!(unwire(before, &program(), None).unwrap() == before);
        let undone = undo::take_back(&wired.text, before, &wired.text, &program(), &wired.traces).unwrap();
        prop_assert_eq!(undone, before);
        prop_assert_eq!(&wire(&wired.text, &wanted()).unwrap().text, &wired.text);
        let structural = unwire(&wired.text, &program(), Some(&wired.traces)).unwrap();
        prop_assert_eq!(value(&structural), value(&unwire(before, &program(), Some(&wired.traces)).unwrap()));
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = wire(text.as_bytes(), &wanted());
        let _ = wire(&bytes, &wanted());
        let _ = unwire(&bytes, &program(), None);
    }
}
