use jiff::SignedDuration;

use super::*;
use crate::plan::Asked;

fn remembered() -> Remembered {
    Remembered {
        session: SessionKey::parse("s1").unwrap(),
        grade: Grade::Proven,
        status: Status::Crashed,
        reason: Some("server_exit".to_owned()),
        distrusted: None,
        persistent: false,
        last_seen: Timestamp::from_second(1_000_000).unwrap(),
        clock_doubted: false,
        out_of_sight: None,
        unknown_account: None,
        owner: OwnerFact::Nobody,
        transcript: TranscriptFact::Healthy,
        places_agree: true,
        directory_there: true,
        transcript_there: true,
        trusted: Some(true),
        argv_refused: None,
        notes: Vec::new(),
        quota_spent: None,
    }
}

fn wanted() -> Wanted {
    Wanted {
        now: Timestamp::from_second(1_000_060).unwrap(),
        stale_after: SignedDuration::from_hours(24),
        again: false,
        asked: Asked::All,
        resume: AutoResume::Auto,
        fallback: ResumeFallback::Repair,
    }
}

fn check(change: impl FnOnce(&mut Remembered), expect: Act, says: &str) {
    check_where(wanted(), change, expect, says);
}

fn check_where(wanted: Wanted, change: impl FnOnce(&mut Remembered), expect: Act, says: &str) {
    let mut facts = remembered();
    change(&mut facts);
    let decided = decide(&facts, &wanted);
    assert_eq!(decided.act, expect, "{decided:?}");
    assert!(decided.reason.contains(says), "{decided:?}");
}

#[test]
fn the_ladder_follows_the_transcript() {
    check(|_| {}, Act::Resume, "whole");
    check(|f| f.transcript = TranscriptFact::Never, Act::Begin, "nothing was said");
    check(|f| f.transcript = TranscriptFact::Corrupted, Act::RepairResume, "mended");
    check(
        |f| f.transcript = TranscriptFact::Missing { in_vault: true },
        Act::VaultResume,
        "the vault has it",
    );
    check(|f| f.transcript = TranscriptFact::Missing { in_vault: false }, Act::Fresh, "does not have it");
    check(|f| f.transcript = TranscriptFact::Unrecoverable, Act::Fresh, "nothing is left");
}

#[test]
fn what_cannot_simply_be_resumed_follows_its_users_choice() {
    let (gone, kept) =
        (TranscriptFact::Missing { in_vault: false }, TranscriptFact::Missing { in_vault: true });
    for (fallback, expect, says) in [
        (ResumeFallback::Fresh, Act::Fresh, "; claude.resume_fallback is fresh"),
        (ResumeFallback::Shell, Act::Shell, "; claude.resume_fallback is shell"),
        (ResumeFallback::Error, Act::Refuse, "; claude.resume_fallback is error"),
    ] {
        let chosen = Wanted { fallback, ..wanted() };
        for transcript in [TranscriptFact::Corrupted, kept, gone, TranscriptFact::Unrecoverable] {
            check_where(chosen, |f| f.transcript = transcript, expect, says);
        }
        check_where(chosen, |_| {}, Act::Resume, "whole");
        check_where(chosen, |f| f.transcript = TranscriptFact::Never, Act::Begin, "nothing was said");
    }
}

#[test]
fn nobody_starts_by_itself_where_its_user_does_not_want_it() {
    let never = Wanted { resume: AutoResume::Never, ..wanted() };
    let says = "auto_resume_on_restore";
    check_where(never, |_| {}, Act::Offer, says);
    check_where(never, |f| f.transcript = TranscriptFact::Never, Act::Offer, says);
    check_where(never, |f| f.transcript = TranscriptFact::Corrupted, Act::Offer, says);
    check_where(never, |f| f.owner = OwnerFact::Here, Act::Nothing, "there");
    check_where(never, |f| f.status = Status::EndedCleanly, Act::Shell, "ended");
    let shell = Wanted { fallback: ResumeFallback::Shell, ..never };
    check_where(shell, |f| f.transcript = TranscriptFact::Corrupted, Act::Shell, "resume_fallback");
    check_where(Wanted { resume: AutoResume::Always, ..wanted() }, |_| {}, Act::Resume, "whole");
}

#[test]
fn a_conversation_of_another_place_is_refused() {
    let elsewhere = |facts: &mut Remembered| facts.out_of_sight = Some("/b".into());
    check(elsewhere, Act::Refuse, "its account is in /b");
    check(|facts| facts.transcript_there = false, Act::Refuse, "another directory");
}

#[test]
fn what_cannot_be_told_is_not_lost() {
    for fallback in [ResumeFallback::Repair, ResumeFallback::Fresh, ResumeFallback::Shell] {
        let chosen = Wanted { fallback, ..wanted() };
        check_where(chosen, |f| f.transcript = TranscriptFact::Unknown, Act::Refuse, "cannot be told");
        check_where(chosen, |f| f.transcript = TranscriptFact::Undecided, Act::Refuse, "two versions");
    }
}

