//! What follows a start that failed: the next rung of the ladder, another try, or nothing. Pure.
//!
//! A fresh agent answers a conversation that is lost, not an agent that is broken: an update that breaks every resume must not
//! begin forty conversations anew.

use std::time::Duration;

use store::config::ResumeFallback;
use store::launch::Ended;

use crate::decide::{Act, TranscriptFact, ladder};

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The agent does not find the conversation.
    NotFound,
    /// It failed for a reason of its own.
    Broken,
    /// It did what somebody wanted, or cannot be started at all.
    Final,
}

/// What the agent says when it does not find a conversation (measured on 2.1.31, 2.1.100, 2.1.325).
pub(super) const NOT_FOUND: &str = "No conversation found";

/// SIGHUP, SIGINT and SIGTERM: somebody wanted it to end. An agent passes them on as 128 and more.
const ASKED: [i32; 3] = [1, 2, 15];

/// The first pause before another try; each next one is so many times as long.
const PAUSE: Duration = Duration::from_secs(1);
const GROWTH: u32 = 3;

impl Fault {
    /// The kind of an end, with what was on the screen.
    pub(super) fn of(ended: Ended, said: &str) -> Fault {
        match ended {
            Ended::Code(0) | Ended::NotStarted => Fault::Final,
            Ended::Code(code) if ASKED.contains(&(code - 128)) => Fault::Final,
            Ended::Signal(signal) if ASKED.contains(&signal) => Fault::Final,
            _ if said.contains(NOT_FOUND) => Fault::NotFound,
            _ => Fault::Broken,
        }
    }
}

/// What is tried next, and after how long. `tried` is what was tried, the last one last; `now` what is left of the transcript;
/// `most` how often an agent that is broken is started.
pub(super) fn next(
    tried: &[Act],
    fault: Fault,
    now: TranscriptFact,
    fallback: ResumeFallback,
    most: usize,
) -> Option<(Act, Duration)> {
    let last = *tried.last()?;
    if fault == Fault::Final {
        return None;
    }
    // The agent says of a whole transcript that there is none: that is the agent's fault.
    let fault = if now == TranscriptFact::Healthy { Fault::Broken } else { fault };
    let anew = tried.contains(&Act::Fresh);
    let rung = if anew { Act::Fresh } else { ladder(now, fallback).act };
    // What was mended or put back is resumed as any other by now.
    let resumed = |act: &Act| matches!(act, Act::Resume | Act::RepairResume | Act::VaultResume);
    let known = tried.contains(&rung) || (rung == Act::Resume && tried.iter().any(resumed));
    if !rung.starts() {
        return None;
    }
    if !known {
        return Some((rung, Duration::ZERO));
    }
    let times = tried.iter().filter(|act| (**act == Act::Fresh) == (last == Act::Fresh)).count();
    let begins_anew = match fault {
        Fault::NotFound => matches!(fallback, ResumeFallback::Repair | ResumeFallback::Fresh),
        Fault::Broken if times < most => {
            let so_far = u32::try_from(times).unwrap_or(u32::MAX).saturating_sub(1);
            return Some((rung, PAUSE.saturating_mul(GROWTH.saturating_pow(so_far))));
        }
        _ => fallback == ResumeFallback::Fresh,
    };
    (begins_anew && !anew).then_some((Act::Fresh, Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GONE: TranscriptFact = TranscriptFact::Missing { in_vault: false };
    const KEPT: TranscriptFact = TranscriptFact::Missing { in_vault: true };
    const WHOLE: TranscriptFact = TranscriptFact::Healthy;

    fn after(tried: &[Act], fault: Fault, now: TranscriptFact, fallback: ResumeFallback) -> Option<Act> {
        next(tried, fault, now, fallback, 3).map(|(act, _)| act)
    }

    #[test]
    fn a_conversation_that_is_not_found_goes_down_the_ladder() {
        let after = |tried: &[Act], now| after(tried, Fault::NotFound, now, ResumeFallback::Repair);
        assert_eq!(after(&[Act::Resume], KEPT), Some(Act::VaultResume));
        assert_eq!(after(&[Act::Resume], TranscriptFact::Corrupted), Some(Act::RepairResume));
        assert_eq!(after(&[Act::Resume], GONE), Some(Act::Fresh));
        assert_eq!(after(&[Act::Resume], WHOLE), Some(Act::Resume), "tried again: it is there");
        assert_eq!(after(&[Act::Resume; 3], WHOLE), None, "an agent that finds nothing costs no history");
        assert_eq!(after(&[Act::Resume, Act::VaultResume], WHOLE), Some(Act::Resume));
        assert_eq!(after(&[Act::Resume, Act::VaultResume], KEPT), Some(Act::Fresh));
        assert_eq!(after(&[Act::Resume, Act::Fresh], GONE), None);
        assert_eq!(after(&[Act::Resume], TranscriptFact::Unknown), None, "nothing is done on unknown");
        assert_eq!(after(&[Act::Begin], WHOLE), Some(Act::Resume), "something was said in it after all");
    }

    #[test]
    fn a_broken_agent_is_tried_again_with_growing_pauses_and_costs_no_history() {
        let next = |tried: &[Act]| next(tried, Fault::Broken, WHOLE, ResumeFallback::Repair, 3);
        let resume = Act::Resume;
        assert_eq!(next(&[resume]), Some((resume, Duration::from_secs(1))));
        assert_eq!(next(&[resume, resume]), Some((resume, Duration::from_secs(3))));
        assert_eq!(next(&[resume, resume, resume]), None);
        assert_eq!(
            next(&[Act::VaultResume]),
            Some((resume, Duration::from_secs(1))),
            "it is put back by now"
        );
        assert_eq!(next(&[Act::Fresh]), Some((Act::Fresh, Duration::from_secs(1))));
        assert_eq!(next(&[resume, Act::Fresh, Act::Fresh, Act::Fresh]), None);
    }

    #[test]
    fn its_users_choice_counts() {
        let thrice = [Act::Resume; 3];
        for (fallback, broken, lost) in [
            (ResumeFallback::Repair, None, Some(Act::Fresh)),
            (ResumeFallback::Fresh, Some(Act::Fresh), Some(Act::Fresh)),
            (ResumeFallback::Shell, None, None),
            (ResumeFallback::Error, None, None),
        ] {
            assert_eq!(after(&thrice, Fault::Broken, WHOLE, fallback), broken, "{fallback:?}");
            assert_eq!(after(&[Act::Resume], Fault::NotFound, GONE, fallback), lost, "{fallback:?}");
        }
    }

    #[test]
    fn who_was_ended_stays_ended() {
        for ended in
            [Ended::Code(0), Ended::Code(143), Ended::Signal(15), Ended::Signal(2), Ended::NotStarted]
        {
            assert_eq!(Fault::of(ended, "No conversation found"), Fault::Final, "{ended:?}");
        }
        assert_eq!(after(&[Act::Resume], Fault::Final, GONE, ResumeFallback::Fresh), None);
        assert_eq!(Fault::of(Ended::Code(1), ": No conversation found with session ID: x"), Fault::NotFound);
        assert_eq!(Fault::of(Ended::Code(1), ": Error: x"), Fault::Broken);
        assert_eq!(Fault::of(Ended::Signal(9), ""), Fault::Broken);
    }
}
