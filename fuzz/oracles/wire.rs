//! Our reader of `google.protobuf.Struct` against prost-types, which knows nothing of it.

use function_testplatform::wire::{to_struct, to_value};
use prost::Message as _;
use prost_types::{Struct, Value as Proto, value::Kind};
use serde_json::{Map, Value};

/// The largest magnitude up to which every integer is a double of its own.
const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    if let Ok(value) = to_value(bytes) {
        came_back(&value);
    }
    let Ok(theirs) = Struct::decode(bytes) else { return };
    // What they read has one form on the wire, without what is repeated, unknown or a default: there both have to agree.
    let canonical = theirs.encode_to_vec();
    let expected = object(&theirs);
    match to_value(&canonical) {
        Ok(ours) => assert_eq!(Some(&ours), expected.as_ref()),
        Err(error) => {
            let deep = error.to_string().contains("nested");
            assert!(expected.is_none() || deep, "only they can read it: {error}");
        }
    }
    // As long as it is, nothing in it was repeated, unknown or a default.
    if canonical.len() == bytes.len() {
        match to_value(bytes) {
            Ok(ours) => assert_eq!(Some(ours), expected),
            // They do not look at the wire type of an entry, and take a group for a message.
            Err(error) => {
                let allowed = ["malformed", "nested"].iter().any(|words| error.to_string().contains(words));
                assert!(expected.is_none() || allowed, "{error}");
            }
        }
    }
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
