//! Panes of which a save knows only that an agent ran in them: their user says which conversation it was, or begins anew.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const SHELL: &str = "exec bash --norc --noprofile";

fn restore(lab: &Lab, more: &[&str]) -> Value {
    let done = lab.rekindle(&[&["restore", "--yes", "--json"], more].concat()).unwrap();
    assert!(done.success(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn tmux(lab: &Lab, words: &[&str]) -> String {
    let done = lab.tmux(words).unwrap();
    assert!(done.success(), "{words:?}: {}", done.words());
    done.stdout
}

/// Waits for a pane to show this, however its lines are broken.
fn shows(lab: &Lab, pane: &str, text: &str) -> String {
    let joined = || lab.screen(pane).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(wait_until(PATIENCE, || joined().contains(text)), "{text:?} is not shown: {}", lab.screen(pane));
    lab.screen(pane)
}

fn press(lab: &Lab, pane: &str, key: &str) {
    tmux(lab, &["send-keys", "-t", pane, key]);
}

fn pids(lab: &Lab) -> String {
    tmux(lab, &["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"])
}

fn is_gone(lab: &Lab) -> bool {
    wait_until(PATIENCE, || lab.tmux(&["list-sessions"]).unwrap().stderr.contains("no server"))
}

/// A save that knows only that an agent ran in each of three windows; the last one has a directory of its own.
fn import(lab: &Lab, alone: &Path) {
    let project = lab.home.project();
    let line = |window: u32, folder: &Path| {
        let folder = folder.display();
        format!("pane\twork\t{window}\t0\t:\t0\thost\t:{folder}\t1\tclaude\t:claude --model x\n")
    };
    let text: String =
        [(5, &*project), (6, &project), (7, alone)].map(|(at, folder)| line(at, folder)).concat();
    let file = lab.home.root().join("last");
    fs::write(&file, text).unwrap();
    lab.home.rekindle_json(&["saves", "import", file.to_str().unwrap(), "--name", "old"]).unwrap();
}

/// What becomes of a pane, in a run or in a dry one, and why.
fn of_pane(done: &Value, pane: &str) -> (String, String) {
    let found = done["panes"].as_array().unwrap().iter().find(|known| known["pane"] == pane);
    let found = found.unwrap_or_else(|| panic!("{pane} is not in {done}"));
    let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (word("outcome") + &word("act"), word("reason"))
}

#[track_caller]
fn is_told(done: &Value, pane: &str, what: &str, why: &str) {
    let (word, reason) = of_pane(done, pane);
    assert_eq!(word, what, "{reason}");
    assert!(reason.contains(why), "{reason}");
}

struct Story {
    lab: Lab,
    /// Two conversations of one directory that crashed, with what was said in each.
    both: [(String, &'static str); 2],
    /// The directory of an agent that nobody knows.
    alone: PathBuf,
}

fn crashed() -> Story {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.window("exec claude 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    let both = [("work:1.0", "ask-00"), ("work:2.0", "ask-01")].map(|(place, ask)| {
        (lab.idle_at(place, ask).unwrap()["sessionId"].as_str().unwrap().to_owned(), ask)
    });
    lab.home.rekindle_json(&["save", "--name", "known"]).unwrap();
    lab.crash(&[&both[0].0, &both[1].0]).unwrap();
    let alone = lab.home.root().join("alone");
    fs::create_dir(&alone).unwrap();
    lab.home.trust(&alone).unwrap();
    import(&lab, &alone);
    Story { lab, both, alone }
}

impl Story {
    /// Nothing is shown in a pane that is there already; the report says what to do.
    fn a_pane_that_is_there_is_left_alone(&self) {
        let lab = &self.lab;
        lab.shell().unwrap();
        tmux(lab, &["new-window", "-d", "-t", "work:5", SHELL]);
        let path = || lab.pane("work:5.0", "#{pane_current_command} #{pane_current_path}").unwrap();
        let there = format!("bash {}", lab.home.project().display());
        assert!(wait_until(PATIENCE, || path() == there), "{}", path());
        let before = pids(lab);
        let done = restore(lab, &["old", "--only", "work:5"]);
        let newest = of_pane(&done, "work:5.0").1.rsplit("rekindle recover ").next().unwrap()[..8].to_owned();
        is_told(&done, "work:5.0", "offered", &format!("rekindle recover {newest} brings that one back"));
        assert!(self.both.iter().any(|(id, _)| id.starts_with(&newest)), "{newest}");
        assert_eq!(pids(lab), before);
        tmux(lab, &["kill-server"]);
        assert!(is_gone(lab));
    }

    /// Who is asked is left alone by the next restore, taken back by undo, and asked again after another crash.
    fn pages_wait(&self) {
        let lab = &self.lab;
        let done = restore(lab, &["old"]);
        is_told(&done, "work:5.0", "offered", "its pane asks which");
        is_told(&done, "work:7.0", "offered", "no conversation is known to be its own");
        for (session, _) in &self.both {
            shows(lab, "work:5.0", &session[..8]);
        }
        shows(lab, "work:7.0", "Enter start a fresh agent");
        let record = format!("decisions/{}.json", done["restoreId"].as_str().unwrap());
        let decided = fs::read_to_string(lab.home.state().join(record)).unwrap();
        let tried = "its conversation by identity: none; by pane_ref: none; by cwd: 2; by task: none";
        assert!(decided.contains(tried), "{decided}");
        lab.home.rekindle_json(&["save", "--name", "asked"]).unwrap();
        let before = pids(lab);
        for save in ["old", "asked"] {
            is_told(&restore(lab, &[save]), "work:5.0", "offered", "its pane asks which");
            assert_eq!(pids(lab), before, "{save}");
        }
        let undone = lab.rekindle(&["undo"]).unwrap();
        assert!(undone.success() && is_gone(lab), "{}", undone.words());

        // The save that was taken while they asked.
        is_told(&restore(lab, &["asked"]), "work:7.0", "offered", "no conversation is known to be its own");
    }

    /// Chooses the second one, and returns the one that is left.
    fn one_is_chosen(&self) -> &str {
        let lab = &self.lab;
        let page = shows(lab, "work:5.0", "1-2 resume that one here");
        let second = page.lines().find(|line| line.trim_start().starts_with("2  ")).unwrap();
        let at = self.both.iter().position(|(id, _)| second.contains(&id[..8])).unwrap();
        let ((chosen, ask), (other, _)) = (&self.both[at], &self.both[1 - at]);
        press(lab, "work:5.0", "2");
        let back = |record: &Value| record["sessionId"] == **chosen && record["status"] == "active";
        assert_eq!(lab.record_where("back", back).unwrap()["place"]["ref"], "work:5.0");
        assert!(lab.probe("work:5.0", "probe-five").unwrap().contains(ask), "another conversation");
        let explained =
            || lab.home.rekindle_json(&["explain", chosen]).unwrap()["decision"]["decided"].clone();
        assert!(wait_until(PATIENCE, || explained()["outcome"] == "resumed"), "{}", explained());
        assert!(explained()["evidence"].to_string().contains("\"rung\":\"choice\""), "{}", explained());
        let last = lab.home.rekindle_json(&["restore", "--last"]).unwrap();
        assert_eq!((&last["restored"], &last["total"]), (&json!(1), &json!(3)), "{last}");

        // The other page still has both, and the guards stand before each.
        press(lab, "work:6.0", "2");
        shows(lab, "work:6.0", "two agents would write one conversation");
        press(lab, "work:6.0", "s");
        let front = || lab.pane("work:6.0", "#{pane_current_command}").unwrap();
        assert!(wait_until(PATIENCE, || front() != "rekindle"), "{}", front());
        other
    }

    fn another_begins_anew(&self) {
        let lab = &self.lab;
        press(lab, "work:7.0", "Enter");
        let begun = |record: &Value| record["place"]["ref"] == "work:7.0" && record["status"] == "active";
        let fresh = lab.record_where("begun", begun).unwrap();
        assert_eq!(fresh["cwd"], json!(self.alone), "{fresh}");
        assert!(!lab.probe("work:7.0", "probe-seven").unwrap().contains("ask-0"));
        let transcript = fresh["transcriptPath"].as_str().unwrap();
        assert!(wait_until(PATIENCE, || Path::new(transcript).exists()), "{transcript}");
    }

    /// Two free panes in its directory, and nothing says which: the command that the report names brings it back.
    fn several_panes_could_be_its_own(&self, left: &str) {
        let lab = &self.lab;
        for window in ["work:11", "work:12"] {
            tmux(lab, &["new-window", "-d", "-t", window, SHELL]);
        }
        let shells = || {
            tmux(lab, &["list-panes", "-s", "-t", "work", "-F", "#{window_index} #{pane_current_command}"])
        };
        assert!(wait_until(PATIENCE, || shells().contains("11 bash") && shells().contains("12 bash")));
        let place = if left == self.both[0].0 { "work:1.0" } else { "work:2.0" };
        let how = format!("rekindle recover {} opens a window for it", &left[..8]);
        is_told(&restore(lab, &["known", "--dry-run"]), place, "offer", &how);
        let done = lab.rekindle(&["recover", &left[..8]]).unwrap();
        assert!(done.success(), "{}", done.words());
    }
}

#[test]
fn the_user_says_which_conversation_it_was_or_begins_anew() {
    let story = crashed();
    story.a_pane_that_is_there_is_left_alone();
    story.pages_wait();
    let left = story.one_is_chosen();
    story.another_begins_anew();
    let lab = &story.lab;
    let running = pids(lab);
    let again = restore(lab, &["asked"]);
    assert_eq!(again["panes"].as_array().unwrap().len(), 1, "its user has answered: {again}");
    let how = format!("rekindle recover {} brings it back", &left[..8]);
    is_told(&again, "work:6.0", "offered", &how);
    assert_eq!(pids(lab), running);
    story.several_panes_could_be_its_own(left);
}
