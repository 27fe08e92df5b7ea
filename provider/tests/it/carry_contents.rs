//! Copied content of a Secret: it is parsed and written again, without anything that could run or reach anything on the hub.

use std::collections::BTreeMap;

use proptest::prelude::*;
use provider_testplatform::controllers::secret_sync::contents::validate_keys;
use rstest::rstest;
use serde_json::{Value, json};

/// Text that no message may repeat.
const CANARY: &str = "CANARY";

fn carry(key: &str, value: &[u8]) -> Result<Vec<u8>, String> {
    let found = BTreeMap::from([
        (key.to_owned(), value.to_vec()),
        ("aws_config".to_owned(), b"credential_process = x".to_vec()),
    ]);
    let carried = validate_keys(&[key.to_owned()], &found)?;
    assert_eq!(carried.keys().collect::<Vec<_>>(), [key]);
    Ok(carried[key].clone())
}

fn service_account() -> Value {
    json!({
        "type": "service_account", "project_id": "p-1", "private_key_id": "k", "private_key": "-----BEGIN\nCANARY\n",
        "client_email": "a@p-1.iam.gserviceaccount.com", "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token",
    })
}

fn service_principal() -> Value {
    json!({ "subscriptionId": "s", "tenantId": "t", "clientId": "c", "clientSecret": "CANARY~._-" })
}

fn with(mut value: Value, field: &str, to: &Value) -> Value {
    value[field] = to.clone();
    value
}

fn without(mut value: Value, field: &str) -> Value {
    value.as_object_mut().unwrap().remove(field).unwrap();
    value
}

#[rstest]
#[case(b"AKIAIOSFODNN7EXAMPLE", Some("AKIAIOSFODNN7EXAMPLE"))]
#[case(b"wJalrXUtnFEMI/K7MDENG+b=", Some("wJalrXUtnFEMI/K7MDENG+b="))]
#[case(b"AKIA\n", Some("AKIA"))]
#[case(b"AKIA\n\n", None)]
#[case(b"\nAKIA", None)]
#[case(b"AKIA\r\n", None)]
#[case(b"CANARY\ncredential_process = /bin/sh -c id", None)]
#[case(b"CANARY\rcredential_process = x", None)]
#[case(b"CANARY ", None)]
#[case(b"CANARY\0", None)]
#[case(b"[CANARY]", None)]
#[case(b"CANARY#", None)]
#[case("CANARY\u{2028}x".as_bytes(), None)]
#[case("CANARYä".as_bytes(), None)]
#[case(b"\xff\xfe", None)]
#[case(b"\n", None)]
#[case(&[b'A'; 257], None)]
fn keys_of_aws_are_of_their_letters(#[case] value: &[u8], #[case] carried: Option<&str>) {
    for key in ["aws_access_key_id", "aws_secret_access_key"] {
        match carry(key, value) {
            Ok(bytes) => assert_eq!(Some(bytes.as_slice()), carried.map(str::as_bytes)),
            Err(words) => {
                assert_eq!(carried, None, "{words}");
                assert!(words.contains(key) && words.contains("letters, digits, / + and ="), "{words}");
                assert!(!words.contains(CANARY), "{words}");
            }
        }
    }
}

#[rstest]
#[case("ssh-ed25519 AAAAC3Nza+/= me@example", Some("ssh-ed25519 AAAAC3Nza+/=\n"))]
#[case(
    "\r\n  ssh-rsa AAAAB3 a b c\r\n\necdsa-sha2-nistp256 AAAAE2\n",
    Some("ssh-rsa AAAAB3\necdsa-sha2-nistp256 AAAAE2\n")
)]
#[case("command=\"CANARY\" ssh-rsa AAAAB3", None)]
#[case("CANARY", None)]
#[case("ssh-rsa CANARY", None)]
#[case("ssh-rsa AAAA:CANARY", None)]
#[case("ssh-dss AAAAB3CANARY", None)]
#[case("-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY", None)]
#[case("ssh-rsa AAAAB3\nCANARY", None)]
#[case("\n \n", None)]
fn ssh_keys_are_copied_without_comment(#[case] value: &str, #[case] carried: Option<&str>) {
    match carry("id_rsa.pub", value.as_bytes()) {
        Ok(bytes) => assert_eq!(Some(std::str::from_utf8(&bytes).unwrap()), carried),
        Err(words) => {
            assert_eq!(carried, None, "{words}");
            assert!(
                words.contains("id_rsa.pub") && words.contains("public keys") && !words.contains(CANARY),
                "{words}"
            );
        }
    }
    let long = format!("ssh-rsa AAAA{}", "B".repeat(17 * 1024));
    assert!(carry("id_rsa.pub", long.as_bytes()).is_err());
}

