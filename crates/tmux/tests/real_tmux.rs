//! Shots and scrollback of a real, private tmux server.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics, and it reads its own throwaway files"
)]

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tmux::{ServerSnapshot, Shooting, scrollback, shoot};

const PATIENCE: Duration = Duration::from_secs(30);

/// A server of its own; it ends with this value.
struct Private {
    dir: tempfile::TempDir,
}

impl Private {
    fn start(session: &str) -> Private {
        // Directly under /tmp: the path of a socket may have 107 bytes at most.
        let dir = tempfile::Builder::new().prefix("rk-").tempdir_in("/tmp").unwrap();
        let server = Private { dir };
        server.tmux(&["new-session", "-d", "-s", session, "-x", "200", "-y", "60", "exec cat"]);
        server
    }

    fn socket(&self) -> std::path::PathBuf {
        self.dir.path().join("s")
    }

    fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.socket()).args(["-f", "/dev/null"]).args(words);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm");
        command.env("HOME", self.dir.path()).current_dir(self.dir.path()).output().unwrap()
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = self.command(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn shot(&self) -> ServerSnapshot {
        match shoot(&self.socket(), PATIENCE) {
            Shooting::Taken(shot) => *shot,
            other => panic!("{other:?}"),
        }
    }

    /// Types into a pane that runs `cat`, and waits until it shows.
    fn print(&self, pane: &str, text: &str) {
        self.tmux(&["send-keys", "-t", pane, "-l", "--", text]);
        self.tmux(&["send-keys", "-t", pane, "Enter"]);
        let start = Instant::now();
        while self.tmux(&["capture-pane", "-p", "-J", "-t", pane]).matches(text).count() < 2 {
            assert!(start.elapsed() < PATIENCE, "{text:?} does not show");
            std::thread::yield_now();
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.command(&["kill-server"]);
    }
}

/// F-tmux-14
#[test]
fn names_come_back_as_they_are_and_never_run() {
    let server = Private::start("plain");
    let trap = server.dir.path().join("ran");
    let evil = format!("#(touch {})", trap.display());
    let names = [
        "two words",
        "it's \"quoted\"",
        "a:b.c",
        "tab\there",
        "new\nline",
        "🦀 ünï",
        "#{pid}",
        "#S",
        "%H 7:x",
        "",
    ];
    // tmux expands what it is given here, so a doubled `#` is how such a name comes to be.
    let doubled = evil.replace('#', "##");
    for name in names {
        server.tmux(&["new-window", "-d", "-n", "x", "exec cat"]);
        server.tmux(&["rename-window", "-t", "{end}", &name.replace('#', "##")]);
    }
    server.tmux(&["rename-window", "-t", "{end}", &doubled]);
    server.tmux(&["rename-session", &doubled]);
    server.tmux(&["select-pane", "-T", &doubled]);
    let folder = server.dir.path().join("a\n3:b\t#(touch ran)");
    std::fs::DirBuilder::new().create(&folder).unwrap();
    server.tmux(&["set-option", "-p", "@rekindle_id", "5:evil\n"]);
    let start = format!("cd '{}' && exec cat", folder.display());
    let pane = server.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", &start]);
    let begun = Instant::now();
    let shot = loop {
        let shot = server.shot();
        if shot.panes().any(|known| known.id == pane && Path::new(&known.cwd) == folder) {
            break shot;
        }
        assert!(begun.elapsed() < PATIENCE, "{shot:#?}");
    };
    let windows: Vec<&str> = shot.windows.iter().map(|window| window.name.as_str()).collect();
    for name in ["two words", "it's \"quoted\"", "a:b.c", "🦀 ünï", "#{pid}", "#S", "%H 7:x", &evil] {
        assert!(windows.contains(&name), "{name:?} is not among {windows:?}");
    }
    assert_eq!(shot.sessions[0].name, server.tmux(&["display-message", "-p", "#{session_name}"]));
    assert!(shot.sessions[0].name.contains("#(touch"), "{}", shot.sessions[0].name);
    let active = &shot.windows[0].panes[0];
    assert_eq!((active.title.as_str(), active.tag.as_deref()), (evil.as_str(), Some("5:evil\n")));
    assert!(!trap.exists() && !server.dir.path().join("ran").exists(), "a name ran");
    let again: ServerSnapshot = serde_json::from_str(&serde_json::to_string(&shot).unwrap()).unwrap();
    assert_eq!(again, shot);
}

/// tmux expands what it is given as a name, a title or a directory: `##` is one `#`, but not before `[`.
#[test]
fn names_with_hashes_are_made_again_exactly_and_the_second_time_too() {
    let names = [
        "#",
        "##",
        "a#",
        "a##",
        "#[x",
        "##[fg=red]x",
        "###[x]",
        "##S",
        "#{pid}",
        "##{pid}",
        "#(touch ran)",
        "#[#(touch ran)]#",
    ];
    let pane = |name: &str| tmux::PanePlan {
        cwd: "/tmp".to_owned(),
        title: name.to_owned(),
        active: true,
        mark: "m".to_owned(),
        tag: None,
        options: std::collections::BTreeMap::new(),
        command: vec!["cat".to_owned()],
        variables: Vec::new(),
    };
    let session = |name: &str, window: &str, title: &str| tmux::SessionPlan {
        name: name.to_owned(),
        windows: vec![tmux::WindowPlan {
            index: 0,
            name: window.to_owned(),
            renames_itself: false,
            layout: String::new(),
            width: 80,
            height: 24,
            zoomed: false,
            panes: vec![pane(title)],
        }],
        ..tmux::SessionPlan::default()
    };
    let mut plans: Vec<_> = names.iter().map(|name| session(name, name, name)).collect();
    for round in 1..3 {
        let server = Private::start("first");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(server.socket()).args(["source-file", "-"]);
        let made =
            tmux::run_with(&mut command, tmux::script(&plans, tmux::Base::default()).into_bytes(), PATIENCE);
        assert!(matches!(&made, tmux::Ran::Done(output) if output.status.success()), "{made:?}");
        let shot = server.shot();
        let sessions: Vec<&str> = shot.sessions.iter().map(|session| session.name.as_str()).collect();
        for name in names {
            assert!(sessions.contains(&name), "round {round}: no session {name:?} in {sessions:?}");
            let own = |window: &&tmux::Window| window.name == name && window.panes[0].title == name;
            assert!(
                shot.windows.iter().any(|window| own(&window)),
                "round {round}: no window {name:?}: {:#?}",
                shot.windows
            );
        }
        assert!(!server.dir.path().join("ran").exists(), "a name ran");
        // The next round makes what this one shows.
        plans = names
            .iter()
            .map(|name| {
                let window = shot.windows.iter().find(|window| window.name == *name).unwrap();
                let known = shot.sessions.iter().find(|session| session.name == *name).unwrap();
                session(&known.name, &window.name, &window.panes[0].title)
            })
            .collect();
    }
}

/// F-tmux-22
#[test]
fn thirty_panes_keep_their_layout_and_the_zoom_does_not_hide_it() {
    let server = Private::start("many");
    for _ in 0..29 {
        server.tmux(&["split-window", "-d", "exec cat"]);
        server.tmux(&["select-layout", "tiled"]);
    }
    let plain = server.shot();
    server.tmux(&["select-pane", "-t", ".7"]);
    server.tmux(&["resize-pane", "-Z"]);
    let zoomed = server.shot();
    assert_eq!(plain.windows[0].panes.len(), 30);
    assert_eq!(plain.windows[0].layout, zoomed.windows[0].layout);
    assert_eq!((plain.windows[0].zoomed, zoomed.windows[0].zoomed), (false, true));
    assert_eq!((zoomed.windows[0].width, zoomed.windows[0].height), (200, 60));
    let active: Vec<u32> =
        zoomed.windows[0].panes.iter().filter(|pane| pane.active).map(|pane| pane.index).collect();
    assert_eq!(active, [7]);
    let indexes: Vec<u32> = plain.windows[0].panes.iter().map(|pane| pane.index).collect();
    assert_eq!(indexes, (0..30).collect::<Vec<_>>());
}

#[test]
fn groups_and_linked_windows_are_one_window_in_several_sessions() {
    let server = Private::start("one");
    server.tmux(&["new-window", "-d", "-n", "logs", "exec cat"]);
    server.tmux(&["new-session", "-d", "-t", "one", "-s", "mirror"]);
    server.tmux(&["new-session", "-d", "-s", "other", "exec cat"]);
    server.tmux(&["link-window", "-d", "-s", "one:1", "-t", "other:5"]);
    server.tmux(&["select-window", "-t", "mirror:1"]);
    server.tmux(&["set-window-option", "-t", "other:0", "automatic-rename", "off"]);
    let shot = server.shot();
    let session = |name: &str| shot.sessions.iter().find(|session| session.name == name).unwrap();
    assert_eq!(shot.windows.len(), 3);
    assert_eq!(shot.panes().count(), 3);
    assert_eq!(session("one").group, session("mirror").group);
    assert!(session("one").group.is_some() && session("other").group.is_none());
    let logs = &shot.windows.iter().find(|window| window.name == "logs").unwrap().id;
    let places: Vec<(u32, bool, bool)> = ["one", "mirror", "other"]
        .iter()
        .map(|name| session(name).windows.iter().find(|link| link.window == *logs).unwrap())
        .map(|link| (link.index, link.active, link.last))
        .collect();
    assert_eq!(places, [(1, false, false), (1, true, false), (5, false, false)]);
    let own = session("other").windows[0].window.clone();
    let renamed = |id: &str| shot.window(id).unwrap().automatic_rename;
    assert!(!renamed(&own));
    let pane = &shot.window(&own).unwrap().panes[0].id;
    let reference = shot.reference(pane).unwrap();
    assert!(reference.as_str().ends_with("//other:0.0"), "{reference}");
}

/// F-tmux-12
#[test]
fn scrollback_is_joined_bounded_and_keeps_its_pane() {
    let server = Private::start("text");
    let second = server.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"]);
    let long = "x".repeat(450);
    server.print("%0", &long);
    server.print(&second, "in the second");
    let read = |panes: &[&str], nonce: &str| scrollback(&server.socket(), panes, 100, nonce, PATIENCE);
    let text = read(&["%0", "%99", &second], "0000-mark").unwrap();
    assert_eq!(text.len(), 2);
    assert!(text["%0"].lines().any(|line| line == long), "a wrapped line is not joined");
    assert!(text[&second].contains("in the second") && !text["%0"].contains("in the second"));
    server.print("%0", "0000-mark %1");
    assert!(read(&["%0", &second], "0000-mark").is_err());
    assert!(read(&["%0", &second], "1111-mark").is_ok());
}

#[test]
fn nobody_there_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(shoot(&dir.path().join("none"), PATIENCE), Shooting::Gone);
}

