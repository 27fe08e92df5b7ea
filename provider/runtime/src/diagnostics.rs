//! Building blocks of diagnostics: reasons, times and a size limit. Diagnostics never contain text that somebody else wrote, because it may
//! quote a log, and a log may quote a secret.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The most bytes that diagnostics may have.
pub const MAX: usize = 16 * 1024;

/// A condition in diagnostics: its status, its reason, and the time of its last change.
pub fn entry(type_: &str, status: &str, reason: &str, since: Option<Timestamp>) -> Value {
    let mut entry = Map::new();
    let words = [("type", type_), ("status", status), ("reason", reason)];
    for (key, word) in words.into_iter().filter(|(_, word)| is_word(word)) {
        entry.insert(key.into(), word.into());
    }
    if let Some(time) = since {
        entry.insert("lastTransitionTime".into(), time.to_string().into());
    }
    entry.into()
}

/// JSON with the conditions in the order of time, within [`MAX`].
pub fn fit_to_size(mut whole: Value, mut timeline: Vec<Value>) -> String {
    timeline.sort_by_cached_key(|entry| entry["lastTransitionTime"].as_str().unwrap_or_default().to_owned());
    // The newest entries are kept: questions are about the end.
    loop {
        whole["conditions"] = timeline.clone().into();
        let text = whole.to_string();
        if text.len() <= MAX || timeline.is_empty() {
            return text;
        }
        timeline.drain(..timeline.len().div_ceil(2));
    }
}

/// Reasons are sometimes sentences.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
