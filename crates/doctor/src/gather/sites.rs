//! The agents' configuration directories: what their settings say, and whom they call.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ::agents::claude::hook_events::{HookEvent, known_to_all};
use integrate::init::Site;
use integrate::safety::unsafe_events;
use integrate::settings::{self, Reading};
use integrate::{LINKED, is_wired};
use semver::Version;
use tmux::Ran;

use super::Places;
use crate::facts::{Called, LinkFacts, LinkFound, ManagedFacts, Settings, SiteFacts};

/// Our own `--version` takes a millisecond; whatever takes longer is something else.
const DEADLINE: Duration = Duration::from_secs(5);

pub(super) fn look(places: &Places) -> Vec<SiteFacts> {
    places.sites.iter().map(|site| look_at(places, site)).collect()
}

fn look_at(places: &Places, site: &Site) -> SiteFacts {
    let path = site.config.path();
    let file = path.join("settings.json");
    let bytes = match store::files::read(&file) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
    };
    let versions = versions(places, &file);
    let read = bytes.and_then(|bytes| {
        let reading = settings::look(&bytes, &places.program).map_err(|error| format!("cannot {error}"))?;
        let unsafe_events = unsafe_events(&bytes, &places.program, &versions).unwrap_or_default();
        Ok((reading, unsafe_events))
    });
    let there = path.is_dir();
    let sweep = there.then(|| sessions::alarm::sweep(&site.config, places.now));
    let mut facts = SiteFacts {
        path: path.to_path_buf(),
        there,
        marked: is_wired(&places.state, path),
        agents: site.agents.clone(),
        sweep,
        ..SiteFacts::default()
    };
    match read {
        Err(why) => facts.settings = Settings::Broken(why),
        Ok((reading, unsafe_events)) => {
            let called = reading.programs.iter().map(|path| (path.clone(), called(path, places)));
            facts.programs = called.collect();
            facts.missing_events = missing(&reading, &versions);
            facts.unsafe_events = unsafe_events;
            facts.settings = Settings::Read(reading);
        }
    }
    facts
}

/// The agents that read a settings file, by whatever directory they come to it.
fn versions(places: &Places, file: &Path) -> Vec<Version> {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let file = real(file);
    let same = places.sites.iter().filter(|site| real(&site.config.path().join("settings.json")) == file);
    same.flat_map(|site| &site.agents).map(|seen| seen.version.clone()).collect()
}

fn missing(reading: &Reading, versions: &[Version]) -> Vec<&'static str> {
    let ours =
        |event: &HookEvent| reading.events.iter().any(|wired| wired.ours && wired.name == event.name());
    known_to_all(versions).into_iter().filter(|event| !ours(event)).map(HookEvent::name).collect()
}

fn called(path: &Path, places: &Places) -> Called {
    // A bare name is looked for as a shell does.
    let found = if path.components().count() > 1 {
        Some(path.to_path_buf())
    } else {
        places.path.iter().map(|folder| folder.join(path)).find(|path| path.is_file())
    };
    let Some(found) = found else { return Called::Missing };
    let runs = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    if !std::fs::metadata(&found).is_ok_and(runs) {
        return Called::Missing;
    }
    let itself = places.program_file.as_ref().and_then(|file| std::fs::canonicalize(file).ok());
    if itself.is_some() && std::fs::canonicalize(&found).ok() == itself {
        return Called::Same;
    }
    match version_of(&found) {
        Some(version) if version == places.version => Called::Same,
        version => Called::Other(version),
    }
}

fn version_of(program: &Path) -> Option<String> {
    match tmux::run(Command::new(program).arg("--version").env_clear().current_dir("/"), DEADLINE) {
        Ran::Done(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.trim().strip_prefix("rekindle ").map(str::to_owned)
        }
        _ => None,
    }
}

pub(super) fn links(places: &Places) -> Vec<LinkFacts> {
    let Some(main) = places.home.as_ref().map(|home| home.join(".claude")) else { return Vec::new() };
    if !places.sites.iter().any(|site| site.config.path() == main) {
        return Vec::new();
    }
    let look = |name: &&str| {
        let path = main.join(name);
        let found = found(&path, &places.state.join(name));
        LinkFacts { path, found }
    };
    LINKED.iter().map(look).collect()
}

fn found(path: &Path, target: &PathBuf) -> LinkFound {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => LinkFound::Nothing,
        Ok(meta) if meta.is_dir() => LinkFound::Folder,
        _ if std::fs::read_link(path).is_ok_and(|leads| leads == *target) => LinkFound::Ours,
        _ => LinkFound::Foreign,
    }
}

pub(super) fn managed(path: &Path) -> ManagedFacts {
    let bytes = store::files::read(path).unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    ManagedFacts {
        hooks_only: settings["allowManagedHooksOnly"] == true,
        hooks_disabled: settings["disableAllHooks"] == true,
        cleanup_days: settings["cleanupPeriodDays"].as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::durable::replace;

    #[test]
    fn an_organisations_file_says_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("managed-settings.json");
        assert_eq!(managed(&file), ManagedFacts::default());
        replace(&file, br#"{"allowManagedHooksOnly": true, "cleanupPeriodDays": 7}"#).unwrap();
        assert_eq!(
            managed(&file),
            ManagedFacts { hooks_only: true, hooks_disabled: false, cleanup_days: Some(7) }
        );
        replace(&file, b"{").unwrap();
        assert_eq!(managed(&file), ManagedFacts::default());
    }

    #[test]
    fn links_are_told_from_folders_and_strangers() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("instances"), dir.path().join("state/instances"));
        assert_eq!(found(&path, &target), LinkFound::Nothing);
        store::durable::symlink(&target, &path).unwrap();
        assert_eq!(found(&path, &target), LinkFound::Ours);
        assert_eq!(found(&path, &dir.path().join("other")), LinkFound::Foreign);
        assert_eq!(found(dir.path(), &target), LinkFound::Folder);
    }
}
