//! Progress of what takes longer than a second, on a terminal only.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work is over before a bar could be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that shows itself when work takes long.
pub(crate) struct Bar {
    since: Instant,
    what: &'static str,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    pub(crate) fn new(what: &'static str) -> Bar {
        Bar { since: Instant::now(), what, bar: Mutex::new(None) }
    }

    /// Tells how many bytes are done.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if self.since.elapsed() < PATIENCE {
            return;
        }
        let mut bar = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(self.what);
            bar
        });
        bar.set_position(done);
    }
}

/// A line that says what takes its time, while it does.
pub(crate) struct Busy(ProgressBar);

impl Busy {
    pub(crate) fn new(what: &'static str) -> Busy {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.set_message(what);
        Busy(bar)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