#[test]
fn cloud_credentials_and_pull_secrets_are_serialized_again() {
    let same = |key: &str, value: &Value, carried: &Value| {
        let bytes = carry(key, value.to_string().as_bytes()).unwrap();
        assert_eq!(&serde_json::from_slice::<Value>(&bytes).unwrap(), carried);
    };
    let google = "osServiceAccount.json";
    let whole = service_account();
    same(google, &whole, &whole);
    for field in ["private_key_id", "client_id", "token_uri"] {
        let less = without(whole.clone(), field);
        same(google, &less, &less);
    }
    for (field, value) in [
        ("credential_source", json!({ "executable": { "command": "/bin/sh" } })),
        ("auth_uri", json!("http://169.254.169.254/")),
        ("auth_provider_x509_cert_url", json!("https://www.googleapis.com/oauth2/v1/certs")),
        ("universe_domain", json!("evil.example.com")),
        ("service_account_impersonation_url", json!("http://x")),
    ] {
        same(google, &with(whole.clone(), field, &value), &whole);
    }
    let azure = "osServicePrincipal.json";
    let whole = service_principal();
    same(azure, &with(whole.clone(), "activeDirectoryEndpointUrl", &json!("http://x")), &whole);
    let auths = json!({ "auths": { "quay.io": { "auth": "Q0FOQVJZ" } } });
    same(".dockerconfigjson", &auths, &auths);
    same(".dockerconfigjson", &with(auths.clone(), "credsStore", &json!("run-me")), &auths);
    same(".dockerconfigjson", &with(auths.clone(), "credHelpers", &json!({ "x": "y" })), &auths);
    // Of a field that is there twice one goes, and it is the one that was judged.
    let twice = br#"{"auths":{},"auths":{"a":{}}}"#;
    assert_eq!(carry(".dockerconfigjson", twice).unwrap(), br#"{"auths":{"a":{}}}"#);
}

#[rstest]
#[case("type", json!("external_account"), "type service_account")]
#[case("type", json!("authorized_user"), "type service_account")]
#[case("type", json!(null), "type service_account")]
#[case("token_uri", json!("https://oauth2.googleapis.com.CANARY.example/token"), "token_uri")]
#[case("token_uri", json!("http://169.254.169.254/CANARY"), "token_uri")]
#[case("token_uri", json!(null), "token_uri")]
#[case("private_key", json!(""), "private_key")]
#[case("private_key", json!({ "CANARY": 1 }), "private_key")]
#[case("project_id", json!("CANARY\n[x]"), "project_id")]
#[case("client_email", json!(1), "client_email")]
#[case("client_id", json!(["CANARY"]), "client_id")]
#[case("private_key_id", json!({}), "private_key_id")]
fn other_google_credentials_are_not_copied(#[case] field: &str, #[case] value: Value, #[case] wanted: &str) {
    let wrong = with(service_account(), field, &value).to_string();
    let words = carry("osServiceAccount.json", wrong.as_bytes()).unwrap_err();
    assert!(words.contains("key osServiceAccount.json") && words.contains(wanted), "{words}");
    assert!(!words.contains(CANARY), "{words}");
}

#[test]
fn incomplete_document_is_not_copied() {
    let refused = |key: &str, value: &str| {
        let words = carry(key, value.as_bytes()).unwrap_err();
        assert!(words.contains(key) && !words.contains(CANARY), "{words}");
    };
    for field in ["type", "project_id", "private_key", "client_email"] {
        refused("osServiceAccount.json", &without(service_account(), field).to_string());
    }
    for field in ["subscriptionId", "tenantId", "clientId", "clientSecret"] {
        refused("osServicePrincipal.json", &without(service_principal(), field).to_string());
        for value in [json!(""), json!(null), json!(1), json!("CANARY\n")] {
            refused("osServicePrincipal.json", &with(service_principal(), field, &value).to_string());
        }
    }
    for value in ["{}", r#"{"auths":[]}"#, r#"{"auths":"CANARY"}"#] {
        refused(".dockerconfigjson", value);
    }
    for key in ["osServiceAccount.json", "osServicePrincipal.json", ".dockerconfigjson"] {
        for value in ["CANARY", "[]", "\"CANARY\"", "{\"CANARY\":", "{} CANARY", &"[".repeat(100_000)] {
            refused(key, value);
        }
    }
    for key in ["aws_config", "install-config.yaml", "ssh-privatekey"] {
        refused(key, CANARY);
    }
    // Missing and empty keys.
    let keys = ["aws_access_key_id", "aws_secret_access_key"].map(str::to_owned);
    for found in [BTreeMap::new(), keys.clone().map(|key| (key, vec![])).into()] {
        let words = validate_keys(&keys, &found).unwrap_err();
        assert_eq!(words, "needs the keys aws_access_key_id and aws_secret_access_key, none of them empty");
    }
}

/// Bytes that are likely to be taken, and those that are not.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "[A-Za-z0-9/+=\n\r =]{0,60}".prop_map(String::into_bytes),
        "[A-Za-z0-9/+=]{1,60}\n?(credential_process = x)?".prop_map(String::into_bytes),
    ]
}

proptest! {
    /// Whatever is in it: what goes is of the letters of AWS, and was there.
    #[test]
    fn no_key_of_aws_is_anything_else(value in bytes()) {
        if let Ok(carried) = carry("aws_secret_access_key", &value) {
            prop_assert!(!carried.is_empty());
            prop_assert!(carried.iter().all(|b| b.is_ascii_alphanumeric() || b"/+=".contains(b)));
            prop_assert!(value == carried || value == [carried.as_slice(), b"\n"].concat());
        } else {
            let legal = |b: &u8| b.is_ascii_alphanumeric() || b"/+=".contains(b);
            prop_assert!(value.is_empty() || value.len() > 256 || !value.iter().all(legal));
        }
    }

    /// Whatever is in it: no other field goes.
    #[test]
    fn only_known_fields_of_a_document_are_copied(field in "[a-z_]{1,20}", value in "\\PC{0,20}") {
        let (google, azure) = ("osServiceAccount.json", "osServicePrincipal.json");
        for (key, whole) in [(google, service_account()), (azure, service_principal())] {
            let found = with(whole.clone(), &field, &json!(value)).to_string();
            if let Ok(carried) = carry(key, found.as_bytes()) {
                let carried: Value = serde_json::from_slice(&carried).unwrap();
                prop_assert!(carried.as_object().unwrap().keys().all(|field| whole.get(field).is_some()));
            }
        }
    }
}
