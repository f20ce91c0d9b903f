//! One line of ours in a file that its user writes: put in, and taken out again.

use std::path::{Path, PathBuf};

use store::durable;

use crate::apply::{ApplyError, replace_if};
use crate::marker::name_of;
use crate::plan::{Change, Part, PlanError, Standing, stand, writable};
use crate::record::LineRecord;

/// What tmux is told: a file of ours, and a line in its configuration that reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxWish {
    /// The user's configuration of tmux.
    pub conf: PathBuf,
    /// The file of ours.
    pub file: PathBuf,
    /// What stands in it.
    pub text: Vec<u8>,
}

/// How the line begins by which tmux reads a file of ours.
const READS: &str = "source-file -q ";

/// Whether a line that `init` added is the one in the configuration of tmux: the look of the status line is one, too.
pub(crate) fn is_tmux_line(line: &str) -> bool {
    line.starts_with(READS)
}

impl TmuxWish {
    /// The line that reads the file of ours.
    pub fn line(&self) -> String {
        // Nothing within single quotes means anything to tmux, and a quote itself is written outside of them.
        let path = self.file.to_string_lossy().replace('\'', "'\"'\"'");
        format!("{READS}'{path}'")
    }
}

/// A line that shall stand in a file of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineWish {
    /// The file.
    pub path: PathBuf,
    /// The line, without its end.
    pub line: String,
    /// Where in the file.
    pub place: LinePlace,
    /// What the file is.
    pub part: Part,
}

/// Where a line is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinePlace {
    /// Before everything else.
    Top,
    /// After the first line that is this one, a comment behind it aside; nowhere where there is none.
    After(String),
    /// Behind everything else.
    End,
}

impl LineWish {
    /// The text with the line in it.
    pub fn put_into(&self, text: &[u8]) -> Option<Vec<u8>> {
        match &self.place {
            LinePlace::Top => Some([self.line.as_bytes(), b"\n", text].concat()),
            LinePlace::After(before) => after(text, before, &self.line),
            LinePlace::End => Some(with(text, &self.line)),
        }
    }
}

