//! Takes what was said in a conversation out of a JSON value, and leaves everything else as it is.

use serde_json::Value;

use crate::Subject;
use crate::words::About;

/// What stands where something was.
const GONE: &str = "(forgotten)";

/// Keys whose text is somebody's words, in any object that is about the conversation.
const SAID: [&str; 17] = [
    "title",
    "name",
    "task",
    "text",
    "summary",
    "description",
    "says",
    "detail",
    "why",
    "reason",
    "outcomeReason",
    "outcome_reason",
    "startCommand",
    "lastPrompt",
    "lastAction",
    "firstPrompt",
    "halfDone",
];

/// Scrubs a value; whether something was there.
pub(crate) fn scrub(value: &mut Value, subject: &Subject) -> bool {
    walk(value, None, About::Anything, subject)
}

fn walk(value: &mut Value, key: Option<&str>, about: About, subject: &Subject) -> bool {
    match value {
        Value::Object(object) => {
            let here = object.values().any(|value| mentions(value, subject));
            let about = if here { About::It } else { about };
            let mut changed = false;
            for (key, value) in object.iter_mut() {
                let about = if key == subject.session.as_str() { About::It } else { about };
                changed |= walk(value, Some(key), about, subject);
            }
            changed
        }
        Value::Array(list) => {
            list.iter_mut().fold(false, |changed, value| walk(value, key, about, subject) | changed)
        }
        Value::String(text) => {
            // One word is a reason's name, a state, an id; the words of people have blanks between them.
            let told = about == About::It
                && key.is_some_and(|key| SAID.contains(&key))
                && (text.contains(char::is_whitespace) || matches!(key, Some("title" | "name" | "task")));
            let replacement = if key == Some("title") { "" } else { GONE };
            if text == replacement || !(told || subject.words.are_in(text, about)) {
                return false;
            }
            *text = replacement.to_owned();
            true
        }
        _ => false,
    }
}

fn mentions(value: &Value, subject: &Subject) -> bool {
    let is = |value: &Value| value.as_str() == Some(subject.session.as_str());
    is(value) || value.as_array().is_some_and(|list| list.iter().any(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Words;
    use serde_json::json;

    #[test]
    fn only_what_is_about_it_or_was_said_in_it_goes() {
        let mut words = Words::default();
        words.add("please rewrite the checkout page");
        let session = agents::SessionKey::parse("s1").unwrap();
        let subject = Subject {
            keys: Vec::new(),
            is_in_doubt: false,
            projects: crate::projects::Projects::default(),
            session,
            config: agents::claude::ConfigDir::new("/c"),
            held: None,
            is_anothers: false,
            is_shared: false,
            words,
        };
        let mut value = json!({
            "panes": [
                {"tag": "s1", "title": "✳ Checkout", "id": "%1", "reason": "process_died"},
                {"tag": "s2", "title": "✳ Cart", "why": "no agent is here"},
            ],
            "s1": {"name": "Checkout", "status": "active"},
            "note": "it began with: please rewrite the checkout",
        });
        assert!(scrub(&mut value, &subject));
        let expect = json!({
            "panes": [
                {"tag": "s1", "title": "", "id": "%1", "reason": "process_died"},
                {"tag": "s2", "title": "✳ Cart", "why": "no agent is here"},
            ],
            "s1": {"name": "(forgotten)", "status": "active"},
            "note": "(forgotten)",
        });
        assert_eq!(value, expect);
        assert!(!scrub(&mut value, &subject), "once is enough");
    }
}
