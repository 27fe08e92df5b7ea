//! Judges what is in a Secret before it is carried. Pure.
//!
//! On the hub Hive turns it into files for the clouds' libraries and the installer, which have more permissions than a tenant: lines `key =
//! value` of an AWS configuration, where a line break starts a setting such as `credential_process` that runs a program; a Google credential
//! that can name a program or a URL to fetch from (`external_account`); a pull secret that can name a helper. SSH keys come to every
//! node. Therefore nothing is copied verbatim: the understood parts are rewritten, and nothing else.
//!
//! **Invariant:** no sentence here repeats anything of what was found.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most bytes of a key of AWS. Today's have 20 and 40.
const AWS_MOST: usize = 256;
/// The most bytes of keys of SSH.
const SSH_MOST: usize = 16 * 1024;
/// The types of keys of SSH. Source: OpenSSH, sshd(8), on the file of authorized keys.
const SSH_TYPES: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "sk-ssh-ed25519@openssh.com",
];
/// The only place where a Google credential may be shown.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// Returns the part of a Secret that is copied. All `keys` are required.
///
/// # Errors
/// Returns the problem and its key: a sentence that follows the name of the Secret, without any of its content.
pub fn validate_keys(
    keys: &[String],
    found: &BTreeMap<String, Vec<u8>>,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let one = |key: &String| {
        let value = found.get(key).map(Vec::as_slice).unwrap_or_default();
        if value.is_empty() {
            return Err(format!("needs the keys {}, none of them empty", keys.join(" and ")));
        }
        let carried =
            validate_value(key, value).map_err(|why| format!("cannot be copied: key {key} {why}"))?;
        Ok((key.clone(), carried))
    };
    keys.iter().map(one).collect()
}

fn validate_value(key: &str, value: &[u8]) -> Result<Vec<u8>, &'static str> {
    let made = match key {
        "aws_access_key_id" | "aws_secret_access_key" => return validate_aws_key(value),
        "osServiceAccount.json" => validate_google_credential(&parse_object(value)?)?,
        "osServicePrincipal.json" => validate_azure_credential(&parse_object(value)?)?,
        ".dockerconfigjson" => pull_secret(&parse_object(value)?)?,
        "id_rsa.pub" => return ssh_keys(value),
        _ => return Err("is not a key that is copied"),
    };
    serde_json::to_vec(&made).map_err(|_| "cannot be written")
}

/// Of the letters that keys of AWS have. One line break at the end is what editors leave there.
fn validate_aws_key(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    let trimmed = value.strip_suffix(b"\n").unwrap_or(value);
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+=".contains(byte);
    if trimmed.is_empty() || trimmed.len() > AWS_MOST || !trimmed.iter().all(legal) {
        return Err("must be of letters, digits, / + and = alone, at most 256");
    }
    Ok(trimmed.to_vec())
}

/// Public keys, one per line: the type and the key, without comment and options.
fn ssh_keys(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    const WRONG: &str =
        "must be public keys of SSH, such as ssh-ed25519 and what follows, one in a line, at most 16 KiB";
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= SSH_MOST).ok_or(WRONG)?;
    let mut keys = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_ascii_whitespace();
        let (Some(kind), Some(key)) = (words.next(), words.next()) else { return Err(WRONG) };
        let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+=".contains(byte);
        // Base64 of a length of four bytes, of which the first three are 0.
        if !SSH_TYPES.contains(&kind) || !key.starts_with("AAAA") || !key.bytes().all(|byte| legal(&byte)) {
            return Err(WRONG);
        }
        for part in [kind, " ", key, "\n"] {
            keys.push_str(part);
        }
    }
    if keys.is_empty() { Err(WRONG) } else { Ok(keys.into_bytes()) }
}

fn parse_object(value: &[u8]) -> Result<Map<String, Value>, &'static str> {
    serde_json::from_slice(value).map_err(|_| "is not a JSON object")
}

/// Some text without control characters.
fn is_plain(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty() && !text.chars().any(char::is_control))
}

/// The key of a service account, and no other kind of credential.
fn validate_google_credential(found: &Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    if found.get("type").is_none_or(|kind| kind != "service_account") {
        return Err("must have the type service_account, and no other is served");
    }
    if found.get("token_uri").is_some_and(|uri| uri != TOKEN_URI) {
        return Err("must have the token_uri https://oauth2.googleapis.com/token, or none");
    }
    if found.get("private_key").is_none_or(|key| key.as_str().is_none_or(str::is_empty)) {
        return Err("needs private_key, some text");
    }
    if !["project_id", "client_email"].iter().all(|field| found.get(*field).is_some_and(is_plain)) {
        return Err("needs project_id and client_email, each one line of text");
    }
    let more = ["private_key_id", "client_id"];
    if !more.iter().filter_map(|field| found.get(*field)).all(is_plain) {
        return Err("must have private_key_id and client_id as one line of text, or not at all");
    }
    let carried =
        ["type", "project_id", "private_key_id", "private_key", "client_email", "client_id", "token_uri"];
    Ok(keep_fields(found, &carried))
}

fn validate_azure_credential(found: &Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    let carried = ["subscriptionId", "tenantId", "clientId", "clientSecret"];
    if !carried.iter().all(|field| found.get(*field).is_some_and(is_plain)) {
        return Err("needs subscriptionId, tenantId, clientId and clientSecret, each one line of text");
    }
    Ok(keep_fields(found, &carried))
}

fn pull_secret(found: &Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    if !found.get("auths").is_some_and(Value::is_object) {
        return Err("needs auths, an object");
    }
    Ok(keep_fields(found, &["auths"]))
}

fn keep_fields(found: &Map<String, Value>, fields: &[&str]) -> Map<String, Value> {
    let of = |field: &&str| Some(((*field).to_owned(), found.get(*field)?.clone()));
    fields.iter().filter_map(of).collect()
}
