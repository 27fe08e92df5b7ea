//! The wire codec against prost-types, which knows nothing of it, and against bytes nobody should send.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message as _;
use prost_types::{ListValue, Struct, Value as Proto, value::Kind};
use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use testplatform_composites::sdk::wire::{self, from_struct, json_to_struct, to_struct, to_value};

const MAX_INTEGER: i64 = 1 << 53;

fn proto(value: &Value) -> Proto {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(bit) => Kind::BoolValue(*bit),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => Kind::ListValue(ListValue { values: items.iter().map(proto).collect() }),
        Value::Object(map) => Kind::StructValue(proto_struct(map)),
    };
    Proto { kind: Some(kind) }
}

pub(crate) fn proto_struct(map: &Map<String, Value>) -> Struct {
    Struct { fields: map.iter().map(|(key, value)| (key.clone(), proto(value))).collect() }
}

/// The entries of a Struct, each as its own Struct message: concatenated in any order they are the whole.
fn entries(map: &Map<String, Value>) -> Vec<Vec<u8>> {
    let one = |(key, value): (&String, &Value)| {
        Struct { fields: BTreeMap::from([(key.clone(), proto(value))]) }.encode_to_vec()
    };
    map.iter().map(one).collect()
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MAX_INTEGER..=MAX_INTEGER).prop_map(Value::from),
        // A double without a fraction is an integer by the time it has crossed the wire.
        any::<f64>()
            .prop_filter("finite, with a fraction", |n| n.is_finite() && n.fract() != 0.0)
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(".{0,12}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map(".{0,12}", value, 0..8).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn output_of_prost_types_is_readable(map in object()) {
        prop_assert_eq!(to_value(&proto_struct(&map).encode_to_vec()).unwrap(), Value::Object(map));
    }

    #[test]
    fn prost_types_reads_our_output(map in object()) {
        let bytes = to_struct(&map).unwrap();
        prop_assert_eq!(Struct::decode(bytes.clone()).unwrap(), proto_struct(&map));
        prop_assert_eq!(json_to_struct(&Value::Object(map.clone())).unwrap(), &bytes);
        prop_assert_eq!(to_value(&bytes).unwrap(), Value::Object(map));
    }

    #[test]
    fn the_order_of_fields_on_the_wire_does_not_matter(
        (map, shuffled) in object().prop_flat_map(|map| (Just(map.clone()), Just(entries(&map)).prop_shuffle()))
    ) {
        prop_assert_eq!(to_value(&shuffled.concat()).unwrap(), Value::Object(map));
    }

    #[test]
    fn truncated_bytes_never_panic(map in object(), cut in any::<prop::sample::Index>()) {
        let bytes = to_struct(&map).unwrap();
        let cut = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
        if let Ok(value) = to_value(&bytes[..cut]) {
            // Cut between two entries: what is left is a smaller object.
            prop_assert!(value.as_object().unwrap().iter().all(|(key, value)| map.get(key) == Some(value)));
        }
    }

    #[test]
    fn damaged_bytes_never_panic(map in object(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = to_struct(&map).unwrap().to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = to_value(&bytes);
        let _ = from_struct::<Everything<'_>>(&bytes);
    }

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>) {
        // Both readers agree on input that both can read: prost-types skips groups, which are refused here.
        if let (Ok(value), Ok(theirs)) = (to_value(&bytes), Struct::decode(&*bytes)) {
            prop_assert_eq!(value.as_object().unwrap().len(), theirs.fields.len());
        }
        let _ = from_struct::<Everything<'_>>(&bytes);
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Everything<'a> {
    #[serde(borrow, default)]
    name: &'a str,
    #[serde(default)]
    count: i64,
    small: Option<u8>,
    ratio: Option<f64>,
    on: Option<bool>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    ports: BTreeMap<u16, String>,
    #[serde(default)]
    pair: Option<(i64, String)>,
    #[serde(default)]
    shapes: Vec<Shape>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Shape {
    Point,
    Circle(i64),
    Line(i64, i64),
    Box { width: i64 },
}

fn everything() -> Everything<'static> {
    Everything {
        name: "ütf-8",
        count: -3,
        small: Some(255),
        ratio: Some(0.5),
        on: Some(true),
        labels: BTreeMap::from([("example.org/a".into(), "b".into())]),
        ports: BTreeMap::from([(443, "https".into())]),
        pair: Some((1, "x".into())),
        shapes: vec![Shape::Point, Shape::Circle(1), Shape::Line(1, 2), Shape::Box { width: 4 }],
    }
}

