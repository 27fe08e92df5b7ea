//! YAML → JSON values, as Kubernetes' own reader has it (YAML 1.1).

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A text that is not the YAML it should be. It shows no line of the text: a line of a Secret is nobody's to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", origin.display(), place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
pub struct InvalidYaml {
    /// Source of the text.
    pub origin: PathBuf,
    /// Line and column of the fault, from 1, where the reader knows them.
    pub place: Option<(u64, u64)>,
    /// Error message.
    pub message: String,
}

/// The documents of a text; `origin` is named in errors.
///
/// # Errors
/// If it is no YAML.
pub fn parse_documents(origin: &Path, text: &str) -> Result<Vec<Value>, InvalidYaml> {
    serde_saphyr::from_multiple_with_options(text, yaml_1_1()).map_err(|e| invalid_yaml(origin, &e))
}

/// The only document of a text; `origin` is named in errors.
///
/// # Errors
/// If it is no YAML, or more than one document.
pub fn parse_one(origin: &Path, text: &str) -> Result<Value, InvalidYaml> {
    serde_saphyr::from_str_with_options(text, yaml_1_1()).map_err(|e| invalid_yaml(origin, &e))
}

fn yaml_1_1() -> serde_saphyr::Options {
    serde_saphyr::options! { with_snippet: false, legacy_octal_numbers: true }
}

fn invalid_yaml(origin: &Path, error: &serde_saphyr::Error) -> InvalidYaml {
    let origin = origin.to_owned();
    let text = error.without_snippet().render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let Some(location) = error.location() else { return InvalidYaml { origin, place: None, message: text } };
    let (line, column) = (location.line(), location.column());
    // The place is said before the message, in the form that editors jump to.
    let message = text.replace(&format!(" at line {line}, column {column}"), "");
    InvalidYaml { origin, place: Some((line, column)), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_place_and_repeats_no_line() {
        let error = parse_one(Path::new("a.yaml"), "password: [hunter2\nb: {").unwrap_err().to_string();
        assert!(error.starts_with("a.yaml:"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert_eq!(parse_documents(Path::new("a.yaml"), "a: 010\n---\nb: yes\n").unwrap().len(), 2);
        assert_eq!(parse_one(Path::new("a.yaml"), "a: 010").unwrap()["a"], 8);
    }
}
