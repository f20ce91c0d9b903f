//! Rows over several lines as one line: white space between values goes, cuts inside of texts are joined.

/// What stood where a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// Nothing: the cut was made at a width.
    Nothing,
    /// A space: the program broke lines between words.
    Space,
    /// Texts are not cut in this file.
    Never,
}

/// The widths of lines that end inside of a text: they tell how a file was folded.
#[derive(Debug, Default)]
pub(super) struct Folds {
    cuts: u64,
    /// The longest line that ends in a cut, and the shortest that ends in a cut behind no space.
    longest: Widths,
    shortest: Option<Widths>,
}

/// A line's length in each way that programs count it.
#[derive(Debug, Clone, Copy, Default)]
struct Widths {
    bytes: usize,
    characters: usize,
    columns: usize,
}

/// Fewer cuts than this may be torn rows.
const FEWEST_CUTS: u64 = 4;

impl Folds {
    /// Looks at a value; whether a text in it is cut.
    pub(super) fn look(&mut self, value: &[u8]) -> bool {
        let mut cut = false;
        let mut line = 0;
        each_newline(value, |at, in_text| {
            let text = &value[line..at];
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            line = at + 1;
            if in_text {
                cut = true;
                self.cuts += 1;
                let widths = Widths::of(text);
                self.longest = self.longest.longer(widths);
                if text.last() != Some(&b' ') {
                    self.shortest = Some(self.shortest.map_or(widths, |known| known.shorter(widths)));
                }
            }
        });
        cut
    }

    /// What stood at the cuts; `None` where they are too few to tell that the file was folded.
    pub(super) fn join(&self) -> Option<Join> {
        if self.cuts < FEWEST_CUTS {
            return None;
        }
        // A line that is shorter than it could be ended at a space, which is gone.
        let full = self.shortest.is_none_or(|shortest| {
            shortest.bytes == self.longest.bytes
                || shortest.characters == self.longest.characters
                // A wide character that does not fit leaves one column free.
                || shortest.columns + 1 >= self.longest.columns
        });
        Some(if full { Join::Nothing } else { Join::Space })
    }
}

impl Widths {
    fn of(line: &[u8]) -> Widths {
        let text = String::from_utf8_lossy(line);
        let wide = |c: char| {
            matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
                | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd)
        };
        let characters = text.chars().count();
        Widths {
            bytes: line.len(),
            characters,
            columns: characters + text.chars().filter(|c| wide(*c)).count(),
        }
    }

    fn longer(self, other: Widths) -> Widths {
        Widths {
            bytes: self.bytes.max(other.bytes),
            characters: self.characters.max(other.characters),
            columns: self.columns.max(other.columns),
        }
    }

    fn shorter(self, other: Widths) -> Widths {
        Widths {
            bytes: self.bytes.min(other.bytes),
            characters: self.characters.min(other.characters),
            columns: self.columns.min(other.columns),
        }
    }
}

/// Calls `visit` with the place of every newline of a value, and whether it is inside of a text.
fn each_newline(value: &[u8], mut visit: impl FnMut(usize, bool)) {
    let (mut in_text, mut escaped) = (false, false);
    for (at, byte) in value.iter().enumerate() {
        match byte {
            b'\n' => visit(at, in_text),
            b'\r' => {}
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ => {}
        }
    }
}

/// A value over several lines as one line; `None` where it is on one line already.
pub(super) fn one_line(value: &[u8], join: Join) -> Option<Vec<u8>> {
    memchr::memchr(b'\n', value)?;
    let mut folded = false;
    each_newline(value, |_, in_text| folded |= in_text);
    if folded && join == Join::Never {
        return None;
    }
    let mut out = Vec::with_capacity(value.len());
    let (mut in_text, mut escaped) = (false, false);
    for (at, byte) in value.iter().enumerate() {
        match byte {
            b'\n' if in_text && join == Join::Space && !escaped => out.push(b' '),
            b'\n' => {}
            b'\r' if !in_text || value.get(at + 1) == Some(&b'\n') => {}
            // A folded row keeps what its writer put between values.
            b' ' | b'\t' if !in_text && !folded => {}
            _ => {
                out.push(*byte);
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    _ => {}
                }
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{Folds, Join, one_line};

    fn check(value: &str, join: Join, expect: &str) {
        let got = one_line(value.as_bytes(), join).unwrap_or_else(|| value.as_bytes().to_vec());
        assert_eq!(String::from_utf8(got).unwrap(), expect);
    }

    #[test]
    fn one_line_of_many() {
        check(
            "{\n  \"a\": \"b \\\" c\",\r\n  \"d\": [1,\n 2]\n}",
            Join::Never,
            r#"{"a":"b \" c","d":[1,2]}"#,
        );
        check("{\"a\": \"b\nc\"}", Join::Nothing, r#"{"a": "bc"}"#);
        check("{\"a\":\"b\nc\"}", Join::Space, r#"{"a":"b c"}"#);
        check("{\"a\":\"b\\\nn\"}", Join::Space, r#"{"a":"b\n"}"#);
        check("{\"a\":\"b\nc\"}", Join::Never, "{\"a\":\"b\nc\"}");
        check(r#"{"a" : 1}"#, Join::Nothing, r#"{"a" : 1}"#);
    }

    #[test]
    fn the_widths_of_lines_tell_what_stood_at_a_cut() {
        let join = |lines: &[&str]| {
            let mut folds = Folds::default();
            folds.look(format!("{{\"a\":\"{}\"}}", lines.join("\n")).as_bytes());
            folds.join()
        };
        // The first line is six bytes longer than it looks.
        assert_eq!(join(&["34", "12345678", "12345678", "12345678", "12"]), Some(Join::Nothing));
        assert_eq!(join(&["34", "123456 ", "12345678", "1234 ", "12"]), Some(Join::Nothing));
        assert_eq!(join(&["34", "12345", "12345678", "1234", "12"]), Some(Join::Space));
        assert_eq!(join(&["34", "12345678", "12"]), None);
    }
}
