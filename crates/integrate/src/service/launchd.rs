//! Agents of launchd.

use std::path::PathBuf;

use super::{Call, Service};

pub(super) const RESTORE: &str = "rekindle.restore";
pub(super) const TICK: &str = "rekindle.tick";

pub(super) fn texts(service: &Service) -> Vec<(&'static str, String)> {
    let interval = service.interval.as_secs().max(1);
    // The tmux server that a restore starts must not go with it.
    let restore = "    <key>AbandonProcessGroup</key>\n    <true/>\n";
    let tick = format!("    <key>StartInterval</key>\n    <integer>{interval}</integer>\n");
    vec![
        (RESTORE, plist(service, RESTORE, &["restore", "--yes", "--by", "boot"], restore)),
        (TICK, plist(service, TICK, &["tick"], &tick)),
    ]
}

fn plist(service: &Service, label: &str, words: &[&str], more: &str) -> String {
    let words = [service.program.path()].into_iter().chain(words.iter().copied());
    let words: String = words.map(|word| format!("        <string>{}</string>\n", escaped(word))).collect();
    let pair = |(name, value): &(String, String)| {
        format!("        <key>{}</key>\n        <string>{}</string>\n", escaped(name), escaped(value))
    };
    let variables: String = service.variables.iter().map(pair).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n    \
             <key>Label</key>\n    <string>{label}</string>\n    \
             <key>ProgramArguments</key>\n    <array>\n{words}    </array>\n    \
             <key>EnvironmentVariables</key>\n    <dict>\n{variables}    </dict>\n    \
             <key>RunAtLoad</key>\n    <true/>\n    \
             <key>ProcessType</key>\n    <string>Background</string>\n\
         {more}\
         </dict>\n\
         </plist>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn load(domain: &str, path: String) -> Call {
    let words = ["launchctl".to_owned(), "bootstrap".to_owned(), domain.to_owned(), path];
    Call { words: words.into(), needed: true }
}

fn unload(domain: &str, label: &str) -> Call {
    let words = ["launchctl".to_owned(), "bootout".to_owned(), format!("{domain}/{label}")];
    Call { words: words.into(), needed: false }
}

pub(super) fn enable(service: &Service) -> Vec<Call> {
    // Only what ticks: one that restores would do so at once, and what was closed today stays closed. It is read at login.
    let ticks = service.files().into_iter().filter(|file| file.name == TICK);
    let domain = format!("gui/{}", service.user);
    let reload = |path: PathBuf| {
        let path = path.to_string_lossy().into_owned();
        [unload(&domain, TICK), load(&domain, path)]
    };
    ticks.flat_map(|file| reload(file.path)).collect()
}

pub(super) fn disable(service: &Service) -> Vec<Call> {
    let domain = format!("gui/{}", service.user);
    [TICK, RESTORE].map(|label| unload(&domain, label)).into()
}