/// A line that would be added.
#[derive(Debug)]
pub(crate) struct LinePlan {
    pub(crate) wish: LineWish,
    pub(crate) real: PathBuf,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl LinePlan {
    /// The plan to add a line; nothing where it stands there, or where its place is not.
    pub(crate) fn of(wish: &LineWish) -> Result<Option<LinePlan>, PlanError> {
        let Standing { real, bytes } = stand(&wish.path)?;
        let before = bytes.as_deref().unwrap_or_default();
        let after = match wish.put_into(before) {
            Some(after) if !has(before, &wish.line) => after,
            _ => return Ok(None),
        };
        writable(&real)?;
        Ok(Some(LinePlan { wish: wish.clone(), real, before: bytes, after }))
    }

    pub(crate) fn change(&self) -> Change {
        let (before, after) = (self.before.clone(), Some(self.after.clone()));
        Change { path: self.wish.path.clone(), part: self.wish.part, before, after }
    }

    /// Keeps copies, as they will be on record.
    pub(crate) fn copy(&self, backups: &Path) -> Result<LineRecord, durable::Error> {
        let name = format!("{}-{}", name_of(&self.real), file_name(&self.real));
        durable::private_dir(backups)?;
        let (before, after) = (backups.join(&name), backups.join(format!("{name}.wired")));
        if let Some(bytes) = &self.before {
            durable::replace(&before, bytes)?;
        }
        durable::replace(&after, &self.after)?;
        Ok(LineRecord {
            path: self.real.clone(),
            line: self.wish.line.clone(),
            made: self.before.is_none(),
            before: self.before.is_some().then_some(before),
            after: Some(after),
        })
    }

    /// Adds the line to what is there now.
    pub(crate) fn apply(&self) -> Result<(), ApplyError> {
        for _ in 0..5 {
            let current = stand(&self.real)?.bytes;
            let text = current.as_deref().unwrap_or_default();
            if has(text, &self.wish.line) {
                return Ok(());
            }
            let Some(with) = self.wish.put_into(text) else { break };
            if replace_if(&self.real, current.as_deref(), &with)? {
                return Ok(());
            }
        }
        Err(ApplyError::Restless { path: self.wish.path.clone() })
    }
}

/// A line that would be taken out.
#[derive(Debug)]
pub(crate) struct LineUndoing {
    record: LineRecord,
    before: Vec<u8>,
    after: Option<Vec<u8>>,
}

impl LineUndoing {
    /// The plan to take a line out; nothing where it does not stand there.
    pub(crate) fn of(record: &LineRecord) -> Result<Option<LineUndoing>, PlanError> {
        let Standing { real, bytes: Some(before) } = stand(&record.path)? else { return Ok(None) };
        if !has(&before, &record.line) {
            return Ok(None);
        }
        writable(&real)?;
        let after = taken_out(&before, record);
        Ok(Some(LineUndoing { record: LineRecord { path: real, ..record.clone() }, before, after }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.record.path
    }

    pub(crate) fn change(&self) -> Change {
        let (before, after) = (Some(self.before.clone()), self.after.clone());
        let config = self.record.path.file_name().is_some_and(|name| name == "config.toml");
        let part = if config { Part::Config } else { Part::Tmux };
        Change { path: self.record.path.clone(), part, before, after }
    }

    pub(crate) fn undo(&self) -> Result<(), ApplyError> {
        let path = &self.record.path;
        for _ in 0..5 {
            let Some(current) = stand(path)?.bytes.filter(|text| has(text, &self.record.line)) else {
                return Ok(());
            };
            match taken_out(&current, &self.record) {
                None => return Ok(durable::remove(path)?),
                Some(text) if replace_if(path, Some(&current), &text)? => return Ok(()),
                Some(_) => {}
            }
        }
        Err(ApplyError::Restless { path: path.clone() })
    }
}

/// A file that nobody changed since is what it was, byte for byte; else it loses the line. Nothing where the file itself
/// was ours.
fn taken_out(current: &[u8], record: &LineRecord) -> Option<Vec<u8>> {
    let copy = |path: &Option<PathBuf>| path.as_ref().and_then(|path| store::files::read(path).ok());
    let rest = match (copy(&record.after), copy(&record.before)) {
        (Some(after), Some(before)) if after == current => before,
        _ => without(current, &record.line),
    };
    (!record.made || !rest.trim_ascii().is_empty()).then_some(rest)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn has(text: &[u8], line: &str) -> bool {
    lines(text).any(|other| other.trim_ascii() == line.as_bytes())
}

fn with(text: &[u8], line: &str) -> Vec<u8> {
    let mut text = text.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    // A line that ends in a backslash goes on in the next one.
    if text.trim_ascii_end().ends_with(b"\\") {
        text.push(b'\n');
    }
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    text
}

fn after(text: &[u8], before: &str, line: &str) -> Option<Vec<u8>> {
    let is_it = |other: &[u8]| {
        let bare = other.split(|byte| *byte == b'#').next().unwrap_or_default();
        bare.trim_ascii() == before.as_bytes()
    };
    let mut out = Vec::new();
    let mut put = false;
    for other in lines(text) {
        out.extend_from_slice(other);
        if !put && is_it(other) {
            put = true;
            if !other.ends_with(b"\n") {
                out.push(b'\n');
            }
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
    }
    put.then_some(out)
}

fn without(text: &[u8], line: &str) -> Vec<u8> {
    lines(text).filter(|other| other.trim_ascii() != line.as_bytes()).flatten().copied().collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_once_at_the_end_and_taken_out_alone() {
        let check = |before: &str, expect: &str| {
            let after = with(before.as_bytes(), "ours");
            assert_eq!(String::from_utf8_lossy(&after), expect);
            assert!(has(&after, "ours") && !has(before.as_bytes(), "ours"));
            let ended = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            let back = without(&after, "ours");
            assert!(String::from_utf8_lossy(&back).starts_with(&format!("{before}{ended}")));
        };
        check("", "ours\n");
        check("set -g a b\n", "set -g a b\nours\n");
        check("set -g a b", "set -g a b\nours\n");
        check("set -g a \\\n", "set -g a \\\n\nours\n");
        let edited = without(b"a\n  ours\nb \xff\nours", "ours");
        assert_eq!(edited, b"a\nb \xff\n");
    }

    #[test]
    fn a_line_goes_to_the_top_or_after_another() {
        let put = |place, text: &str| {
            let wish = LineWish { path: PathBuf::new(), line: "ours".into(), place, part: Part::Config };
            wish.put_into(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(put(LinePlace::Top, "[a]\n").as_deref(), Some("ours\n[a]\n"));
        let after = |text| put(LinePlace::After("[a]".into()), text);
        assert_eq!(after("[b]\n [a] # mine\nx = 1\n").as_deref(), Some("[b]\n [a] # mine\nours\nx = 1\n"));
        assert_eq!(after("[a]").as_deref(), Some("[a]\nours\n"));
        assert_eq!(after("# [a]\n[ab]\n"), None);
    }

    #[test]
    fn the_path_is_one_word() {
        let wish = TmuxWish { conf: PathBuf::new(), file: "/a b/it's".into(), text: Vec::new() };
        assert_eq!(wish.line(), r#"source-file -q '/a b/it'"'"'s'"#);
    }
}
