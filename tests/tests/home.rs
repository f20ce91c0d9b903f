//! A throwaway home keeps to itself and leaves nothing behind.

use std::time::Duration;

use lab::home::Home;
use lab::process;

#[test]
fn nothing_of_the_outer_environment_comes_in() {
    let home = Home::new().unwrap();
    let done = process::run(&mut home.command("env"), Duration::from_secs(10)).unwrap();
    assert!(done.success());
    assert!(done.stdout.contains(&format!("HOME={}", home.home().display())));
    // PATH and what the home sets itself; a CLAUDE variable of an agent around us would stop an agent from saving.
    let names: Vec<&str> = done.stdout.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(
        names
            .iter()
            .all(|name| !name.starts_with("CLAUDE") || *name == "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    );
    assert!(!names.contains(&"TMUX"));
}

#[test]
fn a_plain_tmux_is_private_and_ends_with_the_home() {
    let home = Home::new().unwrap();
    let root = home.root().to_owned();
    let mut tmux = home.command("tmux");
    tmux.args(["-f", "/dev/null", "new-session", "-d", "-s", "work", "sleep 1000"]);
    assert!(process::run(&mut tmux, Duration::from_secs(10)).unwrap().success());
    assert!(home.tmux().socket().exists());
    let mut ask = home.adopt(home.tmux().command());
    let pid = process::run(
        ask.args(["display-message", "-p", "-t", "work", "#{pane_pid}"]),
        Duration::from_secs(10),
    )
    .unwrap();
    let proc = std::path::PathBuf::from(format!("/proc/{}", pid.stdout.trim()));
    assert!(proc.exists());
    drop(home);
    assert!(!root.exists());
    assert!(process::wait_until(Duration::from_secs(5), || !proc.exists()));
}

#[test]
fn a_process_over_its_deadline_goes_with_its_children() {
    let home = Home::new().unwrap();
    let mut command = home.command("sh");
    command.args(["-c", "sleep 1000 & echo $!; wait"]);
    let done = process::run(&mut command, Duration::from_millis(300)).unwrap();
    assert!(done.status.is_none());
    let proc = std::path::PathBuf::from(format!("/proc/{}/cmdline", done.stdout.trim()));
    let gone = || std::fs::read(&proc).map_or(true, |words| words.is_empty());
    assert!(process::wait_until(Duration::from_secs(5), gone));
}
