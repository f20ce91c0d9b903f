//! Facts asked of tmux so that no name can break the answer: what users and programs name ends with a mark that nobody can
//! know, newlines and all.
//!
//! What tmux itself makes up (numbers, ids, flags, layouts) ends with a bar.

use std::hash::{BuildHasher, Hasher, RandomState};

/// What never holds a bar, whatever users and programs do. (A word of a command that ends in a semicolon would end the
/// command.)
const PLAIN: [&str; 23] = [
    "alternate_on",
    "automatic-rename",
    "pane_active",
    "pane_dead",
    "pane_height",
    "pane_id",
    "pane_index",
    "pane_pid",
    "pane_tty",
    "pane_width",
    "pid",
    "session_attached",
    "session_id",
    "start_time",
    "version",
    "window_active",
    "window_height",
    "window_id",
    "window_index",
    "window_last_flag",
    "window_layout",
    "window_width",
    "window_zoomed_flag",
];

/// How facts are asked for and read: one question, one mark.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    mark: String,
}

impl Form {
    /// A form with a mark of its own. The keys of a hash are random for each process.
    pub(crate) fn new() -> Form {
        Form { mark: format!("{:016x}", RandomState::new().build_hasher().finish()) }
    }

    /// The format that asks for these variables: `:#{x}|` for each plain one, `=#{x}MARK` for the others.
    pub(crate) fn ask<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> String {
        let ask = |name: &str| match PLAIN.binary_search(&name) {
            Ok(_) => format!(":#{{{name}}}|"),
            Err(_) => format!("=#{{{name}}}{}", self.mark),
        };
        names.into_iter().map(ask).collect()
    }

    /// Reads an answer.
    pub(crate) fn read<'a>(&'a self, answer: &'a [u8]) -> Fields<'a> {
        Fields { rest: answer, mark: self.mark.as_bytes() }
    }
}

/// An answer, read field by field.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    mark: &'a [u8],
}

impl Fields<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field.
    pub(crate) fn text(&mut self) -> Option<String> {
        let (kind, rest) = self.rest.split_first()?;
        let (end, mark) = match kind {
            b':' => (rest.iter().position(|byte| *byte == b'|')?, 1),
            b'=' => (rest.windows(self.mark.len()).position(|window| window == self.mark)?, self.mark.len()),
            _ => return None,
        };
        self.rest = &rest[end + mark..];
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// The next field as a number.
    pub(crate) fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    /// The next field as a flag: tmux says `1`, and `0` or nothing.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.text()? == "1")
    }

    /// The next field, where it is not empty.
    pub(crate) fn some(&mut self) -> Option<Option<String>> {
        Some(Some(self.text()?).filter(|text| !text.is_empty()))
    }

    /// The letter that a row begins with.
    pub(crate) fn letter(&mut self) -> Option<u8> {
        let (letter, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*letter)
    }

    /// Everything that is left.
    pub(crate) fn rest(&self) -> String {
        String::from_utf8_lossy(self.rest).into_owned()
    }

    /// The end of a row.
    pub(crate) fn end_of_row(&mut self) -> Option<()> {
        self.rest = self.rest.strip_prefix(b"\n")?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Form {
        Form { mark: "MARK".to_owned() }
    }

    #[test]
    fn any_separator_may_stand_in_a_field() {
        let form = form();
        let mut fields = form.read(b"s:%4|:|=a|=:b\n1:xMARK=MARK:1|=\xff\xffMARK\n");
        assert_eq!(fields.letter(), Some(b's'));
        assert_eq!((fields.text().as_deref(), fields.some()), (Some("%4"), Some(None)));
        assert_eq!(fields.text().as_deref(), Some("a|=:b\n1:x"));
        assert_eq!(fields.some(), Some(None));
        assert_eq!(fields.flag(), Some(true));
        assert_eq!(fields.text().as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(fields.end_of_row(), Some(()));
        assert!(fields.is_empty());
    }

    #[test]
    fn garbage_is_no_answer() {
        for garbage in [&b":endless"[..], b"=endless", b"=MAR", b"x|", b""] {
            assert_eq!(form().read(garbage).text(), None);
        }
    }

    #[test]
    fn each_question_has_a_mark_of_its_own() {
        assert_eq!(form().ask(["pid", "@x"]), ":#{pid}|=#{@x}MARK");
        let (one, two) = (Form::new(), Form::new());
        assert_eq!(one.mark.len(), 16);
        assert_ne!(one.mark, two.mark);
    }
}
