//! What fresh agents are told, by the configuration.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use agents::SessionKey;
use context::{Given, Limits, Template};
use recovery::{Briefing, Tracker};
use repair::Paths;
use store::config::Config;
use store::record::SessionRecord;

use crate::context::{Context, configured};
use crate::exit::{Exit, Failure};

/// Where briefs come from.
pub(crate) fn briefing<'a>(
    context: &'a Context,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
) -> Result<Briefing<'a>, Failure> {
    let recovery = &context.config.recovery;
    Ok(Briefing {
        repairer: &context.repairer,
        records,
        template: template(&context.config, &context.around)?,
        limits: Limits {
            lines: recovery.max_context_lines as usize,
            tokens: recovery.max_context_tokens as usize,
        },
        zone: crate::zone::local(),
        tracker: Tracker::find(&Context::search_path()),
        shelf: context.snapper().map(|snapper| snapper.shelf),
        key: context.reading_key(),
        made: RefCell::default(),
    })
}

/// The template of recovery prompts that a configuration names.
pub(crate) fn template(config: &Config, around: &Paths) -> Result<Template, Failure> {
    let wrong = |error: String| {
        Failure::new(Exit::Failed, format!("cannot {error}"))
            .hint("it is recovery.prompts.template of the configuration")
    };
    let parse = |text: &str| Template::parse(text).map_err(|error| wrong(error.to_string()));
    match Given::of(&config.prompts.template) {
        Given::BuiltIn => Ok(Template::default()),
        Given::Text(text) => parse(text),
        Given::File(path) => {
            let path = configured(around, Path::new(path));
            let text = store::files::read_to_string(&path)
                .map_err(|error| wrong(format!("read the template {}: {error}", path.display())))?;
            parse(&text)
        }
    }
}
