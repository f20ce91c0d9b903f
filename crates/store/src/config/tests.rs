use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("config.toml"), text)
}

#[test]
fn nothing_said_means_the_documented_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(Config::load(None).unwrap(), config);
    assert_eq!(Config::load(Some(Path::new("/nonexistent/config.toml"))).unwrap(), config);
    assert_eq!(config.vault.keep_gone, Duration::from_secs(365 * 24 * 3600));
    assert_eq!(config.vault.keep_backups, Duration::from_secs(30 * 24 * 3600));
    assert_eq!(config.restore.min_free_memory, ByteSize(1 << 30));
    assert_eq!(config.lifecycle.restart_cooldown, Duration::from_secs(900));
}

#[test]
fn every_documented_line_is_understood() {
    let config = parse(
        r#"
        [restore]
        auto = false
        stale_after = "2d"
        min_free_memory = "512MiB"
        [recovery]
        inject_limit = 10
        [recovery.prompts]
        template = "{{name}}"
        [claude]
        auto_resume_on_restore = true
        resume_fallback = "fresh_claude"
        [statusline]
        preset = "plain"
        glyphs = "plain"
        colour = false
        lines = [["clock", "dir"], [], ["prompt", "vault"]]
        notices = false
        slot = "percent"
        clock = "12h"
        margin = 0
        [[slots]]
        name = "slot-1"
        config_dir = "/c"
        "#,
    )
    .unwrap();
    assert!(config.unknown.is_empty(), "{:?}", config.unknown);
    assert!(!config.restore.auto);
    assert_eq!(config.restore.stale_after, Duration::from_secs(2 * DAY));
    assert_eq!(config.prompts.template, "{{name}}");
    assert_eq!(config.claude.auto_resume_on_restore, AutoResume::Always);
    assert_eq!(config.claude.resume_fallback, ResumeFallback::Fresh);
    use statusline::{Clock, Glyphs, Lines, Part, Preset, SlotForm};
    assert_eq!(
        config.statusline,
        Statusline {
            preset: Some(Preset::Plain),
            glyphs: Glyphs::Plain,
            colour: false,
            lines: Lines(Some(vec![vec![Part::Clock, Part::Dir], vec![], vec![Part::Prompt, Part::Vault]])),
            notices: false,
            slot: SlotForm::Percent,
            clock: Clock::Hours12,
            margin: 0,
        }
    );
    assert_eq!(config.slots, [Slot { name: "slot-1".into(), config_dir: "/c".into() }]);
}

#[test]
fn unknown_keys_are_named_and_bad_values_say_what_is_allowed() {
    let config = parse("[vault]\nkeep_goen = \"1d\"\n[new]\nx = 1\n[recovery.prompts]\ny = 2").unwrap();
    assert_eq!(config.unknown, ["new", "recovery.prompts.y", "vault.keep_goen"]);
    let text = parse("[vault]\nkeep_gone = 3").unwrap_err().to_string();
    assert_eq!(
        text,
        "use vault.keep_gone of config.toml: it is 3, and may be a time such as \"30s\", \"5m\", \"4h\" or \"30d\""
    );
    for bad in [
        "[save]\nkeep = -1",
        "vault = 1",
        "[[slots]]\nname = \"x\"",
        "slots = 3",
        "[claude]\nresume_fallback = \"x\"",
    ] {
        assert!(matches!(parse(bad), Err(ConfigError::Value { .. })), "{bad}");
    }
    assert!(matches!(parse("[vault"), Err(ConfigError::Syntax { .. })));
}

#[test]
fn an_unknown_part_is_told_the_known_ones() {
    let text = parse("[statusline]\nlines = [[\"dir\", \"wether\"]]").unwrap_err().to_string();
    assert!(
        text.starts_with(
            "use statusline.lines of config.toml: it is [[\"dir\", \"wether\"]], and may be a list of lines"
        ),
        "{text}"
    );
    for word in
        ["dir", "branch", "model", "context", "clock", "quota", "slot", "cost", "tokens", "prompt", "name"]
    {
        assert!(text.contains(&format!("\"{word}\"")), "{word}: {text}");
        assert!(parse(&format!("[statusline]\nlines = [[\"{word}\"]]")).is_ok(), "{word}");
    }
    for bad in [
        "lines = [\"dir\"]",
        "lines = \"dir\"",
        "lines = [[1]]",
        "glyphs = \"nerd\"",
        "clock = 24",
        "margin = -1",
    ] {
        assert!(parse(&format!("[statusline]\n{bad}")).is_err(), "{bad}");
    }
}

#[test]
fn units() {
    for (text, seconds) in
        [("30s", Some(30)), ("5m", Some(300)), ("1w", Some(604_800)), ("5", None), ("d", None)]
    {
        assert_eq!(parse_duration(text), seconds.map(Duration::from_secs), "{text}");
    }
    assert_eq!(parse_duration("99999999999999999999d"), None);
    assert_eq!(parse_duration("9999999999999999d"), None);
    assert_eq!(parse_size("2 GB"), Some(ByteSize(2_000_000_000)));
    assert_eq!(parse_size("1gib"), None);
}
