//! Takes out of a message what nobody reads, while it arrives: memory is needed for what is kept, however long the message is.
//!
//! Lengths stand before contents in protobuf, so each message that is looked into is gathered apart until its end is reached.

use prost::encoding::encode_varint;

use super::{Error, cursor::malformed};

/// Part of a value that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// All of it, if it has at most this many bytes; else it is taken out.
    Whole(usize),
    /// That it is there: a longer one becomes an empty object.
    Presence,
    /// These fields of an object. A text or list in its place is taken out.
    Fields(FieldList),
    /// This of each item of a list. A text or object in its place is taken out.
    Items(&'static Self),
}

/// The fields that are kept of an object, by name.
pub(crate) type FieldList = &'static [(&'static str, Keep)];

/// Nothing of interest is longer, and a name that is longer is none of those that are kept.
const LONGEST_NAME: u64 = 256;
/// So long is null, a bool or a number, and an empty object or list. Longer is everything else, but for texts of a few letters.
const SHORT: u64 = 16;
/// A Value that holds a Struct without fields.
const EMPTY_OBJECT: [u8; 2] = [0x2a, 0];

/// Type of a message that is inspected.
#[derive(Clone, Copy)]
enum MessageType {
    /// `RunFunctionRequest`, of which the resources fetched under these names are looked into.
    Request(&'static [&'static str], FieldList),
    /// An entry of a map of fetched resources.
    Fetched(&'static [&'static str], FieldList),
    /// `Resources`.
    Resources(FieldList),
    /// `Resource`.
    Resource(FieldList),
    /// `google.protobuf.Struct`.
    Struct(FieldList),
    /// An entry of a Struct.
    Entry(FieldList),
    /// `google.protobuf.Value`.
    Value(Keep),
    /// `google.protobuf.ListValue`.
    List(Keep),
}

/// Treatment of a field.
enum Action {
    Copy,
    Skip,
    Enter(MessageType),
    /// The name of an entry, which decides about its value.
    Name,
    /// A Value that is there.
    Empty,
}

/// A message that is looked into, as far as it has arrived.
struct Open {
    message_type: MessageType,
    /// Where it ends.
    end: u64,
    /// Its field in the message around it.
    tag: u64,
    /// Kept part of it.
    output: Vec<u8>,
    /// The name of an entry.
    name: Option<Vec<u8>>,
    /// Whether all of it is taken out.
    dropped: bool,
}

/// Owner of the next byte.
enum Expected {
    Tag(Varint),
    Length {
        tag: u64,
        so_far: Varint,
    },
    /// A number of variable length, which is copied.
    Number,
    Copy(u64),
    Skip(u64),
    Name {
        left: u64,
        name: Vec<u8>,
    },
}

#[derive(Clone, Copy, Default)]
struct Varint {
    value: u64,
    shift: u32,
}

impl Varint {
    /// Some: it is complete.
    fn push(&mut self, byte: u8) -> Result<Option<u64>, Error> {
        if self.shift > 63 {
            return Err(malformed("a varint is too long"));
        }
        self.value |= u64::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        Ok((byte < 0x80).then_some(self.value))
    }
}

/// Reads a message in pieces and keeps a part of it.
pub struct Trimmer {
    open: Vec<Open>,
    expected: Expected,
    at: u64,
}

/// An object, as a `google.protobuf.Struct`, with what is kept of it.
pub(crate) fn trimmed(object: &[u8], fields: FieldList) -> Result<Vec<u8>, Error> {
    let mut trimmer = Trimmer::new(object.len() as u64, MessageType::Struct(fields));
    trimmer.push(object)?;
    trimmer.finish()
}

