//! tmux: whether it can be asked, and whether it lives as long as it should.

use tmux::{Installed, numbers};

use crate::facts::{Answer, Facts, ServerFacts};
use crate::finding::{Finding, Id, or_well};
use crate::words::{count, list};

/// The first that makes sessions with variables of their own (`new-session -e`): without it no agent can be brought back.
const LEAST: (u32, u32) = (3, 2);
/// The first that says by which signal a pane's process died.
const TELLS_SIGNALS: (u32, u32) = (3, 3);

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tmux = &facts.tmux;
    match &tmux.installed {
        Installed::None => findings.push(
            Finding::note(Id::TmuxMissing, "tmux is not on PATH")
                .why("agents are recorded, but there are no panes to bring back")
                .fix("install tmux 3.2 or newer, if you want panes restored"),
        ),
        Installed::Silent => findings.push(
            Finding::warning(Id::TmuxSilent, "tmux -V does not answer")
                .why("what runs in which pane cannot be told")
                .fix("try tmux -V by hand"),
        ),
        Installed::Version(version) => of_version("tmux", version, &mut findings),
    }
    for server in &tmux.servers {
        of_server(server, &tmux.installed, &mut findings);
        if tmux.wired && !server.hooked && matches!(server.answer, Answer::Version(_)) {
            let socket = server.socket.display();
            findings.push(
                Finding::note(Id::TmuxNotCalling, format!("the tmux server of {socket} does not call rekindle"))
                    .why("its configuration was wired, and it has not read it since, or another line clears its hooks: what changes is saved later")
                    .fix("tmux source-file ~/.config/rekindle/tmux.conf; keep the line for it last in tmux.conf"),
            );
        }
    }
    let leaving = tmux.servers.iter().any(|server| server.in_login_session);
    if leaving && tmux.linger == Some(false) {
        findings.push(
            Finding::note(Id::TmuxNoLinger, "the tmux server belongs to a login session, and linger is off")
                .why("where logind ends what a session leaves behind, the server and its agents go with the logout")
                .fix("loginctl enable-linger"),
        );
    }
    let mut folders: Vec<_> = tmux.servers.iter().filter_map(|server| server.socket.parent()).collect();
    folders.sort();
    folders.dedup();
    if folders.len() > 1 {
        let folders = list(folders.iter().map(|folder| folder.display()));
        findings.push(
            Finding::note(Id::TmuxSeveralFolders, format!("tmux servers are in several folders: {folders}"))
                .why("a plain tmux finds only those of its own TMUX_TMPDIR, so a restore may meet others than you see")
                .fix("use one TMUX_TMPDIR everywhere"),
        );
    }
    let what = match &tmux.installed {
        Installed::Version(version) => {
            format!("tmux {version}, {}", count(tmux.servers.len(), "server", "servers"))
        }
        _ => "no tmux".to_owned(),
    };
    or_well(findings, Id::TmuxWell, what)
}

fn of_version(whose: &str, version: &str, findings: &mut Vec<Finding>) {
    // A name without numbers is a build from today's source.
    let Some(numbers) = numbers(version) else { return };
    if numbers < LEAST {
        findings.push(
            Finding::problem(Id::TmuxTooOld, format!("{whose} is {version}, and 3.2 is the least that works"))
                .why("it makes no sessions with variables of their own (new-session -e), so no agent can be brought back")
                .fix("update tmux and start its server anew"),
        );
    } else if numbers < TELLS_SIGNALS {
        findings.push(
            Finding::note(
                Id::TmuxNoDeathSignal,
                format!("{whose} is {version}, which does not tell signals"),
            )
            .why("before 3.3 a pane does not say by which signal its process died (pane_dead_signal)")
            .fix("update tmux"),
        );
    }
}

