//! On which line of a document a field stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use testplatform_apis::template::parameter::under;

/// The lines of a document.
pub(crate) struct Lines(Option<Node>);

enum Node {
    Map(Vec<(String, u64, Node)>),
    List(Vec<Spanned<Node>>),
    Other,
}

impl Lines {
    /// Those of a document that can be read.
    pub fn of(document: &str) -> Self {
        Self(serde_saphyr::from_str(document).ok())
    }

    /// The line of a field, from 1; of the nearest one around it, where it is not there.
    pub fn line(&self, path: &str) -> usize {
        let line = self.0.as_ref().map_or(1, |root| root.line(path, 1));
        usize::try_from(line).unwrap_or(1)
    }
}

impl Node {
    fn line(&self, path: &str, own: u64) -> u64 {
        if path.is_empty() {
            return own;
        }
        match self {
            Self::Map(members) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                let found = members.iter().find_map(|(key, line, inner)| {
                    let rest = path.strip_prefix(&under("", key))?;
                    (rest.is_empty() || rest.starts_with(['.', '['])).then_some((line, inner, rest))
                });
                found.map_or(own, |(line, inner, rest)| inner.line(rest, *line))
            }
            Self::List(items) => {
                let index = path.strip_prefix('[').and_then(|path| path.split_once(']'));
                let found =
                    index.and_then(|(index, rest)| Some((items.get(index.parse::<usize>().ok()?)?, rest)));
                found.map_or(own, |(item, rest)| item.value.line(rest, item.referenced.line()))
            }
            Self::Other => own,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    members.push((key.value, key.referenced.line(), map.next_value()?));
                }
                Ok(Node::Map(members))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Node::List(items))
            }

            fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Node, D::Error> {
                inner.deserialize_any(self)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_none<E>(self) -> Result<Node, E> {
                Ok(Node::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_what_is_not_there_is_where_it_would_be() {
        let lines = Lines::of(
            "kind: X\ndata:\n  a: 1\n  list:\n  - x: 1\n    y: 2\n  - { x: [1,\n      2] }\n  \"odd key\":\n    b: null\n",
        );
        for (path, line) in [
            ("kind", 1),
            ("data", 2),
            ("data.a", 3),
            ("data.missing.deeper", 2),
            ("data.list", 4),
            ("data.list[0].y", 6),
            ("data.list[0].z", 5),
            ("data.list[1].x[1]", 8),
            ("data.list[7]", 4),
            ("data[\"odd key\"].b", 10),
            ("data.a.b", 3),
            ("", 1),
        ] {
            assert_eq!(lines.line(path), line, "{path}");
        }
        assert_eq!(Lines::of("a: [").line("a"), 1);
    }
}
