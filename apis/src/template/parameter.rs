//! Parameters: what an entry of the catalogue says that a claim may set, and whether a value is one of them.
//!
//! **Invariant:** what is said about a value never quotes it: it ends up in conditions, and may be 64 KiB long.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ci_operator::inspect::{push_key, type_of, with_article};
use crate::names::ObjectName;

/// The most values of an enumeration that a sentence lists.
const LISTED: usize = 10;
/// The largest that all parameters of a claim may be together, as JSON.
pub const MAX_SIZE: usize = 32 * 1024;

/// Rule for a value, in the terms of JSON schema.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Rule {
    /// Description for tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its type. If not set, string.
    #[serde(rename = "type")]
    pub type_: Type,
    /// The values that it may have. If not set, any.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// A regular expression that a text must match somewhere; begin with ^ and end with $ for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub pattern: Option<Pattern>,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The fewest characters of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The most characters of a text. If not set, 4096.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The fewest items of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    /// The most items of a list. If not set, 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Rule for each item of a list. If not set, anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Rule>>,
    /// Value if a claim does not set it. If not set, it is left out then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether a claim must set it.
    pub required: bool,
    /// Whether it keeps the value with which the cluster was asked for.
    pub immutable: bool,
    /// Whether its value names a Secret on the hub. It is not shown in the claim's status. The secret itself is never a parameter.
    pub secret: bool,
    /// Target of the value, in the terms of the backend. If not set, its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Type of a parameter.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// A text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object, whose members are not looked at.
    Object,
}

