//! Which sessions their process has left: an agent is in one session at a time, and `/clear`, `/resume` and `--continue` lead
//! it from one to the next.

use std::collections::{BTreeMap, BTreeSet};

use agents::SessionKey;
use jiff::Timestamp;
use store::record::{Run, SessionRecord, Status};

use crate::apply_event::{LEAVING, LEFT};
use crate::machine_state::{Life, MachineState};
use crate::trust::is_vouched_for;

/// The sessions whose living process is in another one now: those that it said it leaves, and of the others all but the
/// one in which it was heard last. What carries no valid code counts only where nothing else does.
pub(super) fn left(
    records: &BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
) -> BTreeSet<SessionKey> {
    let mut left = BTreeSet::new();
    let mut current: BTreeMap<(u32, u64), (bool, Timestamp, &SessionKey)> = BTreeMap::new();
    for record in records.values() {
        let Some(run) = record.run().filter(|run| world.life(run) == Life::Alive) else { continue };
        let session = &record.session_id;
        if has_gone_on(record, run) {
            left.insert(session.clone());
            continue;
        }
        let heard = (is_vouched_for(run), run.heard_at.unwrap_or(run.launched_at), session);
        let newest = current.entry((run.pid, run.proc_start)).or_insert(heard);
        let older = (*newest).min(heard);
        *newest = (*newest).max(heard);
        if older.2 != newest.2 {
            left.insert(older.2.clone());
        }
    }
    left
}

/// Whether the session ended because its agent went on in another one.
fn has_gone_on(record: &SessionRecord, run: &Run) -> bool {
    let why = record.reason.as_deref();
    record.status == Status::EndedCleanly
        && run.ended_at.is_some()
        && why.is_some_and(|why| why == LEFT || LEAVING.contains(&why))
}
