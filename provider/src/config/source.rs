//! From YAML to a type, with every problem instead of the first, each with its place.
//!
//! The text is parsed into a tree whose nodes know their positions. The type is read from the tree; each value that it rejects is recorded and
//! cut out, and the rest is read again. That works because nearly every field has a default.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_saphyr::{Spanned, UserMessageFormatter};

mod tree;

use tree::{Node, PathStep, Tree, place};

/// More than that and the file is something else altogether.
const MAX_PROBLEMS: usize = 50;

/// Something that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 if there is no place.
    pub line: u64,
    /// The column, from 1; 0 if there is no place.
    pub column: u64,
    /// The field, such as `ephemeralCluster.waitImage.tag`; empty if it is about the whole.
    pub path: String,
    /// The problem, and how to fix it.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
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

/// A problem before its position in the file is known.
pub struct Finding {
    /// The field.
    pub path: String,
    /// The problem, and how to fix it.
    pub message: String,
}

/// Findings so far.
pub struct Findings {
    /// Parsed values, without those that cannot be read.
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
        for Finding { path, message } in findings {
            let (path, (line, column)) =
                self.tree.as_ref().map_or_else(|| (path.clone(), (0, 0)), |tree| tree.locate(&path));
            let covered = |known: &Located| starts(&path, &known.path) || starts(&known.path, &path);
            if !self.found.iter().any(covered) {
                self.found.push(Located { line, column, path, message });
            }
        }
    }

    /// All of them, in the order of the file.
    pub fn into_problems(mut self, file: &str) -> Vec<ConfigProblem> {
        self.found.sort_by(|a, b| {
            (a.line, a.column, &a.path, &a.message).cmp(&(b.line, b.column, &b.path, &b.message))
        });
        self.found
            .into_iter()
            .map(|Located { line, column, path, message }| ConfigProblem {
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
    let mut tree = match serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options()) {
        Ok(tree) => Node::document(tree),
        Err(error) => {
            findings.found.push(syntax(&error));
            return (None, findings);
        }
    };
    if !tree.value().is_object() {
        let (line, column) = tree.at;
        let message = "expected fields, each as name: value".into();
        findings.found.push(Located { line, column, path: String::new(), message });
        return (None, findings);
    }
    loop {
        match serde_path_to_error::deserialize::<_, T>(tree.value()) {
            Ok(read) => {
                findings.tree = Some(tree);
                return (Some(read), findings);
            }
            Err(error) => {
                let steps: Vec<PathStep> = error.path().iter().filter_map(PathStep::new).collect();
                let (node, _) = tree.find(&steps);
                let message = advised(&error.inner().to_string());
                let about_the_key = message.starts_with("unknown field");
                let (line, column) = if about_the_key { node.key.unwrap_or(node.at) } else { node.at };
                findings.found.push(Located { line, column, path: node.path.clone(), message });
                if findings.found.len() >= MAX_PROBLEMS || !tree.cut(&steps) {
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
    // The position precedes the message, in the form that editors jump to.
    let message = text.replace(&format!(" at line {line}, column {column}"), "");
    Located { line, column, path: String::new(), message }
}

/// The reader's message, without the names of our types, and with what to do.
fn advised(message: &str) -> String {
    if message == "invalid socket address syntax" {
        return "is not an address with a port, such as [::]:8080 or 127.0.0.1:8080".into();
    }
    if let Some((found, _)) = message.split_once(", expected struct ") {
        return format!("{found}, expected fields, each as name: value");
    }
    let bare = ["invalid type: integer", "invalid type: floating point", "invalid type: boolean"];
    let texts = ["expected a string", "expected a duration", "expected path string"];
    // The one mistake that YAML itself suggests.
    if bare.iter().any(|bare| message.starts_with(bare)) && texts.iter().any(|text| message.contains(text)) {
        return format!("{message}; put it in quotes");
    }
    message.into()
}

/// Whether a path is another one, or inside it.
fn starts(inner: &str, outer: &str) -> bool {
    outer.is_empty()
        || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