/// A pane whose program takes every byte as it comes and asks for pastes in one piece; what it got is in the file.
fn taker(server: &Private, name: &str) -> (String, std::path::PathBuf) {
    let file = server.dir.path().join(name);
    let line =
        format!("stty raw -echo; printf '\\033[?2004h'; echo ready; exec cat > '{}'", file.to_string_lossy());
    let pane = server.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", &line]);
    wait(|| server.tmux(&["capture-pane", "-p", "-t", &pane]).contains("ready"));
    (pane, file)
}

fn wait(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "it does not happen");
        std::thread::yield_now();
    }
}

/// F-tmux-2, F-tmux-3, F-tmux-6, F-tmux-10
#[test]
fn text_goes_in_as_one_piece_and_leaves_no_buffer() {
    let server = Private::start("work");
    let (pane, file) = taker(&server, "got");
    let got = || std::fs::read(&file).unwrap_or_default();
    let text = format!("-R a;\nb #(touch ran) #{{pane_id}} ü {};", "x".repeat(480_000));
    tmux::paste(&server.socket(), &pane, &text, "ours", PATIENCE).unwrap();
    let piece = format!("\u{1b}[200~{}\u{1b}[201~", text.replace('\n', "\r"));
    wait(|| got().len() >= piece.len());
    assert!(got() == piece.as_bytes(), "{} bytes", got().len());
    tmux::press_enter(&server.socket(), &pane, PATIENCE).unwrap();
    tmux::type_line(&server.socket(), &pane, "-R /x;", PATIENCE).unwrap();
    wait(|| got().ends_with(b"\r-R /x;"));
    assert!(!server.dir.path().join("ran").exists());
    assert!(tmux::paste(&server.socket(), "%99", "x", "ours", PATIENCE).is_err());
    assert_eq!(server.tmux(&["list-buffers"]), "");
}

