//! Which agents are in use, and what is known of their versions.

use agents::claude::hook_events::UNKNOWN_IS_HARMLESS;
use semver::Version;

use crate::facts::Facts;
use crate::finding::{Finding, Id, Level, or_well};
use crate::words::{count, list};

/// It could resume nothing, for nobody.
const RESUME_BROKEN: Version = Version::new(2, 1, 120);
/// Measured: 2.1.100 registers itself, 2.1.31 does not. What lies between was not tried and counts as the older.
const REGISTERS: Version = Version::new(2, 1, 100);
/// Measured: 2.1.31 and 2.1.100 find a conversation only from its own directory, 2.1.325 from everywhere. What lies
/// between was not tried, and nothing is said of it.
const MAY_FIND_ANYWHERE: Version = Version::new(2, 1, 101);

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_use: Vec<&Version> =
        facts.sites.iter().flat_map(|site| &site.agents).map(|seen| &seen.version).collect();
    in_use.sort();
    in_use.dedup();
    installed(facts, &in_use, &mut findings);
    versions(&in_use, &mut findings);
    if !facts.agents.on_node.is_empty() {
        let nodes = list(facts.agents.on_node.iter().map(|seen| &seen.version));
        findings.push(
            Finding::note(
                Id::AgentArgumentsWiped,
                format!("agent {nodes} runs on Node and wipes its arguments"),
            )
            .why("a restore cannot know the flags that such an agent was started with")
            .fix("use the native build of the agent"),
        );
    }
    variables(facts, &mut findings);
    if !facts.agents.crashed.is_empty() {
        let crashed = count(facts.agents.crashed.len(), "agent has", "agents have");
        let what = format!("{crashed} crashed: {}", list(&facts.agents.crashed));
        let finding = Finding::note(Id::AgentsCrashed, what);
        let (why, fix) = match facts.agents.held_by_save {
            0 => ("their sessions can go on", "rekindle recover"),
            held if held == facts.agents.crashed.len() => {
                ("the current save holds their panes and layout", "rekindle restore")
            }
            _ => (
                "the current save holds the panes and layout of some of them",
                "rekindle restore, then rekindle recover",
            ),
        };
        findings.push(finding.why(why).fix(fix));
    }
    let what = match in_use[..] {
        [] => "no agent was used here yet".to_owned(),
        [version] => format!("agent {version} is in use"),
        [first, .., last] => format!("agents {first} to {last} are in use"),
    };
    or_well(findings, Id::AgentsWell, what)
}

fn installed(facts: &Facts, in_use: &[&Version], findings: &mut Vec<Finding>) {
    let on_path = facts.agents.on_path.as_ref();
    if on_path.is_none() {
        findings.push(
            Finding::warning(Id::AgentMissing, "claude is not on PATH")
                .why("a restore starts agents by that name")
                .fix("install Claude Code, or add its folder to PATH"),
        );
    }
    if in_use.contains(&&RESUME_BROKEN) {
        let starts = on_path.is_some_and(|(_, version)| version.as_ref() == Some(&RESUME_BROKEN));
        let level = if starts { Level::Problem } else { Level::Warning };
        findings.push(
            Finding::new(
                Id::AgentResumeBroken,
                level,
                format!("agent {RESUME_BROKEN} cannot resume conversations"),
            )
            .why("this one version broke it for everybody, so a restore with it fails")
            .fix("claude update"),
        );
    }
}

fn versions(in_use: &[&Version], findings: &mut Vec<Finding>) {
    let below = |bound: &Version| list(in_use.iter().filter(|version| **version < bound));
    let mut tell = |id, bound: &Version, what: &str, why: &str| {
        let old = below(bound);
        if !old.is_empty() {
            findings.push(Finding::note(id, format!("agent {old} {what}")).why(why).fix("claude update"));
        }
    };
    tell(
        Id::AgentSettingsDropped,
        &UNKNOWN_IS_HARMLESS,
        "drops its settings for one unknown hook event",
        "rekindle writes only events that it knows, so less is recorded for newer agents too",
    );
    tell(
        Id::AgentNoRegistry,
        &REGISTERS,
        "keeps no registry of live sessions",
        "without hooks nothing proves which conversation such an agent is in",
    );
    tell(
        Id::AgentResumeOwnDirectory,
        &MAY_FIND_ANYWHERE,
        "finds a conversation only from its own directory",
        "a directory that was moved or removed makes its conversations impossible to resume",
    );
    if let [first, .., last] = in_use {
        findings.push(
            Finding::note(
                Id::AgentVersionsDiffer,
                format!("{} versions of the agent are in use, {first} to {last}", in_use.len()),
            )
            .why("the oldest decides which hook events are safe")
            .fix("claude update"),
        );
    }
}

