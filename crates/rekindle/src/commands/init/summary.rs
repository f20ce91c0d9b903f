//! The changes in a line per place: what a user decides on. The diff is there for whoever wants to see every line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use integrate::Program;
use integrate::plan::{Change, Part};
use integrate::settings::{Reading, StatusLineSeen, look};

use crate::context::short_path;
use crate::output::count;

/// A line for each place that changes, the agent's settings last: right above the question.
pub(crate) fn lines(home: Option<&Path>, program: &Program, changes: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    for (part, one, many) in
        [(Part::SlashCommand, "slash command", "slash commands"), (Part::Skill, "skill", "skills")]
    {
        for ((folder, action), names) in grouped(changes, part) {
            let number = count(names.len() as u64, one, many);
            let names = names.join(", ");
            lines.push(format!("{}: {action} {number} ({names})", short_path(home, &folder)));
        }
    }
    let single = changes.iter().filter_map(|change| Some((change, words(home, change)?)));
    lines.extend(single.map(|(change, words)| format!("{}: {words}", short_path(home, &change.path))));
    let settings = changes.iter().filter(|change| change.part == Part::Settings);
    lines
        .extend(settings.map(|change| {
            format!("{}: {}", short_path(home, &change.path), settings_words(change, program))
        }));
    lines
}

/// The files of a kind, by folder and by what happens to them.
fn grouped(changes: &[Change], part: Part) -> BTreeMap<(PathBuf, &'static str), Vec<String>> {
    let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.part == part) {
        // A skill is a folder with a file in it.
        let path = if part == Part::Skill { change.path.parent() } else { Some(change.path.as_path()) };
        let Some((folder, name)) = path.and_then(|path| Some((path.parent()?, path.file_stem()?))) else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        groups.entry((folder.to_path_buf(), change.action())).or_default().push(name);
    }
    groups.values_mut().for_each(|names| names.sort());
    groups
}

/// What happens to a file that stands for itself.
fn words(home: Option<&Path>, change: &Change) -> Option<String> {
    let action = change.action();
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    Some(match change.part {
        Part::Settings | Part::SlashCommand | Part::Skill => return None,
        Part::Completion => format!("{action} completions"),
        Part::Service => format!("{action} a unit"),
        Part::Folder => format!("{action} a folder"),
        Part::Link => {
            let text = String::from_utf8_lossy(after.or(before).unwrap_or_default()).into_owned();
            let text = match (home, text.trim().strip_prefix("a link to ")) {
                (_, Some(target)) => format!("a link to {}", short_path(home, Path::new(target))),
                (_, None) => text.trim().to_owned(),
            };
            match (before, after) {
                (Some(_), Some(_)) => format!("put back {text}"),
                _ => format!("{action} {text}"),
            }
        }
        Part::Tmux | Part::Config => match (added(before, after), added(after, before)) {
            (Some(line), _) if change.before.is_some() => format!("add {line}"),
            (Some(line), _) if change.part == Part::Config => format!("{action} it with {line}"),
            (_, Some(line)) if change.after.is_some() => format!("take out {line}"),
            _ => format!("{action} it"),
        },
    })
}

/// The one line that the second text has more than the first, where it is one.
fn added(before: Option<&[u8]>, after: Option<&[u8]>) -> Option<String> {
    let lines = |text: Option<&[u8]>| {
        let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = lines(before);
    let mut more = lines(after).into_iter().filter(|line| !before.contains(line) && !line.trim().is_empty());
    let line = more.next()?;
    more.next().is_none().then(|| format!("`{line}`"))
}

fn settings_words(change: &Change, program: &Program) -> String {
    let read =
        |text: &Option<Vec<u8>>| look(text.as_deref().unwrap_or_default(), program).unwrap_or_default();
    let (before, after) = (read(&change.before), read(&change.after));
    let hooks = |reading: &Reading| reading.events.iter().filter(|event| event.ours).count();
    let (had, has) = (hooks(&before), hooks(&after));
    let events = |number: usize| format!("hooks for {}", count(number as u64, "event", "events"));
    let mut parts = Vec::new();
    match (had, has) {
        (0, 0) => {}
        (0, has) => parts.push(format!("add {}", events(has))),
        (had, 0) => parts.push(format!("take out {}", events(had))),
        (had, has) if had == has => parts.push(format!("update {}", events(has))),
        (_, has) => parts.push(format!("change to {}", events(has))),
    }
    match (before.status_line, after.status_line) {
        (StatusLineSeen::None, StatusLineSeen::Ours) => parts.push("add the status line".to_owned()),
        (StatusLineSeen::Foreign, StatusLineSeen::Ours) => parts.push("change the status line".to_owned()),
        (StatusLineSeen::Ours, StatusLineSeen::None) => parts.push("take out the status line".to_owned()),
        (StatusLineSeen::Ours, StatusLineSeen::Foreign) => {
            parts.push("put your status line back".to_owned());
        }
        _ => {}
    }
    if change.after.is_none() {
        parts.push("remove the file".to_owned());
    }
    if parts.is_empty() { format!("{} it", change.action()) } else { parts.join(", ") }
}
