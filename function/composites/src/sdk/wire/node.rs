//! The one form in which an object goes on the wire.

use std::borrow::Cow;

use prost::{
    bytes::Bytes,
    encoding::{encode_varint, encoded_len_varint},
};

use super::Error;

pub(super) type Key = Cow<'static, str>;

/// A value on its way to the wire. Objects and lists know their encoded length, so that the length in front
/// of each of them is computed once and not once per level above it.
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Struct { fields: Vec<(Key, Node)>, len: usize },
    List { items: Vec<Node>, len: usize },
}

impl Node {
    /// The whole message, for which this must be an object.
    pub(super) fn into_struct(self) -> Result<Bytes, Error> {
        let Self::Struct { fields, len } = self else { return Err(Error::new("expected an object")) };
        let mut out = Vec::with_capacity(len);
        write_fields(&fields, &mut out);
        debug_assert_eq!(out.len(), len);
        Ok(out.into())
    }

    pub(super) fn object(mut fields: Vec<(Key, Self)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(&mut later.1, &mut earlier.1); // as in JSON: the last one counts
            }
            same
        });
        let len = fields.iter().map(|(key, value)| framed(entry_len(key, value))).sum();
        Self::Struct { fields, len }
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        let len = items.iter().map(|item| framed(item.len())).sum();
        Self::List { items, len }
    }

    /// The length of the Value.
    fn len(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 2,
            Self::Number(_) => 9,
            Self::String(text) => framed(text.len()),
            Self::Struct { len, .. } | Self::List { len, .. } => framed(*len),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(&[0x08, 0]),
            Self::Bool(bit) => out.extend_from_slice(&[0x20, u8::from(*bit)]),
            Self::Number(number) => {
                out.push(0x11);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::String(text) => {
                frame(0x1a, text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
            Self::Struct { fields, len } => {
                frame(0x2a, *len, out);
                write_fields(fields, out);
            }
            Self::List { items, len } => {
                frame(0x32, *len, out);
                for item in items {
                    frame(0x0a, item.len(), out);
                    item.write(out);
                }
            }
        }
    }
}

fn write_fields(fields: &[(Key, Node)], out: &mut Vec<u8>) {
    for (key, value) in fields {
        frame(0x0a, entry_len(key, value), out);
        frame(0x0a, key.len(), out);
        out.extend_from_slice(key.as_bytes());
        frame(0x12, value.len(), out);
        value.write(out);
    }
}

fn entry_len(key: &str, value: &Node) -> usize {
    framed(key.len()) + framed(value.len())
}

/// The length of `len` bytes with a tag of one byte and their length in front.
#[inline]
pub(super) fn framed(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

/// A tag and a length, and behind them those of what comes first in it. Mostly each length is one byte: then it is one write.
#[inline]
pub(super) fn frames(outer: (u8, usize), inner: (u8, usize), out: &mut Vec<u8>) {
    if let (Ok(whole @ ..0x80), Ok(first @ ..0x80)) = (u8::try_from(outer.1), u8::try_from(inner.1)) {
        out.extend_from_slice(&[outer.0, whole, inner.0, first]);
    } else {
        frame(outer.0, outer.1, out);
        frame(inner.0, inner.1, out);
    }
}

/// A tag of one byte and the length of what follows.
#[inline]
pub(super) fn frame(tag: u8, len: usize, out: &mut Vec<u8>) {
    out.push(tag);
    match u8::try_from(len) {
        // As most are.
        Ok(len @ ..0x80) => out.push(len),
        _ => encode_varint(len as u64, out),
    }
}