fn variables(facts: &Facts, findings: &mut Vec<Finding>) {
    let here = &facts.agents.inherited_here;
    if !here.is_empty() {
        findings.push(
            Finding::warning(
                Id::ChildVariablesHere,
                format!("this shell was started by an agent ({})", list(here)),
            )
            .why("an agent that is started from here takes itself for a child and may save nothing")
            .fix(format!("unset {}", here.join(" "))),
        );
    }
    for agent in &facts.agents.inheriting {
        let place = agent.cwd.as_deref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
        let variables = list(&agent.variables);
        findings.push(
            Finding::warning(
                Id::ChildVariablesAgent,
                format!(
                    "the agent with pid {}{place} was started with {variables} of another one",
                    agent.pid
                ),
            )
            .why("it takes itself for a child and may save nothing: its conversation would be lost")
            .fix("end it and start it from a clean shell"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::{
        Inheriting,
        tests::{seen, well},
    };

    fn with(versions: &[&str]) -> Facts {
        let mut facts = well();
        facts.sites[0].agents = versions.iter().map(|version| seen(version)).collect();
        facts
    }

    #[test]
    fn what_is_known_of_versions() {
        assert_eq!(ids(check, &with(&[])), ["agents-well"]);
        assert_eq!(ids(check, &with(&["2.1.325", "2.1.325"])), ["agents-well"]);
        assert_eq!(ids(check, &with(&["2.1.101"])), ["agents-well"]);
        assert_eq!(
            ids(check, &with(&["2.1.100"])),
            ["agent-drops-settings", "agent-resume-own-directory", "agents-well"]
        );
        assert_eq!(
            ids(check, &with(&["2.1.31"])),
            ["agent-drops-settings", "agent-no-registry", "agent-resume-own-directory", "agents-well"]
        );
        assert_eq!(ids(check, &with(&["2.1.200", "2.1.325"])), ["agent-versions-differ", "agents-well"]);
    }

    #[test]
    fn the_one_that_resumes_nothing_is_worst_on_the_path() {
        let mut facts = with(&["2.1.120"]);
        let level = |facts: &Facts| check(facts)[0].level;
        assert_eq!(ids(check, &facts), ["agent-resume-broken"]);
        assert_eq!(level(&facts), Level::Warning);
        facts.agents.on_path = Some(("/bin/claude".into(), Some(RESUME_BROKEN)));
        assert_eq!(level(&facts), Level::Problem);
    }

    #[test]
    fn crashed_agents_are_named_with_the_command_for_them() {
        let mut facts = with(&["2.1.325"]);
        facts.agents.crashed = vec!["shop (5e55105e)".to_owned()];
        let found = check(&facts);
        let crashed = found.iter().find(|one| one.id == Id::AgentsCrashed).unwrap();
        assert_eq!((crashed.level, crashed.fix.as_str()), (Level::Note, "rekindle recover"));
        assert_eq!(crashed.what, "1 agent has crashed: shop (5e55105e)");
        let fix = |facts: &Facts| {
            let found = check(facts);
            found.iter().find(|one| one.id == Id::AgentsCrashed).unwrap().fix.clone()
        };
        facts.agents.held_by_save = 1;
        assert_eq!(fix(&facts), "rekindle restore", "recover would lose its layout");
        facts.agents.crashed.push("docs (6f66216f)".to_owned());
        assert_eq!(fix(&facts), "rekindle restore, then rekindle recover");
    }

    #[test]
    fn no_agent_and_one_on_node() {
        let mut facts = well();
        facts.agents.on_path = None;
        facts.agents.on_node = vec![seen("2.1.100")];
        assert_eq!(ids(check, &facts), ["agent-missing", "agent-arguments-wiped"]);
    }

    #[test]
    fn inherited_variables_here_and_there() {
        let mut facts = well();
        facts.agents.inherited_here = vec!["CLAUDECODE".to_owned()];
        facts.agents.inheriting = vec![Inheriting {
            pid: 7,
            cwd: Some("/p".to_owned()),
            variables: vec!["CLAUDE_CODE_CHILD_SESSION".to_owned()],
        }];
        assert_eq!(ids(check, &facts), ["child-variables-here", "child-variables-agent"]);
        assert!(check(&facts)[1].what.contains("pid 7 in /p"));
    }
}