impl Trimmer {
    /// For a `RunFunctionRequest` of this length: of resources fetched under these names, only these fields of each object are kept.
    pub(crate) fn request(length: u64, names: &'static [&'static str], fields: FieldList) -> Self {
        Self::new(length, MessageType::Request(names, fields))
    }

    fn new(length: u64, message_type: MessageType) -> Self {
        let root = Open { message_type, end: length, tag: 0, output: Vec::new(), name: None, dropped: false };
        Self { open: vec![root], expected: Expected::Tag(Varint::default()), at: 0 }
    }

    /// The next piece. No piece may go beyond the message's end.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), Error> {
        while let [first, rest @ ..] = piece {
            let count = match &mut self.expected {
                Expected::Tag(so_far) => {
                    if let Some(tag) = so_far.push(*first)? {
                        self.begin(tag)?;
                    }
                    1
                }
                Expected::Length { tag, so_far } => {
                    let tag = *tag;
                    if let Some(length) = so_far.push(*first)? {
                        self.field(tag, self.at + 1, length)?;
                    }
                    1
                }
                Expected::Number => {
                    self.output().push(*first);
                    if *first < 0x80 {
                        self.expected = Expected::Tag(Varint::default());
                    }
                    1
                }
                Expected::Copy(left) => {
                    let count = part(*left, piece);
                    *left -= count as u64;
                    let done = *left == 0;
                    self.output().extend_from_slice(&piece[..count]);
                    self.end_field(done);
                    count
                }
                Expected::Skip(left) => {
                    let count = part(*left, piece);
                    *left -= count as u64;
                    let done = *left == 0;
                    self.end_field(done);
                    count
                }
                Expected::Name { left, name } => {
                    let count = part(*left, piece);
                    *left -= count as u64;
                    name.extend_from_slice(&piece[..count]);
                    if *left == 0 {
                        let name = std::mem::take(name);
                        self.named(name);
                    }
                    count
                }
            };
            self.at += count as u64;
            piece = if count == 1 { rest } else { &piece[count..] };
            self.close()?;
        }
        Ok(())
    }

    /// Bytes of memory for what is kept so far.
    pub fn buffered_bytes(&self) -> usize {
        let name = if let Expected::Name { name, .. } = &self.expected { name.capacity() } else { 0 };
        self.open.iter().map(|open| open.output.capacity()).sum::<usize>() + name
    }

    /// Kept bytes, once the whole message was read.
    pub fn finish(mut self) -> Result<Vec<u8>, Error> {
        let between = matches!(self.expected, Expected::Tag(Varint { shift: 0, .. }));
        match self.open.pop() {
            Some(root) if self.open.is_empty() && between && self.at == root.end => Ok(root.output),
            _ => Err(malformed("a message ends too early")),
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        // There is always the root.
        let last = self.open.len() - 1;
        &mut self.open[last].output
    }

    /// Goes on behind a field that has come to its end.
    fn end_field(&mut self, done: bool) {
        if done {
            self.expected = Expected::Tag(Varint::default());
        }
    }

    /// A field begins.
    fn begin(&mut self, tag: u64) -> Result<(), Error> {
        if tag >> 3 == 0 {
            return Err(malformed("a field number is zero"));
        }
        self.expected = match tag & 7 {
            2 => Expected::Length { tag, so_far: Varint::default() },
            kind @ (0 | 1 | 5) => {
                encode_varint(tag, self.output());
                match kind {
                    0 => Expected::Number,
                    1 => Expected::Copy(8),
                    _ => Expected::Copy(4),
                }
            }
            _ => return Err(malformed("a field has a wire type that is not supported")),
        };
        Ok(())
    }

    /// A field of which it is known where its content begins and how long that is.
    fn field(&mut self, tag: u64, begin: u64, length: u64) -> Result<(), Error> {
        let Some(around) = self.open.last() else { return Err(malformed("a field is nowhere")) };
        let end = begin.checked_add(length).filter(|end| *end <= around.end);
        let Some(end) = end else { return Err(malformed("a field is longer than what is around it")) };
        self.expected = Expected::Tag(Varint::default());
        match action(around, tag >> 3, length) {
            Action::Skip => {
                // An entry without its value would be null.
                if let Some(entry) =
                    self.open.last_mut().filter(|o| matches!(o.message_type, MessageType::Entry(_)))
                {
                    entry.dropped = true;
                }
                self.skip(length);
            }
            Action::Copy => {
                encode_varint(tag, self.output());
                encode_varint(length, self.output());
                if length > 0 {
                    self.expected = Expected::Copy(length);
                }
            }
            Action::Empty => {
                encode_varint(tag, self.output());
                encode_varint(EMPTY_OBJECT.len() as u64, self.output());
                self.output().extend_from_slice(&EMPTY_OBJECT);
                self.skip(length);
            }
            Action::Name => {
                encode_varint(tag, self.output());
                encode_varint(length, self.output());
                if length == 0 {
                    self.named(Vec::new());
                } else {
                    self.expected = Expected::Name { left: length, name: Vec::new() };
                }
            }
            Action::Enter(message_type) => {
                self.open.push(Open {
                    message_type,
                    end,
                    tag,
                    output: Vec::new(),
                    name: None,
                    dropped: false,
                });
            }
        }
        Ok(())
    }

    fn skip(&mut self, length: u64) {
        if length > 0 {
            self.expected = Expected::Skip(length);
        }
    }

    /// The name of an entry is complete.
    fn named(&mut self, name: Vec<u8>) {
        self.expected = Expected::Tag(Varint::default());
        let Some(entry) = self.open.last_mut() else { return };
        entry.output.extend_from_slice(&name);
        if let MessageType::Entry(fields) = entry.message_type {
            entry.dropped |= of(fields, &name).is_none();
        }
        entry.name = Some(name);
    }

    /// Ends what ends here.
    fn close(&mut self) -> Result<(), Error> {
        while self.open.len() > 1 && self.open.last().is_some_and(|open| open.end == self.at) {
            if !matches!(self.expected, Expected::Tag(Varint { shift: 0, .. })) {
                return Err(malformed("a message ends within a field"));
            }
            let Some(open) = self.open.pop() else { break };
            // A Value that holds nothing of what is kept would be none.
            let nothing = matches!(open.message_type, MessageType::Value(_)) && open.output.is_empty();
            if nothing
                && let Some(around) =
                    self.open.last_mut().filter(|o| matches!(o.message_type, MessageType::Entry(_)))
            {
                around.dropped = true;
            }
            if !open.dropped && !nothing {
                let around = self.output();
                encode_varint(open.tag, around);
                encode_varint(open.output.len() as u64, around);
                around.extend_from_slice(&open.output);
            }
        }
        Ok(())
    }
}

