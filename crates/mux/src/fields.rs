//! Facts asked of tmux so that no name can break the answer: each field comes with its length before it.
//!
//! A length costs tmux as much as the field itself. What tmux itself makes up (numbers, ids, flags, layouts) has none.

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

/// The format that asks for these variables: `:#{x}|` for each plain one, `#{n:x}:#{x}` for the others.
pub(crate) fn format<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let ask = |name: &str| match PLAIN.binary_search(&name) {
        Ok(_) => format!(":#{{{name}}}|"),
        Err(_) => format!("#{{n:{name}}}:#{{{name}}}"),
    };
    names.into_iter().map(ask).collect()
}

/// An answer, read field by field. Names, titles and paths may hold any separator, newlines too.
#[derive(Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn of(answer: &'a [u8]) -> Self {
        Self(answer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next field.
    pub(crate) fn text(&mut self) -> Option<String> {
        if let Some(plain) = self.0.strip_prefix(b":") {
            let end = plain.iter().position(|byte| *byte == b'|')?;
            self.0 = &plain[end + 1..];
            return Some(String::from_utf8_lossy(&plain[..end]).into_owned());
        }
        let colon = self.0.iter().position(|byte| *byte == b':')?;
        let length: usize = std::str::from_utf8(&self.0[..colon]).ok()?.parse().ok()?;
        let end = colon.checked_add(1)?.checked_add(length)?;
        let value = self.0.get(colon + 1..end)?;
        self.0 = &self.0[end..];
        Some(String::from_utf8_lossy(value).into_owned())
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
        let (letter, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*letter)
    }

    /// Everything that is left.
    pub(crate) fn rest(&self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }

    /// The end of a row.
    pub(crate) fn end_of_row(&mut self) -> Option<()> {
        self.0 = self.0.strip_prefix(b"\n")?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_separator_may_stand_in_a_field() {
        let mut fields = Fields::of(b"s:%4|:|7:a:b\n1:x0:1:12:\xff\xff\n");
        assert_eq!(fields.letter(), Some(b's'));
        assert_eq!((fields.text().as_deref(), fields.some()), (Some("%4"), Some(None)));
        assert_eq!(fields.text().as_deref(), Some("a:b\n1:x"));
        assert_eq!(fields.some(), Some(None));
        assert_eq!(fields.flag(), Some(true));
        assert_eq!(fields.text().as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(fields.end_of_row(), Some(()));
        assert!(fields.is_empty());
    }

    #[test]
    fn garbage_is_no_answer() {
        for garbage in
            [&b":endless"[..], b"99999999999999999999:x", b"18446744073709551615:x", b"9:short", b"x", b""]
        {
            assert_eq!(Fields::of(garbage).text(), None);
        }
    }

    #[test]
    fn asks_for_the_length_first() {
        assert_eq!(format(["pid", "@x"]), ":#{pid}|#{n:@x}:#{@x}");
    }
}
