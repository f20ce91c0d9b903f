//! Servers that are hard to bring back: their place is gone, or one of several fails.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// A server with one shell, saved.
fn saved() -> Lab {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.shell().unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab
}

fn restore(lab: &Lab, more: &[&str]) -> Value {
    let done = lab.rekindle(&[&["restore", "--yes", "--json"], more].concat()).unwrap();
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()))
}

fn end_server(lab: &Lab) {
    lab.tmux(&["kill-server"]).unwrap();
    assert!(wait_until(PATIENCE, || !lab.tmux(&["list-sessions"]).unwrap().success()));
}

fn windows(lab: &Lab) -> String {
    lab.tmux(&["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]).unwrap().stdout
}

/// A boot clears the place where tmux keeps its sockets, and tmux makes it only for itself.
#[test]
fn the_folder_of_sockets_may_be_gone() {
    let lab = saved();
    end_server(&lab);
    let folder = lab.home.tmux().socket().parent().unwrap().to_path_buf();
    fs::remove_dir_all(&folder).unwrap();
    restore(&lab, &[]);
    assert_eq!(windows(&lab), "work:0\n");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    end_server(&lab);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let done = restore(&lab, &[]);
    assert!(done["panes"][0]["reason"].as_str().unwrap().contains("of this user alone"), "{done}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A save of two servers, and one of them cannot be made: the other comes back, and the report tells of both.
#[test]
fn one_server_that_fails_keeps_no_other_from_coming_back() {
    let lab = saved();
    let file = lab.home.root().join("save.json");
    let saved = lab.home.rekindle_json(&["saves"]).unwrap();
    let id = saved["saves"][0]["save"].as_str().unwrap().to_owned();
    assert!(lab.rekindle(&["saves", "export", &id, file.to_str().unwrap()]).unwrap().success());
    let mut whole: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut other = whole["servers"][0].clone();
    other["tmux"]["socket"] = json!(lab.home.root().join("no/such/folder/socket"));
    other["tmux"]["pid"] = json!(1);
    whole["servers"].as_array_mut().unwrap().insert(0, other);
    for (what, many) in [("servers", 2), ("sessions", 2), ("windows", 2), ("panes", 2)] {
        whole["counts"][what] = json!(many);
    }
    fs::write(&file, whole.to_string()).unwrap();
    let words = ["saves", "import", file.to_str().unwrap(), "--name", "two"];
    let imported = lab.rekindle(&words).unwrap();
    assert!(imported.success(), "{}", imported.words());
    end_server(&lab);
    let done = restore(&lab, &["two"]);
    let outcomes: Vec<&Value> =
        done["panes"].as_array().unwrap().iter().map(|pane| &pane["outcome"]).collect();
    assert_eq!(outcomes, [&json!("failed"), &json!("shell")], "{done}");
    assert_eq!(windows(&lab), "work:0\n");
}

/// The place of one of two servers is gone: what could not be brought back stays in the save, whoever saves in between, and
/// comes back when its place is there again.
#[test]
fn what_could_not_be_brought_back_is_not_forgotten() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.shell().unwrap();
    let folder = lab.home.root().join("side");
    let socket = folder.join("socket");
    let side = |words: &[&str]| {
        let mut command = lab.home.command("tmux");
        command.env_clear().envs(lab.env()).args(["-f", "/dev/null", "-S"]).arg(&socket).args(words);
        run(&mut command, PATIENCE).unwrap()
    };
    fs::create_dir(&folder).unwrap();
    assert!(side(&["new-session", "-d", "-s", "aside", "exec bash --norc --noprofile"]).success());
    let mut command = lab.home.rekindle_command(&["save", "--json"]);
    // The server of `$TMUX` is saved wherever its socket is.
    command.env_clear().envs(lab.env()).env("TMUX", format!("{},1,0", socket.display()));
    let saved = run(&mut command, PATIENCE).unwrap();
    assert!(saved.stdout.contains("\"servers\":2"), "{}", saved.words());
    end_server(&lab);
    side(&["kill-server"]);
    assert!(wait_until(PATIENCE, || !side(&["list-sessions"]).success()));
    fs::remove_dir_all(&folder).unwrap();

    let outcomes = |done: &Value| -> Vec<(String, String)> {
        let word = |pane: &Value, key: &str| pane[key].as_str().unwrap().to_owned();
        let panes = done["panes"].as_array().unwrap();
        panes.iter().map(|pane| (word(pane, "pane"), word(pane, "outcome"))).collect()
    };
    let aside = format!("{}//aside:0.0", socket.display());
    let done = restore(&lab, &[]);
    assert!(outcomes(&done).contains(&(aside.clone(), "failed".to_owned())), "{done}");
    assert_eq!(windows(&lab), "work:0\n");
    assert!(lab.rekindle(&["tick"]).unwrap().success());
    let done = restore(&lab, &[]);
    assert_eq!(outcomes(&done), [(aside.clone(), "failed".to_owned())], "{done}");
    fs::create_dir(&folder).unwrap();
    let done = restore(&lab, &[]);
    assert_eq!(outcomes(&done), [(aside, "shell".to_owned())], "{done}");
    assert!(side(&["has-session", "-t", "=aside"]).success());
    assert_eq!(restore(&lab, &[])["panes"], json!([]));
    side(&["kill-server"]);
}
