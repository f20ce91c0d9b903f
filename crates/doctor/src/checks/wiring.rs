//! Whether agents call us: hooks, status line, plugin, links.

use crate::facts::{Called, Facts, LinkFound, SiteFacts};
use crate::finding::{Finding, Id, or_well};
use crate::words::{count, list};
use integrate::settings::StatusLineSeen;

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let called = |site: &&SiteFacts| site.wired() || site.plugin();
    if facts.sites.iter().any(|site| called(&site)) {
        findings.extend(facts.sites.iter().filter(|site| site.there && !called(site)).filter_map(not_wired));
    } else {
        findings.push(
            Finding::problem(Id::NotWired, "no agent calls rekindle yet")
                .why("without hooks nothing says which conversation runs in which pane, so a restore can only offer what it finds")
                .fix("rekindle init"),
        );
    }
    for site in &facts.sites {
        events(site, &mut findings);
        programs(site, &mut findings);
        plugin(site, &mut findings);
        status_line(site, &mut findings);
    }
    if facts.sites.first().is_some_and(SiteFacts::wired) {
        links(facts, &mut findings);
    }
    if !facts.on_path {
        findings.push(
            Finding::note(Id::ProgramNotOnPath, "rekindle is not on PATH")
                .why("slash commands, skills and the plugin call it by its name")
                .fix("put a link to it into a folder of PATH"),
        );
    }
    let wired = facts.sites.iter().filter(called).count();
    let directories = count(wired, "configuration directory", "configuration directories");
    or_well(findings, Id::WiringWell, format!("agents call rekindle in {directories}"))
}

/// Whether `init` would put this directory right without asking anything of its user.
pub(crate) fn is_ours_to_mend(site: &SiteFacts) -> bool {
    site.wired()
        && (site.unsafe_events.iter().any(|event| event.ours)
            || !site.missing_events.is_empty()
            || site.programs.iter().any(|(_, called)| needs_rewiring(called))
            || (site.plugin() && !site.marked))
}

fn needs_rewiring(called: &Called) -> bool {
    !matches!(called, Called::Same)
}

fn not_wired(site: &SiteFacts) -> Option<Finding> {
    site.reading()?;
    Some(
        Finding::warning(
            Id::DirectoryNotWired,
            format!("agents that use {} do not call rekindle", site.path.display()),
        )
        .why("their conversations are found only by looking at processes, and a restore knows less of them")
        .fix("rekindle init"),
    )
}

fn events(site: &SiteFacts, findings: &mut Vec<Finding>) {
    let settings = site.path.join("settings.json");
    let why = "an agent older than 2.1.101 drops the whole file in silence for one event it does not know, \
               your deny rules included (measured)";
    let mut tell = |ours: bool| {
        let events: Vec<_> = site.unsafe_events.iter().filter(|event| event.ours == ours).collect();
        if events.is_empty() {
            return;
        }
        let names = list(events.iter().map(|event| &event.name));
        let mut agents: Vec<_> = events.iter().flat_map(|event| &event.unknown_to).collect();
        agents.sort();
        agents.dedup();
        let agents = list(agents);
        let what =
            format!("{} has hooks for {names}, which agent {agents} does not know", settings.display());
        findings.push(if ours {
            Finding::problem(Id::HookEventUnsafe, what).why(why).ours()
        } else {
            Finding::problem(Id::HookEventUnsafeForeign, what)
                .why(why)
                .fix(format!("update the agent, or take {names} out of the file"))
        });
    };
    tell(true);
    tell(false);
    if site.wired() && !site.missing_events.is_empty() {
        let names = list(&site.missing_events);
        findings.push(
            Finding::note(Id::HookMissing, format!("{} lacks our hooks for {names}", settings.display()))
                .why("all agents that use it know these events, and without them less is known of a turn")
                .ours(),
        );
    }
}

fn programs(site: &SiteFacts, findings: &mut Vec<Finding>) {
    for (path, called) in &site.programs {
        let hooks = format!("the hooks of {} call {}", site.path.display(), path.display());
        match called {
            Called::Same => {}
            Called::Missing => findings.push(
                Finding::problem(Id::HookProgramMissing, format!("{hooks}, which cannot be run"))
                    .why("the agent shows an error at every event, and nothing is recorded")
                    .ours(),
            ),
            Called::Other(version) => {
                let version = version.as_deref().unwrap_or("an unknown version");
                findings.push(
                    Finding::warning(Id::HookProgramOther, format!("{hooks} ({version}), which is not this one"))
                        .why("two versions write one state directory, and an update of this one changes nothing there")
                        .ours(),
                );
            }
        }
    }
}

fn plugin(site: &SiteFacts, findings: &mut Vec<Finding>) {
    if !site.plugin() {
        return;
    }
    let directory = site.path.display();
    match (site.wired(), site.marked) {
        (true, true) | (false, false) => {}
        (true, false) => findings.push(
            Finding::warning(
                Id::PluginAndSettings,
                format!("plugin and settings of {directory} both call us"),
            )
            .why("every event is written down twice, for no mark tells the plugin to yield")
            .ours(),
        ),
        (false, true) => findings.push(
            Finding::problem(
                Id::PluginYieldsToNothing,
                format!("the plugin of {directory} yields to hooks that are no longer in the settings"),
            )
            .why("no event is written down at all")
            .fix("rekindle init"),
        ),
    }
}

