//! `google.protobuf.Struct` bytes ⇄ serde, without a message tree in between.
//!
//! A Struct is JSON in protobuf clothes. [`from_struct`] reads a type straight off the wire: what the type
//! does not name is skipped by its length, strings are borrowed, nothing is allocated that is not kept.
//! [`to_struct`] writes one form only: keys sorted, every length computed once.
//!
//! Numbers are doubles on the wire. One without a fraction and within ±2^53 reads as an integer; an integer
//! beyond that cannot be written, because it would silently become another one. Where an encoder repeats a
//! key or a field, the last one counts (protobuf would merge two occurrences of a message; no encoder emits
//! that). An error carries the path to what is wrong and never the value found there: it ends up in logs and
//! conditions, and the value may be a secret, or 64 KiB long.
//!
//! **Libraries.** prost-types, pbjson-types and prost-wkt-types decode a Struct into a tree of maps first, and that tree was most of the
//! cost of a call. The generated messages stay prost's; a test compares both decoders on every recorded request.

mod cursor;
mod de;
mod error;
mod json;
mod node;
mod ser;
mod trim;

pub use error::Error;
use prost::bytes::Bytes;
use serde::{Deserialize, Serialize};
pub use trim::Trimmer;
pub(crate) use trim::{FieldList, Keep, trimmed};

/// How many objects and lists may be nested. Kubernetes objects stay far below; the stack is ours.
pub const MAX_DEPTH: usize = 100;

/// The largest magnitude up to which every integer is a double of its own: 2^53.
const MAX_INTEGER: i64 = 1 << 53;

/// Reads a `T` from the bytes of a `google.protobuf.Struct`; no bytes are an empty object.
///
/// ```
/// # use testplatform_composites::sdk::wire;
/// #[derive(serde::Deserialize)]
/// struct Named<'a> { kind: &'a str, replicas: i64 }
///
/// let bytes = wire::to_struct(&serde_json::json!({"kind": "Pool", "replicas": 3, "other": [null]}))?;
/// let named: Named = wire::from_struct(&bytes)?;
/// assert_eq!((named.kind, named.replicas), ("Pool", 3));
/// # Ok::<(), wire::Error>(())
/// ```
pub fn from_struct<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    T::deserialize(de::NodeDeserializer::root(bytes))
}

/// Reads one member out of JSON, as [`from_struct`] reads it: an error names the path from `name` on, and quotes no value.
pub fn from_member<T: serde::de::DeserializeOwned>(
    name: &str,
    value: &serde_json::Value,
) -> Result<T, Error> {
    let bytes = json_to_struct(&serde_json::json!({ name: value }))?;
    de::NodeDeserializer::root(&bytes).member()
}

/// Reads the bytes of a `google.protobuf.Struct` as JSON.
pub fn to_value(bytes: &[u8]) -> Result<serde_json::Value, Error> {
    from_struct(bytes)
}

/// Writes `value`, which must be an object, as the bytes of a `google.protobuf.Struct`.
///
/// Equal values give equal bytes. A null is written as such: who does not mean to set a field to null must
/// leave it out.
pub fn to_struct<T: Serialize + ?Sized>(value: &T) -> Result<Bytes, Error> {
    ser::tree(value)?.into_struct()
}

/// Writes JSON as [`to_struct`] does, in a fraction of the time: nothing is copied but into the message.
pub fn json_to_struct(value: &serde_json::Value) -> Result<Bytes, Error> {
    json::to_struct(value).map_or_else(|| to_struct(value), Ok)
}
