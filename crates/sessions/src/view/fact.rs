//! A fact and everything that speaks for and against it.

use jiff::Timestamp;
use store::record::Grade;

/// What one source says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim<T> {
    pub(super) value: T,
    pub(super) grade: Grade,
    pub(super) source: String,
    pub(super) detail: String,
    pub(super) at: Option<Timestamp>,
}

impl<T> Claim<T> {
    pub(super) fn new(value: T, grade: Grade, source: &str, detail: impl Into<String>) -> Self {
        Claim { value, grade, source: source.to_owned(), detail: detail.into(), at: None }
    }

    pub(super) fn at(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        self.at = at.into();
        self
    }
}

/// Whether a source agrees with what is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// It does.
    For,
    /// It says something else.
    Against,
}

/// What one source says about a fact, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testimony {
    /// Who says so: `hook`, `registry`, `process`, `terminal`, `pane_option`, …
    pub source: String,
    /// How much its word counts.
    pub grade: Grade,
    /// What exactly was seen.
    pub detail: String,
    /// When it was seen or said, where that is known.
    pub at: Option<Timestamp>,
    /// For or against what is believed.
    pub speaks: Speaks,
}

/// Something that is believed, how sure it is, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact<T> {
    /// What is believed.
    pub value: T,
    /// How sure it is.
    pub grade: Grade,
    /// Everything that was said about it; what speaks for it comes first.
    pub evidence: Vec<Testimony>,
}

/// Weighs claims: the surest counts, of equally sure ones the newest, then the first. None is dropped.
pub(super) fn weigh<T: PartialEq>(claims: Vec<Claim<T>>) -> Option<Fact<T>> {
    let rank = |claim: &Claim<T>| (claim.grade, claim.at);
    let mut best = 0;
    for at in 1..claims.len() {
        if rank(&claims[at]) > rank(&claims[best]) {
            best = at;
        }
    }
    let grade = claims.get(best)?.grade;
    let (mut agreed, mut against) = (Vec::new(), Vec::new());
    let agrees: Vec<bool> = claims.iter().map(|claim| claim.value == claims[best].value).collect();
    let mut value = None;
    for (at, (claim, agrees)) in claims.into_iter().zip(agrees).enumerate() {
        let Claim { value: said, grade, source, detail, at: when } = claim;
        let speaks = if agrees { Speaks::For } else { Speaks::Against };
        let told = Testimony { source, grade, detail, at: when, speaks };
        if at == best {
            value = Some(said);
            agreed.insert(0, told);
        } else if agrees {
            agreed.push(told);
        } else {
            against.push(told);
        }
    }
    agreed.extend(against);
    Some(Fact { value: value?, grade, evidence: agreed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surest_counts_then_the_newest_and_nothing_is_hidden() {
        let claim = |value: &'static str, grade, at: i64| {
            Claim::new(value, grade, "s", value).at(Timestamp::from_second(at).ok())
        };
        let check = |claims: Vec<Claim<&'static str>>, expect: &str, against: &[&str]| {
            let fact = weigh(claims).unwrap();
            assert_eq!(fact.value, expect);
            let said: Vec<&str> = fact
                .evidence
                .iter()
                .filter(|told| told.speaks == Speaks::Against)
                .map(|told| told.detail.as_str())
                .collect();
            assert_eq!(said, against);
            assert_eq!(fact.evidence[0].speaks, Speaks::For);
            assert_eq!(fact.evidence[0].grade, fact.grade);
        };
        check(vec![claim("a", Grade::Guess, 9), claim("b", Grade::Proven, 1)], "b", &["a"]);
        check(vec![claim("a", Grade::Likely, 1), claim("b", Grade::Likely, 2)], "b", &["a"]);
        check(vec![claim("a", Grade::Likely, 2), claim("b", Grade::Likely, 2)], "a", &["b"]);
        check(vec![claim("a", Grade::Likely, 1), claim("a", Grade::Proven, 1)], "a", &[]);
        assert_eq!(weigh::<u8>(Vec::new()), None);
    }
}
