//! Units of the service manager: written, enabled, looked at and taken out, with stand-ins for systemctl and loginctl; their
//! text is judged by systemd itself.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are written by hand, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use lab::home::Home;
use lab::process::{self, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

struct Desk {
    home: Home,
}

impl Desk {
    /// A home whose systemctl and loginctl write down what they are told, and do what matters of it.
    fn new() -> Desk {
        let desk = Desk { home: Home::new().unwrap() };
        let units = desk.units();
        let log = desk.home.root().join("calls");
        let (units, log) = (units.display(), log.display());
        desk.home
            .script(
                "systemctl",
                &format!(
                    r#"echo "systemctl $*" >>{log}
test -e {log}.broken && {{ echo "Failed to connect to bus: No medium found" >&2; exit 1; }}
case "$*" in
*"enable rekindle-restore.service") mkdir -p {units}/default.target.wants
  ln -sf {units}/rekindle-restore.service {units}/default.target.wants/ ;;
*list-timers*) echo '[{{"next":1900000000000000,"last":0,"unit":"rekindle-tick.timer"}}]' ;;
*" show "*) printf 'Result=success\nActiveState=active\nUnitFileState=enabled\n' ;;
esac"#
                ),
            )
            .unwrap();
        desk.home
            .script(
                "loginctl",
                &format!(
                    r#"echo "loginctl $*" >>{log}
case "$1" in
show-user) test -e {log}.linger && echo yes || echo no ;;
enable-linger) touch {log}.linger ;;
esac"#
                ),
            )
            .unwrap();
        desk
    }

    fn units(&self) -> PathBuf {
        self.home.home().join(".config/systemd/user")
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.units().join(name)
    }

    /// What the manager was told, without questions.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.root().join("calls")).unwrap_or_default();
        let asks = |line: &&str| line.contains(" show") || line.contains("list-timers");
        text.lines().filter(|line| !asks(line)).map(str::to_owned).collect()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.units()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

const UNITS: [&str; 3] = ["rekindle-restore.service", "rekindle-tick.service", "rekindle-tick.timer"];