/// F-tmux-8, F-tmux-10, F-tmux-24
#[test]
fn a_look_tells_what_becomes_of_keys() {
    let server = Private::start("work");
    let (one, first) = taker(&server, "one");
    let (_, second) = taker(&server, "two");
    let look = |pane: &str| tmux::sight(&server.socket(), pane, PATIENCE).unwrap();
    let seen = look(&one).unwrap();
    assert!(seen.screen.contains("ready") && !seen.in_mode && !seen.synchronized && !seen.input_off);
    assert_eq!(seen.server.pid.to_string(), server.tmux(&["display-message", "-p", "#{pid}"]));
    assert_eq!(seen.tty, server.tmux(&["display-message", "-p", "-t", &one, "#{pane_tty}"]));

    server.tmux(&["copy-mode", "-t", &one]);
    server.tmux(&["choose-tree", "-t", &one]);
    assert!(look(&one).unwrap().in_mode);
    tmux::leave_modes(&server.socket(), &one, PATIENCE).unwrap();
    assert!(!look(&one).unwrap().in_mode);

    server.tmux(&["select-pane", "-d", "-t", &one]);
    assert!(look(&one).unwrap().input_off);
    server.tmux(&["select-pane", "-e", "-t", &one]);

    // Keys are everybody's then, pasted text is not.
    server.tmux(&["set-option", "-w", "synchronize-panes", "on"]);
    assert!(look(&one).unwrap().synchronized);
    tmux::paste(&server.socket(), &one, "text", "ours", PATIENCE).unwrap();
    tmux::press_enter(&server.socket(), &one, PATIENCE).unwrap();
    wait(|| std::fs::read(&first).is_ok_and(|got| got.ends_with(b"\r")));
    assert_eq!(std::fs::read(&first).unwrap(), b"\x1b[200~text\x1b[201~\r", "and no other key");
    wait(|| std::fs::read(&second).is_ok_and(|got| got.ends_with(b"\r")));
    assert_eq!(std::fs::read(&second).unwrap(), b"\r");
}

