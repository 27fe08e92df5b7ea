//! Our reader of `google.protobuf.Struct` against prost-types, which knows nothing of it.

use std::collections::BTreeSet;

use prost::{
    Message as _,
    encoding::{WireType, decode_key, decode_varint},
};
use prost_types::{Struct, Value as Proto, value::Kind};
use serde_json::{Map, Value};
use testplatform_composites::sdk::wire::{Error, to_struct, to_value};

/// The largest magnitude up to which every integer is a double of its own.
const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    compared(bytes, to_value);
}

/// The same of any reader.
pub fn compared(bytes: &[u8], ours: impl Fn(&[u8]) -> Result<Value, Error>) {
    if let Ok(value) = ours(bytes) {
        came_back(&value);
    }
    let Ok(theirs) = Struct::decode(bytes) else { return };
    let expected = object(&theirs);
    // What they read has one form on the wire, without what is repeated, unknown or a default: there both have to agree.
    same(ours(&theirs.encode_to_vec()), expected.as_ref());
    // And with all of that, but for what is known to differ.
    if is_alike(Message::Struct, bytes) {
        same(ours(bytes), expected.as_ref());
    }
}

fn same(ours: Result<Value, Error>, expected: Option<&Value>) {
    match ours {
        Ok(ours) => assert_eq!(Some(&ours), expected),
        Err(error) => {
            let deep = error.to_string().contains("nested");
            assert!(expected.is_none() || deep, "only they can read it: {error}");
        }
    }
}

/// The messages that a Struct is made of.
#[derive(Clone, Copy)]
enum Message {
    Struct,
    Entry,
    Value,
    List,
}

impl Message {
    /// The message that a field holds, if it holds one.
    fn of(self, field: u32) -> Option<Self> {
        match (self, field) {
            (Self::Struct, 1) => Some(Self::Entry),
            (Self::Entry, 2) | (Self::List, 1) => Some(Self::Value),
            (Self::Value, 5) => Some(Self::Struct),
            (Self::Value, 6) => Some(Self::List),
            (Self::Struct | Self::Entry | Self::Value | Self::List, _) => None,
        }
    }

    /// Whether its messages are in fields that stand for one, and not in a list or a map.
    fn is_single(self) -> bool {
        match self {
            Self::Entry | Self::Value => true,
            Self::Struct | Self::List => false,
        }
    }
}

/// Whether nothing is in bytes that they can read of which it is known that we read it otherwise: a group, which is malformed to us;
/// a message in a field of another wire type, at which they do not look in a map; and a message that is repeated where there is one,
/// of which to us the last counts, and which they merge.
fn is_alike(message: Message, mut bytes: &[u8]) -> bool {
    let mut seen = BTreeSet::new();
    while !bytes.is_empty() {
        let Some((number, part)) = next(&mut bytes) else { return false };
        let Some(inner) = message.of(number) else { continue };
        let once = !message.is_single() || seen.insert(number);
        if !once || !part.is_some_and(|part| is_alike(inner, part)) {
            return false;
        }
    }
    true
}

/// The next field: its number, and its bytes where it has a length. None: a group.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u32, Option<&'a [u8]>)> {
    let (number, wire_type) = decode_key(bytes).ok()?;
    let size = match wire_type {
        WireType::Varint => {
            decode_varint(bytes).ok()?;
            return Some((number, None));
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => usize::try_from(decode_varint(bytes).ok()?).ok()?,
        WireType::StartGroup | WireType::EndGroup => return None,
    };
    let (part, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    Some((number, (wire_type == WireType::LengthDelimited).then_some(part)))
}

/// What we read we can write, so that both read it again.
fn came_back(value: &Value) {
    let bytes = to_struct(value).expect("what was read can be written");
    assert_eq!(to_value(&bytes).as_ref(), Ok(value));
    let theirs = Struct::decode(bytes).expect("they cannot read what we write");
    assert_eq!(object(&theirs).as_ref(), Some(value));
}

fn object(theirs: &Struct) -> Option<Value> {
    let fields = theirs.fields.iter().map(|(key, value)| Some((key.clone(), json(value)?)));
    fields.collect::<Option<Map<_, _>>>().map(Value::Object)
}

/// None where JSON has no words for it.
fn json(theirs: &Proto) -> Option<Value> {
    Some(match &theirs.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(bit)) => Value::Bool(*bit),
        #[allow(clippy::cast_possible_truncation, reason = "within ±2^53 and without a fraction")]
        Some(Kind::NumberValue(number)) if number.fract() == 0.0 && number.abs() <= MAX_INTEGER => {
            Value::from(*number as i64)
        }
        Some(Kind::NumberValue(number)) => serde_json::Number::from_f64(*number).map(Value::Number)?,
        Some(Kind::StringValue(text)) => Value::String(text.clone()),
        Some(Kind::ListValue(list)) => list.values.iter().map(json).collect::<Option<Vec<_>>>()?.into(),
        Some(Kind::StructValue(inner)) => object(inner)?,
    })
}
