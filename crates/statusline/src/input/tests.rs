use super::*;

/// What 2.1.325 says to a subscriber, shortened.
const WHOLE: &str = r#"{
  "session_id": "abc", "transcript_path": "/c/projects/-p/abc.jsonl", "cwd": "/p", "session_name": "tidy up",
  "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
  "workspace": {"current_dir": "/p/src", "project_dir": "/p", "added_dirs": []},
  "version": "2.1.325", "output_style": {"name": "default"}, "effort": {"level": "high"},
  "cost": {"total_cost_usd": 332.4, "total_duration_ms": 150720000, "total_api_duration_ms": 2300},
  "context_window": {"total_input_tokens": 15234, "total_output_tokens": 8211, "context_window_size": 200000,
    "current_usage": {"input_tokens": 8500, "output_tokens": 1200, "cache_creation_input_tokens": 5000,
      "cache_read_input_tokens": 140500}, "used_percentage": 77, "remaining_percentage": 23},
  "exceeds_200k_tokens": false, "thinking": {"enabled": true},
  "rate_limits": {"five_hour": {"used_percentage": 1.2, "resets_at": 1762000000},
    "seven_day": {"used_percentage": 75, "resets_at": "2025-11-05T12:00:00Z"}}}"#;

fn read(text: &str) -> Input {
    Input::parse(text.as_bytes())
}

#[test]
fn every_field_is_read() {
    let at = |second| Timestamp::from_second(second).ok();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        read(WHOLE),
        Input {
            session_id: text("abc"),
            session_name: text("tidy up"),
            transcript_path: text("/c/projects/-p/abc.jsonl"),
            cwd: text("/p/src"),
            project_dir: text("/p"),
            version: text("2.1.325"),
            model_id: text("claude-opus-4-5"),
            model_name: text("Opus 4.5"),
            output_style: text("default"),
            effort: text("high"),
            cost_usd: Some(332.4),
            duration_ms: Some(150_720_000.0),
            context: Context {
                size: Some(200_000),
                used: Some(154_000),
                percent: Some(77.0),
                written: Some(8211)
            },
            five_hour: Quota { percent: Some(1.2), resets_at: at(1_762_000_000) },
            seven_day: Quota { percent: Some(75.0), resets_at: at(1_762_344_000) },
        }
    );
}

#[test]
fn one_odd_field_costs_nothing_but_itself() {
    let whole = read(WHOLE);
    for (from, to, lost) in [
        (r#""session_id": "abc""#, r#""session_id": 7"#, Input { session_id: None, ..whole.clone() }),
        (r#""version": "2.1.325""#, r#""version": {"a": [1]}"#, Input { version: None, ..whole.clone() }),
        (
            r#"{"id": "claude-opus-4-5", "display_name": "Opus 4.5"}"#,
            "[1, null]",
            Input { model_id: None, model_name: None, ..whole.clone() },
        ),
        ("332.4", "\"332.4\"", Input { cost_usd: None, ..whole.clone() }),
        ("332.4", "1e999", Input { cost_usd: None, ..whole.clone() }),
        ("332.4", "-1", Input { cost_usd: None, ..whole.clone() }),
        (r#""output_style": "#, r#""new_field": [{"x": 1e999}], "output_style": "#, whole.clone()),
        (r#""session_id": "abc""#, r#""session_id": "old", "session_id": "abc""#, whole.clone()),
        (r#""session_id""#, r#""session\u005fid""#, whole.clone()),
    ] {
        assert!(WHOLE.contains(from), "{from}");
        assert_eq!(read(&WHOLE.replacen(from, to, 1)), lost, "{to}");
    }
}

#[test]
fn times_come_in_three_spellings() {
    let reset = |text: &str| {
        let input = read(&format!(r#"{{"rate_limits":{{"five_hour":{{"resets_at":{text}}}}}}}"#));
        input.five_hour.resets_at.map(Timestamp::as_second)
    };
    for same in [
        "1762344000",
        "1762344000000",
        "1762344000.5",
        "\"2025-11-05T12:00:00Z\"",
        "\"2025-11-05T12:00:00.000+00:00\"",
        "\"2025-11-05T13:00:00+01:00\"",
    ] {
        assert_eq!(reset(same), Some(1_762_344_000), "{same}");
    }
    for none in ["null", "0", "-5", "1e300", "\"soon\"", "\"\"", "[]", "true"] {
        assert_eq!(reset(none), None, "{none}");
    }
}

#[test]
fn torn_text_counts_up_to_the_tear() {
    let torn = read(&WHOLE[..WHOLE.find("\"cost\"").unwrap() + 20]);
    assert_eq!((torn.version.as_deref(), torn.cost_usd), (Some("2.1.325"), None));
    let cwd = read(r#"{"workspace": {}, "cwd": "/p"}"#).cwd;
    assert_eq!(cwd.as_deref(), Some("/p"));
}

#[test]
fn garbage_is_nothing() {
    for garbage in
        ["", " ", "null", "[]", "7", "\"{}\"", "hello", "{", "{]", "\u{0}", "{\"session_id\"", "{1:2}"]
    {
        assert_eq!(read(garbage), Input::default(), "{garbage:?}");
    }
    let large = WHOLE.replacen("abc", &"x".repeat(LARGEST), 1);
    assert_eq!(read(&large), Input::default());
    // Not valid UTF-8, and still the rest is there.
    assert_eq!(Input::parse(b"{\"cwd\":\"/\xff\",\"version\":\"1\"}").version.as_deref(), Some("1"));
    let deep = format!("{{\"cwd\":\"/p\",\"x\":{}", "[".repeat(100_000));
    assert_eq!(read(&deep).cwd.as_deref(), Some("/p"));
}

#[test]
fn context_percent_is_given_or_computed() {
    let percent = |text: &str| read(&format!(r#"{{"context_window":{text}}}"#)).context_percent();
    assert_eq!(percent(r#"{"used_percentage":12}"#), Some(12.0));
    assert_eq!(
        percent(r#"{"context_window_size":1000,"current_usage":{"input_tokens":100,"output_tokens":900}}"#),
        Some(10.0)
    );
    assert_eq!(percent(r#"{"context_window_size":0,"current_usage":{"input_tokens":100}}"#), None);
    assert_eq!(
        percent(r#"{"used_percentage":null,"current_usage":null,"context_window_size":200000}"#),
        None
    );
}