fn of_server(server: &ServerFacts, installed: &Installed, findings: &mut Vec<Finding>) {
    let socket = server.socket.display();
    match &server.answer {
        Answer::Version(version) => {
            // What is true of the program need not be told of its server again.
            if *installed != Installed::Version(version.clone()) {
                of_version(&format!("the tmux server of {socket}"), version, findings);
            }
        }
        Answer::Silent(why) => findings.push(
            Finding::warning(Id::TmuxSilent, format!("the tmux server of {socket} does not answer: {why}"))
                .why("whether its panes live is unknown, and nothing is concluded from unknown")
                .fix(format!("try tmux -S {socket} list-sessions by hand")),
        ),
    }
    let option = |name: &str| {
        server.options.iter().find(|(option, _)| option == name).map_or("", |(_, value)| value.as_str())
    };
    let mut others = Vec::new();
    let processes = option("@resurrect-processes");
    if processes.contains("claude") || processes == ":all:" {
        others.push("tmux-resurrect starts claude (@resurrect-processes)");
    }
    let ours = option(tmux::RESURRECT_HOOK).contains("--by resurrect");
    // Where tmux-resurrect calls us when it is done, it comes first and we do the rest.
    if option("@continuum-restore") == "on" && !(ours && server.resurrect_calls == Some(true)) {
        others.push("tmux-continuum restores at start (@continuum-restore)");
    }
    if !others.is_empty() {
        findings.push(
            Finding::note(Id::TmuxOtherRestorer, others.join(", "))
                .why("two that restore the same panes start agents twice or type into them")
                .fix("leave the agents to one of them: take claude out of @resurrect-processes"),
        );
    }
    match server.resurrect_calls {
        Some(false) => findings.push(
            Finding::warning(
                Id::ResurrectTooOld,
                "this tmux-resurrect is older than 3.0.0, which is the least that works",
            )
            .why("it calls nobody when it has restored, so agents are not resumed in the panes it made")
            .fix("update tmux-resurrect (prefix + U with TPM), or leave restoring to rekindle"),
        ),
        Some(true) if !ours => findings.push(
            Finding::note(
                Id::ResurrectNotCalling,
                "tmux-resurrect does not call rekindle when it has restored",
            )
            .why("agents are not resumed in the panes it made until you say rekindle restore")
            .fix(format!("add to {}: rekindle restore --yes --by resurrect", tmux::RESURRECT_HOOK)),
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::tests::well;

    fn server(version: &str) -> ServerFacts {
        ServerFacts {
            socket: "/tmp/tmux-1/default".into(),
            answer: Answer::Version(version.to_owned()),
            ..ServerFacts::default()
        }
    }

    #[test]
    fn versions_and_what_they_lack() {
        let mut facts = well();
        let mut check_version = |installed: Installed, expect: &[&str]| {
            facts.tmux.installed = installed;
            assert_eq!(ids(check, &facts), expect);
        };
        let version = |text: &str| Installed::Version(text.to_owned());
        check_version(version("3.1c"), &["tmux-too-old"]);
        check_version(version("3.2a"), &["tmux-no-death-signal", "tmux-well"]);
        check_version(version("3.3a"), &["tmux-well"]);
        check_version(version("master"), &["tmux-well"]);
        check_version(Installed::None, &["tmux-missing", "tmux-well"]);
        check_version(Installed::Silent, &["tmux-silent"]);
        facts.tmux.installed = version("3.4");
        facts.tmux.servers = vec![server("3.1")];
        assert_eq!(ids(check, &facts), ["tmux-too-old"]);
    }

    /// F-tmux-23
    #[test]
    fn servers_that_are_silent_leave_or_restore_too() {
        let mut facts = well();
        facts.tmux.servers =
            vec![ServerFacts { answer: Answer::Silent("too late".to_owned()), ..server("") }];
        assert_eq!(ids(check, &facts), ["tmux-silent"]);
        facts.tmux.servers = vec![ServerFacts { in_login_session: true, ..server("3.3a") }];
        assert_eq!(ids(check, &facts), ["tmux-well"]);
        facts.tmux.linger = Some(false);
        assert_eq!(ids(check, &facts), ["tmux-no-linger", "tmux-well"]);
        facts.tmux.linger = Some(true);
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        facts.tmux.servers[0].options = vec![option("@resurrect-processes", "ssh '~claude'")];
        assert_eq!(ids(check, &facts), ["tmux-other-restorer", "tmux-well"]);
        facts.tmux.servers[0].options = vec![option("@continuum-restore", "off")];
        assert_eq!(ids(check, &facts), ["tmux-well"]);
        facts.tmux.servers[0].options = Vec::new();
        facts.tmux.wired = true;
        assert_eq!(ids(check, &facts), ["tmux-not-calling", "tmux-well"]);
        facts.tmux.servers[0].hooked = true;
        assert_eq!(ids(check, &facts), ["tmux-well"]);
        facts.tmux.wired = false;
        facts.tmux.servers.push(ServerFacts { socket: "/run/t/default".into(), ..server("3.3a") });
        assert_eq!(ids(check, &facts), ["tmux-several-folders", "tmux-well"]);
    }

    #[test]
    fn tmux_resurrect_and_what_it_calls() {
        let mut facts = well();
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let continuum = option("@continuum-restore", "on");
        let mut check_resurrect = |calls: Option<bool>, hook: &str, expect: &[&str]| {
            let options = vec![continuum.clone(), option(tmux::RESURRECT_HOOK, hook)];
            facts.tmux.servers = vec![ServerFacts { options, resurrect_calls: calls, ..server("3.3a") }];
            assert_eq!(ids(check, &facts), expect);
        };
        check_resurrect(Some(true), "rekindle restore --yes --by resurrect", &["tmux-well"]);
        check_resurrect(Some(true), "mine", &["tmux-other-restorer", "resurrect-not-calling", "tmux-well"]);
        check_resurrect(
            Some(false),
            "rekindle restore --yes --by resurrect",
            &["tmux-other-restorer", "resurrect-too-old"],
        );
        check_resurrect(None, "", &["tmux-other-restorer", "tmux-well"]);
    }
}
