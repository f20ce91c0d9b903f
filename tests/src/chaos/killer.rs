//! Whoever settles in the background is killed while this value lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::random::Random;
use super::stage::Stage;
use crate::home::Home;

/// Kills settles that hooks started, each after a random time.
#[derive(Debug)]
pub(super) struct Killer {
    stop: Arc<AtomicBool>,
    killed: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// A settle takes tens of milliseconds, and then waits for a transcript's last rows.
const LONGEST: usize = 60;

impl Killer {
    pub(super) fn start(stage: &Stage, mut random: Random) -> Killer {
        let (stop, killed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&killed));
        let state = stage.lab.home.state();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(random.between(1..=LONGEST) as u64));
                // A settle has left its hook: nobody but the machine's first process stands above it.
                let settles =
                    Home::bodies_of(&state).into_iter().filter(|body| body.is_rekindle() && body.parent == 1);
                for settle in settles {
                    settle.kill();
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Killer { stop, killed, thread: Some(thread) }
    }

    /// Lets the next ones live, and says how many did not.
    pub(super) fn stop(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
        self.killed.load(Ordering::Relaxed)
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
