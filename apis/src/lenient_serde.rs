//! Forgiving readers of single fields: an old, newer or restored text must not stop the work.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{collect, json};

/// Reads a field, or takes it as absent.
pub(crate) fn lenient_option<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(json::read_value(Value::deserialize(deserializer)?).ok())
}

/// Like [`lenient_option`], and a whole number may be written as `2.0`: numbers travel as doubles through protobuf.
pub(crate) fn lenient_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // 2^53: beyond it a double no longer tells whole numbers apart, and no count of ours comes near.
    #[allow(clippy::cast_possible_truncation)]
    let to_integer = |number: f64| {
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    };
    Ok(value.as_i64().or_else(|| value.as_f64().and_then(to_integer)))
}

/// A list; elements that cannot be read are left out, and so is one that is no list.
pub(crate) fn lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let elements = lenient_option::<D, Vec<Value>>(deserializer)?.unwrap_or_default();
    Ok(elements.into_iter().filter_map(|element| json::read_value(element).ok()).collect())
}

/// A map; entries that cannot be read are left out, and so is one that is no map.
pub(crate) fn lenient_map<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let entries = lenient_option::<D, BTreeMap<String, Value>>(deserializer)?.unwrap_or_default();
    Ok(collect::to_map(
        entries.into_iter().filter_map(|(key, entry)| Some((key, json::read_value(entry).ok()?))),
    ))
}