fn action(around: &Open, number: u64, length: u64) -> Action {
    match (around.message_type, number) {
        (MessageType::Request(names, fields), EXTRA_RESOURCES | REQUIRED_RESOURCES) => {
            Action::Enter(MessageType::Fetched(names, fields))
        }
        (MessageType::Fetched(..) | MessageType::Entry(_), 1) if length <= LONGEST_NAME => Action::Name,
        (MessageType::Fetched(names, fields), 2) => {
            let name = around.name.as_deref().unwrap_or_default();
            if names.iter().any(|known| known.as_bytes() == name) {
                Action::Enter(MessageType::Resources(fields))
            } else {
                Action::Copy
            }
        }
        (MessageType::Resources(fields), 1) => Action::Enter(MessageType::Resource(fields)),
        (MessageType::Resource(fields), 1) | (MessageType::Value(Keep::Fields(fields)), 5) => {
            Action::Enter(MessageType::Struct(fields))
        }
        (MessageType::Struct(fields), 1) => Action::Enter(MessageType::Entry(fields)),
        (MessageType::Entry(fields), 2) => match around.name.as_deref().and_then(|name| of(fields, name)) {
            Some(Keep::Whole(most)) if length <= most as u64 => Action::Copy,
            Some(Keep::Presence) if length > SHORT => Action::Empty,
            Some(Keep::Presence) => Action::Copy,
            Some(keep @ (Keep::Fields(_) | Keep::Items(_))) => Action::Enter(MessageType::Value(keep)),
            Some(Keep::Whole(_)) | None => Action::Skip,
        },
        (MessageType::Value(Keep::Items(item)), 6) => Action::Enter(MessageType::List(*item)),
        (MessageType::List(item), 1) => Action::Enter(MessageType::Value(item)),
        (MessageType::Request(..) | MessageType::Fetched(..), _) => Action::Copy,
        (
            MessageType::Resources(_)
            | MessageType::Resource(_)
            | MessageType::Struct(_)
            | MessageType::Entry(_)
            | MessageType::Value(_)
            | MessageType::List(_),
            _,
        ) => Action::Skip,
    }
}

/// Numbers of the two fields of a `RunFunctionRequest` with what was fetched.
const EXTRA_RESOURCES: u64 = 6;
const REQUIRED_RESOURCES: u64 = 8;

