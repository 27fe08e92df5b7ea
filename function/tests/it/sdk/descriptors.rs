//! Our .proto against theirs, message by message, field by field: numbers, types and presence are the protocol.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet, MessageOptions,
};
use serde_json::json;
use testplatform_composites::sdk::proto::DESCRIPTORS;

use super::{bytes, python};

/// Fields that only theirs has, each with the reason. A newer SDK puts new fields here until the .proto has them.
const ONLY_THEIRS: &[(&str, &str)] = &[];
/// Fields that only ours has, each with the reason: they are newer than the SDK.
const ONLY_OURS: &[(&str, &str)] = &[];

/// Everything in a file that has to do with the wire, by name.
type Flat = BTreeMap<String, String>;

pub fn flat(file: &FileDescriptorProto) -> Flat {
    let mut flat = Flat::from([("(syntax)".to_owned(), file.syntax().to_owned())]);
    file.message_type.iter().for_each(|m| message(&mut flat, "", m));
    file.enum_type.iter().for_each(|e| enumeration(&mut flat, "", e));
    for service in &file.service {
        for m in &service.method {
            let streams = (m.client_streaming(), m.server_streaming());
            let is = format!("({}) -> ({}) {streams:?}", m.input_type(), m.output_type());
            flat.insert(format!("{}/{}", service.name(), m.name()), is);
        }
    }
    flat
}

fn message(flat: &mut Flat, parent: &str, m: &DescriptorProto) {
    let name = format!("{parent}{}", m.name());
    flat.insert(
        name.clone(),
        format!("message, map entry: {}", m.options.as_ref().is_some_and(MessageOptions::map_entry)),
    );
    for f in &m.field {
        let oneof = f.oneof_index.map(|i| m.oneof_decl[usize::try_from(i).unwrap()].name());
        let is = format!(
            "{} {:?} {:?} {} optional: {} oneof: {oneof:?} packed: {:?}",
            f.number(),
            f.label(),
            f.r#type(),
            f.type_name(),
            f.proto3_optional(),
            f.options.as_ref().and_then(|o| o.packed),
        );
        flat.insert(format!("{name}.{}", f.name()), is);
    }
    let inside = format!("{name}.");
    m.nested_type.iter().for_each(|nested| message(flat, &inside, nested));
    m.enum_type.iter().for_each(|nested| enumeration(flat, &inside, nested));
}

fn enumeration(flat: &mut Flat, parent: &str, e: &EnumDescriptorProto) {
    for value in &e.value {
        flat.insert(format!("{parent}{}.{}", e.name(), value.name()), format!("value {}", value.number()));
    }
}

/// Our file for a version of the protocol.
pub fn ours(version: &str) -> FileDescriptorProto {
    let package = format!("apiextensions.fn.proto.{version}");
    let mut files = FileDescriptorSet::decode(DESCRIPTORS).unwrap().file.into_iter();
    files.find(|file| file.package() == package).unwrap()
}

#[test]
fn numbers_types_and_presence_are_those_of_the_sdk() {
    let versions = ["v1", "v1beta1"];
    let answer = python::ask(&json!({"do": "descriptors", "versions": versions}));
    for version in versions {
        let theirs = FileDescriptorProto::decode(&bytes(&answer[version])[..]).unwrap();
        let ours = ours(version);
        assert_eq!(ours.package(), theirs.package());
        let (ours, theirs) = (flat(&ours), flat(&theirs));
        assert!(theirs.len() > 90, "{version}: they have far more than {}: {theirs:#?}", theirs.len());
        for (name, is) in &ours {
            assert_eq!(
                theirs.get(name).unwrap_or(is),
                is,
                "{version} {name}: theirs on the left, ours right"
            );
        }
        let only = |a: &Flat, b: &Flat| a.keys().filter(|k| !b.contains_key(*k)).cloned().collect();
        let listed = |list: &[(&str, &str)]| list.iter().map(|(name, _)| (*name).to_owned()).collect();
        let (only_theirs, only_ours): (BTreeSet<String>, BTreeSet<String>) =
            (only(&theirs, &ours), only(&ours, &theirs));
        assert_eq!(only_theirs, listed(ONLY_THEIRS), "{version}: in the SDK and not in our .proto");
        assert_eq!(only_ours, listed(ONLY_OURS), "{version}: in our .proto and not in the SDK");
    }
}
