//! Files that other processes append to at any time: journal and logs. Lines are overwritten in place, in their own length,
//! so that no line that is added meanwhile is lost.

use std::path::Path;

use serde_json::Value;
use store::durable;

use crate::scrub::scrub;
use crate::words::About;
use crate::{Error, Subject, reading};

/// Takes what was said out of every line of a file.
pub(crate) fn scrub_lines(path: &Path, subject: &Subject) -> Result<(), Error> {
    let bytes = match store::files::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        bytes => bytes.map_err(reading(path))?,
    };
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(new) = scrubbed(body, subject) {
            durable::overwrite(path, at, &new)?;
        }
        at += line.len() as u64;
    }
    Ok(())
}

/// The line without what was said, as long as it was; nothing where it may stay.
fn scrubbed(line: &[u8], subject: &Subject) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(line);
    let new = match serde_json::from_slice::<Value>(line) {
        Ok(mut value) => scrub(&mut value, subject).then(|| value.to_string()),
        Err(_) => {
            let about = if text.contains(subject.session.as_str()) { About::It } else { About::Anything };
            subject.words.are_in(&text, about).then(String::new)
        }
    }?;
    let mut new = new.into_bytes();
    if new.len() > line.len() {
        new.clear();
    }
    new.resize(line.len(), b' ');
    Some(new)
}
