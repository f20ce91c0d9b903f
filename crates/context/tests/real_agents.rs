//! What real agents wrote and showed when they were ended: the transcript and the screen of the same moment.
//!
//! Made in the laboratory with 2.1.31, 2.1.100 and 2.1.325: four turns, then a file to be written (`dialog`: the agent asks
//! its user) and a command that never ends (`busy`, and `killed` after a SIGKILL). Paths are changed, and attachments and
//! the agent's own bookkeeping are left out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use context::{Exchange, Exchanges, Outcome, Step, ToolCall, half_done};
use transcript::Transcript;

macro_rules! real {
    ($version:literal, $file:literal) => {
        include_str!(concat!("real/", $version, "/", $file))
    };
}

/// Versions with the transcript and the screens of one conversation.
const DIALOG: [(&str, &str, &str); 3] = [
    ("2.1.31", real!("2.1.31", "dialog.jsonl"), real!("2.1.31", "dialog.txt")),
    ("2.1.100", real!("2.1.100", "dialog.jsonl"), real!("2.1.100", "dialog.txt")),
    ("2.1.325", real!("2.1.325", "dialog.jsonl"), real!("2.1.325", "dialog.txt")),
];
const BUSY: [(&str, &str, &str, &str); 3] = [
    ("2.1.31", real!("2.1.31", "busy.jsonl"), real!("2.1.31", "busy.txt"), real!("2.1.31", "killed.txt")),
    ("2.1.100", real!("2.1.100", "busy.jsonl"), real!("2.1.100", "busy.txt"), real!("2.1.100", "killed.txt")),
    ("2.1.325", real!("2.1.325", "busy.jsonl"), real!("2.1.325", "busy.txt"), real!("2.1.325", "killed.txt")),
];

fn talk(rows: &str) -> Exchanges {
    Exchanges::of(&Transcript::of(rows.as_bytes(), None)).unwrap()
}

/// The steps in a word each.
fn short(exchange: &Exchange) -> String {
    let deed = |deed: &ToolCall| {
        let end = match &deed.outcome {
            Outcome::Done(result) => format!(" → {}", result.lines().next().unwrap_or_default()),
            Outcome::Failed(_) => " ✗".to_owned(),
            Outcome::Open => " …".to_owned(),
        };
        format!("[{}{end}]", deed.line())
    };
    let steps = exchange.steps.iter().map(|step| match step {
        Step::Said(said) => said.clone(),
        Step::Did(done) => deed(done),
        other => format!("{other:?}"),
    });
    let prompt = exchange.prompt.as_deref().unwrap_or_default();
    let prompt: String = prompt.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    format!("{prompt}> {}", steps.collect::<Vec<_>>().join(" "))
}

fn all(talk: &Exchanges) -> Vec<String> {
    talk.exchanges.iter().map(short).collect()
}

#[test]
fn transcripts_tell_who_said_what_and_which_tools_were_used() {
    for (version, rows, ..) in BUSY {
        let expect = [
            "ask-00 please> reply-00: noted.",
            r"ask-01 RUNTOOL> Running it. [Bash: printf 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n' → one] reply-01: noted.",
            "ask-02 PARALLEL> Running them. [Bash: echo tool-one → tool-one] [Bash: echo tool-two → tool-two] reply-02: noted.",
            "ask-04 WRITEFILE> Writing it. [Write: /home/u/project/src.txt → File created successfully at: /home/u/project/src.txt] reply-04: noted.",
            "ask-03 RUNTOOL> Running it. [Bash: python3 -c 'import time; time.sleep(300)' …]",
        ];
        let talk = talk(rows);
        let told: Vec<String> = all(&talk)
            .iter()
            .map(|line| {
                line.replace(" (file state is current in your context — no need to Read it back)", "")
            })
            .collect();
        assert_eq!(told, expect, "{version}");
        assert_eq!(talk.last_prompt(), Some("ask-03 RUNTOOL python3 -c 'import time; time.sleep(300)'"));
        assert!(talk.exchanges.iter().all(|exchange| exchange.at.is_some()), "{version}");
    }
}

