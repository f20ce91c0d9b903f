//! What the agent says on standard input: JSON whose fields come and go with its versions.
//!
//! Every field is optional and read on its own, so that one that is missing, new or of another kind costs nothing but
//! itself. Of a torn text everything before the tear counts.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// More than this is no status (measured: 1.2 KB on 2.1.325) and counts as nothing.
pub const LARGEST: usize = 1 << 20;

/// What the agent says, as far as it is of use to somebody.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The conversation.
    pub session_id: Option<String>,
    /// What the agent calls the session.
    pub session_name: Option<String>,
    /// The conversation's file.
    pub transcript_path: Option<String>,
    /// Where the agent works now.
    pub cwd: Option<String>,
    /// Where it was started.
    pub project_dir: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// The model, as the API knows it.
    pub model_id: Option<String>,
    /// The model, as people know it.
    pub model_name: Option<String>,
    /// The style the agent speaks in.
    pub output_style: Option<String>,
    /// How hard the model thinks.
    pub effort: Option<String>,
    /// What the session cost so far, in dollars.
    pub cost_usd: Option<f64>,
    /// How long the session has run, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The context window.
    pub context: Context,
    /// The quota of five hours.
    pub five_hour: Quota,
    /// The quota of a week.
    pub seven_day: Quota,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Context {
    /// Tokens it can hold.
    pub size: Option<u64>,
    /// Tokens the last request sent.
    pub used: Option<u64>,
    /// Per cent of it that is used.
    pub percent: Option<f64>,
    /// Tokens the model has written.
    pub written: Option<u64>,
}

/// A limit on what a subscriber may use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quota {
    /// Per cent of it that is used.
    pub percent: Option<f64>,
    /// When it begins anew.
    pub resets_at: Option<Timestamp>,
}

impl Input {
    /// Reads what the agent said; what cannot be understood is not there.
    pub fn parse(bytes: &[u8]) -> Input {
        let mut input = Input::default();
        if bytes.len() > LARGEST {
            return input;
        }
        members(&String::from_utf8_lossy(bytes), |key, value| match key {
            "session_id" => input.session_id = string(value),
            "session_name" => input.session_name = string(value),
            "transcript_path" => input.transcript_path = string(value),
            // The workspace says the same and is the newer field.
            "cwd" => input.cwd = input.cwd.take().or_else(|| string(value)),
            "version" => input.version = string(value),
            "workspace" => members(value.get(), |key, value| match key {
                "current_dir" => input.cwd = string(value).or_else(|| input.cwd.take()),
                "project_dir" => input.project_dir = string(value),
                _ => {}
            }),
            "model" => members(value.get(), |key, value| match key {
                "id" => input.model_id = string(value),
                "display_name" => input.model_name = string(value),
                _ => {}
            }),
            "output_style" => input.output_style = member(value, "name"),
            "effort" => input.effort = string(value).or_else(|| member(value, "level")),
            "cost" => members(value.get(), |key, value| match key {
                "total_cost_usd" => input.cost_usd = amount(value),
                "total_duration_ms" => input.duration_ms = amount(value),
                _ => {}
            }),
            "context_window" => input.context = context(value),
            "rate_limits" => members(value.get(), |key, value| match key {
                "five_hour" => input.five_hour = quota(value),
                "seven_day" => input.seven_day = quota(value),
                _ => {}
            }),
            _ => {}
        });
        input
    }

    /// Per cent of the context that is used.
    pub fn context_percent(&self) -> Option<f64> {
        let of_tokens = || match (self.context.used, self.context.size) {
            (Some(used), Some(size)) if size > 0 => Some(used as f64 * 100.0 / size as f64),
            _ => None,
        };
        self.context.percent.or_else(of_tokens)
    }
}

fn context(value: &RawValue) -> Context {
    let mut context = Context::default();
    members(value.get(), |key, value| match key {
        "context_window_size" => context.size = count(value),
        "used_percentage" => context.percent = amount(value),
        "total_output_tokens" => context.written = count(value),
        // What the agent's own percentage counts: the request, without the reply.
        "current_usage" => members(value.get(), |key, value| {
            if matches!(key, "input_tokens" | "cache_creation_input_tokens" | "cache_read_input_tokens")
                && let Some(tokens) = count(value)
            {
                context.used = Some(context.used.unwrap_or(0).saturating_add(tokens));
            }
        }),
        _ => {}
    });
    context
}

fn quota(value: &RawValue) -> Quota {
    let mut quota = Quota::default();
    members(value.get(), |key, value| match key {
        "used_percentage" => quota.percent = amount(value),
        "resets_at" => quota.resets_at = time(value),
        _ => {}
    });
    quota
}

/// Hands over the members of an object one by one; of anything else there are none.
fn members<'a>(json: &'a str, take: impl FnMut(&str, &'a RawValue)) {
    struct Each<F>(F);
    impl<'a, F: FnMut(&str, &'a RawValue)> Visitor<'a> for Each<F> {
        type Value = ();

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(Key(key)) = map.next_key()? {
                (self.0)(&key, map.next_value()?);
            }
            Ok(())
        }
    }
    // An error is a text that ends too early: what came before it has been taken.
    let _ = serde_json::Deserializer::from_str(json).deserialize_map(Each(take));
}

/// A key, without a copy where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn member(object: &RawValue, wanted: &str) -> Option<String> {
    let mut found = None;
    members(object.get(), |key, value| {
        if key == wanted {
            found = string(value);
        }
    });
    found
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok().filter(|text: &String| !text.is_empty())
}

/// A number that is one, and not below zero.
fn amount(value: &RawValue) -> Option<f64> {
    // `parse` knows words such as `nan`, which JSON does not.
    let number: f64 = value.get().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn count(value: &RawValue) -> Option<u64> {
    amount(value).map(|number| number as u64)
}

/// A time as the agent's versions write it: seconds or milliseconds since 1970, or ISO 8601.
fn time(value: &RawValue) -> Option<Timestamp> {
    // As seconds this is the year 5138, as milliseconds it is 1973.
    const SECONDS_END: f64 = 1e11;
    let of_number = |number: f64| match number {
        ..=0.0 => None,
        ..SECONDS_END => Timestamp::from_second(number as i64).ok(),
        _ => Timestamp::from_millisecond(number as i64).ok(),
    };
    match amount(value) {
        Some(number) => of_number(number),
        None => string(value)?.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests;
