//! What goes wrong in a round.

use std::collections::BTreeSet;

use super::random::Random;

/// A thing that goes wrong. The tmux server dies in every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Saves are killed half way.
    SavesKilled,
    /// The disk is full while a save is written.
    SaveOnFullDisk,
    /// The newest save is torn.
    SaveTorn,
    /// Windows and panes change places between the save and the crash.
    Reordered,
    /// `claude` means another version when everything comes back.
    AgentUpdated,
    /// Agents get SIGKILL between the save and the crash.
    AgentsKilled,
    /// Agents are in the middle of an answer when everything goes down.
    InFlight,
    /// Everything dies at once, and the newest files of the state are cut or full of NULs.
    PowerCut,
    /// The last row of transcripts is torn.
    TranscriptsTorn,
    /// Transcripts are gone.
    TranscriptsDeleted,
    /// Settles are killed half way: those that hooks start, and those that fold in what the crash left.
    SettlesKilled,
    /// A restore begins while agents of the dead server are still going.
    RestoreTooEarly,
    /// Restores are killed half way, and one is not.
    RestoresKilled,
    /// Three restores run at once.
    RestoreThrice,
    /// Saves are tried while a restore runs.
    SavesDuringRestore,
    /// The disk is full while a restore runs, and then it is not.
    RestoreOnFullDisk,
    /// Everything goes down again, and comes back from whatever save is current then.
    Again,
}

/// Every fault there is.
pub const ALL: [Fault; 17] = [
    Fault::SavesKilled,
    Fault::SaveOnFullDisk,
    Fault::SaveTorn,
    Fault::Reordered,
    Fault::AgentUpdated,
    Fault::AgentsKilled,
    Fault::InFlight,
    Fault::PowerCut,
    Fault::TranscriptsTorn,
    Fault::TranscriptsDeleted,
    Fault::SettlesKilled,
    Fault::RestoreTooEarly,
    Fault::RestoresKilled,
    Fault::RestoreThrice,
    Fault::SavesDuringRestore,
    Fault::RestoreOnFullDisk,
    Fault::Again,
];

/// A round has one of these at most: what the second one finds is done already.
const RESTORES: [Fault; 4] =
    [Fault::RestoresKilled, Fault::RestoreThrice, Fault::SavesDuringRestore, Fault::RestoreOnFullDisk];

/// What hits files when everybody is gone: nobody restores before that.
const AFTER_THE_END: [Fault; 4] =
    [Fault::PowerCut, Fault::TranscriptsTorn, Fault::TranscriptsDeleted, Fault::SaveTorn];

impl Fault {
    /// What happens, for people.
    pub fn words(self) -> &'static str {
        match self {
            Fault::SavesKilled => "saves killed",
            Fault::SaveOnFullDisk => "a save on a full disk",
            Fault::SaveTorn => "a torn save",
            Fault::Reordered => "windows reordered",
            Fault::AgentUpdated => "the agent updated",
            Fault::AgentsKilled => "agents killed",
            Fault::InFlight => "agents answering",
            Fault::PowerCut => "a power cut",
            Fault::TranscriptsTorn => "torn transcripts",
            Fault::TranscriptsDeleted => "deleted transcripts",
            Fault::SettlesKilled => "settles killed",
            Fault::RestoreTooEarly => "a restore too early",
            Fault::RestoresKilled => "restores killed",
            Fault::RestoreThrice => "three restores at once",
            Fault::SavesDuringRestore => "saves during a restore",
            Fault::RestoreOnFullDisk => "a restore on a full disk",
            Fault::Again => "everything again",
        }
    }
}

/// The faults of a round: one to five.
pub(super) fn draw(random: &mut Random) -> BTreeSet<Fault> {
    let mut all = ALL.to_vec();
    random.shuffle(&mut all);
    let mut restores = all.iter().filter(|fault| RESTORES.contains(fault));
    let only = restores.next().copied();
    all.retain(|fault| !RESTORES.contains(fault) || Some(*fault) == only);
    let many = random.between(1..=5);
    let mut drawn: BTreeSet<Fault> = all.into_iter().take(many).collect();
    if AFTER_THE_END.iter().any(|fault| drawn.contains(fault)) {
        drawn.remove(&Fault::RestoreTooEarly);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::super::SMOKE;
    use super::*;

    #[test]
    fn the_rounds_of_every_test_run_have_every_fault() {
        let drawn: BTreeSet<Fault> = SMOKE.flat_map(|seed| draw(&mut Random::of(seed, "faults"))).collect();
        let missing: Vec<_> = ALL.iter().filter(|fault| !drawn.contains(fault)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
