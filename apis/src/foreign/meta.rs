//! Metadata that every Kubernetes object has.

use std::{collections::BTreeMap, fmt};

use jiff::{Timestamp, civil::DateTime, tz::Offset};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::json;
use crate::names::Uid;

/// Parts of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// Uid.
    pub uid: Option<Uid>,
    /// The version that the API server gave it with its last change.
    pub resource_version: Option<String>,
    /// Counts changes of the spec.
    pub generation: i64,
    /// When it was made.
    #[serde(deserialize_with = "lenient_time")]
    pub creation_timestamp: Option<Timestamp>,
    /// When its end was asked for.
    #[serde(deserialize_with = "lenient_time")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Time of the last status change, from `managedFields`. Only read by [`with_status_time`].
    #[serde(skip)]
    pub status_changed_at: Option<Timestamp>,
}

impl Metadata {
    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

/// A condition as somebody reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservedCondition {
    /// Type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False`, `Unknown`, or anything else.
    pub status: String,
    /// Reason.
    pub reason: String,
    /// Message.
    pub message: String,
    /// When the status last changed. Absent when it is missing or no time.
    #[serde(deserialize_with = "lenient_time")]
    pub last_transition_time: Option<Timestamp>,
    /// The generation that was judged.
    pub observed_generation: Option<i64>,
}

impl ObservedCondition {
    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Whether the status is `False`.
    pub fn is_false(&self) -> bool {
        self.status == "False"
    }
}

/// The condition of a type, the first if there are several.
pub fn find_condition<'a>(conditions: &'a [ObservedCondition], type_: &str) -> Option<&'a ObservedCondition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// Reads metadata with the time of the last status change. `lastTransitionTime` moves only with a condition's status, so only this time
/// shows how long a message is unchanged.
pub fn with_status_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    let raw = Value::deserialize(deserializer)?;
    let writes = raw["managedFields"].as_array().into_iter().flatten();
    let of_status = writes.filter(|write| write["subresource"] == "status");
    let status_changed_at = of_status.filter_map(|write| write["time"].as_str()?.parse().ok()).max();
    let metadata = json::read_value::<Option<Metadata>>(raw).map_err(D::Error::custom)?.unwrap_or_default();
    Ok(Metadata { status_changed_at, ..metadata })
}

/// A time that may be missing, null or nonsense.
pub fn lenient_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    deserializer.deserialize_any(LenientTime)
}

/// Anything but a text that is a time is none.
struct LenientTime;

impl<'de> Visitor<'de> for LenientTime {
    type Value = Option<Timestamp>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(parse_utc_time(text).or_else(|| text.parse().ok()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// `2026-03-02T10:00:00Z`, as Kubernetes writes times: a dozen are read in each pass. None: another form, or no time.
fn parse_utc_time(text: &str) -> Option<Timestamp> {
    let bytes = <&[u8; 20]>::try_from(text.as_bytes()).ok()?;
    let signs = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if signs.into_iter().any(|(at, sign)| bytes[at] != sign) {
        return None;
    }
    let digit = |at: usize| bytes[at].is_ascii_digit().then(|| bytes[at] - b'0');
    let two = |at: usize| Some((digit(at)? * 10 + digit(at + 1)?).cast_signed());
    let year = i16::from(two(0)?) * 100 + i16::from(two(2)?);
    let time = DateTime::new(year, two(5)?, two(8)?, two(11)?, two(14)?, two(17)?, 0).ok()?;
    Offset::UTC.to_timestamp(time).ok()
}

/// A part that may have the wrong shape: its value or the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lenient<T> {
    /// The value; the default if it could not be read.
    pub value: T,
    /// Parse error, if any.
    pub error: Option<String>,
}

impl<T: Default> Default for Lenient<T> {
    fn default() -> Self {
        Self { value: T::default(), error: None }
    }
}

impl<T: Default + for<'a> Deserialize<'a>> Lenient<T> {
    /// Reads the value if possible. Null gives the default.
    pub fn from_value(raw: serde_json::Value) -> Self {
        match json::read_value::<Option<T>>(raw) {
            Ok(value) => Self { value: value.unwrap_or_default(), error: None },
            Err(error) => Self { value: T::default(), error: Some(error.to_string()) },
        }
    }
}

impl<'de, T: Default + for<'a> Deserialize<'a>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_json::Value::deserialize(deserializer).map(Self::from_value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_as_kubernetes_writes_them_are_what_they_are_to_everybody() {
        for text in [
            "2026-03-02T10:00:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-30T23:59:59Z",
            "9999-12-31T23:59:59Z",
            "2024-02-29T23:59:59Z",
            "2026-02-29T10:00:00Z",
            "2026-13-02T10:00:00Z",
            "2026-03-02T24:00:00Z",
            "2026-03-02T10:00:60Z",
            "2026-03-0²T10:00:0Z",
            "+026-03-02T10:00:00Z",
        ] {
            let parsed = text.parse::<Timestamp>().ok();
            let found = parse_utc_time(text);
            assert!(found.is_none() || found == parsed, "{text}: {found:?}, {parsed:?}");
        }
        for text in ["2026-03-02T10:00:00Z", "1969-12-31T23:59:59Z", "2024-02-29T00:00:01Z"] {
            assert_eq!(parse_utc_time(text), Some(text.parse().unwrap()), "{text}");
        }
        assert_eq!(parse_utc_time("2026-03-02T10:00:00.5Z"), None);
    }

    #[test]
    fn it_is_known_when_a_status_changed() {
        #[derive(Deserialize)]
        struct Seen {
            #[serde(deserialize_with = "with_status_time")]
            metadata: Metadata,
        }
        let write = |time: &str, subresource: &str| json!({ "time": time, "subresource": subresource });
        let read =
            |metadata: Value| json::read_value::<Seen>(json!({ "metadata": metadata })).map(|s| s.metadata);
        let of = |fields: Value| read(json!({ "name": "demo", "managedFields": fields })).unwrap();
        let seen = of(json!([
            write("2026-11-21T10:00:00Z", "status"),
            write("2026-11-21T10:05:00Z", "status"),
            write("2026-11-21T10:09:00Z", ""),
        ]));
        assert_eq!(seen.status_changed_at, "2026-11-21T10:05:00Z".parse().ok());
        assert_eq!(seen.name, "demo");
        assert_eq!(of(json!([write("now", "status"), 7])).status_changed_at, None);
        assert_eq!(of(json!(7)).status_changed_at, None);
        assert_eq!(read(json!(null)).unwrap(), Metadata::default());
        assert!(read(json!(7)).is_err());
    }

    #[test]
    fn whatever_is_no_time_is_none_and_what_follows_is_read() {
        let made = |time: &serde_json::Value| json!({ "creationTimestamp": time, "name": "demo" });
        let nonsense =
            [json!(null), json!(true), json!(-1), json!(1), json!(1.5), json!("soon"), json!([1, [{}]])];
        for time in nonsense.into_iter().chain([json!({ "a": [1], "b": {} })]) {
            // One reader walks a tree, the other a text, in which what is not read is in the way of what follows.
            let tree: Metadata = json::read_value(made(&time)).unwrap();
            let text: Metadata = serde_json::from_str(&made(&time).to_string()).unwrap();
            assert_eq!((tree.creation_timestamp, tree.name.as_str()), (None, "demo"), "{time}");
            assert_eq!(text, tree, "{time}");
        }
        let read: Metadata = json::read_value(made(&json!("2026-03-02T10:00:00Z"))).unwrap();
        assert_eq!(read.creation_timestamp, "2026-03-02T10:00:00Z".parse().ok());
    }
}
