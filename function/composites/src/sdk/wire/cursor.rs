//! The protobuf wire format, as far as Struct, Value and `ListValue` need it.
//!
//! This is most of what a pass does, some ten thousand times: `#[inline]` holds where the rest is built for size.

use super::Error;

/// The tag of field 1 that has its length in front: an entry of a Struct, an item of a `ListValue`, the key of an entry.
const ITEM: u8 = 0x0a;

/// One field's content.
#[derive(Clone, Copy)]
pub(super) enum Field<'de> {
    Varint(u64),
    Fixed64([u8; 8]),
    Len(&'de [u8]),
    Fixed32,
}

/// Content of a Value.
#[derive(Clone, Copy)]
pub(super) enum Kind<'de> {
    Null,
    Number(f64),
    String(&'de [u8]),
    Bool(bool),
    Struct(&'de [u8]),
    List(&'de [u8]),
}

/// Reads fields off the front of a message.
pub(super) struct Cursor<'de> {
    rest: &'de [u8],
}

impl<'de> Cursor<'de> {
    pub(super) fn new(rest: &'de [u8]) -> Self {
        Self { rest }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field and its number.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Field<'de>)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = u32::try_from(self.varint()?).map_err(|_| malformed("a field number is too large"))?;
        if tag >> 3 == 0 {
            return Err(malformed("a field number is zero"));
        }
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(self.take(8)?);
                Field::Fixed64(bytes)
            }
            2 => Field::Len(self.message()?),
            5 => {
                self.take(4)?;
                Field::Fixed32
            }
            // Groups were dropped from the language before Struct existed, and would need a stack to skip.
            _ => return Err(malformed("a field has a wire type that is not supported")),
        };
        Ok(Some((tag >> 3, field)))
    }

    /// The next message in field 1, the only field of Struct and `ListValue`; others are skipped.
    #[inline]
    pub(super) fn next_item(&mut self) -> Result<Option<&'de [u8]>, Error> {
        if let [ITEM, rest @ ..] = self.rest {
            self.rest = rest;
            return self.message().map(Some);
        }
        while let Some((number, field)) = self.next()? {
            if number == 1 {
                return len(field).map(Some);
            }
        }
        Ok(None)
    }

    /// The content of a field that has its length in front.
    #[inline]
    fn message(&mut self) -> Result<&'de [u8], Error> {
        let len = usize::try_from(self.varint()?).map_err(|_| truncated())?;
        self.take(len)
    }

    /// The content of a field that has its length in front, if nothing comes after it.
    #[inline]
    fn last(mut self) -> Option<&'de [u8]> {
        let len = self.varint().ok()?;
        (usize::try_from(len) == Ok(self.rest.len())).then_some(self.rest)
    }

    /// Nearly all are one byte: numbers of fields, and lengths of what is short.
    #[inline]
    fn varint(&mut self) -> Result<u64, Error> {
        match self.rest {
            [byte @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(truncated)?;
            self.rest = rest;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(malformed("a varint does not fit 64 bits"))
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'de [u8], Error> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(head)
    }
}

impl<'de> Kind<'de> {
    /// Reads a Value; one with nothing set is null.
    #[inline]
    pub(super) fn of(value: &'de [u8]) -> Result<Self, Error> {
        // As encoders write it: one field and nothing else.
        match value {
            [0x11, bytes @ ..] => {
                if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
                    return Ok(Self::Number(f64::from_le_bytes(bytes)));
                }
            }
            [0x20, bit @ ..=1] => return Ok(Self::Bool(*bit == 1)),
            [tag @ (0x1a | 0x2a | 0x32), rest @ ..] => {
                if let Some(bytes) = Cursor::new(rest).last() {
                    return Ok(match tag {
                        0x1a => Self::String(bytes),
                        0x2a => Self::Struct(bytes),
                        _ => Self::List(bytes),
                    });
                }
            }
            _ => {}
        }
        let mut kind = Self::Null;
        let mut cursor = Cursor::new(value);
        while let Some((number, field)) = cursor.next()? {
            kind = match (number, field) {
                (1, Field::Varint(_)) => Self::Null,
                (2, Field::Fixed64(bytes)) => Self::Number(f64::from_le_bytes(bytes)),
                (3, Field::Len(text)) => Self::String(text),
                (4, Field::Varint(bit)) => Self::Bool(bit != 0),
                (5, Field::Len(fields)) => Self::Struct(fields),
                (6, Field::Len(items)) => Self::List(items),
                (1..=6, _) => return Err(wrong_type()),
                _ => kind,
            };
        }
        Ok(kind)
    }
}

/// The key and the Value of one entry of a Struct. Either may be left out when it is empty.
#[inline]
pub(super) fn entry(bytes: &[u8]) -> Result<(&str, &[u8]), Error> {
    // As encoders write it: the key, and the Value after it.
    if let [ITEM, len @ ..0x80, rest @ ..] = bytes
        && let Some((key, [0x12, rest @ ..])) = rest.split_at_checked(usize::from(*len))
        && let Some(value) = Cursor::new(rest).last()
    {
        return Ok((text(key)?, value));
    }
    let (mut key, mut value): (&[u8], &[u8]) = (b"", b"");
    let mut cursor = Cursor::new(bytes);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 => key = len(field)?,
            2 => value = len(field)?,
            _ => {}
        }
    }
    Ok((text(key)?, value))
}

#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| malformed("a string is not UTF-8"))
}

#[inline]
fn len(field: Field<'_>) -> Result<&[u8], Error> {
    match field {
        Field::Len(bytes) => Ok(bytes),
        _ => Err(wrong_type()),
    }
}

pub(super) fn malformed(what: &str) -> Error {
    Error::new(format!("malformed message: {what}"))
}

fn truncated() -> Error {
    malformed("it ends early")
}

fn wrong_type() -> Error {
    malformed("a known field has the wrong wire type")
}
