//! Where the time of a pass goes: the pure core for each example, and objects to and from the wire, beside what prost
//! generates for the same. `cargo bench -p function-testplatform` runs all; a word behind `--` selects.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark that cannot go on says so, and criterion's macros make functions"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use function_model::examples;
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use prost_types::{Struct, Value as Message, value::Kind};
use serde_json::Value;
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{Resource, RunFunctionRequest},
        wire,
    },
};

fn now() -> Timestamp {
    examples::MADE.parse().unwrap()
}

/// [`run`] alone, on requests that are decoded already.
fn core(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core");
    for (name, request) in examples::load_examples(now()) {
        group.bench_function(&name, |bencher| {
            bencher.iter(|| run(black_box(&request), &Options::default(), now()));
        });
    }
    group.finish();
}

/// The whole request: resources of other steps stay bytes.
fn request(criterion: &mut Criterion) {
    let bytes = Bytes::from(ready().encode_to_vec());
    let mut group = criterion.benchmark_group("request");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("decode", |bencher| {
        bencher.iter(|| RunFunctionRequest::decode(black_box(bytes.clone())).unwrap());
    });
    group.finish();
}

/// One observed object: to JSON and back, ours without a tree of messages in between, prost's with it.
fn object(criterion: &mut Criterion) {
    let bytes = writer();
    let value = wire::to_value(&bytes).unwrap();
    assert_eq!(json(&Struct::decode(&bytes[..]).unwrap()), value, "both read the same");
    let mut group = criterion.benchmark_group("object");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("decode/ours", |b| b.iter(|| wire::to_value(black_box(&bytes)).unwrap()));
    group.bench_function("decode/prost", |b| {
        b.iter(|| json(&Struct::decode(black_box(&bytes[..])).unwrap()));
    });
    group.bench_function("encode/ours", |b| b.iter(|| wire::to_struct(black_box(&value)).unwrap()));
    group.bench_function("encode/prost", |b| {
        b.iter(|| message(black_box(&value)).encode_to_vec());
    });
    group.finish();
}

fn ready() -> RunFunctionRequest {
    examples::load_examples(now()).into_iter().find(|(name, _)| name == "ready").unwrap().1
}

fn writer() -> Bytes {
    let bytes = ready().observed.unwrap().resources.remove("ec").unwrap();
    Resource::decode(bytes).unwrap().resource
}

/// What everybody writes who has prost's messages and wants JSON.
fn json(message: &Struct) -> Value {
    Value::Object(message.fields.iter().map(|(key, value)| (key.clone(), json_value(value))).collect())
}

fn json_value(value: &Message) -> Value {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(bit)) => (*bit).into(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be whole, and small in these objects"
        )]
        Some(Kind::NumberValue(number)) if number.fract() == 0.0 => (*number as i64).into(),
        Some(Kind::NumberValue(number)) => (*number).into(),
        Some(Kind::StringValue(text)) => text.clone().into(),
        Some(Kind::StructValue(inner)) => json(inner),
        Some(Kind::ListValue(list)) => list.values.iter().map(json_value).collect(),
    }
}

/// And the way back.
fn message(value: &Value) -> Struct {
    let fields = value.as_object().into_iter().flatten();
    Struct { fields: fields.map(|(key, value)| (key.clone(), message_value(value))).collect() }
}

fn message_value(value: &Value) -> Message {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(bit) => Kind::BoolValue(*bit),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => {
            Kind::ListValue(prost_types::ListValue { values: items.iter().map(message_value).collect() })
        }
        Value::Object(_) => Kind::StructValue(message(value)),
    };
    Message { kind: Some(kind) }
}

criterion_group!(benches, core, request, object);
criterion_main!(benches);
