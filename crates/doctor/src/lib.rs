//! Whether everything is as it should be: what is wrong, why it matters, how it is put right.
//!
//! [`gather`] looks at the machine, [`examine`] judges what was found. Judging is pure: facts in, findings out. A
//! [`Remedy`] says what can be put right without anybody's help. docs/doctor.md has every finding.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read throwaway files that they made"))]

mod checks;
pub mod facts;
mod finding;
mod gather;
mod remedy;
mod words;

pub use facts::Facts;
pub use finding::{Finding, Id, Level, Totals};
pub use gather::{Places, gather};
pub use remedy::{Mode, Remedy};

/// Judges what was found, the worst first; within one level in the order of the themes.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = checks::THEMES.iter().flat_map(|check| check(facts)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first() {
        let levels: Vec<Level> = examine(&Facts::default()).iter().map(|finding| finding.level).collect();
        assert!(levels.is_sorted_by(|one, two| one >= two), "{levels:?}");
        assert_eq!(levels.first(), Some(&Level::Problem));
    }

    #[test]
    fn what_can_be_put_right_has_a_remedy() {
        let facts = facts::tests::broken_in_many_ways();
        let findings = examine(&facts);
        assert!(findings.iter().filter(|finding| finding.fixable).count() >= 6);
        let remedy = Remedy::of(&facts);
        assert!(!remedy.modes.is_empty() && remedy.settle && !remedy.sites.is_empty() && remedy.links);
        let well = facts::tests::well();
        assert!(examine(&well).iter().all(|finding| !finding.fixable), "{:?}", examine(&well));
        assert!(Remedy::of(&well).is_empty());
    }

    #[test]
    fn all_well_is_a_few_lines() {
        let findings = examine(&facts::tests::well());
        assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
        assert_eq!(findings.len(), 6);
    }
}
