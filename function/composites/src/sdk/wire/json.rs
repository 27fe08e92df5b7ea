//! JSON → Struct bytes, without a tree in between: one pass for the lengths, one for the bytes.
//!
//! Most of what is written is JSON already, and its keys are in order. For the rest there is [`super::ser`], which also says
//! what is wrong with what cannot be written.

use prost::bytes::Bytes;
use serde_json::{Map, Number, Value};

use super::{
    MAX_DEPTH, MAX_INTEGER,
    node::{frame, framed, frames},
};

/// The whole message. None: something in it cannot be written.
pub(super) fn to_struct(value: &Value) -> Option<Bytes> {
    let Value::Object(map) = value else { return None };
    let mut lengths = Vec::with_capacity(64);
    object(map, MAX_DEPTH, &mut lengths)?;
    let len = lengths[0];
    let mut writer = JsonWriter { out: Vec::with_capacity(len), lengths: &lengths, next: 1 };
    writer.fields(map);
    debug_assert_eq!((writer.out.len(), writer.next), (len, lengths.len()));
    Some(writer.out.into())
}

/// The length of a Value. Those of the objects and lists in it are noted in the order in which they are written.
fn measure(value: &Value, depth: usize, lengths: &mut Vec<usize>) -> Option<usize> {
    Some(match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(number) => double(number).map(|_| 9)?,
        Value::String(text) => framed(text.len()),
        Value::Object(map) => framed(object(map, depth, lengths)?),
        Value::Array(items) => {
            let (depth, slot) = (depth.checked_sub(1)?, lengths.len());
            lengths.push(0);
            let mut len = 0;
            for item in items {
                len += framed(measure(item, depth, lengths)?);
            }
            lengths[slot] = len;
            framed(len)
        }
    })
}

fn object(map: &Map<String, Value>, depth: usize, lengths: &mut Vec<usize>) -> Option<usize> {
    let (depth, slot) = (depth.checked_sub(1)?, lengths.len());
    lengths.push(0);
    let mut len = 0;
    for (key, value) in map {
        len += framed(framed(key.len()) + framed(measure(value, depth, lengths)?));
    }
    lengths[slot] = len;
    Some(len)
}

/// The number as the wire has it, if it is the same there.
#[inline]
fn double(number: &Number) -> Option<f64> {
    match number.as_i64() {
        #[expect(clippy::cast_precision_loss, reason = "checked to be within ±2^53")]
        Some(integer) => (-MAX_INTEGER..=MAX_INTEGER).contains(&integer).then_some(integer as f64),
        None => number.as_f64().filter(|_| number.is_f64()),
    }
}

/// Writes what was measured.
struct JsonWriter<'a> {
    out: Vec<u8>,
    lengths: &'a [usize],
    /// The next object or list.
    next: usize,
}

impl JsonWriter<'_> {
    fn fields(&mut self, map: &Map<String, Value>) {
        for (key, value) in map {
            let len = self.len(value);
            frames((0x0a, framed(key.len()) + framed(len)), (0x0a, key.len()), &mut self.out);
            self.out.extend_from_slice(key.as_bytes());
            if let Value::String(text) = value {
                frames((0x12, len), (0x1a, text.len()), &mut self.out);
                self.out.extend_from_slice(text.as_bytes());
            } else {
                frame(0x12, len, &mut self.out);
                self.value(value);
            }
        }
    }

    /// The length of a Value that is written next.
    #[inline]
    fn len(&self, value: &Value) -> usize {
        match value {
            Value::Null | Value::Bool(_) => 2,
            Value::Number(_) => 9,
            Value::String(text) => framed(text.len()),
            Value::Object(_) | Value::Array(_) => framed(self.lengths[self.next]),
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.extend_from_slice(&[0x08, 0]),
            Value::Bool(bit) => self.out.extend_from_slice(&[0x20, u8::from(*bit)]),
            Value::Number(number) => {
                self.out.push(0x11);
                // Measured before, so it is one.
                self.out.extend_from_slice(&double(number).unwrap_or_default().to_le_bytes());
            }
            Value::String(text) => {
                frame(0x1a, text.len(), &mut self.out);
                self.out.extend_from_slice(text.as_bytes());
            }
            Value::Object(map) => {
                self.open(0x2a);
                self.fields(map);
            }
            Value::Array(items) => {
                self.open(0x32);
                for item in items {
                    frame(0x0a, self.len(item), &mut self.out);
                    self.value(item);
                }
            }
        }
    }

    #[inline]
    fn open(&mut self, tag: u8) {
        frame(tag, self.lengths[self.next], &mut self.out);
        self.next += 1;
    }
}
