//! What the user, an organisation and we have set, as far as it stops us or deletes conversations.

use sessions::alarm::of_sweep;

use crate::facts::{Facts, Settings, SiteFacts};
use crate::finding::{Finding, Id, or_well};
use crate::words::{count, list};

/// As long as a vault counts as up to date where conversations are about to be deleted.
const FRESH_SECONDS: i64 = 86_400;

pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for site in &facts.sites {
        of_site(site, &mut findings);
        cleanup(facts, site, &mut findings);
    }
    managed(facts, &mut findings);
    own(facts, &mut findings);
    or_well(findings, Id::SettingsWell, "settings can be read, and hooks are on")
}

fn of_site(site: &SiteFacts, findings: &mut Vec<Finding>) {
    let path = site.path.join("settings.json");
    let path = path.display();
    let reading = match &site.settings {
        Settings::Read(reading) => reading,
        Settings::Broken(why) => {
            findings.push(
                Finding::problem(Id::SettingsBroken, format!("{path} cannot be used: {why}"))
                    .why("the agent passes it over, so neither your deny rules nor our hooks hold")
                    .fix("mend it by hand, then rekindle init"),
            );
            return;
        }
    };
    if reading.comments {
        findings.push(
            Finding::problem(Id::SettingsComments, format!("{path} has comments or trailing commas"))
                .why("no agent reads such a file, so none of its settings holds (measured)")
                .fix("take the comments and trailing commas out"),
        );
    }
    if reading.hooks_disabled && site.wired() {
        findings.push(
            Finding::problem(Id::HooksDisabled, format!("{path} turns all hooks off (disableAllHooks)"))
                .why("nothing is recorded but what processes and the agent's registry show")
                .fix("take disableAllHooks out of the file"),
        );
    }
}

fn cleanup(facts: &Facts, site: &SiteFacts, findings: &mut Vec<Finding>) {
    let Some(sweep) = site.sweep.as_ref().filter(|sweep| of_sweep(sweep).is_some()) else { return };
    let config = site.path.display();
    if sweep.days == 0 {
        findings.push(
            Finding::problem(Id::CleanupNothingKept, format!("cleanupPeriodDays is 0 in {config}"))
                .why("the agent keeps no conversation at all: nothing can be resumed or mirrored")
                .fix("set it to 30 or more in settings.json"),
        );
        return;
    }
    let soon = count(sweep.soon, "conversation", "conversations");
    let what = format!("the agent soon deletes {soon} of {config} (cleanupPeriodDays = {})", sweep.days);
    let fresh = |synced: jiff::Timestamp| facts.now.as_second() - synced.as_second() < FRESH_SECONDS;
    let finding = if facts.vault.synced.is_some_and(fresh) {
        Finding::note(Id::CleanupSoon, what)
            .why("they stay in the vault, but an agent can resume them no more")
    } else {
        Finding::warning(Id::CleanupSoon, what).why("the vault may not have them yet, and then they are gone")
    };
    findings.push(finding.fix("rekindle vault sync; or a larger cleanupPeriodDays in settings.json"));
}

fn managed(facts: &Facts, findings: &mut Vec<Finding>) {
    let managed = &facts.managed;
    if managed.hooks_only || managed.hooks_disabled {
        let key = if managed.hooks_only { "allowManagedHooksOnly" } else { "disableAllHooks" };
        findings.push(
            Finding::warning(
                Id::ManagedHooksOnly,
                format!("managed settings keep our hooks from running ({key})"),
            )
            .why("nothing is recorded but what processes and the agent's registry show")
            .fix("ask whoever manages this machine to allow them"),
        );
    }
    if let Some(days) = managed.cleanup_days {
        let days = usize::try_from(days).unwrap_or(usize::MAX);
        let days = count(days, "day", "days");
        findings.push(
            Finding::note(
                Id::ManagedRetention,
                format!("managed settings delete conversations after {days}"),
            )
            .why("the vault keeps nothing longer than such a policy allows"),
        );
    }
}

fn own(facts: &Facts, findings: &mut Vec<Finding>) {
    let config = &facts.config;
    let path = config.path.display();
    if let Some(why) = &config.error {
        findings.push(
            Finding::problem(Id::ConfigBroken, format!("{path} cannot be used: {why}"))
                .why("every command refuses to run, and hooks cannot be settled")
                .fix("mend the file; docs/contracts.md says what may stand there"),
        );
    }
    if !config.unknown.is_empty() {
        findings.push(
            Finding::note(
                Id::ConfigUnknownKey,
                format!("{path} sets what is no setting: {}", list(&config.unknown)),
            )
            .why("it has no effect, and may be a slip of the pen")
            .fix("docs/contracts.md names every setting"),
        );
    }
    if let Some(why) = &config.template {
        findings.push(
            Finding::problem(Id::TemplateBroken, format!("{why} (recovery.prompts.template)"))
                .why("rekindle recover refuses to run when it is needed")
                .fix("mend the template; docs/recovery.md names every variable"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ids;
    use crate::facts::tests::{NOW, well};
    use crate::finding::Level;
    use sessions::alarm::Sweep;

    fn reading(facts: &mut Facts) -> &mut integrate::settings::Reading {
        match &mut facts.sites[0].settings {
            Settings::Read(reading) => reading,
            Settings::Broken(_) => panic!(),
        }
    }

    #[test]
    fn files_that_no_agent_reads() {
        let mut facts = well();
        facts.sites[0].settings = Settings::Broken("line 3".to_owned());
        assert_eq!(ids(check, &facts), ["settings-broken"]);
        let mut facts = well();
        reading(&mut facts).comments = true;
        reading(&mut facts).hooks_disabled = true;
        assert_eq!(ids(check, &facts), ["settings-comments", "hooks-disabled"]);
    }

    #[test]
    fn deletions_are_worse_without_a_vault() {
        let mut facts = well();
        let sweep = |days, soon| Some(Sweep { config: "/c".into(), days, soon });
        facts.sites[0].sweep = sweep(0, 0);
        assert_eq!(ids(check, &facts), ["cleanup-nothing-kept"]);
        facts.sites[0].sweep = sweep(30, 2);
        assert_eq!(check(&facts)[0].level, Level::Note);
        facts.vault.synced = jiff::Timestamp::from_second(NOW - 2 * FRESH_SECONDS).ok();
        let found = check(&facts);
        assert_eq!((found[0].id, found[0].level), (Id::CleanupSoon, Level::Warning));
        facts.sites[0].sweep = sweep(30, 0);
        assert_eq!(ids(check, &facts), ["settings-well"]);
    }

    #[test]
    fn an_organisation_and_our_own_file() {
        let mut facts = well();
        facts.managed.hooks_only = true;
        facts.managed.cleanup_days = Some(7);
        assert_eq!(ids(check, &facts), ["managed-hooks-only", "managed-retention"]);
        let mut facts = well();
        facts.config.error = Some("line 1".to_owned());
        facts.config.unknown = vec!["vault.size".to_owned()];
        facts.config.template = Some("cannot understand {{x}}".to_owned());
        assert_eq!(ids(check, &facts), ["config-broken", "config-unknown-key", "template-broken"]);
    }
}
