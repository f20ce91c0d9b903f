//! The prompt that rekindle itself puts to an agent that came back. It stands in the transcript as a row of the user's, and is
//! neither the user's task nor the user's last words.

/// How such a prompt begins. Transcripts keep them for good, so a beginning that was ever used stays in this list.
pub const RESUMED: &str = "Your session broke off and has been restored.";
/// As [`RESUMED`], to a fresh agent.
pub const TAKES_OVER: &str = "You take over a session that broke off.";

/// Whether a prompt is rekindle's own. A terminal breaks lines where it likes, so white space does not count.
pub fn is_own_prompt(text: &str) -> bool {
    [RESUMED, TAKES_OVER].iter().any(|beginning| {
        let mut words = text.split_whitespace();
        beginning.split_whitespace().all(|word| words.next() == Some(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_known_by_its_beginning_however_it_is_broken_into_lines() {
        assert!(is_own_prompt(&format!("{RESUMED} Half done: Bash.")));
        assert!(is_own_prompt("\n You take over a session\nthat broke  off. Read /s/c.md first"));
        for users in ["", "Your session broke off", "Why? Your session broke off and has been restored."] {
            assert!(!is_own_prompt(users), "{users}");
        }
    }
}
