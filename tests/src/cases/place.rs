//! Conversations that are gone or elsewhere: class D.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use transcript::Class::{D3, D4, D5};

use super::{Case, Place};

/// The folder that a moved project had.
const GONE: &str = "gone";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::place("deleted", &[D3], "the transcript was swept away", |place| {
            fs::remove_file(&place.file)?;
            Ok(place.file.clone())
        })
        .synced(),
        Case::place("moved-project", &[D4], "the project's directory is gone", moved)
            .unchanged()
            .recreate(GONE),
        Case::place("renamed", &[D5], "file name and inner session id differ", |place| {
            let text = fs::read_to_string(&place.file)?;
            fs::write(&place.file, text.replace(place.session, &uuid::Uuid::new_v4().to_string()))?;
            Ok(place.file.clone())
        })
        .unchanged(),
    ]
}

/// The conversation was held in a directory that is not there any more.
fn moved(place: &Place<'_>) -> Result<PathBuf> {
    let gone = place.home.root().join(GONE);
    let folder = place.home.slug(&gone);
    fs::create_dir_all(&folder)?;
    let text = fs::read_to_string(&place.file)?;
    let there = text.replace(&*place.home.project().to_string_lossy(), &gone.to_string_lossy());
    let file = folder.join(format!("{}.jsonl", place.session));
    fs::write(&file, there)?;
    fs::remove_file(&place.file)?;
    Ok(file)
}
