//! Credentials that are brought along: what the schema refuses, that the function's own rules refuse no less, and what is carried.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::byoc::{
    self, ACCOUNT_INCOMPLETE, BESIDE_OTHERS, BYOC_IMMUTABLE, Byoc, ClaimBlock, DOMAIN_RULE, HUB_SECRET_NAMES,
    NO_ACCOUNT, NO_INSTALL_CONFIG, NO_PULL_SECRET, NO_SSH_KEY, ONE_PLATFORM, REGION_RULE,
    RESOURCE_GROUP_RULE, SECRET_RULE, SecretSyncReport, SecretSyncResult, hub_secret_name,
    list_secret_copies, selected_cloud,
};

use crate::support::{create, pooled, templated, update};

fn byoc() -> Value {
    json!({
        "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.example.com",
        "credentialsSecretRef": { "name": "my-aws" }, "pullSecretRef": { "name": "my-pull" },
    })
}

/// Beside clusterClaim.
fn problems(byoc: &Value) -> Vec<(String, String)> {
    byoc::find_problems(byoc, ClaimBlock::ClusterClaim)
}

fn claim(byoc: Value) -> Value {
    let mut spec = pooled();
    spec["byoc"] = byoc;
    spec
}

fn with(pointer: &str, value: Value) -> Value {
    let mut byoc = byoc();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    byoc.pointer_mut(parent).unwrap()[key] = value;
    byoc
}

fn says(answer: Result<(), Vec<String>>, wanted: &str) {
    let complaints = answer.expect_err("accepted");
    assert!(complaints.iter().any(|c| c.ends_with(wanted)), "none says {wanted:?}, but: {complaints:#?}");
}

#[test]
fn byoc_is_refused_beside_ci_operator_and_immutable() {
    assert_eq!(create(&claim(byoc())), Ok(()));
    assert_eq!(problems(&byoc()), []);
    let mut built = json!({ "ciOperator": {} });
    built["byoc"] = byoc();
    says(create(&built), BESIDE_OTHERS);
    let own = claim(byoc());
    assert_eq!(update(&own, &own), Ok(()));
    says(update(&own, &pooled()), BYOC_IMMUTABLE);
    says(update(&pooled(), &own), BYOC_IMMUTABLE);
    says(update(&own, &claim(with("/baseDomain", json!("other.example.com")))), BYOC_IMMUTABLE);
}

/// The function refuses the same as an API server, in the words of the same field: a file has passed no API server.
#[rstest]
#[case("/platform", json!({}), "platform", ONE_PLATFORM)]
#[case("/platform/gcp", json!({ "region": "europe-west1" }), "platform", ONE_PLATFORM)]
#[case("/platform/aws/region", json!("us east"), "platform.aws.region", REGION_RULE)]
#[case("/platform/aws/region", json!(null), "platform.aws.region", REGION_RULE)]
#[case("/platform", json!({ "azure": { "region": "eastus" } }), "platform.azure.baseDomainResourceGroupName", RESOURCE_GROUP_RULE)]
#[case("/baseDomain", json!(null), "baseDomain", DOMAIN_RULE)]
#[case("/sshKeySecretRef", json!({ "name": "key" }), "sshKeySecretRef", NO_SSH_KEY)]
#[case("/installConfigSecretRef", json!({ "name": "config" }), "installConfigSecretRef", NO_INSTALL_CONFIG)]
#[case("/pullSecretRef/name", json!(""), "pullSecretRef.name", SECRET_RULE)]
#[case("/credentialsSecretRef", json!(null), "credentialsSecretRef", "is missing: name the Secret with the credentials")]
fn schema_and_function_refuse_invalid_byoc(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: &str,
    #[case] words: &str,
) {
    let wrong = with(pointer, value);
    assert!(create(&claim(wrong.clone())).is_err(), "{wrong}");
    assert_eq!(problems(&wrong), [(path.to_owned(), words.to_owned())]);
}

