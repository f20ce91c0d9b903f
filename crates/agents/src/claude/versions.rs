//! Which versions of the agent use a configuration directory, by what lies there and by what is installed.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use semver::Version;
use serde::Deserialize;

use super::ConfigDir;

/// One version of the agent and where it was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// The version.
    pub version: Version,
    /// Where, for people.
    pub place: PathBuf,
}

/// Longer than the agent keeps transcripts by default: who wrote none for that long is not in use.
const RECENT: Duration = Duration::from_secs(31 * 86_400);
/// Of the newest transcripts so many are opened: forty agents a day for a month end in the same few versions.
const MOST_TRANSCRIPTS: usize = 200;
/// Rows are a few kilobytes as a rule, and every row of the conversation carries the version.
const TAIL: u64 = 64 * 1024;
/// A cold start of the agent took seven seconds on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Versioned {
    version: Option<String>,
}

/// The version a text names; `None` where it is none.
pub fn parse_version(text: &str) -> Option<Version> {
    // `claude --version` says `2.1.325 (Claude Code)`.
    Version::parse(text.split_whitespace().next()?.trim_start_matches('v')).ok()
}

/// The versions that wrote into a configuration directory lately: its registry and the last rows of its transcripts.
pub fn in_config_dir(config: &ConfigDir, now: SystemTime) -> Vec<Seen> {
    let mut seen = Vec::new();
    for path in list(&config.sessions()) {
        let text = crate::files::read(&path).unwrap_or_default();
        let version = serde_json::from_slice::<Versioned>(&text).ok().and_then(|entry| entry.version);
        seen.extend(
            version.and_then(|text| parse_version(&text)).map(|version| Seen { version, place: path }),
        );
    }
    let mut transcripts: Vec<(SystemTime, PathBuf)> = Vec::new();
    for folder in list(&config.projects()) {
        for path in list(&folder) {
            let changed = std::fs::metadata(&path).and_then(|meta| meta.modified());
            if path.extension().is_some_and(|extension| extension == "jsonl")
                && let Ok(changed) = changed
                && now.duration_since(changed).unwrap_or_default() < RECENT
            {
                transcripts.push((changed, path));
            }
        }
    }
    transcripts.sort_by(|one, two| two.cmp(one));
    for (_, path) in transcripts.into_iter().take(MOST_TRANSCRIPTS) {
        seen.extend(last_version(&path).map(|version| Seen { version, place: path }));
    }
    seen
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The version in the last row that has one.
fn last_version(transcript: &Path) -> Option<Version> {
    let mut file = crate::files::open(transcript).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut rows = tail.split(|byte| *byte == b'\n').rev();
    rows.find_map(|row| parse_version(&serde_json::from_slice::<Versioned>(row).ok()?.version?))
}

/// The agents that are installed for a user: on `PATH`, by the native installer, and by the agent's own npm.
pub fn installed(home: &Path, path: &[PathBuf]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for place in list(&home.join(".local/share/claude/versions")) {
        let version = place.file_name().and_then(|name| parse_version(name.to_str()?));
        seen.extend(version.map(|version| Seen { version, place }));
    }
    let local = home.join(".claude/local/node_modules/@anthropic-ai/claude-code/package.json");
    seen.extend(in_package(&local).map(|version| Seen { version, place: local }));
    let mut asked = Vec::new();
    for folder in path {
        let program = folder.join("claude");
        let Ok(real) = std::fs::canonicalize(&program) else { continue };
        if !asked.contains(&real) {
            let version = by_place(&real).or_else(|| ask(&program, home, path));
            seen.extend(version.map(|version| Seen { version, place: program }));
            asked.push(real);
        }
    }
    seen
}

/// The version of the agent that this word would start with this search path, by the program's own place: nothing is run.
pub fn of_program(word: &str, path: &[PathBuf]) -> Option<Version> {
    let given = Path::new(word);
    let program = match given.components().count() {
        1 => path.iter().map(|folder| folder.join(given)).find(|program| program.is_file())?,
        _ => given.to_path_buf(),
    };
    by_place(&std::fs::canonicalize(program).ok()?)
}

/// What the place of a program says: the native one lies in a file named by its version, the other in a package.
fn by_place(program: &Path) -> Option<Version> {
    let named = program.file_name().and_then(|name| parse_version(name.to_str()?));
    named.or_else(|| {
        program.ancestors().skip(1).take(3).find_map(|above| in_package(&above.join("package.json")))
    })
}

fn in_package(package: &Path) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let package: Package = serde_json::from_slice(&crate::files::read(package).ok()?).ok()?;
    if package.name.starts_with("@anthropic-ai/claude-code") { parse_version(&package.version) } else { None }
}

/// Asks a program for its version, in an environment of its own: an inherited one could make it do more than answer.
fn ask(program: &Path, home: &Path, path: &[PathBuf]) -> Option<Version> {
    let path = std::env::join_paths(path).ok()?;
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("DISABLE_AUTOUPDATER", "1")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.by_ref().take(4096).read_to_string(&mut text);
        // Nobody listens any more once the patience is over.
        let _ = tell.send(read.map(|_| text));
    });
    let text = told.recv_timeout(PATIENCE);
    // It has answered, or it never will.
    let _ = child.kill();
    let _ = child.wait();
    parse_version(&text.ok()?.ok()?)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "throwaway files")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn versions(seen: &[Seen]) -> Vec<String> {
        let mut all: Vec<String> = seen.iter().map(|seen| seen.version.to_string()).collect();
        all.sort();
        all
    }

    #[test]
    fn registry_and_last_rows_tell() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::new(dir.path());
        let project = config.projects().join("-x");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(config.sessions()).unwrap();
        fs::write(config.sessions().join("1.json"), r#"{"pid":1,"version":"2.1.325"}"#).unwrap();
        fs::write(config.sessions().join("2.json"), "garbage").unwrap();
        let rows = "{\"version\":\"2.1.31\"}\n{\"version\":\"2.1.100\"}\n{\"type\":\"mode\"}\n{\"torn";
        fs::write(project.join("a.jsonl"), rows).unwrap();
        fs::write(project.join("empty.jsonl"), "").unwrap();
        let now = SystemTime::now();
        assert_eq!(versions(&in_config_dir(&config, now)), ["2.1.100", "2.1.325"]);
        // Transcripts that nobody touched for long say nothing of today.
        assert_eq!(versions(&in_config_dir(&config, now + RECENT * 2)), ["2.1.325"]);
        assert!(in_config_dir(&ConfigDir::new(dir.path().join("none")), now).is_empty());
    }

    #[test]
    fn installed_ones_are_told_by_place_or_asked() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let native = home.join(".local/share/claude/versions");
        fs::create_dir_all(&native).unwrap();
        fs::write(native.join("2.1.200"), "").unwrap();
        let package = home.join("lib/node_modules/@anthropic-ai/claude-code");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), r#"{"name":"@anthropic-ai/claude-code","version":"2.1.31"}"#)
            .unwrap();
        fs::write(package.join("cli.js"), "").unwrap();
        let (npm, script) = (home.join("npm"), home.join("script"));
        for folder in [&npm, &script] {
            fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(package.join("cli.js"), npm.join("claude")).unwrap();
        fs::write(script.join("claude"), "#!/bin/sh\necho '2.1.100 (Claude Code)'\nread never\n").unwrap();
        fs::set_permissions(script.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = [npm, script, home.join("nowhere"), PathBuf::from("/bin"), PathBuf::from("/usr/bin")];
        assert_eq!(versions(&installed(home, &path)), ["2.1.100", "2.1.200", "2.1.31"]);
    }
}
