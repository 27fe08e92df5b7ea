//! A manifest with the places that Helm fills in, as the text of a template.
//!
//! Text of an administrator enters through `quote`, which escapes every character that a YAML reader treats specially: it can neither end a string
//! nor add a field. JSON would not do, because a line break of Unicode stays in it. Lists and mappings enter as JSON; their schemas admit plain
//! characters only.

use anyhow::Context as _;
use serde_json::Value;

use crate::{bump::ObjectId, to_yaml};

/// Annotation by which `helm uninstall` leaves an object.
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
/// Argo CD's annotation with the options of an object.
const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// An object of a chart, and the places in it that values change.
#[derive(Clone, Debug)]
pub struct ChartTemplate {
    object: Value,
    places: Vec<Place>,
}

#[derive(Clone, Debug)]
enum Place {
    /// An expression whose output is the value.
    Expression(String),
    /// A field that exists only under a condition: its condition, and its lines without indentation.
    Optional { condition: String, lines: String },
}

impl ChartTemplate {
    /// An object without places. One that Argo CD never deletes is also left by Helm.
    pub fn new(mut object: Value) -> Self {
        let options = &object["metadata"]["annotations"][SYNC_OPTIONS];
        if options.as_str().is_some_and(|options| options.split(',').any(|option| option == "Delete=false")) {
            object["metadata"]["annotations"][RESOURCE_POLICY] = "keep".into();
        }
        Self { object, places: Vec::new() }
    }

    /// Whether both are the same object of a cluster.
    pub fn is_same_object(&self, other: &Self) -> bool {
        let identity = |template: &Self| ObjectId::of(&template.object);
        identity(self) == identity(other)
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// The value at a JSON pointer.
    pub fn value_at(&self, pointer: &str) -> Option<&Value> {
        self.object.pointer(pointer)
    }

    /// Replaces the value at a JSON pointer by the output of an expression.
    ///
    /// # Errors
    /// If there is no value.
    pub fn fill(&mut self, pointer: &str, expression: &str) -> anyhow::Result<()> {
        self.value_at(pointer).with_context(|| self.describe_missing(pointer))?;
        self.add_place(pointer, Place::Expression(expression.to_owned()))
    }

    /// Keeps a field only under a condition.
    ///
    /// # Errors
    /// If there is no such field.
    pub fn keep_if(&mut self, pointer: &str, condition: &str) -> anyhow::Result<()> {
        let value = self.value_at(pointer).with_context(|| self.describe_missing(pointer))?.clone();
        self.add_if(pointer, condition, &value)
    }

    /// Adds a field under a condition.
    ///
    /// # Errors
    /// If nothing can have this field.
    pub fn add_if(&mut self, pointer: &str, condition: &str, value: &Value) -> anyhow::Result<()> {
        let key = last_key(pointer);
        let lines = escape(&to_yaml(&serde_json::json!({ key: value }))?);
        self.add_place(pointer, Place::Optional { condition: condition.to_owned(), lines })
    }

    /// Adds a field under a condition, with the output of an expression as its value.
    ///
    /// # Errors
    /// If nothing can have this field.
    pub fn fill_if(&mut self, pointer: &str, condition: &str, expression: &str) -> anyhow::Result<()> {
        let lines = format!("{}: {{{{ {expression} }}}}\n", last_key(pointer));
        self.add_place(pointer, Place::Optional { condition: condition.to_owned(), lines })
    }

    fn describe_missing(&self, pointer: &str) -> String {
        format!("{} {} has no {pointer}", self.kind(), self.object["metadata"]["name"])
    }

    fn add_place(&mut self, pointer: &str, place: Place) -> anyhow::Result<()> {
        let token = token(self.places.len());
        let missing = self.describe_missing(pointer);
        let (parent, key) = pointer.rsplit_once('/').with_context(|| missing.clone())?;
        let parent = self.object.pointer_mut(parent).and_then(Value::as_object_mut).context(missing)?;
        parent.insert(key.to_owned(), token.into());
        self.places.push(place);
        Ok(())
    }

    /// The text of the template.
    ///
    /// # Errors
    /// If the object cannot be written as YAML.
    pub fn render(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        for line in escape(&to_yaml(&self.object)?).lines() {
            let found = self.places.iter().enumerate().find(|(index, _)| line.contains(&token(*index)));
            match found {
                Some((index, Place::Expression(expression))) => {
                    text.push_str(&line.replace(&token(index), &format!("{{{{ {expression} }}}}")));
                    text.push('\n');
                }
                Some((_, Place::Optional { condition, lines })) => {
                    let indent = &line[..line.len() - line.trim_start().len()];
                    text.extend(["{{- if ", condition, " }}\n"]);
                    for line in lines.lines() {
                        text.extend([indent, line, "\n"]);
                    }
                    text.push_str("{{- end }}\n");
                }
                None => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        Ok(text)
    }
}

/// The text of a file of templates.
pub(super) fn render_file(objects: &[ChartTemplate], condition: Option<&str>) -> anyhow::Result<String> {
    let mut text = format!(
        "{{{{- /* Generated by `cargo xpkg generate` from {} and package/install. Do not edit. */}}}}\n",
        super::SOURCE
    );
    if let Some(condition) = condition {
        text.extend(["{{- if ", condition, " }}\n"]);
    }
    for object in objects {
        text.push_str("---\n");
        text.push_str(&object.render()?);
    }
    if condition.is_some() {
        text.push_str("{{- end }}\n");
    }
    Ok(text)
}

/// A text that stands for a place until the YAML is written. It is written without quotes.
fn token(index: usize) -> String {
    format!("chartplace{index}x")
}

fn last_key(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or(pointer)
}

/// Text in which Helm sees no action, such as the templates of an alert.
fn escape(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}
