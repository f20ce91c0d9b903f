//! What a tmux that would not answer meant by it.

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing listens on the socket, or nobody who has a pane.
    Gone,
    /// It cannot be told; with what tmux said.
    Unknown(String),
}

/// Reads what tmux complained about.
pub(crate) fn refusal(words: &str) -> Refusal {
    // The last one is said by a client whose server went away while it was asked.
    let nobody = [
        "no server running",
        "No such file or directory",
        "Connection refused",
        "server exited unexpectedly",
    ];
    if nobody.iter().any(|text| words.contains(text)) {
        return Refusal::Gone;
    }
    Refusal::Unknown(format!("tmux says: {}", words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_there_is_gone_and_anything_else_is_unknown() {
        assert_eq!(refusal("no server running on /tmp/x"), Refusal::Gone);
        assert_eq!(refusal("error connecting to /tmp/x (No such file or directory)"), Refusal::Gone);
        assert_eq!(refusal("server exited unexpectedly"), Refusal::Gone);
        assert!(matches!(refusal("access not allowed"), Refusal::Unknown(_)));
    }
}