fn of(fields: FieldList, name: &[u8]) -> Option<Keep> {
    fields.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, keep)| *keep)
}

/// How much of a piece belongs to what has this much left.
fn part(left: u64, piece: &[u8]) -> usize {
    usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sdk::{
        proto::{Resource, Resources, RunFunctionRequest},
        wire::{to_struct, to_value},
    };
    use prost::Message as _;

    const KEPT: FieldList = &[
        ("name", Keep::Whole(16)),
        ("big", Keep::Presence),
        ("spec", Keep::Fields(&[("a", Keep::Whole(16)), ("more", Keep::Fields(&[("b", Keep::Whole(16))]))])),
        ("list", Keep::Items(&Keep::Fields(&[("type", Keep::Whole(16))]))),
    ];

    fn kept(object: &Value) -> Value {
        to_value(&trimmed(&to_struct(object).unwrap(), KEPT).unwrap()).unwrap()
    }

    #[test]
    fn only_what_is_named_is_kept() {
        let long = "x".repeat(1000);
        let object = json!({
            "name": "one", "other": 1, "big": { "x": [long, 1, null] },
            "spec": { "a": "A", "z": long, "more": { "b": true, "c": false } },
            "list": [{ "type": "T", "message": long }, {}, long],
        });
        let wanted = json!({
            "name": "one", "big": {}, "spec": { "a": "A", "more": { "b": true } }, "list": [{ "type": "T" }, {}],
        });
        assert_eq!(kept(&object), wanted);
        assert_eq!(kept(&wanted), wanted);
    }

    #[test]
    fn values_of_another_kind_or_size_are_taken_out() {
        let long = "x".repeat(1000);
        assert_eq!(
            kept(&json!({ "name": long, "spec": long, "list": { "a": long }, "big": 1 })),
            json!({ "big": 1 })
        );
        assert_eq!(
            kept(&json!({ "spec": null, "list": [], "name": null })),
            json!({ "spec": null, "list": [], "name": null })
        );
        assert_eq!(kept(&json!({})), json!({}));
    }

    fn resources(items: &[&Value]) -> Resources {
        let resource =
            |item: &&Value| Resource { resource: to_struct(*item).unwrap(), ..Resource::default() };
        Resources { items: items.iter().map(resource).collect() }
    }

    #[test]
    fn trimming_is_independent_of_the_size_of_pieces() {
        let object = json!({ "name": "one", "other": "x".repeat(300), "spec": { "a": 1, "q": [1, 2] } });
        let mut request =
            RunFunctionRequest { input: Some(to_struct(&object).unwrap()), ..RunFunctionRequest::default() };
        request.required_resources.insert("peers".into(), resources(&[&object, &object]));
        request.required_resources.insert("others".into(), resources(&[&object]));
        request.extra_resources.insert("peers".into(), resources(&[]));
        let bytes = request.encode_to_vec();
        let smaller = kept(&object);
        request.required_resources.insert("peers".into(), resources(&[&smaller, &smaller]));
        for size in [1, 2, 3, 7, 64, bytes.len()] {
            let mut trimmer = Trimmer::request(bytes.len() as u64, &["peers"], KEPT);
            for piece in bytes.chunks(size) {
                trimmer.push(piece).unwrap();
            }
            let read = RunFunctionRequest::decode(trimmer.finish().unwrap().as_slice()).unwrap();
            assert_eq!(read, request, "pieces of {size}");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        let object = json!({ "name": "one", "spec": { "a": "x" }, "list": [{ "type": "T" }] });
        let mut request = RunFunctionRequest::default();
        request.required_resources.insert("peers".into(), resources(&[&object]));
        let bytes = request.encode_to_vec();
        let run = |bytes: &[u8]| {
            let mut trimmer = Trimmer::request(bytes.len() as u64, &["peers"], KEPT);
            trimmer.push(bytes).and_then(|()| trimmer.finish())
        };
        for at in 0..bytes.len() {
            assert!(at == 0 || run(&bytes[..at]).is_err(), "cut at {at}");
            for value in [0, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = run(&changed);
            }
        }
        assert!(run(&[0xff; 11]).is_err());
    }
}