/// F-resume-12
#[test]
fn a_conversation_has_one_writer() {
    let elsewhere = OwnerFact::Elsewhere {
        whom: "process 7 in work:1.0".to_owned(),
        way: Some("tmux switch-client -t %4".to_owned()),
    };
    check(|f| f.owner = elsewhere.clone(), Act::Refuse, "process 7 in work:1.0");
    check(|f| f.owner = elsewhere, Act::Refuse, "; tmux switch-client -t %4 goes there");
    check(
        |f| f.owner = OwnerFact::Unknown { why: "another machine".to_owned() },
        Act::Refuse,
        "another machine",
    );
    check(|f| f.owner = OwnerFact::Here, Act::Nothing, "there");
}

/// F-others-8
#[test]
fn what_its_user_ended_stays_ended() {
    let ended = |reason: &str| {
        let reason = reason.to_owned();
        move |f: &mut Remembered| (f.status, f.reason) = (Status::EndedCleanly, Some(reason))
    };
    check(ended("prompt_input_exit"), Act::Shell, "its user ended it");
    check(ended("pane_closed"), Act::Shell, "closed the pane");
    check(|f| (f.status, f.persistent) = (Status::EndedCleanly, true), Act::Resume, "whole");
    let cleared = |f: &mut Remembered| f.reason = Some("cleared".to_owned());
    check(cleared, Act::Offer, "you had cleared it, and its agent was killed");
}

/// F-others-4
#[test]
fn less_than_proof_is_offered() {
    check(|f| f.grade = Grade::Guess, Act::Offer, "guessed");
    check(|f| (f.grade, f.places_agree) = (Grade::Likely, false), Act::Offer, "do not say the same");
    check(|f| f.grade = Grade::Likely, Act::Resume, "whole");
    check(|f| f.last_seen = Timestamp::from_second(900_000).unwrap(), Act::Offer, "too long ago");
    check(|f| f.last_seen = Timestamp::from_second(9_000_000).unwrap(), Act::Offer, "too long ago");
    check(|f| f.clock_doubted = true, Act::Offer, "the clock was wrong");
}

#[test]
fn a_record_that_this_machine_did_not_write_starts_nothing_by_itself() {
    let edited = |f: &mut Remembered| f.distrusted = Some("its record was edited");
    for asked in [Asked::ByItself, Asked::All] {
        let wanted = Wanted { asked, ..wanted() };
        check_where(wanted, edited, Act::Offer, "rekindle recover s1");
        check_where(wanted, edited, Act::Offer, "rekindle trust s1");
    }
}

#[test]
fn by_its_name_an_untrusted_record_is_resumed_where_nothing_of_it_runs_code() {
    let check = |change: fn(&mut Remembered), expect: Act, says: &str| {
        let edited = |f: &mut Remembered| {
            f.distrusted = Some("its record was edited");
            change(f);
        };
        check_where(Wanted { asked: Asked::Name, ..wanted() }, edited, expect, says);
    };
    check(|_| {}, Act::Resume, "whole");
    check(|f| f.transcript = TranscriptFact::Corrupted, Act::RepairResume, "mended");
    check(|f| f.transcript = TranscriptFact::Missing { in_vault: true }, Act::VaultResume, "vault");
    check(|f| f.trusted = None, Act::Resume, "whole");
    check(|f| f.trusted = Some(false), Act::Refuse, "you have not trusted its directory");
    check(|f| f.unknown_account = Some(UnknownAccount("/evil".into())), Act::Refuse, "rekindle trust s1");
    for nothing in [TranscriptFact::Never, TranscriptFact::Empty, TranscriptFact::Unrecoverable] {
        let edited = |f: &mut Remembered| {
            (f.distrusted, f.transcript) = (Some("its record was edited"), nothing);
        };
        check_where(Wanted { asked: Asked::Name, ..wanted() }, edited, Act::Refuse, "rekindle trust s1");
    }
}

#[test]
fn no_session_is_started_with_an_account_that_no_genuine_source_names() {
    for asked in [Asked::ByItself, Asked::All, Asked::Name] {
        let wanted = Wanted { asked, ..wanted() };
        check_where(
            wanted,
            |f| f.unknown_account = Some(UnknownAccount("/evil".into())),
            Act::Refuse,
            "/evil",
        );
    }
}

#[test]
fn what_only_the_user_can_do_is_refused_with_its_reason() {
    check(|f| f.directory_there = false, Act::Refuse, "directory is gone");
    check(|f| f.trusted = Some(false), Act::Refuse, "not trusted");
    check(|f| f.trusted = None, Act::Resume, "whole");
    check(|f| f.quota_spent = Some("99% used".to_owned()), Act::Offer, "99%");
    check(|f| f.argv_refused = Some("--frob is unknown".to_owned()), Act::Refuse, "--frob");
}
