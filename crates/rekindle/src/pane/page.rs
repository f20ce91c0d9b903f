//! What a pane that waits shows, and which keys mean something on it. A key is there only where it would work.

use std::path::Path;

use recovery::{LiveOwner, Taking};

use super::found::Found;
use crate::output::wrap;

/// Fits a terminal of 80 columns, between margins.
pub(super) const WIDTH: usize = 74;

/// What its user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Resume,
    MakeFolder,
    GoThere,
    Take,
    Yes,
    No,
    Shell,
    Gone,
    /// Nothing was typed for a while, and who is in the conversation was not clear.
    Look,
}

/// What a page has to say besides whose conversation it is.
#[derive(Debug, Clone)]
pub(super) struct Page<'a> {
    /// Why it waits.
    pub(super) why: &'a str,
    /// What came of the last key.
    pub(super) news: &'a str,
    /// Whether it has not been tried yet.
    pub(super) waits: bool,
    /// Whether it begins when it is looked at.
    pub(super) on_focus: bool,
    /// Its directory, where that is gone.
    pub(super) missing: Option<&'a Path>,
    /// Who is in the conversation.
    pub(super) found: &'a Found,
    /// Whether its user is asked once more before the other agent is ended.
    pub(super) asks: bool,
}

impl Page<'_> {
    /// The sentences, each in lines that fit, and the keys behind them.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say = |text: &str| {
            if !text.is_empty() {
                lines.extend(wrap(text, WIDTH).iter().map(|line| format!("  {line}")));
                lines.push(String::new());
            }
        };
        let why = self.reason();
        if !why.is_empty() {
            let word = if self.waits { "waits to be resumed" } else { "was not resumed" };
            say(&format!("{word}: {why}"));
        }
        if let Found::Somebody { who, taking } = self.found {
            match taking {
                Taking::Bring(_) => {}
                Taking::End => say(&way(who)),
                Taking::Never { why } => {
                    say(&way(who));
                    say(why);
                }
            }
        }
        say(self.news);
        if let Some(who) = self.asked() {
            say(&format!("end {} and resume it here?", who.whom()));
        }
        let keys: Vec<(&str, &str)> = self.keys().into_iter().map(|(key, what, _)| (key, what)).collect();
        lines.extend(keys_in_lines(&keys));
        lines
    }

    /// Who is in it counts more than why it once began to wait.
    fn reason(&self) -> String {
        match self.found {
            Found::Somebody { who, .. } => {
                format!("{} is in it: two agents would write one conversation", who.whom())
            }
            Found::Unclear { why } if self.why.is_empty() => why.clone(),
            _ => self.why.to_owned(),
        }
    }

    /// Whom its user is asked about.
    fn asked(&self) -> Option<&LiveOwner> {
        match self.found {
            Found::Somebody { who, taking: Taking::End } if self.asks => Some(who),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<(&'static str, &'static str, Wish)> {
        if self.asked().is_some() {
            return vec![("y", "yes, end it there", Wish::Yes), ("n", "no", Wish::No)];
        }
        let enter = match self.found {
            Found::Nobody => "resume it here",
            _ => "try again",
        };
        let mut keys = vec![("Enter", enter, Wish::Resume)];
        if let Found::Somebody { taking, .. } = self.found {
            match taking {
                Taking::Bring(_) => {
                    keys.extend([("f", "go there", Wish::GoThere), ("t", "bring it here", Wish::Take)]);
                }
                Taking::End => keys.push(("t", "end it there and resume it here", Wish::Take)),
                Taking::Never { .. } => {}
            }
        }
        keys.push(("s", "a shell", Wish::Shell));
        if self.missing.is_some() {
            keys.push(("m", "make its directory again and resume", Wish::MakeFolder));
        }
        keys
    }

    /// What keys mean, if they mean anything here.
    pub(super) fn understand(&self, typed: &[u8]) -> Option<Wish> {
        let asked = self.asked().is_some();
        match typed {
            super::wait::FOCUS_IN => (self.on_focus && !asked).then_some(Wish::Resume),
            [b'\r' | b'\n', ..] if !asked => Some(Wish::Resume),
            // Ctrl-C and Ctrl-D mean "let me out" everywhere.
            [b'q' | 3 | 4, ..] => Some(if asked { Wish::No } else { Wish::Shell }),
            [key, ..] => {
                let key = char::from(key.to_ascii_lowercase()).to_string();
                let wish = self.keys().into_iter().find(|(known, ..)| *known == key).map(|(.., wish)| wish);
                // Nobody ends an agent by a word that was meant for a shell: what is no clear yes is a no.
                if asked && typed.len() > 1 { Some(Wish::No) } else { wish.or(asked.then_some(Wish::No)) }
            }
            [] => None,
        }
    }
}

fn way(who: &LiveOwner) -> String {
    who.way(None).map(|way| format!("{way} goes there")).unwrap_or_default()
}

/// Keys side by side, as many as fit.
pub(super) fn keys_in_lines(keys: &[(&str, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (key, what) in keys {
        let entry = format!("{key}  {what}");
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + entry.chars().count() <= WIDTH + 2 => {
                line.push_str("   ");
                line.push_str(&entry);
            }
            _ => lines.push(format!("  {entry}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use recovery::At;
    use sessions::view::{Process, State};
    use store::record::TmuxPlace;

    use super::*;

    fn place() -> TmuxPlace {
        TmuxPlace {
            socket: "/tmp/tmux-1000/other".into(),
            server: 2,
            started: 20,
            pane: "%4".to_owned(),
            reference: "other//away:0.0".to_owned(),
        }
    }

    fn somebody(taking: Taking) -> Found {
        let process = Process { pid: 123, start: 9 };
        Found::Somebody { who: LiveOwner { process, at: At::Pane(place()), state: State::Idle }, taking }
    }

    fn page(found: &Found) -> Page<'_> {
        Page { why: "why not", news: "", waits: false, on_focus: false, missing: None, found, asks: false }
    }

    #[track_caller]
    fn check(page: &Page<'_>, expect: &[&str]) {
        let lines = page.lines();
        let said: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        assert_eq!(said, expect);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }

    #[test]
    fn only_keys_that_mean_something_do_something() {
        let nobody = &page(&Found::Nobody);
        let lazy = &Page { on_focus: true, ..nobody.clone() };
        let gone = &Page { missing: Some(Path::new("/gone")), ..nobody.clone() };
        assert_eq!(nobody.understand(b"\r"), Some(Wish::Resume));
        assert_eq!(lazy.understand(b"\x1b[I"), Some(Wish::Resume));
        assert_eq!(nobody.understand(b"\x1b[I"), None);
        assert_eq!(nobody.understand(b"m"), None);
        assert_eq!(gone.understand(b"m"), Some(Wish::MakeFolder));
        assert_eq!(lazy.understand(b"s"), Some(Wish::Shell));
        assert_eq!(lazy.understand(b"\x03"), Some(Wish::Shell));
        for key in [b"x", b"f", b"t", b"y", b"e"] {
            assert_eq!(gone.understand(key), None);
        }
    }

    #[test]
    fn who_is_beside_can_be_gone_to_and_brought() {
        let found = somebody(Taking::Bring(place()));
        let page = page(&found);
        let why = "was not resumed: process 123 in other//away:0.0 is in it: two agents would";
        check(
            &page,
            &[
                why,
                "write one conversation",
                "Enter  try again   f  go there   t  bring it here   s  a shell",
            ],
        );
        assert_eq!(page.understand(b"f"), Some(Wish::GoThere));
        assert_eq!(page.understand(b"T"), Some(Wish::Take));
    }

    #[test]
    fn who_is_elsewhere_is_ended_only_after_a_second_word() {
        let found = somebody(Taking::End);
        let first = Page { missing: Some(Path::new("/gone")), news: "it did not end", ..page(&found) };
        let why = [
            "was not resumed: process 123 in other//away:0.0 is in it: two agents would",
            "write one conversation",
        ];
        let way = "tmux -S /tmp/tmux-1000/other attach -t %4 goes there";
        let keys = "Enter  try again   t  end it there and resume it here   s  a shell";
        check(
            &first,
            &[why[0], why[1], way, "it did not end", keys, "m  make its directory again and resume"],
        );
        assert_eq!((first.understand(b"f"), first.understand(b"y")), (None, None));
        assert_eq!(first.understand(b"t"), Some(Wish::Take));
        let second = Page { asks: true, ..page(&found) };
        let question = "end process 123 in other//away:0.0 and resume it here?";
        check(&second, &[why[0], why[1], way, question, "y  yes, end it there   n  no"]);
        for (key, wish) in [(b"y", Some(Wish::Yes)), (b"n", Some(Wish::No)), (b"\x03", Some(Wish::No))] {
            assert_eq!(second.understand(key), wish);
        }
        for key in [&b"\r"[..], b"t", b"s", b"x", b"yes, but"] {
            assert_eq!(second.understand(key), Some(Wish::No), "only a clear yes is one");
        }
    }

    #[test]
    fn who_may_not_be_ended_has_no_key() {
        let found = somebody(Taking::Never { why: "it is at work, and is not ended for this" });
        for asks in [false, true] {
            let page = Page { asks, ..page(&found) };
            assert_eq!(
                (page.understand(b"t"), page.understand(b"f"), page.understand(b"y")),
                (None, None, None)
            );
            assert!(page.lines().join(" ").contains("it is at work"));
        }
        let unclear = Found::Unclear { why: "process 7 may be in it".to_owned() };
        let unclear = Page { why: "", ..page(&unclear) };
        check(&unclear, &["was not resumed: process 7 may be in it", "Enter  try again   s  a shell"]);
        let told = Page { why: "its directory is gone", ..unclear.clone() };
        check(&told, &["was not resumed: its directory is gone", "Enter  try again   s  a shell"]);
        assert_eq!((unclear.understand(b"t"), unclear.understand(b"f")), (None, None));
    }
}
