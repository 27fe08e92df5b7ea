//! Credentials that are brought along: what the schema refuses, that the function's own rules refuse no less, and what is carried.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::byoc::{
    self, BESIDE_OTHERS, BYOC_IMMUTABLE, Beside, Byoc, DOMAIN_RULE, Fate, NO_ACCOUNT, NO_INSTALL_CONFIG,
    NO_PULL_SECRET, NO_SSH_KEY, ON_THE_HUB, ONE_PLATFORM, REGION_RULE, RESOURCE_GROUP_RULE, Report,
    SECRET_RULE, WHOLE_ACCOUNT, cloud, on_the_hub, parcels,
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
    byoc::problems(byoc, Beside::ClusterClaim)
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
fn it_is_not_taken_beside_ci_operator_and_stays() {
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

/// What an API server refuses the function refuses too, in the words of the same field: a file has passed no API server.
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
fn both_refuse_it(#[case] pointer: &str, #[case] value: Value, #[case] path: &str, #[case] words: &str) {
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
        assert_eq!(byoc::problems(&whole, Beside::Template), []);
    }
    for field in ["platform", "baseDomain", "credentialsSecretRef"] {
        let mut more = own.clone();
        more[field] = byoc()[field].clone();
        says(by_template(&more), NO_ACCOUNT);
        assert_eq!(byoc::problems(&more, Beside::Template), [(field.to_owned(), NO_ACCOUNT.to_owned())]);
    }
    for less in [json!({}), json!({ "sshKeySecretRef": { "name": "my-key" } })] {
        let missing = ("pullSecretRef".to_owned(), NO_PULL_SECRET.to_owned());
        says(by_template(&less), NO_PULL_SECRET);
        assert_eq!(byoc::problems(&less, Beside::Template), [missing]);
    }
    let names: Vec<(String, String)> = parcels(&own).into_iter().map(|p| (p.to, p.keys.join(","))).collect();
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
        assert_eq!(byoc::problems(&wrong, Beside::Template)[0].0, path);
    }
    assert_eq!(byoc::problems(&wrong("bogus", json!(1)), Beside::Template)[0].0, "bogus");
    // And beside clusterClaim all of an account is needed.
    for field in ["platform", "baseDomain", "credentialsSecretRef"] {
        let mut less = byoc();
        less.as_object_mut().unwrap().remove(field);
        says(create(&claim(less)), WHOLE_ACCOUNT);
    }
    says(create(&claim(with("/sshKeySecretRef", json!({ "name": "key" })))), NO_SSH_KEY);
}

/// What only the function can refuse, or what an API server would leave out without a word.
#[rstest]
#[case("/bogus", json!(1), "bogus")]
#[case("/platform/vsphere", json!({}), "platform.vsphere")]
#[case("/platform/aws/credentialsAssumeRole", json!({}), "platform.aws.credentialsAssumeRole")]
#[case("/baseDomain", json!("a b"), "baseDomain")]
#[case("/credentialsSecretRef/name", json!("My_Secret"), "credentialsSecretRef.name")]
#[case("/credentialsSecretRef", json!("my-aws"), "credentialsSecretRef.name")]
fn the_function_refuses_it(#[case] pointer: &str, #[case] value: Value, #[case] path: &str) {
    let found = problems(&with(pointer, value));
    assert_eq!(found.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [path]);
}

#[test]
fn whatever_stands_there_is_judged() {
    for block in [json!(null), json!(1), json!([]), json!({}), json!({ "platform": [], "baseDomain": {} })] {
        assert!(!problems(&block).is_empty(), "{block}");
        assert_eq!(cloud(&block), None);
    }
}

#[test]
fn what_is_carried_follows_from_it() {
    let carried = parcels(&byoc());
    let names: Vec<(&str, &str)> = carried.iter().map(|p| (p.from.as_str(), p.to.as_str())).collect();
    assert_eq!(names, [("my-aws", "byoc-credentials"), ("my-pull", "byoc-pull-secret")]);
    assert_eq!(parcels(&with("/installConfigSecretRef", json!({ "name": "x" }))), carried);
    assert!(carried.iter().all(|p| ON_THE_HUB.contains(&p.to.as_str()) && !p.keys.is_empty()));
    for (platform, keys) in [
        (json!({ "aws": {} }), vec!["aws_access_key_id", "aws_secret_access_key"]),
        (json!({ "azure": {} }), vec!["osServicePrincipal.json"]),
        (json!({ "gcp": {} }), vec!["osServiceAccount.json"]),
    ] {
        assert_eq!(parcels(&with("/platform", platform))[0].keys, keys);
    }
    assert_eq!(on_the_hub(&byoc(), "pullSecretRef"), Some("byoc-pull-secret"));
    assert_eq!(on_the_hub(&json!({}), "pullSecretRef"), None);
    // The type says the same.
    let typed: Byoc = serde_json::from_value(byoc()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), byoc());
}

#[test]
fn reports_are_read_forgivingly() {
    let report = Report {
        carried: true,
        secrets: [("pullSecretRef".to_owned(), Fate::KeyMissing)].into(),
        ..Report::default()
    };
    assert_eq!(report.write().unwrap(), r#"{"carried":true,"secrets":{"pullSecretRef":"KeyMissing"}}"#);
    assert_eq!(Report::read(&report.write().unwrap()), Some(report.clone()));
    let words = [("pullSecretRef".to_owned(), "cannot be carried".to_owned())].into();
    let report = Report { words, refused: Some("no".to_owned()), ..report };
    assert_eq!(Report::read(&report.write().unwrap()), Some(report));
    let read =
        Report::read(r#"{"carried":"x","secrets":{"a":"Carried","b":"Teleported"},"more":1}"#).unwrap();
    assert_eq!((read.carried, read.secrets.len()), (false, 1));
    assert_eq!(Report::read("{}"), None);
    assert_eq!(Report::read("nonsense"), None);
    for fate in Fate::ALL {
        assert_eq!(serde_json::to_value(fate).unwrap(), fate.as_str());
    }
}
