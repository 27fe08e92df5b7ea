//! Chart values as text.
//!
//! **Invariant:** a tenant's value is one value, and never more. It passes through the template of an ApplicationSet (`{{`), through Argo
//! CD's environment (`$`) and through Helm's `--set`, where `,` begins the next value, `{` a list, and `\` escapes both. Without escaping,
//! a value could set others, including those that the template's administrators have fixed.

use serde_json::Value;

/// A value as the text by which it gets there. Helm makes numbers and booleans of those again.
pub(super) fn helm_value(value: &Value) -> String {
    match value {
        Value::String(text) => escape_value(text),
        // The catalogue has no others.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_value(&value.to_string())
        }
    }
}

fn escape_value(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ',' | '{' => escaped.push('\\'),
            '$' => escaped.push('$'),
            _ => {}
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!("m5.large"), "m5.large")]
    #[case(json!("45m"), "45m")]
    #[case(json!(true), "true")]
    #[case(json!(3), "3")]
    #[case(json!(2.5), "2.5")]
    #[case(json!("a,region=b"), "a\\,region=b")]
    #[case(json!("a\\,region=b"), "a\\\\\\,region=b")]
    #[case(json!("{a}region=b"), "\\{a}region=b")]
    #[case(json!("{{ url }}"), "\\{\\{ url }}")]
    #[case(json!("$HOME"), "$$HOME")]
    #[case(json!("- mirrors:\n  - a\n"), "- mirrors:\n  - a\n")]
    fn a_value_sets_no_other(#[case] value: Value, #[case] expected: &str) {
        assert_eq!(helm_value(&value), expected);
    }
}
