//! Which runs may be acted on: **state is not code**.
//!
//! A record brings its own provenance (`store::record::Provenance`), and storing it again never raises that. Here the
//! machine speaks: the arguments and the environment of a living agent are read from its process, whatever was written
//! down, and a run that nothing vouches for does not stand before one that is genuine.

use std::collections::BTreeMap;

use agents::SessionKey;
use store::record::{Provenance, Run, SessionRecord};

use crate::apply_event::{environment, redacted};
use crate::machine_state::{Life, MachineState};
use crate::spooled_event::known_arguments;

/// Whether what a record says of its agent is only shown, never acted on.
pub fn is_untrusted(record: &SessionRecord, world: &MachineState) -> bool {
    record.distrust(&world.machine()).is_some()
}

/// Whether a run may link sessions or bind panes at all, on whatever machine it was.
pub(crate) fn is_vouched_for(run: &Run) -> bool {
    !matches!(run.provenance, Some(Provenance::Untrusted) | None)
}

/// Takes the arguments and the environment of living agents from their processes, once for each run. What a sealed line says
/// counts only for processes that are gone.
pub(crate) fn verify(records: &mut BTreeMap<SessionKey, SessionRecord>, world: &MachineState) {
    let own = world.own_domain();
    let runs = records.values_mut().flat_map(|record| &mut record.runs);
    for run in runs.filter(|run| run.provenance == Some(Provenance::Event)) {
        let Some(process) = world.proc(run.pid, run.proc_start).filter(|process| process.agent) else {
            continue;
        };
        if world.life(run) != Life::Alive || process.launch.is_empty() {
            continue;
        }
        run.env = environment(&process.launch);
        if let Some(argv) = known_arguments(&process.argv) {
            run.argv = Some(redacted(argv));
        }
        if run.machine_id.is_none() {
            run.machine_id.clone_from(&own.machine);
            run.pid_namespace.clone_from(&own.namespace);
            run.boot_id = run.boot_id.take().or_else(|| world.boot_id.clone());
        }
        run.provenance = Some(Provenance::Process);
    }
}

/// Puts an untrusted run whose process is gone behind the newest genuine one: a forged line must not hide what is known.
pub(crate) fn prefer_genuine(records: &mut BTreeMap<SessionKey, SessionRecord>, world: &MachineState) {
    for record in records.values_mut() {
        let hides = record.run().is_some_and(|run| !is_vouched_for(run) && world.life(run) == Life::Dead);
        let genuine = record.runs.iter().rposition(|run| is_vouched_for(run) && !run.is_passing());
        if let Some(at) = genuine.filter(|_| hides) {
            let run = record.runs.remove(at);
            record.runs.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{agent, id, start, told, world_of};

    #[test]
    fn a_living_agents_own_words_replace_what_was_written_down() {
        let (mut record, _) = told("a", &[start(agent(7, 0), 1)]);
        record.runs[0].argv = Some(vec!["claude".to_owned(), "--model".to_owned(), "old".to_owned()]);
        let argv = ["claude", "--model", "new"].map(str::to_owned).to_vec();
        let world = world_of(&record.runs[0], &argv, &[("PATH", "/bin")]);
        let mut records = BTreeMap::from([(id("a"), record)]);
        verify(&mut records, &world);
        let run = &records[&id("a")].runs[0];
        assert_eq!((run.argv.as_ref(), run.provenance), (Some(&argv), Some(Provenance::Process)));
        assert_eq!(run.env.get("PATH").map(String::as_str), Some("/bin"));
        assert!(!run.env.contains_key("TMUX"));
    }

    #[test]
    fn an_untrusted_run_stays_so_while_its_process_lives() {
        let (mut record, _) = told("a", &[start(agent(7, 0), 1)]);
        record.runs[0].provenance = Some(Provenance::Untrusted);
        let world = world_of(&record.runs[0], &["claude".to_owned()], &[("PATH", "/bin")]);
        let mut records = BTreeMap::from([(id("a"), record)]);
        verify(&mut records, &world);
        assert_eq!(records[&id("a")].runs[0].provenance, Some(Provenance::Untrusted));
    }

    #[test]
    fn a_forged_line_hides_no_genuine_run() {
        let (mut record, _) = told("a", &[start(agent(7, 0), 1)]);
        let mut forged = told("a", &[start(agent(9, 0), 2)]).0.runs.remove(0);
        forged.provenance = Some(Provenance::Untrusted);
        record.runs.push(forged);
        let mut records = BTreeMap::from([(id("a"), record)]);
        let mut world = MachineState { processes: Some(Default::default()), ..MachineState::default() };
        world.boot_id = records[&id("a")].runs[0].boot_id.clone();
        prefer_genuine(&mut records, &world);
        assert_eq!(records[&id("a")].run().map(|run| run.pid), Some(7));
    }
}
