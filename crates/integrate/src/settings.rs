//! The text of a `settings.json`: hooks and status line go in and come out, everything else stays as it is.
//!
//! Bytes in, bytes out. Comments, order, indents and line ends survive, for the text is edited and never written anew.

mod hooks;
mod reading;
mod status_line;
mod undo;

pub use reading::{Reading, StatusLineSeen, look};
pub use status_line::StatusLineChoice;
pub(crate) use undo::take_back;
pub use undo::unwire;

use agents::claude::hook_events::HookEvent;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use serde::{Deserialize, Serialize};

use crate::Program;

/// What shall stand in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The program to be called.
    pub program: Program,
    /// For these events and no others.
    pub events: Vec<HookEvent>,
    /// What becomes of the status line.
    pub status_line: StatusLineChoice,
}

/// What must be known to take the wiring out again exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Traces {
    /// Objects and arrays that stood there empty, and stay when they are empty again: `hooks`, `hooks.Stop`.
    pub kept_empty: Vec<String>,
    /// The status line that was there before.
    pub status_line: Option<OldStatusLine>,
}

/// A status line before ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OldStatusLine {
    /// There was none.
    Absent,
    /// Its command was this JSON string; the rest of it still stands there.
    Command(String),
    /// It was this JSON value.
    Whole(String),
}

/// A settings text with our wiring in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wired {
    /// The text.
    pub text: Vec<u8>,
    /// How to take it out again.
    pub traces: Traces,
    /// Whether a status line of ours was there already.
    pub had_status_line: bool,
    /// What the user should know.
    pub remarks: Vec<Remark>,
}

/// Something about a settings file that its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// `disableAllHooks` is on: nothing of ours would run.
    HooksDisabled,
    /// The status line has a shape that cannot be kept.
    OddStatusLine,
    /// It has comments or trailing commas: no agent reads such a file (measured on 2.1.31, 2.1.100, 2.1.325).
    NotPlainJson,
}

/// Why a settings text was left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is no JSON, with or without comments.
    #[error("understand line {line}: {why}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// It is no text.
    #[error("read it: it is no UTF-8")]
    NotText,
    /// A part that we must write into is something else.
    #[error("add to {part}: it is no {expected}")]
    Shape {
        /// The part, such as `hooks.Stop`.
        part: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A part stands there twice, and the agent would read only the last.
    #[error("add to {part}: it stands there twice")]
    Twice {
        /// The part.
        part: String,
    },
    /// The edited text would not be what was meant: a fault of ours, found before anything was written.
    #[error("edit it without changing what is there already")]
    Unproven,
}

const BOM: &str = "\u{feff}";

/// What the agent reads, and comments with trailing commas, which people write.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// An open settings text.
struct Document {
    bom: bool,
    /// Without comments and trailing commas.
    plain: bool,
    root: CstRootNode,
}

impl Document {
    fn parse(bytes: &[u8]) -> Result<Document, SettingsError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SettingsError::NotText)?;
        let (bom, text) = text.strip_prefix(BOM).map_or((false, text), |rest| (true, rest));
        let strict = ParseOptions { allow_comments: false, allow_trailing_commas: false, ..options() };
        let plain = jsonc_parser::parse_to_ast(text, &Default::default(), &strict).is_ok();
        let root = CstRootNode::parse(text, &options()).map_err(|error| SettingsError::Syntax {
            line: error.line_display(),
            why: error.kind().to_string().to_lowercase(),
        })?;
        if root.value().is_some() && root.object_value().is_none() {
            return Err(SettingsError::Shape { part: "the file".to_owned(), expected: "object" });
        }
        Ok(Document { bom, plain, root })
    }

    fn bytes(&self) -> Vec<u8> {
        let text = self.root.to_string();
        if self.bom { [BOM.as_bytes(), text.as_bytes()].concat() } else { text.into_bytes() }
    }

    /// What the agent makes of it; an empty file means nothing is set.
    fn value(&self) -> serde_json::Value {
        self.root.to_serde_value().unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new()))
    }
}

/// The only member of this name.
fn member(
    object: &CstObject,
    name: &str,
    part: &str,
) -> Result<Option<jsonc_parser::cst::CstObjectProp>, SettingsError> {
    let mut found =
        object.properties().into_iter().filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    if found.next().is_some() {
        return Err(SettingsError::Twice { part: part.to_owned() });
    }
    Ok(first)
}

/// Puts the wiring into a settings text; one that has it already comes back byte for byte.
///
/// # Errors
/// The text cannot be understood, or has another shape than the agent's settings.
pub fn wire(bytes: &[u8], wanted: &Wanted) -> Result<Wired, SettingsError> {
    let document = Document::parse(bytes)?;
    let mut traces = Traces::default();
    let mut remarks = Vec::new();
    if document.value().get("disableAllHooks") == Some(&serde_json::Value::Bool(true)) {
        remarks.push(Remark::HooksDisabled);
    }
    if !document.plain {
        remarks.push(Remark::NotPlainJson);
    }
    hooks::wire(&document.root, wanted, &mut traces)?;
    let had_status_line = status_line::wire(&document.root, wanted, &mut traces, &mut remarks)?;
    let text = document.bytes();
    let wired = Wired { text, traces, had_status_line, remarks };
    prove(bytes, &wired, wanted)?;
    Ok(wired)
}

/// Both texts without our wiring must say the same, or something else was changed.
fn prove(before: &[u8], wired: &Wired, wanted: &Wanted) -> Result<(), SettingsError> {
    let without = |bytes: &[u8]| {
        let text = unwire(bytes, &wanted.program, Some(&wired.traces))?;
        Ok::<_, SettingsError>(Document::parse(&text)?.value())
    };
    if without(before)? == without(&wired.text)? { Ok(()) } else { Err(SettingsError::Unproven) }
}

/// The events that a settings text wires, and whether each of them is ours alone.
///
/// # Errors
/// The text cannot be understood.
pub fn wired_events(bytes: &[u8], program: &Program) -> Result<Vec<WiredEvent>, SettingsError> {
    hooks::events(&Document::parse(bytes)?.root, program)
}

/// An event that a settings text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredEvent {
    /// Its name.
    pub name: String,
    /// A hook of ours stands there.
    pub ours: bool,
    /// Something else stands there too, or nothing at all: taking ours out does not take the name out.
    pub foreign: bool,
}

#[cfg(test)]
mod tests;
