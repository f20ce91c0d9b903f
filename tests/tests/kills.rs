//! A repair killed at any point leaves the old file or the new one, whole.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use lab::home::Home;
use lab::process::Running;
use lab::rekindle::DEADLINE;
use lab::talk;

const SESSION: &str = "cccccccc-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const KILLS: usize = 1_000;
/// Each with a home of its own.
const THREADS: usize = 2;
/// So often a repair is let through: it has to clear up after all the killed ones.
const THROUGH: usize = 50;
/// Kills reach from the start to as far behind the swap as it is from the start: into the watch over the old file.
const BEYOND: f64 = 2.0;
/// How much the time of the swap is thought later after a kill that came too early for it, or earlier after one that
/// came too late: the machine may be busy now and idle then, and kills shall fall on both sides.
const LEARN: f64 = 1.04;

/// Small, seeded, and good enough to spread kills over a few milliseconds (xorshift64*).
struct Random(u64);

impl Random {
    /// From 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

/// Several wounds, so that a repair has some work to do: dangling parents, a splice, a torn end.
fn wounded(project: &Path) -> Vec<u8> {
    let mut base = talk::dangling(SESSION, project, 60, 20).unwrap();
    let ask = base.ask(40).unwrap();
    base[ask]["parentUuid"] = lab::base::GHOST.into();
    [base.bytes(), b"{\"torn\":\"in the mid".to_vec()].concat()
}

fn start(home: &Home) -> Running {
    let mut command = home.rekindle_command(&["repair", SESSION, "--json"]);
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())).unwrap()
}

/// Sleeping is too coarse for a swap that happens within milliseconds.
fn spin(until: Instant) {
    while Instant::now() < until {
        std::hint::spin_loop();
        thread::yield_now();
    }
}

/// One repair let through: how long until the swap was seen, and the new bytes.
fn through(home: &Home, old: &[u8]) -> (Duration, Vec<u8>) {
    let path = home.put(SESSION, old).unwrap();
    let since = Instant::now();
    let mut running = start(home);
    while fs::read(&path).unwrap() == old {
        assert!(since.elapsed() < DEADLINE, "no swap");
        thread::yield_now();
    }
    let swapped = since.elapsed();
    assert!(running.wait(DEADLINE).unwrap().unwrap().success());
    (swapped, fs::read(&path).unwrap())
}

/// Kills so many repairs; returns how many left the old file and how many the new one.
fn kill(kills: usize, seed: u64) -> (usize, usize) {
    let home = Home::new().unwrap();
    let old = wounded(&home.project());
    let path = home.transcript(SESSION);
    let (mut swap, new) = through(&home, &old);
    assert_ne!(old, new);
    let mut random = Random(seed);
    let (mut olds, mut news) = (0, 0);
    for round in 1..=kills {
        home.put(SESSION, &old).unwrap();
        let since = Instant::now();
        let running = start(&home);
        spin(since + swap.mul_f64(random.next() * BEYOND));
        drop(running);
        match fs::read(&path).unwrap() {
            bytes if bytes == old => {
                olds += 1;
                swap = swap.mul_f64(LEARN);
            }
            bytes if bytes == new => {
                news += 1;
                swap = swap.div_f64(LEARN);
            }
            bytes => panic!("kill {round} left {} bytes that are neither old nor new", bytes.len()),
        }
        if round % THROUGH == 0 {
            assert_eq!(through(&home, &old).1, new, "after {round} kills");
            clean(&path, round);
            fs::remove_dir_all(home.state()).unwrap();
            fs::create_dir(home.state()).unwrap();
        }
    }
    (olds, news)
}

/// Beside the transcript is nothing but what a killed repair had not given its name yet; that goes after an hour.
fn clean(path: &Path, round: usize) {
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let folder = path.parent().unwrap();
    let mut left = names(folder);
    left.remove(&format!("{SESSION}.jsonl"));
    assert!(left.iter().all(|name| name.starts_with(".rekindle-")), "after {round} kills: {left:?}");
    assert!(!left.iter().any(|name| name.ends_with(".swap") || name.ends_with(".jsonl")), "{left:?}");
    for name in left {
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn a_thousand_kills_leave_the_old_file_or_the_new_one() {
    let workers: Vec<_> = (1..=THREADS as u64)
        .map(|seed| thread::spawn(move || kill(KILLS / THREADS, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
        .collect();
    let counts = workers.into_iter().map(|worker| worker.join().unwrap());
    let (olds, news) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!(olds + news, KILLS);
    // Otherwise the kills all came too early or too late, and this proved nothing.
    assert!(olds > KILLS / 5 && news > KILLS / 5, "{olds} old, {news} new");
}