/// Asking a pane that is gone is no error to tmux.
/// F-tmux-16
#[test]
fn a_pane_that_is_gone_is_seen_as_gone() {
    let server = Private::start("work");
    let asked = server.command(&["display-message", "-p", "-t", "%99", "#{pane_id}"]);
    assert!(asked.status.success() && asked.stdout.trim_ascii().is_empty());
    assert_eq!(tmux::sight(&server.socket(), "%99", PATIENCE).unwrap(), None);
}

/// Places are numbers that change; an id and a user option stay with their pane.
/// F-tmux-1
#[test]
fn an_option_travels_with_its_pane() {
    let server = Private::start("work");
    let (pane, _) = taker(&server, "got");
    tmux::tag(&server.socket(), &[(&pane, "its conversation")], PATIENCE).unwrap();
    let before = server.tmux(&["display-message", "-p", "-t", &pane, "#{window_index}.#{pane_index}"]);
    server.tmux(&["break-pane", "-d", "-s", &pane, "-t", "work:9"]);
    server.tmux(&["new-session", "-d", "-s", "other", "exec cat"]);
    server.tmux(&["move-window", "-s", "work:9", "-t", "other:4"]);
    let after = server.tmux(&["display-message", "-p", "-t", &pane, "#{window_index}.#{pane_index}"]);
    assert_ne!(before, after);
    let tmux::Listing::Alive(listed) = tmux::list(&server.socket(), PATIENCE) else { panic!("no answer") };
    let found = listed.pane(&pane).unwrap();
    assert_eq!((found.session.as_str(), found.window), ("other", 4));
    assert_eq!(found.tag.as_deref(), Some("its conversation"));
}

