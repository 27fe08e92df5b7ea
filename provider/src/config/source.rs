//! From YAML to a type, with every problem instead of the first, each with its place.
//!
//! The text becomes a tree whose nodes know where they stand. The type is read from the tree; what it takes offence at is noted
//! and cut out, and the rest is read again. That works because nearly every field has a default.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_path_to_error::Segment;
use serde_saphyr::{Location, Spanned, UserMessageFormatter};

/// More than that and the file is something else altogether.
const MAX_PROBLEMS: usize = 50;

/// Something that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 if there is no place.
    pub line: u64,
    /// The column, from 1; 0 if there is no place.
    pub column: u64,
    /// The field, such as `ephemeralCluster.waitImage.tag`; empty if it is about the whole.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What is wrong, before it is known where.
pub struct Finding {
    /// The field.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// What was found so far.
pub struct Findings {
    tree: Option<Node>,
    found: Vec<Located>,
}

struct Located {
    line: u64,
    column: u64,
    path: String,
    message: String,
}

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds findings about what was read, but those about fields that could not be read, or are around or inside them.
    pub fn add_unless_covered(&mut self, findings: Vec<Finding>) {
        let within = |inner: &str, outer: &str| {
            outer.is_empty()
                || inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        for Finding { path, message } in findings {
            if self.found.iter().any(|known| within(&path, &known.path) || within(&known.path, &path)) {
                continue;
            }
            let (line, column) = self.tree.as_ref().map_or((0, 0), |tree| tree.nearest(&path));
            self.found.push(Located { line, column, path, message });
        }
    }

    /// All of them, in the order of the file.
    pub fn into_problems(mut self, file: &str) -> Vec<Problem> {
        self.found.sort_by(|a, b| {
            (a.line, a.column, &a.path, &a.message).cmp(&(b.line, b.column, &b.path, &b.message))
        });
        self.found
            .into_iter()
            .map(|Located { line, column, path, message }| Problem {
                file: file.into(),
                line,
                column,
                path,
                message,
            })
            .collect()
    }
}

/// Reads a type. None only if nothing of it can be read.
pub fn decode<T: DeserializeOwned>(text: &str) -> (Option<T>, Findings) {
    let mut findings = Findings { tree: None, found: vec![] };
    let tree = match serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options()) {
        Ok(tree) => Node::new(tree, String::new(), None),
        Err(error) => {
            findings.found.push(syntax(&error));
            return (None, findings);
        }
    };
    let mut rest = tree.clone();
    findings.tree = Some(tree);
    loop {
        match serde_path_to_error::deserialize::<_, T>(rest.value()) {
            Ok(read) => return (Some(read), findings),
            Err(error) => {
                let steps: Vec<Step> = error.path().iter().filter_map(Step::new).collect();
                let node = rest.find(&steps);
                let message = advised(error.inner().to_string());
                let about_the_key = message.starts_with("unknown field");
                let (line, column) = if about_the_key { node.key.unwrap_or(node.at) } else { node.at };
                findings.found.push(Located { line, column, path: node.path.clone(), message });
                if findings.found.len() >= MAX_PROBLEMS || !rest.cut(&steps) {
                    return (None, findings);
                }
            }
        }
    }
}

/// Without snippets: problems have a place, and the file is at hand.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { with_snippet: false }
}

fn syntax(error: &serde_saphyr::Error) -> Located {
    let text = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let (line, column) = error.location().map_or((0, 0), place);
    // The place is said before the message, in the form that editors jump to.
    let message = text.replace(&format!(" at line {line}, column {column}"), "");
    Located { line, column, path: String::new(), message }
}

/// The one mistake that YAML itself suggests.
fn advised(message: String) -> String {
    let bare = ["invalid type: integer", "invalid type: floating point", "invalid type: boolean"];
    let texts = ["expected a string", "expected a duration", "expected path string"];
    if bare.iter().any(|bare| message.starts_with(bare)) && texts.iter().any(|text| message.contains(text)) {
        format!("{message}; put it in quotes")
    } else {
        message
    }
}

fn place(location: Location) -> (u64, u64) {
    (location.line(), location.column())
}

enum Tree {
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

/// A value that knows where it stands, also after its neighbours have been cut out.
#[derive(Clone)]
struct Node {
    path: String,
    key: Option<(u64, u64)>,
    at: (u64, u64),
    content: Content,
}

#[derive(Clone)]
enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn new(segment: &Segment) -> Option<Self> {
        match segment {
            Segment::Seq { index } => Some(Self::Index(*index)),
            Segment::Map { key } => Some(Self::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        }
    }
}

impl Node {
    fn new(tree: Spanned<Tree>, path: String, key: Option<(u64, u64)>) -> Self {
        let at = place(tree.referenced);
        let content = match tree.value {
            // A section of which only the heading is there is one in which nothing is said. Lists and texts have defaults too.
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
    fn value(&self) -> Value {
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

    fn child(&self, step: &Step) -> Option<&Self> {
        match (&self.content, step) {
            (Content::Map(members), Step::Key(key)) => {
                members.iter().find(|(name, _)| name == key).map(|(_, member)| member)
            }
            (Content::List(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The node at the end of these steps, or where they lead nowhere.
    fn find(&self, steps: &[Step]) -> &Self {
        let mut node = self;
        for step in steps {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    /// Takes that node out. False if it is the whole.
    fn cut(&mut self, steps: &[Step]) -> bool {
        let Some((first, rest)) = steps.split_first() else { return false };
        match (&mut self.content, first) {
            (Content::Map(members), Step::Key(key)) => {
                let Some(at) = members.iter().position(|(name, _)| name == key) else { return false };
                if !members[at].1.cut(rest) {
                    members.remove(at);
                }
                true
            }
            (Content::List(items), Step::Index(index)) => {
                let Some(item) = items.get_mut(*index) else { return false };
                if !item.cut(rest) {
                    items.remove(*index);
                }
                true
            }
            _ => false,
        }
    }

    /// Where a field stands, or what is around it if it is not in the file.
    fn nearest(&self, path: &str) -> (u64, u64) {
        let children: Box<dyn Iterator<Item = &Self>> = match &self.content {
            Content::Scalar(_) => return self.at,
            Content::List(items) => Box::new(items.iter()),
            Content::Map(members) => Box::new(members.iter().map(|(_, member)| member)),
        };
        let holds = |child: &&Self| {
            path.strip_prefix(child.path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        children
            .filter(holds)
            .map(|child| child.nearest(path))
            .next()
            .unwrap_or_else(|| self.key.unwrap_or(self.at))
    }
}