fn status_line(site: &SiteFacts, findings: &mut Vec<Finding>) {
    let Some(reading) = site.reading().filter(|_| site.wired()) else { return };
    let (what, fix) = match reading.status_line {
        StatusLineSeen::Ours => return,
        StatusLineSeen::None => ("there is no status line", "rekindle init"),
        StatusLineSeen::Foreign => {
            ("the status line is not ours", "rekindle init (keeps yours and shows both)")
        }
    };
    findings.push(
        Finding::note(Id::StatusLineNotOurs, format!("{what} in {}", site.path.display()))
            .why("it is the cheapest source of context, cost and quotas, and where alarms are shown")
            .fix(fix),
    );
}

fn links(facts: &Facts, findings: &mut Vec<Finding>) {
    for link in &facts.links {
        let path = link.path.display();
        match link.found {
            LinkFound::Ours => {}
            LinkFound::Nothing => findings.push(
                Finding::note(Id::LinkMissing, format!("the link {path} is not there"))
                    .why("people and tools that know the old places look there")
                    .ours(),
            ),
            LinkFound::Folder => findings.push(
                Finding::note(Id::LinkForeign, format!("{path} is a folder and no link"))
                    .why("what lies there is not what rekindle remembers")
                    .fix("rekindle init --adopt"),
            ),
            LinkFound::Foreign => findings.push(
                Finding::note(Id::LinkForeign, format!("{path} is not our link"))
                    .why("what lies there is not what rekindle remembers")
                    .fix("move it away, then rekindle init"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::{LinkFacts, Settings, tests::well};
    use integrate::safety::UnsafeEvent;

    fn check_site(change: impl FnOnce(&mut SiteFacts), expect: &[&str]) {
        let mut facts = well();
        change(&mut facts.sites[0]);
        assert_eq!(ids(check, &facts), expect);
    }

    fn reading(site: &mut SiteFacts) -> &mut integrate::settings::Reading {
        match &mut site.settings {
            Settings::Read(reading) => reading,
            Settings::Broken(_) => panic!(),
        }
    }

    #[test]
    fn nothing_wired_says_init_and_so_does_one_of_two() {
        check_site(|site| site.settings = Settings::default(), &["not-wired"]);
        let mut facts = well();
        facts.sites.push(SiteFacts { path: "/slot".into(), there: true, ..SiteFacts::default() });
        assert_eq!(ids(check, &facts), ["directory-not-wired"]);
        facts.sites[1].there = false;
        assert_eq!(ids(check, &facts), ["wiring-well"]);
    }

    #[test]
    fn unsafe_events_are_ours_or_the_users_to_take_out() {
        let event = |name: &str, ours| UnsafeEvent {
            name: name.to_owned(),
            ours,
            foreign: !ours,
            unknown_to: vec![semver::Version::new(2, 1, 31)],
        };
        check_site(|site| site.unsafe_events = vec![event("CwdChanged", true)], &["hook-event-unsafe"]);
        let mut facts = well();
        facts.sites[0].unsafe_events = vec![event("CwdChanged", true), event("Sing", false)];
        let found = check(&facts);
        assert_eq!(ids(check, &facts), ["hook-event-unsafe", "hook-event-unsafe-foreign"]);
        assert!(found[0].fixable && !found[1].fixable);
        assert!(found[0].what.contains("CwdChanged") && !found[0].what.contains("Sing"), "{}", found[0].what);
        assert!(found[0].what.contains("2.1.31"));
    }

    #[test]
    fn events_that_all_know_should_be_there() {
        check_site(|site| site.missing_events = vec!["Stop"], &["hook-missing", "wiring-well"]);
    }

    #[test]
    fn the_program_must_be_there_and_this_one() {
        let called =
            |called| move |site: &mut SiteFacts| site.programs = vec![("/old/rekindle".into(), called)];
        check_site(called(Called::Missing), &["hook-program-missing"]);
        check_site(called(Called::Other(Some("0.0.9".to_owned()))), &["hook-program-other"]);
        check_site(called(Called::Same), &["wiring-well"]);
    }

    #[test]
    fn a_plugin_beside_settings_yields_by_a_mark() {
        check_site(|site| reading(site).plugin = true, &["wiring-well"]);
        let double = |site: &mut SiteFacts| {
            reading(site).plugin = true;
            site.marked = false;
        };
        check_site(double, &["plugin-and-settings"]);
        let nobody = |site: &mut SiteFacts| {
            reading(site).plugin = true;
            reading(site).events.clear();
        };
        check_site(nobody, &["plugin-yields-to-nothing"]);
        let alone = |site: &mut SiteFacts| {
            nobody(site);
            site.marked = false;
        };
        check_site(alone, &["wiring-well"]);
    }

    #[test]
    fn status_line_and_links_are_told_calmly() {
        check_site(
            |site| reading(site).status_line = StatusLineSeen::Foreign,
            &["status-line-not-ours", "wiring-well"],
        );
        let mut facts = well();
        let link = |found| LinkFacts { path: "/h/.claude/instances".into(), found };
        facts.links = vec![link(LinkFound::Nothing), link(LinkFound::Folder), link(LinkFound::Ours)];
        assert_eq!(ids(check, &facts), ["link-missing", "link-foreign", "wiring-well"]);
        facts.links.clear();
        facts.on_path = false;
        assert_eq!(ids(check, &facts), ["program-not-on-path", "wiring-well"]);
    }
}
