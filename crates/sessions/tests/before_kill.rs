//! What a pane of a real, private tmux shows is kept before its agent is ended.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agents::SessionKey;
use jiff::Timestamp;
use sessions::{Snapped, Snapper};
use store::record::TmuxPlace;
use store::snapshots::{Shelf, Why};
use tmux::{Listing, Server};

const PATIENCE: Duration = Duration::from_secs(30);

/// Ends the server, however the test ends.
struct Ending<'a>(&'a Path);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        tmux(self.0, &["kill-server"]);
    }
}

fn tmux(home: &Path, words: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.arg("-u").arg("-S").arg(home.join("s")).args(["-f", "/dev/null"]).args(words);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm");
    let output = command.env("HOME", home).current_dir(home).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn server(home: &Path) -> Server {
    match tmux::list(&home.join("s"), PATIENCE) {
        Listing::Alive(server) => server,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_sight_of_an_agent_is_kept() {
    // Directly under /tmp: the path of a socket may have 107 bytes at most.
    let dir = tempfile::Builder::new().prefix("rk-").tempdir_in("/tmp").unwrap();
    let home = dir.path();
    let line = "seq -f 'line %g' 100; echo 'PGPASSWORD=hunter2hunter psql'; exec cat";
    let _ending = Ending(home);
    tmux(home, &["new-session", "-d", "-s", "work", "-x", "80", "-y", "24", line]);
    let start = Instant::now();
    while !tmux(home, &["capture-pane", "-p", "-t", "work:0.0"]).contains("psql") {
        assert!(start.elapsed() < PATIENCE);
    }
    let live = server(home);
    let place = TmuxPlace {
        socket: home.join("s"),
        server: live.id.pid,
        started: live.id.started,
        pane: live.panes[0].id.clone(),
        reference: "work:0.0".to_owned(),
    };
    let shelf = Shelf { folder: home.join("snapshots"), keep: 3, keep_for: PATIENCE, key: None };
    let snapper = Snapper { shelf, lines: 50 };
    let session = SessionKey::parse("0d5e1f2a-0000-4000-8000-000000000001").unwrap();
    let now = Timestamp::from_second(1_000_000).unwrap();
    let snap = |place: &TmuxPlace| snapper.snapshot_before_kill(&session, place, now, "random-enough");

    // A pane of the same name on a later server is another pane.
    let later = TmuxPlace { started: place.started + 1, ..place.clone() };
    assert_eq!(snap(&later), Snapped::default());
    assert_eq!(snap(&TmuxPlace { pane: "%99".to_owned(), ..place.clone() }), Snapped::default());
    assert!(snap(&place).taken.contains(&session));
    let kept = snapper.shelf.latest(&session).unwrap();
    assert_eq!((kept.why, kept.screen_only, kept.at), (Why::Kill, false, now));
    assert!(kept.text.contains("line 100") && !kept.text.contains("hunter2"), "{}", kept.text);
    assert!(kept.text.lines().count() <= 50 && !kept.text.contains("line 9\n"), "{}", kept.text);
    assert!(snap(&place).unchanged.contains(&session));

    tmux(home, &["kill-server"]);
    assert_eq!(snap(&place), Snapped::default(), "nobody is there");
}
