use super::*;

fn service(manager: Manager) -> Service {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Service {
        manager,
        folder: "/home/u/units".into(),
        program: Program::new(Path::new("/home/u/a b/100%/$x/re\"kindle")).unwrap(),
        interval: Duration::from_secs(300),
        variables: vec![pair("PATH", "/bin:/opt/a \"b\"/%h"), pair("LANG", "de_DE.UTF-8 <&>")],
        user: 1000,
    }
}

fn text(manager: Manager, name: &str) -> String {
    service(manager).files().into_iter().find(|file| file.name == name).unwrap().text
}

#[test]
fn units_say_what_is_started_and_when() {
    let restore = text(Manager::Systemd, "rekindle-restore.service");
    assert!(
        restore
            .contains(r#"ExecStart=/usr/bin/env "/home/u/a b/100%%/$$x/re\"kindle" restore --yes --by boot"#),
        "{restore}"
    );
    assert!(restore.contains("Type=oneshot\nRemainAfterExit=yes\n"), "{restore}");
    assert!(restore.contains("KillMode=process\n") && restore.contains("WantedBy=default.target\n"));
    assert!(restore.contains("Environment=\"PATH=/bin:/opt/a \\\"b\\\"/%%h\"\n"), "{restore}");
    let tick = text(Manager::Systemd, "rekindle-tick.service");
    assert!(
        tick.contains("re\\\"kindle\" tick\n") && tick.contains("After=rekindle-restore.service\n"),
        "{tick}"
    );
    let timer = text(Manager::Systemd, "rekindle-tick.timer");
    assert!(timer.contains("OnUnitInactiveSec=300s\nAccuracySec=30s\n"), "{timer}");
    assert!(timer.contains("WantedBy=timers.target\n"), "{timer}");
}

#[test]
fn a_path_without_quotes_is_the_program_itself() {
    let program = Program::new(Path::new("/home/u/a b/100%/$x/rekindle")).unwrap();
    let files = Service { program, ..service(Manager::Systemd) }.files();
    assert!(
        files[1].text.contains("ExecStart=\"/home/u/a b/100%%/$x/rekindle\" tick\n"),
        "{}",
        files[1].text
    );
}

#[test]
fn agents_of_launchd_are_lists_of_words() {
    let tick = text(Manager::Launchd, "rekindle.tick");
    assert!(
        tick.contains("<string>/home/u/a b/100%/$x/re\"kindle</string>\n        <string>tick</string>\n"),
        "{tick}"
    );
    assert!(tick.contains("<key>StartInterval</key>\n    <integer>300</integer>\n"), "{tick}");
    assert!(tick.contains("<string>de_DE.UTF-8 &lt;&amp;&gt;</string>"), "{tick}");
    let restore = text(Manager::Launchd, "rekindle.restore");
    assert!(restore.contains("<key>AbandonProcessGroup</key>\n    <true/>\n"), "{restore}");
    assert!(!restore.contains("StartInterval") && restore.contains("<key>RunAtLoad</key>\n    <true/>\n"));
    for (name, words) in [("rekindle.restore", "--by"), ("rekindle.tick", "tick")] {
        let file = service(Manager::Launchd).files().into_iter().find(|file| file.name == name).unwrap();
        assert_eq!(file.path, Path::new("/home/u/units").join(format!("{name}.plist")));
        assert!(
            file.text.contains(words) && file.text.starts_with("<?xml ") && file.text.ends_with("</plist>\n")
        );
    }
    let calls: Vec<String> =
        service(Manager::Launchd).enable().iter().map(|call| call.words.join(" ")).collect();
    assert_eq!(
        calls,
        [
            "launchctl bootout gui/1000/rekindle.tick",
            "launchctl bootstrap gui/1000 /home/u/units/rekindle.tick.plist"
        ]
    );
}

#[test]
fn files_are_written_once_and_those_of_others_stay() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    let service = Service { folder: root.path().join("units"), ..service(Manager::Systemd) };
    let planned = plan(&state, &service).unwrap();
    assert_eq!(planned.changes().len(), 3);
    apply(&planned, Timestamp::UNIX_EPOCH).unwrap();
    assert!(plan(&state, &service).unwrap().changes().is_empty(), "a second time there is nothing to do");
    let longer = Service { interval: Duration::from_secs(600), ..service.clone() };
    assert_eq!(plan(&state, &longer).unwrap().changes().len(), 1, "only the timer knows the interval");
    let timer = service.folder.join("rekindle-tick.timer");
    durable::replace(&timer, b"[Timer]\n").unwrap();
    let planned = plan(&state, &service).unwrap();
    assert_eq!((planned.foreign(), planned.changes().len()), (Some(timer.as_path()), 0));
}
