//! What the user should know, a line each, below everything else.

use crate::clean::clean;
use crate::prepared::{NoticeKind, SlotState};
use crate::text::{Text, Tone};
use crate::{Glyphs, View};

/// Below an agent's prompt there is little room, and who shows everything shows nothing.
const MOST: usize = 6;

/// The notices as lines.
pub(crate) fn texts(view: &View<'_>) -> Vec<Text> {
    let prepared = view.prepared;
    let mut texts = Vec::new();
    let mut add = |kind, sign, words: &str| {
        let words = clean(words);
        if !words.is_empty() {
            texts.push(Text::new(tone(kind), format!("{sign} {words}")));
        }
    };
    if let Some(slot) = &prepared.slot {
        let (glyphs, name) = (view.style.signs(), &slot.id);
        match slot.state {
            SlotState::Ok => {}
            SlotState::TokenExpired => {
                let sign = sign(NoticeKind::Warning, glyphs);
                add(NoticeKind::Warning, sign, &format!("Token expired for {name} — run /login to refresh"));
            }
            SlotState::ConfigMissing => {
                let sign = glyphs.pick("❌", "alarm:");
                add(NoticeKind::Alarm, sign, &format!("Config dir missing for {name}"));
            }
        }
    }
    for notice in &prepared.notices {
        add(notice.kind, sign(notice.kind, view.style.signs()), &notice.text);
    }
    if prepared.paused && !prepared.notices.iter().any(|notice| notice.kind == NoticeKind::Pause) {
        let sign = sign(NoticeKind::Pause, view.style.signs());
        add(NoticeKind::Pause, sign, "Paused until you run rekindle unpause");
    }
    texts.truncate(MOST);
    texts
}

fn sign(kind: NoticeKind, glyphs: Glyphs) -> &'static str {
    match kind {
        NoticeKind::Update => glyphs.pick("⚠", "update:"),
        NoticeKind::Slot => glyphs.pick("💡", "slot:"),
        NoticeKind::Alarm => glyphs.pick("🚨", "alarm:"),
        NoticeKind::Warning => glyphs.pick("⚠", "warning:"),
        NoticeKind::Pause => glyphs.pick("⏸", "pause:"),
        NoticeKind::Info => glyphs.pick("ℹ", "note:"),
    }
}

fn tone(kind: NoticeKind) -> Tone {
    match kind {
        NoticeKind::Update | NoticeKind::Warning | NoticeKind::Pause => Tone::Warning,
        NoticeKind::Slot => Tone::Hint,
        NoticeKind::Alarm => Tone::Alarm,
        NoticeKind::Info => Tone::Calm,
    }
}
