//! Forgiving readers of single fields: an old, newer or restored text must not stop the work.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a field, or takes it as absent.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// Like [`lenient`], and a whole number may be written as `2.0`: numbers travel as doubles through protobuf.
pub(crate) fn lenient_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // 2^53: beyond it a double no longer tells whole numbers apart, and no count of ours comes near.
    #[allow(clippy::cast_possible_truncation)]
    let whole = |number: f64| {
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    };
    Ok(value.as_i64().or_else(|| value.as_f64().and_then(whole)))
}
