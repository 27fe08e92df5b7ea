//! YAML document whose values know their positions.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_path_to_error::Segment;
use serde_saphyr::{Location, Spanned};

/// Line and column.
pub fn place(location: Location) -> (u64, u64) {
    (location.line(), location.column())
}

/// A value as the reader gives it.
pub enum Tree {
    Scalar(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Scalar(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Scalar(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Scalar(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
                Ok(Tree::Scalar(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
                Ok(Tree::Scalar(value.into()))
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Scalar(Value::Null))
            }

            fn visit_none<E>(self) -> Result<Tree, E> {
                Ok(Tree::Scalar(Value::Null))
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
                Tree::deserialize(deserializer)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
                let mut list = vec![];
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Tree::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
                let mut map = vec![];
                while let Some(member) = members.next_entry()? {
                    map.push(member);
                }
                Ok(Tree::Map(map))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Value that knows its position, even after its neighbours have been cut out.
#[derive(Clone)]
pub struct Node {
    /// Its path in the file.
    pub path: String,
    /// Line and column of its key, if it has one.
    pub key: Option<(u64, u64)>,
    /// Line and column.
    pub at: (u64, u64),
    content: Content,
}

#[derive(Clone)]
enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A step from a value to one in it.
pub enum PathStep {
    Key(String),
    Index(usize),
}

impl PathStep {
    /// The steps of a path as it is written, of fields whose names have no dots.
    fn parse(path: &str) -> Vec<Self> {
        path.split(['.', '['])
            .filter(|step| !step.is_empty())
            .map(|step| match step.strip_suffix(']').and_then(|index| index.parse().ok()) {
                Some(index) => Self::Index(index),
                None => Self::Key(step.into()),
            })
            .collect()
    }

    /// As a path tracker has it.
    pub fn new(segment: &Segment) -> Option<Self> {
        match segment {
            Segment::Seq { index } => Some(Self::Index(*index)),
            Segment::Map { key } => Some(Self::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        }
    }
}

impl Node {
    /// The whole of a document.
    pub fn document(tree: Spanned<Tree>) -> Self {
        Self::new(tree, String::new(), None)
    }

    fn new(tree: Spanned<Tree>, path: String, key: Option<(u64, u64)>) -> Self {
        let at = place(tree.referenced);
        let content = match tree.value {
            Tree::Scalar(value) => Content::Scalar(value),
            Tree::List(items) => {
                let item = |(index, item)| Self::new(item, format!("{path}[{index}]"), None);
                Content::List(items.into_iter().enumerate().map(item).collect())
            }
            Tree::Map(members) => {
                let dot = if path.is_empty() { "" } else { "." };
                let member = |(key, member): (Spanned<String>, Spanned<Tree>)| {
                    let path = format!("{path}{dot}{}", key.value);
                    let node = Self::new(member, path, Some(place(key.referenced)));
                    (key.value, node)
                };
                Content::Map(members.into_iter().map(member).collect())
            }
        };
        Self { path, key, at, content }
    }

    /// The value. Members that are null are left out, as if they were not written: their defaults hold.
    pub fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(Value::Null) if self.path.is_empty() => Value::Object(serde_json::Map::new()),
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Self::value).collect(),
            Content::Map(members) => members
                .iter()
                .map(|(key, member)| (key.clone(), member.value()))
                .filter(|(_, value)| !value.is_null())
                .collect(),
        }
    }

    fn child(&self, step: &PathStep) -> Option<&Self> {
        match (&self.content, step) {
            (Content::Map(members), PathStep::Key(key)) => {
                members.iter().find(|(name, _)| name == key).map(|(_, member)| member)
            }
            (Content::List(items), PathStep::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The node at the end of these steps, or where they lead nowhere; and how many of them there are to it.
    pub fn find(&self, steps: &[PathStep]) -> (&Self, usize) {
        let mut node = self;
        for (taken, step) in steps.iter().enumerate() {
            match node.child(step) {
                Some(child) => node = child,
                None => return (node, taken),
            }
        }
        (node, steps.len())
    }

    /// Name and position of a path in the file, parts of which may have been cut out; otherwise those of the closest enclosing value.
    pub fn locate(&self, path: &str) -> (String, (u64, u64)) {
        let steps = PathStep::parse(path);
        let (node, taken) = self.find(&steps);
        let mut name = node.path.clone();
        for step in &steps[taken..] {
            match step {
                PathStep::Key(key) if name.is_empty() => name.push_str(key),
                PathStep::Key(key) => name.extend([".", key]),
                PathStep::Index(index) => name.extend(["[", &index.to_string(), "]"]),
            }
        }
        (name, if taken < steps.len() { node.key.unwrap_or(node.at) } else { node.at })
    }

    /// Takes that node out. False if it is the whole.
    pub fn cut(&mut self, steps: &[PathStep]) -> bool {
        let Some((first, rest)) = steps.split_first() else { return false };
        match (&mut self.content, first) {
            (Content::Map(members), PathStep::Key(key)) => {
                let Some(at) = members.iter().position(|(name, _)| name == key) else { return false };
                if !members[at].1.cut(rest) {
                    members.remove(at);
                }
                true
            }
            (Content::List(items), PathStep::Index(index)) => {
                let Some(item) = items.get_mut(*index) else { return false };
                if !item.cut(rest) {
                    items.remove(*index);
                }
                true
            }
            _ => false,
        }
    }
}
