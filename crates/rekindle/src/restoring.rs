//! What restoring and recovering have in common: the look at everything, the one who acts, and what is written down.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use agents::claude::Owners;
use jiff::{SignedDuration, Timestamp};
use recovery::{Actor, Ground, Live, Plan, Restored, Wanted};
use settle::Settled;
use state::durable;
use state::lock::Lock;

use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// A server that is alive answers within milliseconds, a loaded one within a second.
const TMUX_DEADLINE: Duration = Duration::from_secs(5);

/// What this program needs of its environment to find its files again, in a pane of a server that has another one.
const NEEDED: [&str; 7] = [
    "HOME",
    "REKINDLE_STATE_DIR",
    "REKINDLE_CONFIG",
    "CLAUDE_CONFIG_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "TMUX_TMPDIR",
];

/// The turn to restore: nobody else restores or saves while it is held.
pub(crate) fn alone(context: &Context) -> Result<Lock, Failure> {
    let state = &context.clinic.state;
    durable::private_dir(&state.locks())?;
    // However many triggers there are, it happens once: who comes second finds everything there.
    Ok(Lock::acquire(&state::saves::restore_lock(state, None), PATIENCE)?)
}

/// Everything that hooks left, settled.
pub(crate) fn settled(context: &Context) -> Result<Settled, Failure> {
    Ok(context.settler()?.settle(Timestamp::now(), PATIENCE)?)
}

/// Where facts come from.
pub(crate) fn ground<'a>(context: &'a Context, settled: &'a Settled) -> Ground<'a> {
    Ground {
        clinic: &context.clinic,
        settled,
        owners: Owners::look(&context.clinic.configs),
        now: Timestamp::now(),
        home: context.home.clone(),
        quota_spent_at: context.config.quota.switch_at,
    }
}

/// What is wanted, by the configuration.
pub(crate) fn wanted(context: &Context, again: bool, automatic: bool) -> Wanted {
    let stale_after =
        SignedDuration::try_from(context.config.restore.stale_after).unwrap_or(SignedDuration::MAX);
    Wanted { now: Timestamp::now(), stale_after, again, automatic }
}

/// What there is on these servers.
pub(crate) fn look(sockets: &BTreeSet<PathBuf>, settled: &Settled) -> Result<Vec<Live>, Failure> {
    recovery::look(sockets, settled, TMUX_DEADLINE).map_err(|silent| {
        Failure::new(Exit::Refused, silent.to_string())
            .hint("nothing is restored where it cannot be told what is there")
    })
}

/// How a plan is carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    pub(crate) max_parallel: Option<usize>,
    pub(crate) lazy: bool,
}

/// Does what a plan says.
pub(crate) fn act(
    context: &Context,
    settled: &Settled,
    plan: &Plan,
    manner: Manner,
) -> Result<Vec<Restored>, Failure> {
    let restore = &context.config.restore;
    let needed =
        |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok().filter(|v| !v.is_empty())?));
    let actor = Actor {
        state: &context.clinic.state,
        clinic: &context.clinic,
        records: &settled.records,
        max_parallel: manner.max_parallel.unwrap_or(restore.max_parallel as usize),
        lazy: manner.lazy || restore.lazy,
        least_memory: restore.min_free_memory.0,
        note_on_resume: restore.note_on_resume,
        zone: jiff::tz::TimeZone::system(),
        program: std::env::current_exe()?,
        variables: NEEDED.iter().filter_map(needed).collect(),
    };
    Ok(actor.act(plan)?)
}
