//! Version constraints, in the syntax of core's library.

use crate::oci::parse_digest;

/// Whether `dependsOn` and `spec.crossplane` accept it: alternatives separated by `||`, each with comparisons separated by comma or space.
pub fn is_valid(text: &str) -> bool {
    text.split("||").all(|alternative| {
        let joined = join_operators(alternative);
        let mut parts = joined.split([',', ' ']).filter(|part| !part.is_empty()).peekable();
        // `1.2 - 1.4` is a range.
        parts.peek().is_some() && parts.all(|part| part == "-" || is_comparison(part))
    })
}

/// Whether it is a digest, which may pin a dependency.
pub fn is_digest(text: &str) -> bool {
    parse_digest(text).is_ok()
}

/// Removes spaces between an operator and its version.
fn join_operators(text: &str) -> String {
    let mut joined = String::new();
    for char in text.chars() {
        if char == ' ' && joined.ends_with(['=', '<', '>', '~', '^', '!']) {
            continue;
        }
        joined.push(char);
    }
    joined
}

fn is_comparison(part: &str) -> bool {
    const OPERATORS: [&str; 12] = [">=", "=>", "<=", "=<", "!=", "~>", "=", "<", ">", "~", "^", ""];
    let Some(version) = OPERATORS.iter().find_map(|operator| part.strip_prefix(operator)) else {
        return false;
    };
    let version = version.strip_prefix(['v', 'V']).unwrap_or(version);
    let (version, build) = version.split_once('+').unwrap_or((version, "0"));
    let (core, pre) = version.split_once('-').unwrap_or((version, "0"));
    let numbers: Vec<_> = core.split('.').collect();
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    numbers.len() <= 3
        && numbers
            .iter()
            .all(|n| ["x", "X", "*"].contains(n) || (!n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())))
        && pre.split('.').all(word)
        && build.split('.').all(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_follow_cores_syntax() {
        for text in [
            ">=v1.17.0-0",
            "^1.2.3",
            "~1.2, <2",
            ">= 1.2 < 3.0.0 || >= 4.2.3",
            "v2",
            "*",
            "1.2.x",
            "1.2 - 1.4.5",
            "!=1.0.0-rc.1+build.2",
            "=>1",
        ] {
            assert!(is_valid(text), "{text}");
        }
        for text in ["", "latest", ">=", "1.2.3.4", ">=v1.a", "main||", "1.0.0-", "sha256:00"] {
            assert!(!is_valid(text), "{text}");
        }
    }
}
