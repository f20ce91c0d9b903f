//! Where everything lies: whether there is room, and whether it is a disk at all.

use sessions::alarm::of_space;

use crate::facts::Facts;
use crate::finding::{Finding, Id, or_well};

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, space) in &facts.disks {
        if of_space(path, *space).is_some() {
            let free = space.free / 1_000_000;
            findings.push(
                Finding::problem(Id::DiskFull, format!("only {free} MB are left for {}", path.display()))
                    .why("an agent that cannot write loses rows of its conversation without a word")
                    .fix("make room on that file system"),
            );
        }
    }
    if let Some(kind) = facts.network {
        findings.push(
            Finding::note(Id::StateOnNetwork, format!("{} lies on {kind}", facts.state.path.display()))
                .why("locks and renames are less certain there, and hooks wait for the network")
                .fix("set REKINDLE_STATE_DIR to a folder on a local disk"),
        );
    }
    let least = facts.disks.iter().map(|(_, space)| space.free).min();
    let what = match least {
        Some(free) => format!("{} GB are free", free / 1_000_000_000),
        None => "disk space cannot be told".to_owned(),
    };
    or_well(findings, Id::DiskWell, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::tests::well;
    use sessions::alarm::Space;

    #[test]
    fn a_full_disk_and_a_far_one() {
        let mut facts = well();
        facts.network = Some("NFS");
        assert_eq!(ids(check, &facts), ["state-on-network", "disk-well"]);
        facts.network = None;
        facts.disks = vec![("/s".into(), Space { free: 400_000_000, total: 1 << 40 })];
        assert_eq!(ids(check, &facts), ["disk-full"]);
        assert!(check(&facts)[0].what.contains("400 MB"));
    }
}
