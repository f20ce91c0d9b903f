//! What tells a person which conversation an id is: where it was held, and what was asked last.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::{ConfigDir, config_of, slug};
use transcript::Ending;

use crate::context::Context;
use crate::output::one_line;

/// Longer prompts are read with `rekindle show`.
const LONGEST_PROMPT: usize = 60;

/// What a list shows of a conversation besides its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// The project's directory, as its user writes it.
    pub(crate) directory: String,
    /// The last prompt; the task by its record, where the transcript is gone.
    pub(crate) prompt: String,
}

impl Label {
    /// Looks at the end of the transcript, and at the record where that tells nothing.
    pub(crate) fn of(context: &Context, session: &SessionId, transcript: &Path) -> Label {
        let ending = sessions::ending(transcript).unwrap_or_default();
        Label::with(context, session, transcript, ending)
    }

    /// The same of a copy that ends like this: what is not in it is not shown.
    pub(crate) fn of_copy(
        context: &Context,
        session: &SessionId,
        transcript: &Path,
        ending: Ending,
    ) -> Label {
        let prompt = ending.prompt.as_ref().map(|said| said.text.clone()).unwrap_or_default();
        let label = Label::with(context, session, transcript, ending);
        Label { prompt: one_line(&prompt, LONGEST_PROMPT), ..label }
    }

    fn with(context: &Context, session: &SessionId, transcript: &Path, ending: Ending) -> Label {
        let config = config_of(transcript).map(ConfigDir::new);
        let key = context.repairer.key_of(session, config.as_ref());
        let held = store::record::load(&context.repairer.state, None, &key).ok().flatten();
        let record = held.map(|held| held.record);
        let recorded =
            record.as_ref().and_then(|record| record.project_dir.as_deref().or(record.cwd.as_deref()));
        let told = ending.cwd.as_deref().map(Path::new).or(recorded).map(Path::to_owned);
        let directory = told.or_else(|| beside(transcript));
        let folder = || {
            let folder = transcript.parent().and_then(Path::file_name).unwrap_or_default();
            folder.to_string_lossy().into_owned()
        };
        let task = || record.as_ref().and_then(|record| record.task.clone());
        let prompt = ending.prompt.map(|said| said.text).or_else(task).unwrap_or_default();
        Label {
            directory: directory.map_or_else(folder, |directory| context.short_path(&directory)),
            prompt: one_line(&prompt, LONGEST_PROMPT),
        }
    }
}

/// The directory that the other transcripts in the same folder were written in: a folder is named after its directory, and
/// several directories may have one name.
fn beside(transcript: &Path) -> Option<PathBuf> {
    const MOST: usize = 5;
    let folder = transcript.parent()?;
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let others = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let told: BTreeSet<String> = others.take(MOST).filter_map(|path| sessions::ending(&path)?.cwd).collect();
    let named = |cwd: &&String| slug(cwd).is_some_and(|slug| folder.ends_with(slug));
    let mut named = told.iter().filter(named);
    match (named.next(), named.next()) {
        (Some(only), None) => Some(PathBuf::from(only)),
        _ => None,
    }
}