#[test]
fn units_are_installed_seen_and_taken_out() {
    let desk = Desk::new();
    let planned = desk.home.rekindle_json(&["service", "install", "--dry-run"]).unwrap();
    assert_eq!(planned["changes"].as_array().unwrap().len(), 3, "{planned}");
    assert!(desk.names().is_empty() && desk.calls().is_empty(), "a dry run changes nothing");
    let nobody = desk.home.rekindle(&["service", "install"]).unwrap();
    assert_eq!((nobody.code(), desk.names().len()), (Some(2), 0), "nobody said yes: {}", nobody.words());

    let done = desk.home.rekindle(&["service", "install", "--yes"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert!(done.stderr.contains("loginctl enable-linger"), "it is said, and not done: {}", done.stderr);
    let told = [
        "systemctl --user daemon-reload",
        "systemctl --user enable rekindle-restore.service",
        "systemctl --user enable --now rekindle-tick.timer",
    ];
    assert_eq!(desk.calls(), told);
    for name in UNITS {
        let mode = fs::metadata(desk.unit(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "systemd complains about units that others cannot read");
    }
    let restore = fs::read_to_string(desk.unit(UNITS[0])).unwrap();
    assert!(restore.contains(&format!("ExecStart=\"{}\" restore --yes --by boot", lab::program().display())));
    assert!(restore.contains(&format!("REKINDLE_STATE_DIR={}", desk.home.state().display())), "{restore}");
    let again = desk.home.rekindle_json(&["service", "install", "--yes"]).unwrap();
    assert_eq!((&again["changes"], &again["linger"]), (&json!([]), &json!(false)));
    let lingering = desk.home.rekindle_json(&["service", "install", "--yes", "--linger"]).unwrap();
    assert_eq!(lingering["linger"], true);
    assert!(desk.calls().contains(&"loginctl enable-linger".to_owned()));

    assert!(desk.home.rekindle(&["tick"]).unwrap().success());
    let status = desk.home.rekindle_json(&["service", "status"]).unwrap();
    let units = status["units"].as_array().unwrap();
    let fits =
        |unit: &Value| unit["installed"] == true && unit["current"] == true && unit["enabled"] == "enabled";
    assert!(units.len() == 3 && units.iter().all(fits), "{status}");
    assert_eq!((&status["linger"], &status["nextTick"]), (&json!(true), &json!("2030-03-17T17:46:40Z")));
    assert!(status["lastTick"].is_string() && status["failures"] == json!([]), "{status}");

    let undone = desk.home.rekindle(&["service", "uninstall", "--yes"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert!(desk.names().iter().all(|name| name.ends_with(".wants")), "{:?}", desk.names());
    assert!(
        fs::read_dir(desk.unit("default.target.wants")).unwrap().next().is_none(),
        "no link leads to nothing"
    );
    let told = "systemctl --user disable --now rekindle-tick.timer rekindle-restore.service";
    assert_eq!(desk.calls()[desk.calls().len() - 2..], [told, "systemctl --user daemon-reload"]);
    let before = desk.calls().len();
    let again = desk.home.rekindle(&["service", "uninstall"]).unwrap();
    assert_eq!((again.stdout.trim(), again.code()), ("nothing is installed", Some(0)));
    assert_eq!(desk.calls().len(), before, "a second time there is nothing to tell");
}

#[test]
fn units_of_others_stay_and_uninstall_takes_ours_out() {
    let desk = Desk::new();
    fs::create_dir_all(desk.units()).unwrap();
    fs::write(desk.unit(UNITS[2]), "[Timer]\nOnCalendar=daily\n").unwrap();
    let refused = desk.home.rekindle(&["service", "install", "--yes"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert_eq!((desk.names(), desk.calls()), (vec![UNITS[2].to_owned()], Vec::<String>::new()));
    fs::remove_file(desk.unit(UNITS[2])).unwrap();
    fs::write(desk.unit("mine.service"), "[Service]\n").unwrap();
    assert!(desk.home.rekindle(&["service", "install", "--yes"]).unwrap().success());
    // One that its user has changed is its user's.
    let changed = fs::read_to_string(desk.unit(UNITS[1])).unwrap().replace("Nice=10", "Nice=5");
    fs::write(desk.unit(UNITS[1]), &changed).unwrap();
    let undone = desk.home.rekindle(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    let left: Vec<String> = desk.names().into_iter().filter(|name| !name.ends_with(".wants")).collect();
    assert_eq!(left, ["mine.service", UNITS[1]]);
    assert_eq!(fs::read_to_string(desk.unit(UNITS[1])).unwrap(), changed);
    assert!(desk.calls().iter().any(|call| call.contains("disable --now")), "{:?}", desk.calls());
}

#[test]
fn a_manager_that_does_not_answer_is_told_again_later() {
    let desk = Desk::new();
    let broken = desk.home.root().join("calls.broken");
    fs::write(&broken, "").unwrap();
    let failed = desk.home.rekindle(&["service", "install", "--yes"]).unwrap();
    assert_eq!(failed.code(), Some(1), "{}", failed.words());
    assert!(
        failed.stderr.contains("No medium found") && failed.stderr.contains("run it again"),
        "{}",
        failed.stderr
    );
    fs::remove_file(&broken).unwrap();
    assert!(desk.home.rekindle(&["service", "install", "--yes"]).unwrap().success());
    assert!(desk.calls().contains(&"systemctl --user enable --now rekindle-tick.timer".to_owned()));
}

/// systemd reads the units as they are meant.
#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let desk = Desk::new();
    // Programs in folders that systemd would read otherwise, were they not quoted.
    for name in ["a b%h $HOME", "a b%h $HOME \"c\"'"] {
        verified(&desk, name);
    }
}

fn verified(desk: &Desk, folder: &str) {
    let odd = desk.home.root().join(folder);
    fs::create_dir(&odd).unwrap();
    std::os::unix::fs::symlink(lab::program(), odd.join("rekindle")).unwrap();
    let path = format!("{}:{}", odd.display(), std::env::var("PATH").unwrap());
    let mut install = desk.home.command(lab::program());
    install
        .args(["service", "install", "--yes"])
        .env("PATH", format!("{}:{path}", desk.home.bin().display()));
    let done = process::run(&mut install, DEADLINE).unwrap();
    assert!(done.success(), "{}", done.words());
    let mut verify = desk.home.command("systemd-analyze");
    verify.args(["verify", "--user"]).args(UNITS.map(|name| desk.unit(name)));
    let judged = process::run(&mut verify, DEADLINE).unwrap();
    assert!(judged.success(), "{}", judged.words());
    let ours: Vec<&str> = judged.stderr.lines().filter(|line| line.contains("rekindle")).collect();
    assert_eq!(ours, Vec::<&str>::new(), "systemd complains");
}

/// The tmux server of a restore outlives the unit that restored: it is started in a scope of its own.
#[test]
fn a_restored_server_has_a_scope_of_its_own_where_systemd_gives_one() {
    let desk = Desk::new();
    let socket = desk.home.tmux().socket().to_owned();
    let tmux = |words: &[&str]| {
        process::run(desk.home.adopt(desk.home.tmux().command()).args(words), DEADLINE).unwrap()
    };
    assert!(tmux(&["new-session", "-d", "-s", "work", "exec cat"]).success());
    desk.home.rekindle_json(&["save"]).unwrap();
    let scopes = desk.home.root().join("scopes");
    let asked = || fs::read_to_string(&scopes).unwrap_or_default();
    fs::create_dir_all(desk.home.root().join("run/systemd")).unwrap();
    fs::write(desk.home.root().join("run/systemd/private"), "").unwrap();
    let restore = || {
        tmux(&["kill-server"]);
        assert!(wait_until(DEADLINE, || std::os::unix::net::UnixStream::connect(&socket).is_err()));
        let done = desk.home.rekindle(&["restore", "--yes", "--by", "boot"]).unwrap();
        assert!(done.success(), "{}", done.words());
        assert!(tmux(&["has-session", "-t", "work"]).success());
    };
    let log = scopes.display();
    let scoped = format!("echo \"$*\" >>{log}\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec \"$@\"");
    desk.home.script("systemd-run", &scoped).unwrap();
    restore();
    assert!(asked().contains("--user --scope --quiet --collect"), "{}", asked());
    let refusing = format!("echo no >>{log}\necho 'Failed to connect to bus: No medium found' >&2\nexit 1");
    desk.home.script("systemd-run", &refusing).unwrap();
    restore();
    assert!(
        asked().ends_with("no\n"),
        "it was asked, refused, and the server runs all the same: {}",
        asked()
    );
}
