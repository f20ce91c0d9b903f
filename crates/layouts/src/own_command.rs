//! Panes whose own command is this program, known by what tmux says they were started with.

/// The words of a pane's own command, as tmux tells it.
pub fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split([' ', '"', '\'']).filter(|word| !word.is_empty())
}

/// Whether a pane was started with `pane wait`, `pane run` or `pane shell` of this program, whatever that is called.
pub fn runs_ours(command: &str, verb: &str) -> bool {
    called(command, verb).is_some()
}

/// Whether a pane was started as a shell that first shows what a save has of it: a shell like any other.
pub fn is_restored_shell(command: &str) -> bool {
    runs_ours(command, "shell")
}

/// Whether such a pane has not become its shell yet, by the name of the program in front. What its user runs there later may
/// be called so, too: then the shell is above it.
pub fn becomes_shell(command: &str, in_front: &str) -> bool {
    let name = |word: &str| word.rsplit('/').next() == Some(in_front);
    !in_front.is_empty() && called(command, "shell").is_some_and(name)
}

/// Whether such a pane shows the question which conversation was its own, by the name of the program in front: its user has
/// neither answered nor asked for a shell.
pub fn asks_its_user(command: &str, in_front: &str) -> bool {
    let name = |word: &str| word.rsplit('/').next() == Some(in_front);
    let asks = called(command, "wait").is_some_and(name);
    !in_front.is_empty() && asks && words(command).any(|word| word == "--fresh")
}

/// The word in the command of a pane that offers a conversation of which it is only guessed that it was there.
pub const GUESSED: &str = "--guessed";

/// Whether a pane was started to offer such a conversation.
pub(crate) fn offers_a_guess(command: &str) -> bool {
    let before_why = words(command).take_while(|word| *word != "--why");
    runs_ours(command, "wait") && before_why.into_iter().any(|word| word == GUESSED)
}

/// The end of this program's path, where a pane was started with `pane` and this verb of it.
fn called<'a>(command: &'a str, verb: &str) -> Option<&'a str> {
    let mut before = None;
    let mut words = words(command);
    while let Some(word) = words.next() {
        if word == "pane" {
            return before.filter(|_| words.next() == Some(verb));
        }
        before = Some(word);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panes_command_says_whether_it_is_ours() {
        assert!(runs_ours("/x/rekindle-2 pane run --launch x -- claude", "run"));
        assert!(runs_ours("\"/x y/rekindle\" \"pane\" \"wait\" \"--why\" \"run\"", "wait"));
        assert!(!runs_ours("vim pane", "wait") && !runs_ours("", "run") && !runs_ours("pane run", "run"));
        let shell = "\"/x y/rekindle\" pane shell --state \"/a b\" --save s --server 0 --pane %4";
        assert!(is_restored_shell(shell) && !runs_ours(shell, "run"));
        assert!(!is_restored_shell("vim pane") && !is_restored_shell("rekindle pane wait --why shell"));
        let asks = "/x/rekindle pane wait --fresh claude --folder /a --more 0 -- s1 s2";
        assert!(asks_its_user(asks, "rekindle") && !asks_its_user(asks, "bash") && !asks_its_user(asks, ""));
        assert!(!asks_its_user("/x/rekindle pane wait --why x -- s1", "rekindle"), "that one is known");
        assert!(offers_a_guess("\"/x y/rekindle\" pane wait --guessed --why \"it is\" -- s1"));
        assert!(
            !offers_a_guess("/x/rekindle pane wait --why --guessed -- s1")
                && !offers_a_guess("vim --guessed")
        );
        assert!(
            becomes_shell(shell, "rekindle") && !becomes_shell(shell, "vim") && !becomes_shell(shell, "")
        );
    }
}