/// That is why tags and questions about many panes go in batches or by standard input.
/// F-tmux-4
#[test]
fn long_commands_fail_and_long_answers_do_not() {
    let server = Private::start("work");
    let long = "x".repeat(20_000);
    assert!(!server.command(&["set-option", "-p", "@long", &long]).status.success());
    let panes: Vec<String> = (0..2000).map(|number| format!("%{number}")).collect();
    let ids: Vec<&str> = panes.iter().map(String::as_str).collect();
    let found = scrollback(&server.socket(), &ids, 10, "a-nonce", PATIENCE).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["%0"]);
}

/// So no judgement here rests on how long a session was quiet.
/// F-tmux-17
#[test]
fn activity_stands_still_while_nobody_looks() {
    let server = Private::start("work");
    let activity = || server.tmux(&["display-message", "-p", "-t", "work", "#{session_activity}"]);
    let before = activity();
    let pane =
        server.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "sleep 2; echo printed; exec cat"]);
    wait(|| server.tmux(&["capture-pane", "-p", "-t", &pane]).contains("printed"));
    assert_eq!(activity(), before);
}

/// A shot says of a dead pane that it is dead, and nobody asks its status.
/// F-tmux-18
#[test]
fn a_killed_pane_has_a_signal_and_no_status() {
    let server = Private::start("work");
    server.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let pane = server.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"]);
    let pid = server.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let fact = |format: &str| server.tmux(&["display-message", "-p", "-t", &pane, format]);
    // Dead and why are told at two moments. Where tmux keeps a login record of each pane (libutempter), it does not hear of a
    // child that ends while it is at that, and asks for the reason when the next child ends (measured on 3.3a).
    wait(|| {
        server.tmux(&["run-shell", "true"]);
        fact("#{pane_dead}") == "1" && !fact("#{pane_dead_signal}").is_empty()
    });
    assert_eq!((fact("#{pane_dead_status}"), fact("#{pane_dead_signal}")), (String::new(), "9".to_owned()));
    let tmux::Listing::Alive(listed) = tmux::list(&server.socket(), PATIENCE) else { panic!("no answer") };
    assert!(listed.pane(&pane).unwrap().dead && !listed.panes[0].dead);
}

/// A name is looked up as tmux made it, and never by its beginning.
/// F-tmux-20
#[test]
fn names_change_their_colons_and_begin_alike() {
    let server = Private::start("work");
    server.tmux(&["new-session", "-d", "-s", "a:b.c", "exec cat"]);
    server.tmux(&["rename-window", "-t", "=a_b_c:0", "a:b.c"]);
    server.tmux(&["new-session", "-d", "-s", "workshop", "exec cat"]);
    let shot = server.shot();
    let names: Vec<&str> = shot.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["a_b_c", "work", "workshop"]);
    assert!(shot.windows.iter().any(|window| window.name == "a:b.c"));
    server.tmux(&["kill-session", "-t", "=work"]);
    // Without the sign of equality the beginning of a name is enough.
    assert!(server.command(&["has-session", "-t", "work"]).status.success());
    assert!(!server.command(&["has-session", "-t", "=work"]).status.success());
}

/// Hooks of ours go, wherever they come from, and those of others stay.
#[test]
fn nothing_of_ours_is_left_in_the_hooks() {
    let server = Private::start("work");
    let hooks = || server.tmux(&["show-hooks", "-g", ";", "show-hooks", "-gw"]);
    server.tmux(&["set-hook", "-g", "session-window-changed[3]", "set-option -g @theirs 1"]);
    let pane = server.shot().panes().next().unwrap().id.clone();
    for wired in [false, true] {
        tmux::tell_focus(&server.socket(), &[&pane], PATIENCE);
        if wired {
            server.tmux(&["set-hook", "-g", "session-closed[8371]", "set-option -g @ours 1"]);
        }
        assert_eq!(hooks().matches("[8372]").count(), 3);
        assert_eq!(tmux::unhook(&server.socket(), PATIENCE), wired);
        assert!(!hooks().contains("[837"), "{}", hooks());
        assert!(hooks().contains("session-window-changed[3]"));
    }
}
