//! Whether a kubeconfig may be handed on. Whoever uses one runs what its users name as plugins and reads the files that it names, on
//! the machine where it is used; so one that names either is never published.

use serde_json::Value;

/// Keys of a user that make a client run a program, or send what is in a file of the reader's. Compared without regard to case
/// and dashes: parsers differ in what they let pass.
const RUNS: [&str; 2] = ["exec", "authprovider"];
/// Keys that name a file on the reader's machine.
const READS: [&str; 4] = ["tokenfile", "clientcertificate", "clientkey", "certificateauthority"];

/// Why a kubeconfig is not handed on, as the end of a sentence. Never a word of what is in it.
pub fn judge(bytes: &[u8]) -> Result<(), &'static str> {
    const NONE: &str = "is no kubeconfig";
    let text = std::str::from_utf8(bytes).map_err(|_| NONE)?;
    let whole: Value = serde_saphyr::from_str(text).map_err(|_| NONE)?;
    let clusters = whole["clusters"].as_array().filter(|all| !all.is_empty()).ok_or(NONE)?;
    let has_server = |entry: &Value| entry["cluster"]["server"].as_str().is_some_and(|url| !url.is_empty());
    if !whole["users"].is_array() || !clusters.iter().all(has_server) {
        return Err(NONE);
    }
    // Wherever it is: an anchor may stand anywhere, and be merged where a client looks.
    if has_key(&whole, &RUNS) {
        return Err("would run a program on the machine of whoever uses it");
    }
    if has_key(&whole, &READS) {
        return Err("names files on the machine of whoever uses it");
    }
    Ok(())
}

fn has_key(value: &Value, keys: &[&str]) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, inner)| keys.contains(&plain(key).as_str()) || has_key(inner, keys))
        }
        Value::Array(items) => items.iter().any(|item| has_key(item, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn plain(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'https://api.c:6443', certificate-authority-data: eA==}\n\
        contexts:\n- name: admin\n  context: {cluster: c, user: admin}\ncurrent-context: admin\n";

    #[test]
    fn what_hive_makes_is_handed_on() {
        for user in [
            "users: [{name: admin, user: {client-certificate-data: eA==, client-key-data: eA==}}]",
            "users: [{name: admin, user: {token: s3cret}}]",
            "users: [{name: exec, user: {token: exec}}]",
        ] {
            assert_eq!(judge(format!("{GOOD}{user}").as_bytes()), Ok(()), "{user}");
        }
        assert_eq!(
            judge(br#"{"clusters":[{"name":"a","cluster":{"server":"https://a"}}],"users":[]}"#),
            Ok(())
        );
    }

    #[test]
    fn what_would_run_or_read_something_is_not() {
        for (user, why) in [
            ("users: [{name: a, user: {exec: {command: rm}}}]", "run"),
            ("users: [{name: a, user: {Exec: {command: rm}}}]", "run"),
            ("users: [{name: a, user: {auth-provider: {name: gcp}}}]", "run"),
            ("users: [{name: a, user: {authProvider: {name: gcp}}}]", "run"),
            ("extensions: [{name: x, extension: {exec: {}}}]\nusers: []", "run"),
            ("users: [{name: a, user: {tokenFile: /var/run/secrets/token}}]", "files"),
            ("users: [{name: a, user: {client-key: /etc/keys/client.key}}]", "files"),
        ] {
            assert!(judge(format!("{GOOD}{user}").as_bytes()).unwrap_err().contains(why), "{user}");
        }
    }

    #[test]
    fn what_is_none_is_not() {
        for text in [
            "",
            "not ready",
            "clusters: []",
            "clusters: {",
            "users: []",
            GOOD,
            "clusters: [{name: a}]\nusers: []",
        ] {
            assert_eq!(judge(text.as_bytes()), Err("is no kubeconfig"), "{text}");
        }
        assert!(judge(&[0xff, 0xfe]).is_err());
        // A second document would be read by nobody, or by somebody else.
        assert!(
            judge(format!("{GOOD}users: []\n---\nusers: [{{user: {{exec: {{}}}}}}]\n").as_bytes()).is_err()
        );
    }
}
