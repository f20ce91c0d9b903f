//! tmux: the installed one, the servers, and whether they outlive a login.

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use sessions::MachineState;
use tmux::{Listing, Ran, Server};

use crate::facts::{Answer, ServerFacts, TmuxFacts};

/// Long enough for a loaded machine, short enough for somebody who waits.
const DEADLINE: Duration = Duration::from_secs(5);
/// The script has 12 KB.
const LARGEST_SCRIPT: u64 = 1 << 20;

pub(super) fn look(world: &MachineState, wired: bool) -> TmuxFacts {
    let servers: Vec<ServerFacts> = world
        .servers
        .iter()
        .filter_map(|(socket, listing)| {
            let silent = ServerFacts { socket: socket.clone(), ..ServerFacts::default() };
            match listing {
                Listing::Alive(server) => Some(of_server(server)),
                Listing::Unknown { why } => {
                    Some(ServerFacts { answer: Answer::Silent(why.clone()), ..silent })
                }
                Listing::Gone => None,
            }
        })
        .collect();
    let asked = servers.iter().any(|server| server.in_login_session);
    TmuxFacts { installed: tmux::installed(DEADLINE), wired, linger: asked.then(linger).flatten(), servers }
}

fn of_server(server: &Server) -> ServerFacts {
    let cgroup = store::files::read_to_string(format!("/proc/{}/cgroup", server.id.pid)).unwrap_or_default();
    let options = tmux::global_options(&server.socket, DEADLINE).unwrap_or_default();
    ServerFacts {
        socket: server.socket.clone(),
        answer: Answer::Version(server.version.clone()),
        in_login_session: in_login_session(&cgroup),
        hooked: tmux::hooked(&server.socket, DEADLINE),
        resurrect_calls: resurrect_calls(&options),
        options,
    }
}

/// tmux-resurrect tells where its script is; those before 3.0.0 know no hooks.
fn resurrect_calls(options: &[(String, String)]) -> Option<bool> {
    let (_, script) = options.iter().find(|(name, _)| name == "@resurrect-restore-script-path")?;
    let mut text = String::new();
    store::files::open(script).ok()?.take(LARGEST_SCRIPT).read_to_string(&mut text).ok()?;
    Some(text.contains("post-restore-all"))
}

/// logind puts what a login starts into `session-<id>.scope`, and ends that with the session where it is told to.
fn in_login_session(cgroup: &str) -> bool {
    let parts = cgroup.lines().flat_map(|line| line.split('/'));
    parts.into_iter().any(|part| part.starts_with("session-") && part.ends_with(".scope"))
}

/// Whether this user's processes live on after the last logout; nothing where there is no logind.
fn linger() -> Option<bool> {
    let user = rustix::process::geteuid().as_raw().to_string();
    let mut command = Command::new("loginctl");
    command.args(["show-user", &user, "--property=Linger", "--value"]);
    match tmux::run(&mut command, DEADLINE) {
        Ran::Done(output) if output.status.success() => match output.stdout.trim_ascii() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::in_login_session;

    #[test]
    fn a_scope_of_a_login_is_told_from_a_service() {
        assert!(in_login_session("0::/user.slice/user-1000.slice/session-3.scope\n"));
        assert!(in_login_session("1:name=systemd:/user.slice/user-1000.slice/session-c1.scope/x\n"));
        assert!(!in_login_session("0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope\n"));
        assert!(!in_login_session(""));
    }
}
