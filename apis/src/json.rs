//! JSON → types, by one reader: what is read from JSON anywhere is read by the same code, which is in a program once.
//!
//! It reads as `serde_json` does, in the same words where something is wrong, but for one thing: a list of its fields in their order is
//! another form of a struct to serde's derive, and to nobody else. It is refused, and the code that would read it is in no program.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Error, Map, Value};

/// Reads a value.
pub fn read_value<T: for<'a> Deserialize<'a>>(value: Value) -> Result<T, Error> {
    T::deserialize(Json(value))
}

/// Reads a text.
pub fn read_text<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, Error> {
    read_value(serde_json::from_str(text)?)
}

struct Json(Value);

impl Json {
    fn pair_entry((key, value): (String, Value)) -> (String, Self) {
        (key, Self(value))
    }
}

impl IntoDeserializer<'_, Error> for Json {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn visit_members<'de, V: Visitor<'de>>(members: Map<String, Value>, visitor: V) -> Result<V::Value, Error> {
    let pair: fn((String, Value)) -> (String, Json) = Json::pair_entry;
    let mut fields = MapDeserializer::new(members.into_iter().map(pair));
    let value = visitor.visit_map(&mut fields)?;
    fields.end()?;
    Ok(value)
}

fn no_struct(found: &Value, expected: &dyn Expected) -> Error {
    let found = match found {
        Value::Null => Unexpected::Unit,
        Value::Bool(bit) => Unexpected::Bool(*bit),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

impl<'de> Deserializer<'de> for Json {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bit) => visitor.visit_bool(bit),
            Value::Number(number) => number.deserialize_any(visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let json: fn(Value) -> Self = Self;
                let mut items = SeqDeserializer::new(items.into_iter().map(json));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(members) => visit_members(members, visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(members) => visit_members(members, visitor),
            other => Err(no_struct(&other, &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(Self(value)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit() // not looked into
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Read {
        name: String,
        #[serde(default)]
        size: Option<u8>,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        list: Vec<Option<i64>>,
        #[serde(default)]
        map: BTreeMap<String, f64>,
        #[serde(default)]
        rest: Value,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Kind {
        One,
        Other,
    }

    #[test]
    fn reads_as_serde_json_does_in_the_same_words() {
        for value in [
            json!({ "name": "a", "size": 3, "kind": "Other", "list": [1, null], "map": { "x": 1 }, "rest": [{}] }),
            json!({ "name": "a", "size": null, "kind": null }),
            json!({}),
            json!({ "name": 1 }),
            json!({ "name": "a", "size": 256 }),
            json!({ "name": "a", "size": -1 }),
            json!({ "name": "a", "size": 1.5 }),
            json!({ "name": "a", "size": "1" }),
            json!({ "name": "a", "kind": "Third" }),
            json!({ "name": "a", "kind": 3 }),
            json!({ "name": "a", "list": {} }),
            json!({ "name": "a", "list": ["x"] }),
            json!({ "name": "a", "map": [] }),
            json!({ "name": "a", "map": { "x": true } }),
            json!({ "name": "a", "unknown": {} }),
            json!("text"),
            json!(null),
            json!(true),
            json!(7),
            json!(-7),
            json!(7.5),
        ] {
            let theirs = serde_json::from_value::<Read>(value.clone()).map_err(|e| e.to_string());
            let ours = read_value::<Read>(value.clone()).map_err(|e| e.to_string());
            assert_eq!(ours, theirs, "{value}");
        }
    }

    #[test]
    fn a_list_is_no_struct() {
        let list = json!(["a"]);
        assert!(
            serde_json::from_value::<Read>(json!(["a", 1, null, [], {}, null])).is_ok(),
            "serde's derive takes it"
        );
        let error = read_value::<Read>(list).unwrap_err().to_string();
        assert_eq!(error, "invalid type: sequence, expected struct Read");
        assert!(read_text::<Read>("[").is_err());
    }
}
