//! A container in which the path of the agent's directory is another folder than here: its agent is seen all the same.
#![expect(clippy::disallowed_methods, reason = "a test writes into folders of its own")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;

const CONTAINED: &str = "unshare --pid --fork --mount --mount-proc --kill-child";
const ID: &str = "6e55105e-0000-4000-8000-00000000000a";

/// 2.1.31 has no registry: only what its hooks said tells of it, by a path that is the host's own account here.
#[test]
fn a_transcript_is_not_mended_under_an_agent_that_calls_it_by_another_accounts_path() {
    let mut can = Command::new("unshare");
    can.args(CONTAINED.split(' ').skip(1)).args(["sh", "-c", "mount --bind /tmp /mnt"]);
    if !can.status().is_ok_and(|status| status.success()) {
        return;
    }
    let lab = Lab::new(VERSIONS[0]).unwrap();
    lab.wire().unwrap();
    let shared = lab.home.root().join("dev-claude");
    fs::create_dir(&shared).unwrap();
    fs::copy(lab.home.config().join("settings.json"), shared.join("settings.json")).unwrap();
    fs::create_dir_all(lab.home.config().join("projects")).unwrap();
    lab.shell().unwrap();
    let config = lab.home.config();
    let (from, to) = (shared.display(), config.display());
    let agent = format!("exec claude --session-id {ID} \\\"ask-00 please\\\"");
    lab.type_line("work:0.0", &format!("{CONTAINED} sh -c \"mount --bind {from} {to} && {agent}\"")).unwrap();
    assert!(
        wait_until(PATIENCE, || lab.screen("work:0.0").contains("reply-00")),
        "{}",
        lab.screen("work:0.0")
    );
    assert!(lab.rekindle(&["settle"]).unwrap().success());
    let project = fs::read_dir(shared.join("projects")).unwrap().next().unwrap().unwrap().path();
    let transcript = project.join(format!("{ID}.jsonl"));
    let whole = fs::read(&transcript).unwrap();
    fs::write(&transcript, [&whole[..], b"\n{\"type\":\"user\",\"message\":{\"role\":\"us"].concat())
        .unwrap();
    let inode = fs::metadata(&transcript).unwrap().ino();
    let refused = lab.rekindle(&["repair", transcript.to_str().unwrap()]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert!(refused.stdout.contains("owns it"), "{}", refused.words());
    assert_eq!(fs::metadata(&transcript).unwrap().ino(), inode);
}
