//! As long as an agent is busy, somebody looks: whether its transcript grows, and whether it still lives.
//!
//! No daemon: the settle that finds a busy agent stays, one of them at a time, and ends with the last busy turn.

use std::time::Duration;

use jiff::Timestamp;
use store::lock::Lock;
use store::record::{Doing, Status};

use crate::alarm::{self, AlarmKind};
use crate::machine_state::{Life, MachineState};
use crate::settle::{Settled, Settler};
use crate::spools;

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// Somebody should settle: an agent has died, or one saves nothing.
    Something,
    /// No agent is busy any more, or another process is watching.
    Nothing,
}

/// Far below the minute after which a silent transcript is told.
const POLL: Duration = Duration::from_secs(5);

impl Settler {
    /// Watches the busy agents of a settlement until something should be settled. Holds no lock but that of the watch.
    pub fn watch(&self, settled: &Settled) -> Watched {
        let busy: Vec<_> = settled
            .records
            .values()
            .filter(|record| record.status == Status::Active)
            .filter(|record| record.activity.is_some_and(|activity| activity.state == Doing::Busy))
            .filter(|record| record.run().is_some_and(|run| settled.world.life(run) == Life::Alive))
            .collect();
        if busy.is_empty() {
            return Watched::Nothing;
        }
        let Ok(_alone) = Lock::try_alone(&self.state.locks().join("watch")) else { return Watched::Nothing };
        let silence = |kind| matches!(kind, AlarmKind::NotSaving | AlarmKind::Stalled);
        let told = |session| {
            let mut alarms = settled.alarms.iter();
            alarms.any(|alarm| silence(alarm.kind) && alarm.session.as_ref() == Some(session))
        };
        let known = spools::known(&self.state);
        loop {
            poll();
            if self.state.paused().exists() || !self.state.spool().exists() {
                return Watched::Nothing;
            }
            // What another process has settled meanwhile may have made more agents busy.
            if self.has_news() || spools::known(&self.state) != known {
                return Watched::Something;
            }
            let world = MachineState::processes();
            let now = Timestamp::now();
            for record in &busy {
                let died = record.run().is_some_and(|run| world.life(run) == Life::Dead);
                let silent = || {
                    let growth = record.transcript_path.as_deref().map(alarm::growth);
                    alarm::saves_nothing(record, growth, now).is_some()
                };
                if died || (!told(&record.session_id) && silent()) {
                    return Watched::Something;
                }
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a poll interval: a transcript that does not grow gives no sign"
)]
fn poll() {
    std::thread::sleep(POLL);
}
