//! Many panes: agents start a few at a time, and tmux is asked once, however many there are.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics, and throwaway files"
)]

use std::fs;
use std::path::PathBuf;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::terminal::shown_in;
use lab::wired::PATIENCE;
use serde_json::json;
use uuid::Uuid;

/// Puts a program in the agent's place that is slow to say its word, and writes down when it begins and when it speaks.
fn stand_in(lab: &Lab) -> PathBuf {
    let (script, diary) = (lab.home.root().join("stand-in"), lab.home.root().join("diary"));
    let text = format!(
        r#"while [ $# -gt 0 ]; do case $1 in --resume|--session-id) id=$2; shift;; esac; shift; done
echo "begin $id" >> '{diary}'
sleep 0.7
echo "speaks $id" >> '{diary}'
printf '{{"session_id":"%s","source":"resume","cwd":"%s","transcript_path":"%s"}}' "$id" "$PWD" '{folder}'/"$id.jsonl" |
    '{program}' hook SessionStart
exec -a claude sleep 1000000
"#,
        diary = diary.display(),
        folder = lab.home.slug(&lab.home.project()).display(),
        program = lab::program().display(),
    );
    fs::write(&script, text).unwrap();
    let line = format!("exec bash -c 'exec -a claude bash \"$0\" \"$@\"' '{}' \"$@\"", script.display());
    lab.home.script("claude", &line).unwrap();
    diary
}

/// All at once they once took a machine and its transcripts down.
/// F-resume-15, F-others-9
#[test]
fn agents_start_a_few_at_a_time() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    let diary = stand_in(&lab);
    lab.home.configure("[restore]\nmin_free_memory = \"1MiB\"\n").unwrap();
    lab.shell().unwrap();
    let ids: Vec<String> = (0..6).map(|_| Uuid::new_v4().to_string()).collect();
    for id in &ids {
        lab.home.put_talk(id, 2).unwrap();
        lab.window(&format!("exec claude --session-id {id}")).unwrap();
    }
    let all = |status: &str| {
        let is = |id: &String| lab.record(id).is_some_and(|record| record["status"] == status);
        lab.home.rekindle(&["settle"]).is_ok() && ids.iter().all(is)
    };
    assert!(wait_until(PATIENCE, || all("active")), "{}", fs::read_to_string(&diary).unwrap_or_default());
    assert_eq!(lab.home.rekindle_json(&["save"]).unwrap()["counts"]["agents"], 6);
    lab.tmux(&["kill-server"]).unwrap();
    assert!(wait_until(PATIENCE, || all("crashed")));
    fs::remove_file(&diary).unwrap();

    lab.home.configure("[restore]\nmax_parallel = 2\n").unwrap();
    let mut command = lab.home.rekindle_command(&["restore", "--yes"]);
    let screen = shown_in(command.envs(lab.env()), 80, PATIENCE).unwrap();
    let told = lab.home.rekindle_json(&["restore", "--last"]).unwrap();
    assert_eq!(told["restored"], 6, "{told}\n{screen}");
    // Each is told of as it comes back, and the end says what to type.
    for number in 1..=6 {
        let line = screen.lines().find(|line| line.starts_with(&format!("{number}/6  work:")));
        assert!(line.is_some_and(|line| line.ends_with("  resumed")), "{screen}");
    }
    let end = "Go there with `tmux attach -t work`.\nTake it back with `rekindle undo`.\n";
    assert!(screen.contains("\nRestored 6/6 agents in ") && screen.ends_with(end), "{screen}");
    let (mut silent, mut most) = (0_i32, 0);
    for line in fs::read_to_string(&diary).unwrap().lines() {
        silent += if line.starts_with("begin") { 1 } else { -1 };
        most = most.max(silent);
    }
    assert!(silent == 0 && most <= 2, "{most} had begun and not spoken");
}

/// A question per pane took others seconds.
/// F-tmux-21
#[test]
fn tmux_is_asked_once_however_many_panes_there_are() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.shell().unwrap();
    let real = run(lab.home.command("sh").args(["-c", "command -v tmux"]), PATIENCE).unwrap();
    let calls = lab.home.root().join("calls");
    let line = format!("echo \"$*\" >> '{}'; exec {} \"$@\"", calls.display(), real.stdout.trim());
    lab.home.script("tmux", &line).unwrap();
    let asked = || {
        let _ = fs::remove_file(&calls);
        lab.home.rekindle_json(&["save"]).unwrap();
        fs::read_to_string(&calls).unwrap().lines().count()
    };
    let few = asked();
    for _ in 0..20 {
        lab.another_shell().unwrap();
    }
    let saved = lab.home.rekindle_json(&["save"]).unwrap();
    assert_eq!(saved["counts"]["panes"], json!(21), "{saved}");
    assert_eq!(asked(), few, "{}", fs::read_to_string(&calls).unwrap());
    assert!(few <= 4, "{}", fs::read_to_string(&calls).unwrap());
}
