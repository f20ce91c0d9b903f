//! A judge that always says "well" proves nothing: after a restore that is well, everything is spoiled in turn.

use std::fs;

use super::*;
use crate::agent::VERSIONS;
use crate::chaos::random::Random;
use crate::chaos::scene::{AgentScene, PaneScene, Scene, SessionScene, Start, WindowScene};

fn scene() -> Scene {
    let agent = |word: &str, start: Start| Some(AgentScene { word: word.to_owned(), start, typed: false });
    let pane = |agent: Option<AgentScene>| PaneScene { folder: 0, agent };
    let panes =
        vec![pane(agent("heron-0", Start::New)), pane(agent("heron-1", Start::Resumed(1))), pane(None)];
    let window = WindowScene { index: 0, name: None, layout: "even-vertical", zoomed: false, panes };
    Scene { sessions: vec![SessionScene { name: "work".to_owned(), windows: vec![window] }], hooked: false }
}

/// Which kinds of trouble there are.
fn kinds(troubles: &[Trouble]) -> BTreeSet<&'static str> {
    let kind = |trouble: &Trouble| match trouble {
        Trouble::Wrong(_) => "wrong",
        Trouble::Lost(_) => "lost",
        Trouble::Twice(_) => "twice",
    };
    troubles.iter().map(kind).collect()
}

/// Puts another agent into a talker's pane.
fn replace(stage: &Stage, at: usize, line: &str) {
    let pane = &stage.talkers[at].pane;
    let (bodies, shape) = (stage.lab.home.bodies(), stage.lab.shape().unwrap());
    let pid = shape.iter().find(|shown| shown.id == *pane).unwrap().pid;
    let old: Vec<_> = stage.lab.home.agents().into_iter().filter(|agent| agent.is_in(&bodies, pid)).collect();
    assert!(stage.lab.tmux(&["respawn-pane", "-k", "-t", pane, line]).unwrap().success());
    // The old one hears of it and takes its time; the new one must be there.
    let there = || {
        let agents = stage.lab.home.agents();
        !agents.iter().any(|agent| old.iter().any(|gone| gone.pid == agent.pid)) && agents.len() == 2
    };
    assert!(crate::process::wait_until(crate::wired::PATIENCE, there));
}

#[test]
fn whatever_is_spoiled_is_seen() {
    let mut stage = Stage::build(VERSIONS[2], &scene()).unwrap();
    stage.save().unwrap();
    let saved = stage.current().unwrap();
    stage.kill_server(&mut Random::of(1, "crash")).unwrap();
    stage.wait_for_end().unwrap();
    stage.restore().unwrap();
    let (fates, troubles) = stage.judge(&saved).unwrap();
    assert_eq!((fates, troubles), (vec![Fate::Resumed, Fate::Resumed], Vec::new()));
    let own: Vec<String> =
        stage.talkers.iter().map(|talker| format!("exec claude --resume {}", talker.session)).collect();

    replace(&stage, 0, &own[1]);
    let (fates, troubles) = stage.judge(&saved).unwrap();
    assert_eq!((fates, kinds(&troubles)), (vec![Fate::Wrong, Fate::Resumed], BTreeSet::from(["wrong"])));
    let told: Vec<String> = troubles.iter().map(|trouble| format!("{trouble:?}")).collect();
    assert!(told.iter().any(|words| words.contains("heron-0 knows exchanges of others")), "{told:?}");
    assert!(told.iter().any(|words| words.contains("heron-0 does not know exchanges")), "{told:?}");

    let number = stage.talkers[0].exchanges[0].number;
    replace(&stage, 0, &format!("{} 'ask-{number:02} my word is heron-0'", own[0]));
    let (fates, troubles) = stage.judge(&saved).unwrap();
    assert_eq!(
        (fates[0].clone(), kinds(&troubles)),
        (Fate::Wrong, BTreeSet::from(["twice"])),
        "{troubles:?}"
    );

    let more = stage.lab.tmux(&["split-window", "-d", "-t", "work:0", &own[0]]).unwrap();
    assert!(more.success());
    let three = || stage.lab.home.agents().len() == 3;
    assert!(crate::process::wait_until(crate::wired::PATIENCE, three));
    let (_, troubles) = stage.judge(&saved).unwrap();
    assert_eq!(kinds(&troubles), BTreeSet::from(["wrong", "twice"]), "{troubles:?}");

    stage.end();
    fs::remove_dir_all(stage.lab.home.state().join("vault")).unwrap();
    let path = &stage.talkers[1].transcript;
    let rows = fs::read_to_string(path).unwrap();
    let number = stage.talkers[1].exchanges[0].number;
    let left = rows.lines().filter(|row| !row.contains(&format!("reply-{number:02}")));
    fs::write(path, left.map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    let (fates, troubles) = stage.judge(&saved).unwrap();
    assert_eq!((fates, kinds(&troubles)), (vec![Fate::Wrong; 2], BTreeSet::from(["wrong", "lost", "twice"])));
    let told: Vec<String> = troubles.iter().map(|trouble| format!("{trouble:?}")).collect();
    assert!(told.iter().any(|words| words.contains("heron-0 has no agent in its pane")), "{told:?}");
    assert!(told.iter().any(|words| words.contains("of heron-1 are nowhere")), "{told:?}");
}
