//! Authentication challenges of a registry (`WWW-Authenticate`).

use std::collections::BTreeMap;

/// A way of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// Name and password with every request.
    Basic,
    /// A token from another server.
    Bearer {
        /// Address of the token server.
        realm: String,
        /// Name of this registry at that server.
        service: Option<String>,
        /// Required scope of the token.
        scope: Option<String>,
    },
}

/// Parses a header; the strongest way comes first. Unknown ways are omitted.
pub fn parse_challenges(header: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut scheme = String::new();
    let mut parameters = BTreeMap::new();
    let mut rest = header.trim();
    while !rest.is_empty() {
        let (word, after) = split_word(rest);
        if let Some(value) = after.strip_prefix('=') {
            let (value, after) = split_value(value);
            parameters.insert(word.to_ascii_lowercase(), value);
            rest = after.trim_start_matches([',', ' ']);
        } else {
            found.extend(build_challenge(&scheme, &mut parameters));
            word.clone_into(&mut scheme);
            rest = after.trim_start_matches([',', ' ']);
            if word.is_empty() {
                break;
            }
        }
    }
    found.extend(build_challenge(&scheme, &mut parameters));
    found.sort_by_key(|challenge| matches!(challenge, Challenge::Basic));
    found
}

fn build_challenge(scheme: &str, parameters: &mut BTreeMap<String, String>) -> Option<Challenge> {
    let mut parameters = std::mem::take(parameters);
    match scheme.to_ascii_lowercase().as_str() {
        "basic" => Some(Challenge::Basic),
        "bearer" => Some(Challenge::Bearer {
            realm: parameters.remove("realm")?,
            service: parameters.remove("service"),
            scope: parameters.remove("scope"),
        }),
        _ => None,
    }
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c == '=' || c == ',' || c.is_whitespace()).unwrap_or(text.len()))
}

/// Splits off a value. A quoted value may contain commas and escaped quotes.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([',', ' ']).unwrap_or(text.len()));
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, char)| char)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_of_registries_are_understood() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        };
        for (header, expected) in [
            ("Basic realm=\"Registry\"", vec![Challenge::Basic]),
            ("basic", vec![Challenge::Basic]),
            (
                "Bearer realm=\"https://auth.example/token\",service=\"r.example\",scope=\"repository:a:pull,push\"",
                vec![bearer("https://auth.example/token", Some("r.example"), Some("repository:a:pull,push"))],
            ),
            (
                "Bearer realm=https://a.example/t, service=s",
                vec![bearer("https://a.example/t", Some("s"), None)],
            ),
            (
                "Basic realm=\"a\\\"b\", Bearer realm=\"https://a.example\"",
                vec![bearer("https://a.example", None, None), Challenge::Basic],
            ),
            ("Negotiate", vec![]),
            ("Bearer service=s", vec![]),
            ("", vec![]),
            ("Bearer realm=\"unfinished", vec![bearer("unfinished", None, None)]),
            ("=,=", vec![]),
        ] {
            assert_eq!(parse_challenges(header), expected, "{header}");
        }
    }
}