#[test]
fn types_come_back_as_they_went() {
    let bytes = to_struct(&everything()).unwrap();
    assert_eq!(from_struct::<Everything<'_>>(&bytes).unwrap(), everything());
    assert_eq!(to_value(&bytes).unwrap(), serde_json::to_value(everything()).unwrap());
}

#[test]
fn strings_are_borrowed_from_the_message() {
    let bytes = to_struct(&everything()).unwrap();
    let name = from_struct::<Everything<'_>>(&bytes).unwrap().name;
    assert!(bytes.as_ptr_range().contains(&name.as_ptr()));
}

#[test]
fn no_bytes_are_an_empty_object() {
    assert_eq!(to_value(b"").unwrap(), json!({}));
    assert_eq!(from_struct::<Everything<'_>>(b"").unwrap(), Everything::default());
    assert!(to_struct(&json!({})).unwrap().is_empty());
}

#[test]
fn the_same_value_in_another_order_gives_the_same_bytes() {
    #[derive(Serialize)]
    struct Unsorted {
        z: i64,
        a: i64,
    }
    assert_eq!(to_struct(&Unsorted { z: 1, a: 2 }), to_struct(&json!({"a": 2, "z": 1})));
}

#[rstest]
#[case::largest(9_007_199_254_740_992.0, json!(9_007_199_254_740_992_i64))]
#[case::smallest(-9_007_199_254_740_992.0, json!(-9_007_199_254_740_992_i64))]
#[case::above(9_007_199_254_740_994.0, json!(9_007_199_254_740_994.0))]
#[case::below(-9_007_199_254_740_994.0, json!(-9_007_199_254_740_994.0))]
#[case::huge(1e300, json!(1e300))]
#[case::fraction(0.5, json!(0.5))]
#[case::whole(3.0, json!(3))]
#[case::negative_zero(-0.0, json!(0))]
fn doubles_become_integers_where_they_are(#[case] number: f64, #[case] expected: Value) {
    let bytes = Struct { fields: BTreeMap::from([("n".into(), Proto::from(number))]) }.encode_to_vec();
    assert_eq!(to_value(&bytes).unwrap(), json!({ "n": expected }));
}

#[rstest]
#[case::positive(json!({"spec": {"n": MAX_INTEGER + 1}}), "spec.n")]
#[case::negative(json!({"spec": [0, -MAX_INTEGER - 1]}), "spec[1]")]
#[case::unsigned(json!({"n": u64::MAX}), "n")]
fn an_integer_that_would_change_is_not_written(#[case] value: Value, #[case] path: &str) {
    let error = to_struct(&value).unwrap_err();
    assert_eq!(json_to_struct(&value).unwrap_err(), error);
    assert_eq!(error.path(), path);
    assert_eq!(error.message(), "an integer beyond ±2^53 cannot be written without loss");
}

#[rstest]
#[case(f64::NAN)]
#[case(f64::INFINITY)]
#[case(f64::NEG_INFINITY)]
fn non_json_numbers_are_refused_both_ways(#[case] number: f64) {
    let inner = Struct { fields: BTreeMap::from([("x y".into(), Proto::from(number))]) };
    let outer = Proto::from(vec![Proto { kind: Some(Kind::StructValue(inner)) }]);
    let bytes = Struct { fields: BTreeMap::from([("list".into(), outer)]) }.encode_to_vec();
    assert_eq!(to_value(&bytes).unwrap_err().to_string(), "list[0][\"x y\"]: not a finite number");
    // serde_json has no such numbers, so a type of our own.
    assert_eq!(to_struct(&BTreeMap::from([("x", number)])).unwrap_err().path(), "x");
}

#[test]
fn null_and_unset_are_absent() {
    let unset = Struct {
        fields: BTreeMap::from([
            ("small".into(), Proto { kind: None }),
            ("ratio".into(), Proto { kind: Some(Kind::NullValue(0)) }),
        ]),
    };
    let bytes = unset.encode_to_vec();
    assert_eq!(to_value(&bytes).unwrap(), json!({"small": null, "ratio": null}));
    assert_eq!(from_struct::<Everything<'_>>(&bytes).unwrap(), Everything::default());
    assert_eq!(
        Struct::decode(to_struct(&json!({"a": null})).unwrap()).unwrap().fields["a"],
        Proto { kind: Some(Kind::NullValue(0)) }
    );
}

#[test]
fn the_last_of_equal_keys_counts() {
    let one = to_struct(&json!({"name": "first", "count": 1})).unwrap();
    let two = to_struct(&json!({"name": "second"})).unwrap();
    let bytes = [one, two].concat();
    assert_eq!(to_value(&bytes).unwrap(), json!({"name": "second", "count": 1}));
    let typed: Everything<'_> = from_struct(&bytes).unwrap();
    assert_eq!((typed.name, typed.count), ("second", 1));
}

#[test]
fn unknown_fields_are_skipped_by_length() {
    // Field 9 in every wire type that has a length, in a Struct, an entry and a Value.
    let unknown = b"\x48\x05\x49\x00\x00\x00\x00\x00\x00\x00\x00\x4a\x02\xff\xff\x4d\x00\x00\x00\x00";
    let value = [unknown.as_slice(), b"\x1a\x01v", unknown].concat();
    let entry =
        [unknown.as_slice(), b"\x0a\x01k\x12", &[u8::try_from(value.len()).unwrap()], &value].concat();
    let bytes = [unknown.as_slice(), b"\x0a", &[u8::try_from(entry.len()).unwrap()], &entry].concat();
    assert_eq!(to_value(&bytes).unwrap(), json!({"k": "v"}));
}

/// Input that begins in the usual encoding and continues in another, or has the same meaning in other bytes: the fast paths must not stop
/// too early.
#[rstest]
#[case::another_kind_after(b"\x0a\x0a\x0a\x01k\x12\x05\x1a\x01a\x20\x01", json!({"k": true}))]
#[case::another_bit_after(b"\x0a\x09\x0a\x01k\x12\x04\x20\x01\x20\x00", json!({"k": false}))]
#[case::a_list_after_a_number(b"\x0a\x10\x0a\x01k\x12\x0b\x11\0\0\0\0\0\0\xf0\x3f\x32\x00", json!({"k": []}))]
#[case::another_value_after(b"\x0a\x0d\x0a\x01k\x12\x03\x1a\x01a\x12\x03\x1a\x01b", json!({"k": "b"}))]
#[case::another_key_after(b"\x0a\x0b\x0a\x01k\x12\x03\x1a\x01a\x0a\x01l", json!({"l": "a"}))]
#[case::value_before_key(b"\x0a\x08\x12\x03\x1a\x01a\x0a\x01k", json!({"k": "a"}))]
#[case::key_alone(b"\x0a\x03\x0a\x01k", json!({"k": null}))]
#[case::lengths_in_two_bytes(b"\x0a\x8b\x00\x0a\x81\x00k\x12\x84\x00\x1a\x81\x00a", json!({"k": "a"}))]
#[case::a_bit_in_two_bytes(b"\x0a\x08\x0a\x01k\x12\x03\x20\x81\x00", json!({"k": true}))]
#[case::any_bit_but_none(b"\x0a\x07\x0a\x01k\x12\x02\x20\x02", json!({"k": true}))]
fn other_forms_of_the_same_are_read(#[case] bytes: &[u8], #[case] expected: Value) {
    assert_eq!(to_value(bytes).unwrap(), expected);
}

#[rstest]
#[case::group(b"\x0b\x0c", "wire type that is not supported")]
#[case::end_group(b"\x4c", "wire type that is not supported")]
#[case::reserved(b"\x4e", "wire type that is not supported")]
#[case::field_zero(b"\x02\x00", "zero")]
#[case::varint_too_long(b"\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "64 bits")]
#[case::varint_cut(b"\x48\xff", "ends early")]
#[case::length_beyond_end(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends early")]
#[case::text_beyond_end(b"\x0a\x08\x0a\x01k\x12\x03\x1a\x02a", "ends early")]
#[case::wrong_type(b"\x08\x01", "wrong wire type")]
#[case::key_not_utf8(b"\x0a\x03\x0a\x01\xff", "not UTF-8")]
#[case::value_not_utf8(
    b"\x0a\x08\x0a\x01k\x12\x03\x1a\x01\xff",
    "k: malformed message: a string is not UTF-8"
)]
fn malformed_messages_are_refused(#[case] bytes: &[u8], #[case] what: &str) {
    let error = to_value(bytes).unwrap_err().to_string();
    assert!(error.contains(what), "{error}");
}

#[test]
fn nesting_has_a_limit_both_ways() {
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let deepest = nested(wire::MAX_DEPTH);
    assert_eq!(to_value(&to_struct(&deepest).unwrap()).unwrap(), deepest);
    assert_eq!(json_to_struct(&deepest), to_struct(&deepest));
    for written in [to_struct(&nested(wire::MAX_DEPTH + 1)), json_to_struct(&nested(wire::MAX_DEPTH + 1))] {
        assert!(written.unwrap_err().message().contains("deeper"));
    }

    // Too deep for our own writer, so wrapped by hand: an entry "a" that holds a Struct.
    let mut bytes = Vec::new();
    for _ in 0..10_000 {
        let mut value = vec![0x2a];
        prost::encoding::encode_varint(bytes.len() as u64, &mut value);
        value.extend(&bytes);
        let mut entry = b"\x0a\x01a\x12".to_vec();
        prost::encoding::encode_varint(value.len() as u64, &mut entry);
        entry.extend(&value);
        bytes = vec![0x0a];
        prost::encoding::encode_varint(entry.len() as u64, &mut bytes);
        bytes.extend(&entry);
    }
    assert!(to_value(&bytes).unwrap_err().message().contains("deeper"));
    // Skipped fields are not descended into.
    assert_eq!(from_struct::<Everything<'_>>(&bytes).unwrap(), Everything::default());
}

#[rstest]
#[case::string(json!({"count": "s3cret"}), "count: expected i64, found a string")]
#[case::fraction(json!({"count": 1.5}), "count: expected i64, found a number with a fraction")]
#[case::range(json!({"small": 256}), "small: expected u8, found another integer")]
#[case::dotted(
    json!({"labels": {"example.org/a": 1}}),
    "labels[\"example.org/a\"]: expected a string, found an integer"
)]
#[case::newline(json!({"labels": {"a\nb": {}}}), "labels[\"a\\nb\"]: expected a string, found an object")]
#[case::plain(json!({"labels": {"foo": [1]}}), "labels.foo: expected a string, found a list")]
#[case::list(json!({"shapes": ["point", {"box": {"width": null}}]}), "shapes[1].box.width: expected i64, found null")]
#[case::missing(json!({"shapes": [{"box": {}}]}), "shapes[0].box: missing field `width`")]
#[case::variant(
    json!({"shapes": ["a\nb"]}),
    "shapes[0]: unknown value \"a\\nb\", expected one of point, circle, line, box"
)]
#[case::two_variants(
    json!({"shapes": [{"circle": 1, "point": null}]}),
    "shapes[0]: expected an object with exactly one field"
)]
#[case::too_long(json!({"pair": [1, "x", 3]}), "pair: the list is too long")]
#[case::first_by_name(json!({"small": "x", "count": "x"}), "count: expected i64, found a string")]
fn errors_name_the_path_and_never_the_value(#[case] value: Value, #[case] expected: &str) {
    let bytes = to_struct(&value).unwrap();
    assert_eq!(from_struct::<Everything<'_>>(&bytes).unwrap_err().to_string(), expected);
}

#[test]
fn a_long_key_is_cut_in_errors() {
    let value = json!({"labels": {"k".repeat(65_536): 1}});
    let error = from_struct::<Everything<'_>>(&to_struct(&value).unwrap()).unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn unknown_fields_are_named_where_a_type_refuses_them() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        #[serde(rename = "known")]
        _known: Option<i64>,
    }
    let bytes = to_struct(&json!({"known": 1, "ttl": "s3cret"})).unwrap();
    let error = from_struct::<Strict>(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "ttl: unknown field, expected known");
}

#[rstest]
#[case(json!([]))]
#[case(json!("text"))]
#[case(json!(null))]
fn only_an_object_is_a_struct(#[case] value: Value) {
    assert_eq!(to_struct(&value).unwrap_err().to_string(), "expected an object");
    assert_eq!(json_to_struct(&value), to_struct(&value));
}
