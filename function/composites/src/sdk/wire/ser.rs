//! serde → tree of [`Node`]s.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{
    Error, MAX_DEPTH, MAX_INTEGER,
    node::{Key, Node},
};

/// Makes the tree of a value.
pub(super) fn tree<T: Serialize + ?Sized>(value: &T) -> Result<Node, Error> {
    value.serialize(StructWriter { depth: MAX_DEPTH })
}

#[derive(Clone, Copy)]
struct StructWriter {
    /// How many more levels may follow.
    depth: usize,
}

impl StructWriter {
    fn deeper(self) -> Result<Self, Error> {
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| Error::new(format!("nested deeper than {MAX_DEPTH} levels")))?;
        Ok(Self { depth })
    }

    fn fields(self, tag: Option<&'static str>, len: usize) -> Result<FieldSerializer, Error> {
        // A variant's content is one level further down than the object that names the variant.
        let inner = if tag.is_some() { self.deeper()?.deeper()? } else { self.deeper()? };
        Ok(FieldSerializer { writer: inner, tag, key: None, nodes: Vec::with_capacity(len) })
    }

    fn items(self, tag: Option<&'static str>, len: usize) -> Result<ListSerializer, Error> {
        let inner = if tag.is_some() { self.deeper()?.deeper()? } else { self.deeper()? };
        Ok(ListSerializer { writer: inner, tag, nodes: Vec::with_capacity(len) })
    }
}

fn tagged(tag: Option<&'static str>, content: Node) -> Node {
    match tag {
        Some(tag) => Node::object(vec![(tag.into(), content)]),
        None => content,
    }
}

#[expect(clippy::cast_precision_loss, reason = "checked to be within ±2^53")]
fn integer<N: TryInto<i64>>(number: N) -> Result<Node, Error> {
    match number.try_into() {
        Ok(number) if (-MAX_INTEGER..=MAX_INTEGER).contains(&number) => Ok(Node::Number(number as f64)),
        _ => Err(Error::new("an integer beyond ±2^53 cannot be written without loss")),
    }
}

macro_rules! integers {
    ($($method:ident $type:ty)*) => {$(
        fn $method(self, v: $type) -> Result<Node, Error> { integer(v) }
    )*};
}

impl Serializer for StructWriter {
    type Ok = Node;
    type Error = Error;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = ListSerializer;
    type SerializeMap = FieldSerializer;
    type SerializeStruct = FieldSerializer;
    type SerializeStructVariant = FieldSerializer;

    integers! {
        serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64 serialize_i128 i128
        serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64 serialize_u128 u128
    }

    fn serialize_bool(self, v: bool) -> Result<Node, Error> {
        Ok(Node::Bool(v))
    }

    fn serialize_f32(self, v: f32) -> Result<Node, Error> {
        self.serialize_f64(f64::from(v))
    }

    fn serialize_f64(self, v: f64) -> Result<Node, Error> {
        if v.is_finite() { Ok(Node::Number(v)) } else { Err(Error::new("not a finite number")) }
    }

    fn serialize_char(self, v: char) -> Result<Node, Error> {
        Ok(Node::String(v.into()))
    }

    fn serialize_str(self, v: &str) -> Result<Node, Error> {
        Ok(Node::String(v.to_owned()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Node, Error> {
        Err(Error::new("raw bytes have no place in an object"))
    }

    fn serialize_none(self) -> Result<Node, Error> {
        Ok(Node::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Node, Error> {
        Ok(Node::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Node, Error> {
        Ok(Node::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Node, Error> {
        Ok(Node::String(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Node, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node, Error> {
        let content = value.serialize(self.deeper()?).map_err(|e| e.under(variant))?;
        Ok(tagged(Some(variant), content))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<ListSerializer, Error> {
        self.items(None, len.unwrap_or_default())
    }

    fn serialize_tuple(self, len: usize) -> Result<ListSerializer, Error> {
        self.items(None, len)
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<ListSerializer, Error> {
        self.items(None, len)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ListSerializer, Error> {
        self.items(Some(variant), len)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<FieldSerializer, Error> {
        self.fields(None, len.unwrap_or_default())
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<FieldSerializer, Error> {
        self.fields(None, len)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<FieldSerializer, Error> {
        self.fields(Some(variant), len)
    }
}

struct ListSerializer {
    writer: StructWriter,
    tag: Option<&'static str>,
    nodes: Vec<Node>,
}

impl ListSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.nodes.push(value.serialize(self.writer).map_err(|e| {
            let e = e.at(self.nodes.len());
            if let Some(tag) = self.tag { e.under(tag) } else { e }
        })?);
        Ok(())
    }
}

struct FieldSerializer {
    writer: StructWriter,
    tag: Option<&'static str>,
    key: Option<Key>,
    nodes: Vec<(Key, Node)>,
}

impl FieldSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, key: Key, value: &T) -> Result<(), Error> {
        let node = value.serialize(self.writer).map_err(|e| {
            let e = e.under(&key);
            if let Some(tag) = self.tag { e.under(tag) } else { e }
        })?;
        self.nodes.push((key, node));
        Ok(())
    }
}

macro_rules! compound {
    ($($trait:ident for $type:ident: $method:ident($($key:ident)?);)*) => {$(
        impl $trait for $type {
            type Ok = Node;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), Error> {
                self.push($($key.into(),)? value)
            }

            fn end(self) -> Result<Node, Error> {
                Ok(self.finish())
            }
        }
    )*};
}

impl ListSerializer {
    fn finish(self) -> Node {
        tagged(self.tag, Node::list(self.nodes))
    }
}

impl FieldSerializer {
    fn finish(self) -> Node {
        tagged(self.tag, Node::object(self.nodes))
    }
}

compound! {
    SerializeSeq for ListSerializer: serialize_element();
    SerializeTuple for ListSerializer: serialize_element();
    SerializeTupleStruct for ListSerializer: serialize_field();
    SerializeTupleVariant for ListSerializer: serialize_field();
    SerializeStruct for FieldSerializer: serialize_field(key);
    SerializeStructVariant for FieldSerializer: serialize_field(key);
}

impl SerializeMap for FieldSerializer {
    type Ok = Node;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(match key.serialize(StructWriter { depth: 0 })? {
            Node::String(key) => key.into(),
            Node::Bool(key) => key.to_string().into(),
            Node::Number(key) => key.to_string().into(),
            _ => return Err(Error::new("a key is not a string")),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().ok_or_else(|| Error::new("value given before its key"))?;
        self.push(key, value)
    }

    fn end(self) -> Result<Node, Error> {
        Ok(self.finish())
    }
}