/// Beside a template it says nothing of an account, and has a pull secret, which every template needs that takes any. Whether it takes a key of SSH,
/// the template says.
#[test]
fn beside_a_template_its_secrets_alone_are_judged() {
    let by_template = |byoc: &Value| {
        let mut spec = templated();
        spec["byoc"] = byoc.clone();
        create(&spec)
    };
    let own = json!({ "pullSecretRef": { "name": "my-pull" }, "sshKeySecretRef": { "name": "my-key" } });
    for whole in [own.clone(), json!({ "pullSecretRef": { "name": "my-pull" } })] {
        assert_eq!(by_template(&whole), Ok(()));
        assert_eq!(byoc::find_problems(&whole, ClaimBlock::Template), []);
    }
    for field in ["platform", "baseDomain", "credentialsSecretRef"] {
        let mut more = own.clone();
        more[field] = byoc()[field].clone();
        says(by_template(&more), NO_ACCOUNT);
        assert_eq!(
            byoc::find_problems(&more, ClaimBlock::Template),
            [(field.to_owned(), NO_ACCOUNT.to_owned())]
        );
    }
    for less in [json!({}), json!({ "sshKeySecretRef": { "name": "my-key" } })] {
        let missing = ("pullSecretRef".to_owned(), NO_PULL_SECRET.to_owned());
        says(by_template(&less), NO_PULL_SECRET);
        assert_eq!(byoc::find_problems(&less, ClaimBlock::Template), [missing]);
    }
    let names: Vec<(String, String)> =
        list_secret_copies(&own).into_iter().map(|p| (p.to, p.keys.join(","))).collect();
    let key = |to: &str, key: &str| (to.to_owned(), key.to_owned());
    assert_eq!(names, [key("byoc-pull-secret", ".dockerconfigjson"), key("byoc-ssh-key", "id_rsa.pub")]);
    let wrong = |field: &str, value: Value| {
        let mut byoc = own.clone();
        byoc[field] = value;
        byoc
    };
    for (wrong, path) in [
        (wrong("installConfigSecretRef", json!({ "name": "x" })), "installConfigSecretRef"),
        (wrong("sshKeySecretRef", json!({ "name": "" })), "sshKeySecretRef.name"),
    ] {
        assert!(by_template(&wrong).is_err(), "{wrong}");
        assert_eq!(byoc::find_problems(&wrong, ClaimBlock::Template)[0].0, path);
    }
    assert_eq!(byoc::find_problems(&wrong("bogus", json!(1)), ClaimBlock::Template)[0].0, "bogus");
    // And beside clusterClaim all of an account is needed.
    for field in ["platform", "baseDomain", "credentialsSecretRef"] {
        let mut less = byoc();
        less.as_object_mut().unwrap().remove(field);
        says(create(&claim(less)), ACCOUNT_INCOMPLETE);
    }
    says(create(&claim(with("/sshKeySecretRef", json!({ "name": "key" })))), NO_SSH_KEY);
}

/// Values that only the function can refuse, or that an API server would silently drop.
#[rstest]
#[case("/bogus", json!(1), "bogus")]
#[case("/platform/vsphere", json!({}), "platform.vsphere")]
#[case("/platform/aws/credentialsAssumeRole", json!({}), "platform.aws.credentialsAssumeRole")]
#[case("/baseDomain", json!("a b"), "baseDomain")]
#[case("/credentialsSecretRef/name", json!("My_Secret"), "credentialsSecretRef.name")]
#[case("/credentialsSecretRef", json!("my-aws"), "credentialsSecretRef.name")]
fn function_refuses_invalid_byoc(#[case] pointer: &str, #[case] value: Value, #[case] path: &str) {
    let found = problems(&with(pointer, value));
    assert_eq!(found.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [path]);
}

#[test]
fn arbitrary_byoc_never_panics() {
    for block in [json!(null), json!(1), json!([]), json!({}), json!({ "platform": [], "baseDomain": {} })] {
        assert!(!problems(&block).is_empty(), "{block}");
        assert_eq!(selected_cloud(&block), None);
    }
}

#[test]
fn secret_copies_follow_from_byoc() {
    let carried = list_secret_copies(&byoc());
    let names: Vec<(&str, &str)> = carried.iter().map(|p| (p.from.as_str(), p.to.as_str())).collect();
    assert_eq!(names, [("my-aws", "byoc-credentials"), ("my-pull", "byoc-pull-secret")]);
    assert_eq!(list_secret_copies(&with("/installConfigSecretRef", json!({ "name": "x" }))), carried);
    assert!(carried.iter().all(|p| HUB_SECRET_NAMES.contains(&p.to.as_str()) && !p.keys.is_empty()));
    for (platform, keys) in [
        (json!({ "aws": {} }), vec!["aws_access_key_id", "aws_secret_access_key"]),
        (json!({ "azure": {} }), vec!["osServicePrincipal.json"]),
        (json!({ "gcp": {} }), vec!["osServiceAccount.json"]),
    ] {
        assert_eq!(list_secret_copies(&with("/platform", platform))[0].keys, keys);
    }
    assert_eq!(hub_secret_name(&byoc(), "pullSecretRef"), Some("byoc-pull-secret"));
    assert_eq!(hub_secret_name(&json!({}), "pullSecretRef"), None);
    // The type says the same.
    let typed: Byoc = serde_json::from_value(byoc()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), byoc());
}

#[test]
fn reports_are_read_forgivingly() {
    let report = SecretSyncReport {
        carried: true,
        secrets: [("pullSecretRef".to_owned(), SecretSyncResult::KeyMissing)].into(),
        ..SecretSyncReport::default()
    };
    assert_eq!(
        report.to_annotation().unwrap(),
        r#"{"carried":true,"secrets":{"pullSecretRef":"KeyMissing"}}"#
    );
    assert_eq!(SecretSyncReport::from_annotation(&report.to_annotation().unwrap()), Some(report.clone()));
    let words = [("pullSecretRef".to_owned(), "cannot be carried".to_owned())].into();
    let report = SecretSyncReport { words, refused: Some("no".to_owned()), ..report };
    assert_eq!(SecretSyncReport::from_annotation(&report.to_annotation().unwrap()), Some(report));
    let read = SecretSyncReport::from_annotation(
        r#"{"carried":"x","secrets":{"a":"Carried","b":"Teleported"},"more":1}"#,
    )
    .unwrap();
    assert_eq!((read.carried, read.secrets.len()), (false, 1));
    assert_eq!(SecretSyncReport::from_annotation("{}"), None);
    assert_eq!(SecretSyncReport::from_annotation("nonsense"), None);
    for fate in SecretSyncResult::ALL {
        assert_eq!(serde_json::to_value(fate).unwrap(), fate.as_str());
    }
}
