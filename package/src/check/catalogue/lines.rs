//! Source lines of fields, and the original text of their values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};
use testplatform_apis::template::parameter::join_path;

/// The source lines of a document.
pub(crate) struct Lines {
    document: String,
    root: Option<Node>,
}

enum Node {
    Map(Vec<(String, u64, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Other,
}

impl Lines {
    /// The source lines of a readable document.
    pub fn parse(document: &str) -> Self {
        Self { document: document.to_owned(), root: serde_saphyr::from_str(document).ok() }
    }

    /// The line of a field, from 1; of its nearest parent if it is absent.
    pub fn find_line(&self, path: &str) -> usize {
        let line = self.root.as_ref().map_or(1, |root| root.find_line(path, 1));
        usize::try_from(line).unwrap_or(1)
    }

    /// The source text of a number, boolean or string, before YAML parses it.
    pub fn scalar_text(&self, path: &str) -> Option<String> {
        let span = self.root.as_ref()?.find_scalar(path)?.span();
        let [offset, length] = [span.offset(), span.len()].map(usize::try_from);
        let written: String = self.document.chars().skip(offset.ok()?).take(length.ok()?).collect();
        Some(written.trim().to_owned())
    }
}

impl Node {
    fn find_line(&self, path: &str, own: u64) -> u64 {
        match self.first_member(path) {
            Some((line, inner, rest)) => inner.value.find_line(rest, line),
            None => own,
        }
    }

    /// Source location of a scalar.
    fn find_scalar(&self, path: &str) -> Option<Location> {
        let (_, inner, rest) = self.first_member(path)?;
        match &inner.value {
            Self::Other if rest.is_empty() => Some(inner.referenced),
            value => value.find_scalar(rest),
        }
    }

    /// The first member on a path: its line, its value, and the rest of the path.
    fn first_member<'a>(&self, path: &'a str) -> Option<(u64, &Spanned<Self>, &'a str)> {
        match self {
            Self::Map(members) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                members.iter().find_map(|(key, line, inner)| {
                    let rest = path.strip_prefix(&join_path("", key))?;
                    (rest.is_empty() || rest.starts_with(['.', '['])).then_some((*line, inner, rest))
                })
            }
            Self::List(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                let item = items.get(index.parse::<usize>().ok()?)?;
                Some((item.referenced.line(), item, rest))
            }
            Self::Other => None,
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
    fn lines_of_fields_and_of_missing_fields_are_found() {
        let lines = Lines::parse(
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
            assert_eq!(lines.find_line(path), line, "{path}");
        }
        assert_eq!(Lines::parse("a: [").find_line("a"), 1);
    }

    #[test]
    fn source_texts_of_values_are_found() {
        let lines = Lines::parse("# ä\na: [ 4.20, 010 ]\nb:\n  c: 4.20 # new\n  d: { e: yes, f: x }\n");
        for (path, text) in [("a[0]", "4.20"), ("a[1]", "010"), ("b.c", "4.20"), ("b.d.e", "yes")] {
            assert_eq!(lines.scalar_text(path).as_deref(), Some(text), "{path}");
        }
        for path in ["b", "b.x", "b.c.x", ""] {
            assert_eq!(lines.scalar_text(path), None, "{path}");
        }
    }
}
