//! What a pane asks its user: an agent ran in it, and no conversation is known to be its own.

use agents::SessionKey;
use tmux::PaneShot;

use crate::infer_session::agent_word;

/// As many as there are keys from 1 to 9.
const MOST: usize = 9;

/// The question of a pane that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    /// The conversations that may be its own, the newest first; none where none is known.
    pub candidates: Vec<SessionKey>,
    /// How many older ones there are.
    pub more: usize,
    /// The program that a fresh agent is.
    pub program: String,
    /// The directory of a fresh agent.
    pub folder: String,
}

impl Asks {
    /// The question of a pane. A save that comes from elsewhere does not say what is run here.
    pub(super) fn of(pane: &PaneShot, mut sessions: Vec<SessionKey>, imported: bool) -> Asks {
        let more = sessions.len().saturating_sub(MOST);
        sessions.truncate(MOST);
        let program = agent_word(pane).filter(|_| !imported).unwrap_or("claude").to_owned();
        Asks {
            candidates: sessions,
            more,
            program,
            folder: if pane.cwd.is_empty() { "/".to_owned() } else { pane.cwd.clone() },
        }
    }

    /// Why it asks.
    pub(super) fn reason(&self) -> String {
        if self.candidates.is_empty() {
            return "an agent ran here, and no conversation is known to be its own".to_owned();
        }
        let mut ids: Vec<String> = self.candidates.iter().map(|id| id.short().to_owned()).collect();
        if self.more > 0 {
            ids.push(format!("{} older ones", self.more));
        }
        format!("an agent ran here; its conversation may be {}", ids.join(" or "))
    }

    /// The words that show the question, behind the program's own name.
    pub(crate) fn words(&self) -> Vec<String> {
        let more = self.more.to_string();
        let options =
            ["pane", "wait", "--fresh", &self.program, "--folder", &self.folder, "--more", &more, "--"];
        options.into_iter().chain(self.candidates.iter().map(SessionKey::as_str)).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(command: &str, start: &str) -> PaneShot {
        PaneShot {
            command: command.to_owned(),
            start_command: start.to_owned(),
            cwd: "/a b".to_owned(),
            ..PaneShot::default()
        }
    }

    #[test]
    fn a_fresh_agent_is_the_program_that_the_save_tells() {
        let check = |command: &str, start: &str, imported: bool, program: &str| {
            assert_eq!(Asks::of(&pane(command, start), Vec::new(), imported).program, program, "{start}");
        };
        check("node", "/opt/claude --resume x", false, "/opt/claude");
        check("node", "\"/opt/claude --resume x\"", false, "/opt/claude");
        check("node", "/opt/claude --resume x", true, "claude");
        check("claude", "cd /srv/claude && claude", false, "claude");
        let asked = "/x/rekindle pane wait --fresh /opt/claude --folder /a --more 0 --";
        check("rekindle", asked, false, "/opt/claude");
        check("bash", asked, false, "claude");
    }

    #[test]
    fn nine_are_asked_about_and_the_others_are_counted() {
        let ids: Vec<SessionKey> = (10..22).map(|at| SessionKey::parse(&format!("s{at}")).unwrap()).collect();
        let asks = Asks::of(&pane("claude", ""), ids.clone(), false);
        assert_eq!((asks.candidates.as_slice(), asks.more), (&ids[..9], 3));
        assert!(asks.reason().ends_with("s18 or 3 older ones"), "{}", asks.reason());
        let head = ["pane", "wait", "--fresh", "claude", "--folder", "/a b", "--more", "3", "--", "s10"];
        assert_eq!(asks.words()[..10], head);
    }
}