#[test]
fn what_was_half_done_is_known_from_the_transcript_and_from_the_screen() {
    let command = "- A command had not answered; it may have run in part, or not at all: python3 -c 'import time; time.sleep(300)'";
    for (version, rows, busy, killed) in BUSY {
        assert_eq!(half_done(&talk(rows).open).as_deref(), Some(command), "{version}");
        for screen in [busy, killed] {
            let read = Exchanges::of_screen(screen).unwrap();
            assert_eq!(half_done(&read.open).as_deref(), Some(command), "{version}: {:?}", all(&read));
        }
    }
    let file = "- A file was being written (Write); it may be old, new or cut off: ";
    for (version, rows, screen) in DIALOG {
        let told = half_done(&talk(rows).open).unwrap();
        assert_eq!(told, format!("{file}/home/u/project/src.txt"), "{version}");
        let shown = half_done(&Exchanges::of_screen(screen).unwrap().open).unwrap();
        assert_eq!(shown, format!("{file}src.txt"), "{version}");
    }
}

#[test]
fn a_collapsed_tool_is_open_as_long_as_it_is_at_it() {
    let screens = [
        (real!("2.1.31", "collapsed.txt"), "A tool had not answered: Reading 1 file…"),
        (
            real!("2.1.100", "collapsed.txt"),
            "A command had not answered; it may have run in part, or not at all: tail -f /dev/null",
        ),
    ];
    for (screen, expect) in screens {
        let open = Exchanges::of_screen(screen).unwrap().open;
        assert_eq!(half_done(&open).unwrap(), format!("- {expect}"));
        let done = screen.replace("Reading 1 file… (", "Read 1 file (").replace("$ tail", "tail");
        let read = Exchanges::of_screen(&done).unwrap();
        assert_eq!(read.open, []);
        assert!(all(&read).last().unwrap().contains("[Read 1 file → "), "{:?}", all(&read));
    }
}

#[test]
fn screens_tell_the_same_as_far_as_they_show_it() {
    for (version, _, busy, _) in BUSY {
        let read = Exchanges::of_screen(busy).unwrap();
        let seen = all(&read);
        let expect: &[&str] = if version == "2.1.325" {
            // It has no scrollback, only a screen, and says how many commands there were and not which.
            &[
                "ask-04 WRITEFILE> Writing it. [Write: src.txt → Wrote 3 lines to src.txt] reply-04: noted.",
                "ask-03 RUNTOOL> Running it. [Bash: python3 -c 'import time; time.sleep(300)' …]",
            ]
        } else {
            &[
                "ask-00 please> reply-00: noted.",
                r"ask-01 RUNTOOL> Running it. [Bash: printf 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n' → one] reply-01: noted.",
                "ask-02 PARALLEL> Running them. [Bash: echo tool-one → tool-one] [Bash: echo tool-two → tool-two] reply-02: noted.",
                "ask-04 WRITEFILE> Writing it. [Write: src.txt → Wrote LINES lines to src.txt] reply-04: noted.",
                "ask-03 RUNTOOL> Running it. [Bash: python3 -c 'import time; time.sleep(300)' …]",
            ]
        };
        let seen: Vec<String> = seen
            .iter()
            .map(|line| {
                line.replace("Wrote 4 lines", "Wrote LINES lines")
                    .replace("Wrote 3 lines", "Wrote LINES lines")
            })
            .collect();
        let expect: Vec<String> =
            expect.iter().map(|line| line.replace("Wrote 3 lines", "Wrote LINES lines")).collect();
        assert!(seen.ends_with(&expect), "{version}: {seen:#?}");
    }
}

#[test]
fn what_the_transcript_lost_comes_from_the_screen() {
    for (version, rows, busy, _) in BUSY {
        // The last turn is gone, and the last reply of the turn before.
        let cut = rows.find("reply-04").map(|at| rows[..at].rfind('\n').unwrap() + 1).unwrap();
        let mut known = talk(&rows[..cut]);
        assert_eq!(known.open, []);
        assert!(known.extend(Exchanges::of_screen(busy).unwrap()), "{version}");
        let told = all(&known);
        assert_eq!(told.len(), 5, "{version}: {told:#?}");
        assert!(told[3].ends_with("] reply-04: noted."), "{version}: {}", told[3]);
        assert_eq!(
            told[4], "ask-03 RUNTOOL> Running it. [Bash: python3 -c 'import time; time.sleep(300)' …]",
            "{version}"
        );
        assert_eq!(known.open.len(), 1, "{version}");
        // What both have is not said twice, and the screen names nothing better.
        let mut whole = talk(rows);
        assert!(!whole.extend(Exchanges::of_screen(busy).unwrap()), "{version}");
        assert_eq!(whole, talk(rows), "{version}");
    }
}