impl Type {
    const fn type_word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// A regular expression, compiled when it is read: one that is none is a flaw of its entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(regex_lite::Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        regex_lite::Regex::new(&text)
            .map(Self)
            .map_err(|e| format!("pattern is not a regular expression: {e}"))
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// Path and sentence, of everything that is wrong.
pub type Report<'a> = dyn FnMut(&str, String) + 'a;

impl Rule {
    /// Checks a value and reports each error with its path.
    pub fn check_value(&self, path: &mut String, value: &Value, report: &mut Report<'_>) {
        if !crate::ci_operator::inspect::matches_type(self.type_.type_word(), value) {
            let (wanted, got) = (with_article(self.type_.type_word()), with_article(type_of(value)));
            report(path, format!("must be {wanted}, not {got}"));
            return;
        }
        if !self.allowed.is_empty() && !self.allowed.iter().any(|a| is_same_value(a, value)) {
            report(path, format!("must be one of {}", list_values(&self.allowed)));
        }
        match value {
            Value::String(text) => self.judge_text(path, text, report),
            Value::Number(number) => self.judge_number(path, number.as_f64().unwrap_or_default(), report),
            Value::Array(items) => self.judge_list(path, items, report),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
    }

    fn judge_text(&self, path: &str, text: &str, report: &mut Report<'_>) {
        let length = text.chars().count();
        let most = self.max_length.unwrap_or(4096);
        if length < self.min_length.unwrap_or_default() {
            report(path, format!("must have at least {} characters", self.min_length.unwrap_or_default()));
        }
        if length > most {
            report(path, format!("must have at most {most} characters"));
            return;
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.0.is_match(text)) {
            report(path, format!("must match {}", pattern.0.as_str()));
        }
        if self.secret && ObjectName::try_from(text).is_err() {
            report(path, "must be the name of a Secret on the hub, not a secret".into());
        }
    }

    fn judge_number(&self, path: &str, number: f64, report: &mut Report<'_>) {
        if let Some(least) = self.minimum.filter(|least| number < *least) {
            report(path, format!("must be at least {least}"));
        }
        if let Some(most) = self.maximum.filter(|most| number > *most) {
            report(path, format!("must be at most {most}"));
        }
    }

    fn judge_list(&self, path: &mut String, items: &[Value], report: &mut Report<'_>) {
        let most = self.max_items.unwrap_or(64);
        if items.len() < self.min_items.unwrap_or_default() {
            report(path, format!("must have at least {} items", self.min_items.unwrap_or_default()));
        }
        if items.len() > most {
            report(path, format!("must have at most {most} items"));
            return;
        }
        let Some(rule) = &self.items else { return };
        for (index, item) in items.iter().enumerate() {
            let length = path.len();
            // Writing to a String cannot fail.
            let _ = write!(path, "[{index}]");
            rule.check_value(path, item, report);
            path.truncate(length);
        }
    }

    /// Finds errors in the rule itself, each with its member.
    pub fn find_flaws(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut flaw = |member, sentence: String| found.push((member, sentence));
        let (text, number, list) = (
            self.type_ == Type::String,
            matches!(self.type_, Type::Integer | Type::Number),
            self.type_ == Type::Array,
        );
        for (member, set, fits, wanted) in [
            ("pattern", self.pattern.is_some(), text, "texts"),
            ("minLength", self.min_length.is_some(), text, "texts"),
            ("maxLength", self.max_length.is_some(), text, "texts"),
            ("minimum", self.minimum.is_some(), number, "numbers"),
            ("maximum", self.maximum.is_some(), number, "numbers"),
            ("minItems", self.min_items.is_some(), list, "lists"),
            ("maxItems", self.max_items.is_some(), list, "lists"),
            ("items", self.items.is_some(), list, "lists"),
            ("secret", self.secret, text, "texts"),
        ] {
            if set && !fits {
                flaw(member, format!("is for {wanted}, and type is {}", self.type_.type_word()));
            }
        }
        if self.minimum.zip(self.maximum).is_some_and(|(least, most)| least > most)
            || self.min_length.zip(self.max_length).is_some_and(|(least, most)| least > most)
            || self.min_items.zip(self.max_items).is_some_and(|(least, most)| least > most)
        {
            flaw("type", "leaves no value: a minimum is above its maximum".into());
        }
        if self.required && self.default.is_some() {
            flaw("default", "is never used, since required is true".into());
        }
        if self.secret && self.immutable {
            flaw("immutable", "cannot be kept of a secret: its value is remembered nowhere".into());
        }
        if self.secret && self.allowed.is_empty() && self.pattern.is_none() {
            flaw(
                "secret",
                "needs enum or pattern, or a claim could name any Secret of its neighbours".into(),
            );
        }
        let own = Self { allowed: vec![], ..self.clone() };
        let values = self.allowed.iter().map(|v| ("enum", &own, v));
        for (member, rule, value) in values.chain(self.default.iter().map(|v| ("default", self, v))) {
            rule.check_value(&mut String::new(), value, &mut |path, sentence| {
                let at = if path.is_empty() { String::new() } else { format!("{path} ") };
                flaw(member, format!("{at}{sentence}"));
            });
        }
        if let Some(items) = &self.items {
            let alone = [
                ("default", items.default.is_some()),
                ("required", items.required),
                ("immutable", items.immutable),
                ("secret", items.secret),
                ("target", items.target.is_some()),
            ];
            for (member, _) in alone.into_iter().filter(|(_, set)| *set) {
                flaw("items", format!("cannot have {member}; set it for the whole list"));
            }
            found
                .extend(items.find_flaws().into_iter().map(|(member, s)| ("items", format!("{member} {s}"))));
        }
        found
    }
}

/// Numbers travel as doubles, so that 2 and 2.0 are the same.
pub(crate) fn is_same_value(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
}

fn list_values(allowed: &[Value]) -> String {
    let mut words: Vec<String> = allowed.iter().take(LISTED).map(Value::to_string).collect();
    if allowed.len() > LISTED {
        words.push(format!("and {} more", allowed.len() - LISTED));
    }
    words.join(", ")
}

/// A path within a claim, with a key after it.
pub fn join_path(path: &str, key: &str) -> String {
    let mut joined = path.to_owned();
    push_key(&mut joined, key);
    joined
}
