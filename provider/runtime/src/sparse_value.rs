//! Partial read of a value into which others may write anything.
//!
//! `serde_json` reads at most 128 levels, and one object with more fails the whole list. Skipped fields have no such limit.

use std::fmt;

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// Reads these fields of a map, and no more than so many levels, the map included. Deeper values count as null.
///
/// # Errors
/// If the text is malformed.
pub fn read_fields<'de, D: Deserializer<'de>>(
    deserializer: D,
    fields: &'static [&'static str],
    levels: u8,
) -> Result<Value, D::Error> {
    Down { fields: Some(fields), levels }.deserialize(deserializer)
}

/// Reads so many levels of a value.
#[derive(Clone, Copy)]
struct Down {
    /// Fields of a map that are read; None reads all of them.
    fields: Option<&'static [&'static str]>,
    levels: u8,
}

impl Down {
    /// For what is in it.
    const fn below(self) -> Self {
        Self { fields: None, levels: self.levels.saturating_sub(1) }
    }
}

impl<'de> DeserializeSeed<'de> for Down {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.levels == 0 {
            return IgnoredAny::deserialize(deserializer).map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Down {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(self.below())? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(field) = fields.next_key::<String>()? {
            if self.fields.is_none_or(|wanted| wanted.contains(&field.as_str())) {
                let value = fields.next_value_seed(self.below())?;
                read.insert(field, value);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(read))
    }
}
