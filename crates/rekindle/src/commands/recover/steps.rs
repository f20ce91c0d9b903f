//! The steps of bringing one agent back, told as they are done.

use agents::SessionKey;
use context::{Bead, Brief};
use recovery::{Continued, Restored};
use store::record::SessionRecord;

use crate::exit::Failure;
use crate::output::{Out, count, one_line};

/// What is left of it, before anything is started.
pub(super) fn before(
    session: &SessionKey,
    record: Option<&SessionRecord>,
    brief: &Brief,
) -> Result<(), Failure> {
    let mut out = Out::new();
    let name = record.and_then(|record| record.name.as_deref()).map(|name| one_line(name, 60));
    out.line(&format!("Recovering {} ({})", name.as_deref().unwrap_or("session"), session.short()));
    let found = found(brief);
    out.line(&format!("Captured context: {}", count(brief.lines as u64, "line", "lines")));
    out.line(&format!("Parsed exchanges: {found}"));
    let last = brief.half_done.as_ref().map(|half_done| format!("{half_done} (half done)"));
    if let Some(last) = last.or_else(|| brief.last_action.clone()) {
        out.line(&format!("Last activity: {}", one_line(&last, 200)));
    }
    if let Some(bead) = bead(&brief.beads) {
        out.line(&format!("Hand-off bead: {bead}"));
    }
    out.line("");
    out.finish().map(|_| ())
}

fn found(brief: &Brief) -> String {
    let prompts = count(brief.prompts as u64, "prompt", "prompts");
    format!("{prompts}, {}", count(brief.replies as u64, "reply", "replies"))
}

/// The task that is surely its own.
pub(super) fn own(beads: &[Bead]) -> Option<&Bead> {
    beads.iter().find(|bead| bead.own)
}

/// The tasks of an agent on a line; nothing where there are none.
pub(super) fn bead(beads: &[Bead]) -> Option<String> {
    let words = |bead: &Bead| format!("{} {}", bead.id, one_line(&bead.title, 80));
    let named: Vec<String> = beads.iter().map(words).collect();
    let unsure = if own(beads).is_none() { " (in progress there; may not be its own)" } else { "" };
    (!named.is_empty()).then(|| format!("{}{unsure}", named.join("; ")))
}

/// What became of it.
pub(super) fn after(pane: &Restored) -> Vec<String> {
    if !pane.outcome.is_back() {
        return vec![format!("✗ {}: {}", pane.outcome.word(), pane.reason)];
    }
    let mut lines = vec![format!("✓ Agent {} in {}", pane.outcome.word(), pane.pane)];
    if let Some(tokens) = pane.told_tokens {
        lines.push(format!("✓ Told what happened ({})", count(tokens as u64, "token", "tokens")));
    }
    lines.push(match pane.continued {
        Some(Continued::Submitted) => "✓ Told to go on: the agent works".to_owned(),
        Some(Continued::Unconfirmed) => "? Told to go on, and not confirmed: look at the pane".to_owned(),
        Some(Continued::Ready) => "✓ A prompt to go on is ready: press Enter in its pane".to_owned(),
        None => "  It waits for your next prompt".to_owned(),
    });
    lines.push(format!("  {}", pane.reason));
    lines
}
