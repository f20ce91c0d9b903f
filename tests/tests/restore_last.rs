//! `restore --last` where the last restore did not come to its end.
#![expect(clippy::disallowed_methods, reason = "throwaway files are made on purpose")]

use std::fs;

use jiff::{SignedDuration, Timestamp};
use lab::home::Home;
use serde_json::json;

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

#[test]
fn an_interrupted_restore_is_shown_as_such() {
    let home = Home::new().unwrap();
    let none = home.rekindle(&["restore", "--last"]).unwrap();
    assert!(none.code() == Some(1) && none.stderr.contains("nothing was restored yet"), "{}", none.words());
    let at = Timestamp::now() - SignedDuration::from_mins(5);
    let pane = |place: &str, session: &str, outcome: Option<&str>| {
        json!({"mark": place, "pane": place, "sessionId": session, "act": "resume", "reason": "its transcript is whole",
            "socket": "/nowhere", "made": true, "outcome": outcome, "outcomeReason": outcome.map(|_| "the agent says so")})
    };
    let record = json!({"schema": 1, "restoreId": "20260101T000000.000Z", "at": at, "by": "restore", "finished": false,
        "panes": [pane("work:0.0", SHOP, Some("resumed")), pane("work:1.0", TILL, None)]});
    let folder = home.state().join("decisions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("20260101T000000.000Z.json"), record.to_string()).unwrap();
    let told = home.rekindle(&["restore", "--last"]).unwrap();
    assert_eq!(told.code(), Some(0), "{}", told.words());
    assert!(
        told.stdout.contains("The last restore was interrupted: 1/2 agents are back, begun 5 m ago"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("2b3c4d5e  not done"), "{}", told.stdout);
    assert_eq!(told.stderr, "`rekindle restore` completes it.\n");
    let json = home.rekindle_json(&["restore", "--last"]).unwrap();
    assert_eq!(
        (&json["interrupted"], &json["restored"], &json["total"]),
        (&json!(true), &json!(1), &json!(2))
    );
}
