//! Values that replacements read from and write into fields, with the types that kustomize gives them.

use serde::Deserialize;
use serde_json::Value;

use super::field_path::{PathError, scalar_text};
use crate::bump::text;

/// Which part of a field counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FieldOptions {
    delimiter: String,
    index: i64,
    /// kustomize reads it too, and does nothing with it.
    #[serde(rename = "encoding")]
    _encoding: String,
    /// Whether missing fields are added.
    pub create: bool,
}

impl FieldOptions {
    /// The part of a source that is copied.
    pub fn read_part(&self, value: &Value) -> Result<Value, PathError> {
        if self.delimiter.is_empty() {
            return Ok(value.clone());
        }
        let text = part_text(value)?;
        let mut parts = text.trim().split(&*self.delimiter);
        let part = usize::try_from(self.index).ok().and_then(|index| parts.nth(index));
        let Some(part) = part else {
            let what = format!("{} has no part {}", crate::bump::text::quote_excerpt(&text), self.index);
            return Err(PathError::Refused(what));
        };
        typed_like(value, part)
    }

    /// Writes a value into a field, or into a part of it.
    pub fn write_part(&self, field: &mut Value, is_new: bool, value: &Value) -> Result<(), PathError> {
        let is_scalar = !(field.is_array() || field.is_object());
        let replaced = if self.delimiter.is_empty() {
            None
        } else {
            let before = if is_new { String::new() } else { part_text(field)? };
            Some(self.replace_part(&before, part_text(value)?.trim()))
        };
        if !is_scalar || (is_new && (value.is_array() || value.is_object())) {
            *field = value.clone();
            return Ok(());
        }
        let written = match replaced {
            Some(text) => text,
            // kustomize writes the text of the node, and lists and mappings have none.
            None if value.is_array() || value.is_object() => String::new(),
            None => scalar_text(value).ok_or_else(|| unknown_notation(value))?,
        };
        *field = if is_new { plain_scalar(&written)? } else { typed_like(field, &written)? };
        Ok(())
    }

    fn replace_part(&self, before: &str, part: &str) -> String {
        let mut parts: Vec<&str> = before.split(&*self.delimiter).collect();
        match usize::try_from(self.index) {
            Err(_) => parts.insert(0, part),
            Ok(index) => match parts.get_mut(index) {
                Some(old) => *old = part,
                None => parts.push(part),
            },
        }
        parts.join(&self.delimiter)
    }
}

/// The text of a field with a delimiter.
fn part_text(value: &Value) -> Result<String, PathError> {
    match value {
        Value::Array(_) | Value::Object(_) => {
            Err(PathError::Refused("a delimiter works on scalars only".to_owned()))
        }
        value => scalar_text(value).ok_or_else(|| unknown_notation(value)),
    }
}

/// A text in place of a scalar, whose type stays.
fn typed_like(scalar: &Value, written: &str) -> Result<Value, PathError> {
    let refused = || {
        let what = format!("{} cannot take the place of {scalar}", text::quote_excerpt(written));
        Err(PathError::Refused(what))
    };
    match scalar {
        Value::String(_) => Ok(Value::from(written)),
        Value::Number(_) => match written.parse::<i64>() {
            Ok(number) if number.to_string() == written => Ok(Value::from(number)),
            _ if written.parse::<f64>().is_ok() => Err(unknown_notation(&Value::from(written))),
            _ => refused(),
        },
        Value::Bool(_) => written.parse::<bool>().map(Value::from).or_else(|_| refused()),
        Value::Null | Value::Array(_) | Value::Object(_) => refused(),
    }
}

/// A text without quotes, as kustomize writes a field that it creates. Words such as `yes` depend on who reads them.
fn plain_scalar(written: &str) -> Result<Value, PathError> {
    match serde_saphyr::from_str::<Value>(written) {
        Ok(Value::String(read)) if read == written => Ok(Value::String(read)),
        Ok(Value::Number(number)) if number.to_string() == written => Ok(Value::Number(number)),
        Ok(Value::Bool(value)) if value.to_string() == written => Ok(Value::Bool(value)),
        _ => Err(unknown_notation(&Value::from(written))),
    }
}

fn unknown_notation(value: &Value) -> PathError {
    PathError::Unknown(format!("the notation of {} decides", text::quote_excerpt(&value.to_string())))
}
