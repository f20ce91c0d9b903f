//! `recover --preview`: what an agent would be told, and nothing is done.

use agents::SessionKey;
use context::{Brief, Template};
use recovery::{Act, Asked, Destination, Outcome, Teller, Told, bring_back, half_done};
use serde_json::json;
use sessions::Settled;
use store::record::Machine;

use super::act::Request;
use super::list;
use crate::briefing::briefing;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::restoring;

/// Prints what this agent would be told.
pub(super) fn preview(
    context: &Context,
    settled: &Settled,
    session: &SessionKey,
    alive: bool,
    request: Request,
) -> Result<Exit, Failure> {
    let mut briefing = briefing(context, &settled.records)?;
    if alive {
        briefing.template = Template::living();
    }
    let ground = restoring::ground(context, settled);
    let anywhere = Destination::Window { session: String::new(), there: None, index: 0 };
    let wanted = restoring::wanted(context, true, Asked::Name);
    let plan = bring_back(&ground, session, "/nonexistent".into(), &anywhere, wanted);
    let decision = plan.panes().next().map(|step| step.decision.clone());
    let act = decision.as_ref().filter(|_| !alive).map_or(Act::Refuse, |decision| decision.act);
    let record = settled.records.get(session);
    let open = half_done(&context.repairer, session);
    let (key, zone) = (context.reading_key(), crate::zone::local());
    let teller = Teller {
        state: &context.repairer.state,
        record: record.filter(|record| record.distrust(&Machine::this()).is_none()),
        key: key.as_ref(),
        zone: &zone,
        note_on_resume: context.config.restore.note_on_resume,
        go_on: request.go_on.unwrap_or_else(|| restoring::go_on(context, false)),
        briefing: Some(&briefing),
    };
    let how = match act {
        Act::RepairResume => Outcome::RepairedResumed,
        Act::VaultResume => Outcome::VaultResumed,
        _ => Outcome::Resumed,
    };
    let told = if act.starts() { teller.told(act, session, how, open.as_deref()).0 } else { Told::default() };
    let brief = briefing.brief(session);
    let submitted = teller.go_on.submits();
    let mut out = Out::new();
    if request.as_json {
        let mut value = list::brief_json(&brief);
        value["sessionId"] = json!(session);
        value["act"] = json!(act);
        value["why"] = json!(decision.map(|decision| decision.reason));
        value["told"] = json!({"byHook": told.by_hook, "prompt": told.prompt,
            "submitted": told.prompt.as_ref().map(|_| submitted)});
        value["text"] = json!(brief.text);
        value["firstPrompt"] = json!(brief.prompt);
        value["alive"] = json!(alive);
        out.json(value);
    } else {
        out.exact_line(&words(act, &told, &brief, submitted));
    }
    out.finish()
}

fn words(act: Act, told: &Told, brief: &Brief, submitted: bool) -> String {
    let mut parts = Vec::new();
    let resumed = matches!(act, Act::Resume | Act::RepairResume | Act::VaultResume);
    if resumed {
        let note =
            told.by_hook.as_deref().map(|note| format!("and told this at its start:\n\n{}", note.trim_end()));
        parts
            .push(format!("It would be resumed, {}", note.unwrap_or_else(|| "and told nothing.".to_owned())));
    } else {
        parts.push(brief.text.clone());
    }
    if let Some(prompt) = &told.prompt {
        let how = if submitted {
            "Its prompt would be submitted"
        } else {
            "Its prompt would be ready for one Enter"
        };
        parts.push(format!("{how}:\n\n{prompt}"));
    }
    if resumed {
        let why = "If its conversation could not be resumed, a fresh agent would be told this";
        parts.push(format!("{why}:\n\n{}", brief.text));
    }
    parts.join("\n\n")
}
