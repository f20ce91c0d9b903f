//! Whether a process that died without a word was killed for lack of memory: by the kernel's word, which names it, or by
//! its control group's count, which only grew.
//!
//! **What cannot be read says nothing**: the reason then stays what it was.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::param::clock_ticks_per_second;
use store::record::{Grade, MemoryKills, Run, SessionRecord};

use crate::verdict::Verdict;

/// Looks closer at a death without a word.
pub(crate) fn weigh(verdict: Verdict, record: &SessionRecord) -> Verdict {
    if verdict.reason != "process_died" {
        return verdict;
    }
    let starved = |detail: String, grade: Grade| Verdict { reason: "oom", detail, grade, ..verdict.clone() };
    if let Some(said) = record.run().and_then(|run| named(&kernel_log()?, run, clock_ticks_per_second())) {
        return starved(format!("the kernel killed it: {said}"), Grade::Proven);
    }
    match record.memory_kills.as_ref().and_then(grown) {
        Some(more) => starved(
            format!(
                "its control group counts {more} more killed for lack of memory since it was last seen alive"
            ),
            Grade::Likely,
        ),
        None => verdict,
    }
}

/// The count of a live process's control group; nothing where there is none to be read.
pub(crate) fn kills_around(pid: u32) -> Option<MemoryKills> {
    let groups = store::files::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let counters = counters(&groups, Path::new("/sys/fs/cgroup"));
    counters.into_iter().find_map(|counter| Some(MemoryKills { kills: kills(&counter)?, counter }))
}

/// By how much a count has grown.
fn grown(before: &MemoryKills) -> Option<u64> {
    kills(&before.counter)?.checked_sub(before.kills).filter(|more| *more > 0)
}

fn kills(counter: &Path) -> Option<u64> {
    let text = store::files::read_to_string(counter).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The files that may count for a process of these groups, the most exact first: of version 2 for the group alone and with
/// those below it, of version 1.
fn counters(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            found.extend(["memory.events.local", "memory.events"].map(|name| root.join(path).join(name)));
        } else if controllers.split(',').any(|controller| controller == "memory") {
            found.push(root.join("memory").join(path).join("memory.oom_control"));
        }
    }
    found
}

/// The line of the kernel's log that names this process, after it was started.
fn named(log: &str, run: &Run, ticks_per_second: u64) -> Option<String> {
    let started_us = run.proc_start.checked_mul(1_000_000)?.checked_div(ticks_per_second)?;
    let mark = format!("Killed process {} (", run.pid);
    log.lines().find_map(|line| {
        // `3,423,27264965823,-;Memory cgroup out of memory: Killed process 19395 (python3) total-vm:…`: priority, number,
        // microseconds since boot, flags; text.
        let (head, text) = line.split_once(';')?;
        let at_us: u64 = head.split(',').nth(2)?.parse().ok()?;
        let said = text.split_once(" total-vm").map_or(text, |(said, _)| said);
        (at_us >= started_us && text.contains(&mark)).then(|| said.trim().to_owned())
    })
}

/// The namespace in which the kernel itself names processes.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// The kernel's log; nothing where it cannot be read, or means other processes by the same numbers.
fn kernel_log() -> Option<String> {
    const MOST: usize = 8 << 20;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    if namespace != Path::new(FIRST_NAMESPACE) {
        return None;
    }
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut log = std::fs::File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg").ok()?;
    let (mut text, mut record) = (String::new(), [0; 8192]);
    while text.len() < MOST {
        // One record at a time; the end is where a reader would wait.
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                // Further lines of a record are about the machine, and begin with a space.
                let line = String::from_utf8_lossy(&record[..length]);
                text.push_str(line.lines().next().unwrap_or_default());
                text.push('\n');
            }
            // It was overwritten while it was read: the next one is there.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
            Err(_) => break,
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{agent, start, told};
    use store::record::Status;

    /// Measured on Linux 6.18.
    const LOG: &str = "6,422,27264000000,-;python3 invoked oom-killer: gfp_mask=0xcc0
3,423,27264965823,-;Memory cgroup out of memory: Killed process 19395 (python3) total-vm:221368kB, anon-rss:20096kB, UID:0
";

    fn run(pid: u32, proc_start: u64) -> Run {
        let (record, _) = told("a", &[start(agent(5, 0), 1)]);
        Run { pid, proc_start, ..record.runs[0].clone() }
    }

    #[test]
    fn the_kernel_names_the_process_and_no_later_one_of_its_number() {
        let said = named(LOG, &run(19395, 2_726_000), 100);
        assert_eq!(said.as_deref(), Some("Memory cgroup out of memory: Killed process 19395 (python3)"));
        assert_eq!(named(LOG, &run(19395, 2_726_500), 100), None, "started after that");
        assert_eq!(named(LOG, &run(1939, 0), 100), None);
        assert_eq!(named("garbage\n;\n1,2;x", &run(1, 0), 100), None);
    }

    #[test]
    fn counters_of_both_versions_are_known() {
        let root = Path::new("/r");
        let one = "9:name=systemd:/\n4:memory,cpu:/a/b\n";
        assert_eq!(counters(one, root), [PathBuf::from("/r/memory/a/b/memory.oom_control")]);
        let two = counters("0::/user.slice/tmux.scope\n", root);
        assert_eq!(two[0], PathBuf::from("/r/user.slice/tmux.scope/memory.events.local"));
        assert_eq!(two[1], PathBuf::from("/r/user.slice/tmux.scope/memory.events"));
        assert!(counters("0::/:x\n", root)[0].ends_with(":x/memory.events.local"), "a colon in a name");
    }

    #[test]
    fn a_count_that_grew_is_likely_and_one_that_did_not_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let counter = dir.path().join("memory.events");
        let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
        let died = || Verdict {
            status: Status::Crashed,
            reason: "process_died",
            detail: "gone".to_owned(),
            grade: Grade::Proven,
        };
        let count = |kills: u64| {
            let text = format!("low 0\nhigh 0\noom 7\noom_kill {kills}\noom_group_kill 0\n");
            store::durable::replace(&counter, text.as_bytes()).unwrap();
        };
        count(2);
        record.memory_kills = Some(MemoryKills { counter: counter.clone(), kills: 2 });
        assert_eq!(weigh(died(), &record), died());
        count(3);
        let starved = weigh(died(), &record);
        assert_eq!((starved.reason, starved.grade), ("oom", Grade::Likely));
        assert!(starved.detail.contains("counts 1 more"), "{}", starved.detail);
        let killed = Verdict { reason: "killed", ..died() };
        assert_eq!(weigh(killed.clone(), &record), killed);
        store::durable::remove(&counter).unwrap();
        assert_eq!(weigh(died(), &record), died(), "the group is gone");
    }

    #[test]
    fn what_is_there_on_this_machine_can_be_read_or_not_but_does_not_hang() {
        kernel_log();
        kills_around(std::process::id());
    }
}
