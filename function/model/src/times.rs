//! Recorded objects, moved in time.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// How long a time is, as Kubernetes writes them.
const LENGTH: usize = "2026-11-21T10:30:00Z".len();

/// Moves every string that is a time.
pub fn move_times(json: &mut Value, by: SignedDuration) {
    match json {
        Value::String(text) if text.len() == LENGTH && text.ends_with('Z') => {
            if let Ok(time) = text.parse::<Timestamp>() {
                *text = (time + by).to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_times(item, by)),
        Value::Object(map) => map.values_mut().for_each(|value| move_times(value, by)),
        _ => {}
    }
}
