//! Struct bytes → serde.

use serde::{
    de::{
        Deserialize, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
        VariantAccess, Visitor, value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};
use smallvec::SmallVec;

use super::{
    Error, MAX_DEPTH, MAX_INTEGER,
    cursor::{Cursor, Kind, entry, text},
};

/// A Value, or the Struct at the top.
#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'de> {
    content: Content<'de>,
    /// How many more levels may follow.
    depth: usize,
}

#[derive(Clone, Copy)]
enum Content<'de> {
    /// A Value that has not been looked into yet.
    Value(&'de [u8]),
    /// A Value that was unwrapped, or never wrapped.
    Known(Kind<'de>),
}

impl<'de> NodeDeserializer<'de> {
    pub(super) fn root(bytes: &'de [u8]) -> Self {
        Self { content: Content::Known(Kind::Struct(bytes)), depth: MAX_DEPTH }
    }

    /// The only field of the Struct at the top, which has one.
    pub(super) fn member<T: Deserialize<'de>>(self) -> Result<T, Error> {
        let Kind::Struct(bytes) = self.kind()? else { return Err(Error::new("expected an object")) };
        match self.fields(bytes)?.single() {
            Some((key, value)) => T::deserialize(value).map_err(|e| e.under(key)),
            None => Err(Error::new("expected an object with exactly one field")),
        }
    }

    #[inline]
    fn kind(self) -> Result<Kind<'de>, Error> {
        match self.content {
            Content::Value(bytes) => Kind::of(bytes),
            Content::Known(kind) => Ok(kind),
        }
    }

    fn visit<V: Visitor<'de>>(self, kind: Kind<'de>, visitor: V) -> Result<V::Value, Error> {
        match kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(bit) => visitor.visit_bool(bit),
            Kind::Number(number) => visit_number(number, visitor),
            Kind::String(bytes) => visitor.visit_borrowed_str(text(bytes)?),
            Kind::Struct(bytes) => self.visit_fields(bytes, visitor),
            Kind::List(bytes) => {
                let mut items = ListAccess { cursor: Cursor::new(bytes), index: 0, depth: self.deeper()? };
                let value = visitor.visit_seq(&mut items)?;
                if items.cursor.is_empty() { Ok(value) } else { Err(Error::new("the list is too long")) }
            }
        }
    }

    fn visit_fields<V: Visitor<'de>>(self, bytes: &'de [u8], visitor: V) -> Result<V::Value, Error> {
        let mut fields = FieldAccess::empty(self.deeper()?);
        fields.fill(bytes)?;
        visitor.visit_map(&mut fields)
    }

    fn fields(self, bytes: &'de [u8]) -> Result<FieldAccess<'de>, Error> {
        let mut fields = FieldAccess::empty(self.deeper()?);
        fields.fill(bytes)?;
        Ok(fields)
    }

    #[inline]
    fn deeper(self) -> Result<usize, Error> {
        self.depth.checked_sub(1).ok_or_else(|| Error::new(format!("nested deeper than {MAX_DEPTH} levels")))
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, Error> {
    if !number.is_finite() {
        return Err(not_finite());
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be integral and within ±2^53")]
    if is_integer(number) { visitor.visit_i64(number as i64) } else { visitor.visit_f64(number) }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 is a double")]
fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_INTEGER as f64
}

fn not_finite() -> Error {
    Error::new("not a finite number")
}

impl<'de> Deserializer<'de> for NodeDeserializer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(self.kind()?, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind()? {
            Kind::Null => visitor.visit_none(),
            kind => visitor.visit_some(Self { content: Content::Known(kind), depth: self.depth }),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.kind()? {
            Kind::String(bytes) => visitor.visit_enum(BorrowedStrDeserializer::new(text(bytes)?)),
            Kind::Struct(bytes) => match self.fields(bytes)?.single() {
                Some((key, value)) => visitor.visit_enum(Tagged { key, value }),
                None => Err(Error::new("expected an object with exactly one field")),
            },
            kind => self.visit(kind, visitor),
        }
    }

    /// A list of its fields in their order is another form of a struct to serde's derive, and to nobody else: it is refused, and the
    /// code that would read it is in no program.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.kind()? {
            Kind::Struct(bytes) => self.visit_fields(bytes, visitor),
            other => Err(no_struct(other, &visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit() // not looked into
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier
    }
}

fn no_struct(kind: Kind<'_>, expected: &dyn Expected) -> Error {
    let found = match kind {
        Kind::Null => Unexpected::Unit,
        Kind::Bool(bit) => Unexpected::Bool(bit),
        Kind::Number(number) if !number.is_finite() => return not_finite(),
        Kind::Number(number) if is_integer(number) => Unexpected::Signed(0),
        Kind::Number(number) => Unexpected::Float(number),
        Kind::String(bytes) => match text(bytes) {
            Ok(text) => Unexpected::Str(text),
            Err(error) => return error,
        },
        Kind::Struct(_) => Unexpected::Map,
        Kind::List(_) => Unexpected::Seq,
    };
    <Error as serde::de::Error>::invalid_type(found, expected)
}

/// How many fields most objects have at most. More are on the heap.
const MOST: usize = 8;

type Entry<'de> = (&'de str, &'de [u8]);

/// The fields of one object, in the order of their keys and each once.
///
/// Go writes maps in random order: sorting makes the first of several errors the same in every call, and
/// brings repeated keys together, of which serde's derive would refuse the second.
struct FieldAccess<'de> {
    entries: SmallVec<[Entry<'de>; MOST]>,
    /// How many were handed out.
    given: usize,
    value: Option<(&'de str, NodeDeserializer<'de>)>,
    depth: usize,
}

impl<'de> FieldAccess<'de> {
    fn empty(depth: usize) -> Self {
        Self { entries: SmallVec::new(), given: 0, value: None, depth }
    }

    /// Filled where it is: it is some three hundred bytes, which are not worth moving.
    fn fill(&mut self, bytes: &'de [u8]) -> Result<(), Error> {
        let mut cursor = Cursor::new(bytes);
        while let Some(item) = cursor.next_item()? {
            self.entries.push(entry(item)?);
        }
        // Sorting compares all neighbours of the result, and so finds equal keys. It is stable: the last of them stays last.
        let mut repeated = false;
        self.entries.sort_by(|(one, _), (other, _)| {
            let order = one.cmp(other);
            repeated |= order.is_eq();
            order
        });
        if repeated {
            self.entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    *earlier = *later;
                }
                same
            });
        }
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Option<(&'de str, NodeDeserializer<'de>)> {
        let &(key, bytes) = self.entries.get(self.given)?;
        self.given += 1;
        Some((key, NodeDeserializer { content: Content::Value(bytes), depth: self.depth }))
    }

    fn single(mut self) -> Option<(&'de str, NodeDeserializer<'de>)> {
        self.next().filter(|_| self.given == self.entries.len())
    }
}

impl<'de> MapAccess<'de> for &mut FieldAccess<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.next() else { return Ok(None) };
        self.value = Some((key, value));
        seed.deserialize(Key(key)).map(Some).map_err(|e| e.under(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) = self.value.take().ok_or_else(|| Error::new("value asked for before its key"))?;
        seed.deserialize(value).map_err(|e| e.under(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len() - self.given)
    }
}

/// A key; serde's own string deserializer does not read numbers, which maps may have as keys.
struct Key<'de>(&'de str);

macro_rules! number_keys {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
    }

    number_keys! {
        deserialize_bool visit_bool
        deserialize_i8 visit_i64 deserialize_i16 visit_i64 deserialize_i32 visit_i64 deserialize_i64 visit_i64
        deserialize_u8 visit_u64 deserialize_u16 visit_u64 deserialize_u32 visit_u64 deserialize_u64 visit_u64
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct ListAccess<'de> {
    cursor: Cursor<'de>,
    index: usize,
    depth: usize,
}

impl<'de> SeqAccess<'de> for &mut ListAccess<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(bytes) = self.cursor.next_item()? else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let node = NodeDeserializer { content: Content::Value(bytes), depth: self.depth };
        seed.deserialize(node).map(Some).map_err(|e| e.at(index))
    }
}

/// `{"variant": content}`.
struct Tagged<'de> {
    key: &'de str,
    value: NodeDeserializer<'de>,
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let variant = seed.deserialize(Key(self.key)).map_err(|e| e.under(self.key))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        <()>::deserialize(self.value).map_err(|e| e.under(self.key))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.value).map_err(|e| e.under(self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_any(visitor).map_err(|e| e.under(self.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_any(visitor).map_err(|e| e.under(self.key))
    }
}
