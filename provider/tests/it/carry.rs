//! Copies of Secrets, and their owners: every state of the Secrets, and every request that is refused.

use std::collections::BTreeMap;

use kube::core::Status;
use proptest::prelude::*;
use provider_testplatform::controllers::secret_sync::{
    plan::{SecretState, SyncRequest, plan},
    state::SecretSyncState,
};
use serde_json::{Value, json};
use testplatform_apis::byoc::{SecretCopy, SecretSyncReport, SecretSyncResult, list_secret_copies};
use testplatform_runtime::error::{Cause, is_forbidden};

fn byoc() -> Value {
    json!({
        "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.example.com",
        "credentialsSecretRef": { "name": "my-aws" }, "pullSecretRef": { "name": "my-pull" },
    })
}

fn composite() -> Value {
    json!({
        "spec": { "clusterClaim": {}, "byoc": byoc(), "claimRef": { "name": "demo", "namespace": "tenant-a" } },
        "status": { "phase": "Pending", "hub": { "name": "hive-1" }, "backend": { "namespace": "byoc-demo-1" } },
    })
}

fn order() -> SyncRequest {
    SyncRequest::from_composite("demo-x", None, &composite()).unwrap()
}

fn data(tenant: &str, name: &str, parcels: &Value) -> BTreeMap<String, String> {
    let texts =
        [("tenant", tenant.to_owned()), ("composite", name.to_owned()), ("parcels", parcels.to_string())];
    texts.map(|(key, text)| (key.to_owned(), text)).into()
}

fn asked() -> Vec<SecretCopy> {
    list_secret_copies(&byoc())
}

#[test]
fn composites_that_bring_credentials_are_read() {
    let order = order();
    assert_eq!((order.name.as_str(), order.tenant.as_str(), order.over), ("demo-x", "tenant-a", false));
    assert_eq!((order.hub.as_deref(), order.namespace.as_deref()), (Some("hive-1"), Some("byoc-demo-1")));
    // Of one in a namespace that is the tenant, whatever its spec says.
    assert_eq!(SyncRequest::from_composite("x", Some("tenant-b"), &composite()).unwrap().tenant, "tenant-b");
    let mut none = composite();
    none["spec"].as_object_mut().unwrap().remove("byoc");
    assert_eq!(SyncRequest::from_composite("x", None, &none), None);
    let mut none = composite();
    none["spec"].as_object_mut().unwrap().remove("claimRef");
    assert_eq!(SyncRequest::from_composite("x", None, &none), None, "an administrator's has no tenant");
}

#[test]
fn completed_composite_without_remains_is_over() {
    for (phase, completed, over) in [
        ("Deprovisioned", "True", true),
        ("Failed", "True", true),
        ("Failed", "False", false),
        ("Deprovisioning", "True", false),
        ("Ready", "True", false),
    ] {
        let mut composite = composite();
        composite["status"]["phase"] = phase.into();
        composite["status"]["conditions"] = json!([{ "type": "ProwJobCompleted", "status": completed }]);
        assert_eq!(
            SyncRequest::from_composite("x", None, &composite).unwrap().over,
            over,
            "{phase} {completed}"
        );
    }
}

#[test]
fn only_the_own_config_map_requests_copies() {
    let whole = json!(asked());
    let parcels = |data: &BTreeMap<String, String>| order().requested_copies(data);
    assert_eq!(parcels(&data("tenant-a", "demo-x", &whole)).unwrap(), asked());
    for wrong in [data("tenant-b", "demo-x", &whole), data("tenant-a", "demo-y", &whole), BTreeMap::new()] {
        assert_eq!(
            parcels(&wrong),
            Err("the namespace on the hub belongs to another claim".to_owned()),
            "{wrong:?}"
        );
    }
    let other = |change: fn(&mut Value)| {
        let mut whole = json!(asked());
        change(&mut whole);
        parcels(&data("tenant-a", "demo-x", &whole)).unwrap_err()
    };
    assert!(other(|p| *p = json!("x")).contains("cannot be read"));
    // Whatever differs from what the composite itself brings, all of it is refused.
    for change in [
        |p: &mut Value| p[0]["to"] = json!("token"),
        |p: &mut Value| p[0]["from"] = json!("another"),
        |p: &mut Value| p[0]["field"] = json!("pullSecretRef"),
        |p: &mut Value| p[0]["keys"] = json!([]),
        |p: &mut Value| p[0]["keys"] = json!(["aws_access_key_id"]),
        |p: &mut Value| p[0]["keys"] = json!(["aws_access_key_id", "aws_secret_access_key", "aws_config"]),
        |p: &mut Value| p[1] = p[0].clone(),
        |p: &mut Value| p.as_array_mut().unwrap().push(json!(asked()[1])),
        |p: &mut Value| {
            let more = json!({ "field": "x", "from": "token", "to": "byoc-credentials", "keys": ["token"] });
            p.as_array_mut().unwrap().push(more);
        },
    ] {
        assert_eq!(other(change), "the request does not match spec.byoc");
    }
    // Nobody may request a Secret that the composite does not name.
    let mut less = composite();
    less["spec"]["byoc"].as_object_mut().unwrap().remove("pullSecretRef");
    let less = SyncRequest::from_composite("demo-x", None, &less).unwrap();
    assert!(less.requested_copies(&data("tenant-a", "demo-x", &whole)).is_err());
}

#[test]
fn only_403_counts_as_forbidden() {
    let answer = |code: u16| kube::Error::Api(Box::new(Status { code, ..Status::default() }));
    assert!(is_forbidden(&answer(403)));
    for code in [401, 404, 409, 429, 500] {
        assert!(!is_forbidden(&answer(code)), "{code}");
    }
    let cause = Cause::about_secret(&answer(401)).at("the hub");
    assert_eq!(cause.message, "the hub: the API server answered 401");
}

/// Whoever refuses something may quote it.
#[test]
fn quoted_secrets_are_not_repeated() {
    for (reason, said) in
        [("", "the API server answered 422"), ("Invalid", "the API server answered 422 Invalid")]
    {
        let (reason, message) = (reason.to_owned(), "Secret is invalid: czNjcmV0 is s3cret".to_owned());
        let quotes = Status { code: 422, reason, message, ..Status::default() };
        let cause = Cause::about_secret(&kube::Error::Api(Box::new(quotes)));
        assert_eq!(cause.message, said);
    }
}

#[test]
fn refused_copy_is_explained() {
    let found = BTreeMap::from([
        ("credentialsSecretRef".to_owned(), SecretState::Unfit("cannot be copied: key x is y".to_owned())),
        ("pullSecretRef".to_owned(), SecretState::Whole("u/1".to_owned())),
    ]);
    let step = plan(&asked(), &found, &BTreeMap::new(), None);
    assert_eq!(step.write, ["pullSecretRef"]);
    assert!(!step.report.carried);
    assert_eq!(step.sync_state(), SecretSyncState::Incomplete);
    assert_eq!(step.report.secrets["credentialsSecretRef"], SecretSyncResult::KeyMissing);
    assert_eq!(step.report.words["credentialsSecretRef"], "cannot be copied: key x is y");
    assert_eq!(SecretSyncReport::from_annotation(&step.report.to_annotation().unwrap()), Some(step.report));
}

#[test]
fn secret_is_copied_once_and_after_each_change() {
    let found = |aws: &str| {
        BTreeMap::from([
            ("credentialsSecretRef".to_owned(), SecretState::Whole(aws.to_owned())),
            ("pullSecretRef".to_owned(), SecretState::Whole("u/1".to_owned())),
        ])
    };
    let first = plan(&asked(), &found("u/1"), &BTreeMap::new(), None);
    assert_eq!(first.write, ["credentialsSecretRef", "pullSecretRef"]);
    assert!(
        first.report.carried && first.report.secrets.values().all(|fate| *fate == SecretSyncResult::Carried)
    );
    let written: BTreeMap<String, String> =
        first.write.iter().map(|field| (field.clone(), "u/1".to_owned())).collect();
    let before = Some(&first.report);
    assert_eq!(plan(&asked(), &found("u/1"), &written, before).write, [""; 0]);
    let changed = plan(&asked(), &found("u/2"), &written, before);
    assert_eq!(changed.write, ["credentialsSecretRef"]);
    assert_eq!([first.sync_state(), changed.sync_state()], [SecretSyncState::Carried; 2]);
    let gone = plan(&asked(), &BTreeMap::new(), &written, before);
    assert_eq!(gone.sync_state(), SecretSyncState::Outdated, "the hub has it as it was");
    // A report is read back as it was written.
    assert_eq!(SecretSyncReport::from_annotation(&first.report.to_annotation().unwrap()), Some(first.report));
}

fn state() -> impl Strategy<Value = Option<SecretState>> {
    prop_oneof![
        Just(None),
        Just(Some(SecretState::Absent)),
        Just(Some(SecretState::Forbidden)),
        Just(Some(SecretState::Unfit("x".to_owned()))),
        (0..3u8).prop_map(|n| Some(SecretState::Whole(format!("u/{n}")))),
    ]
}

proptest! {
    /// Whatever is found, in whatever order: only what is whole is written, all of it was before anything counts as carried, and that stays.
    #[test]
    fn only_complete_secrets_are_copied_and_copies_stay(rounds in prop::collection::vec((state(), state(), any::<bool>()), 1..12)) {
        let (mut written, mut report) = (BTreeMap::<String, String>::new(), None::<SecretSyncReport>);
        let mut there = std::collections::BTreeSet::new();
        for (aws, config, restart) in rounds {
            if restart {
                written.clear();
            }
            let mut found = BTreeMap::new();
            found.extend(aws.map(|state| ("credentialsSecretRef".to_owned(), state)));
            found.extend(config.map(|state| ("pullSecretRef".to_owned(), state)));
            let step = plan(&asked(), &found, &written, report.as_ref());
            for field in &step.write {
                let Some(SecretState::Whole(revision)) = found.get(field) else { panic!("{field} is not whole") };
                written.insert(field.clone(), revision.clone());
                there.insert(field.clone());
            }
            let was = report.as_ref().is_some_and(|report| report.carried);
            prop_assert!(step.report.carried >= was);
            prop_assert!(!step.report.carried || there.len() == 2);
            prop_assert_eq!(step.report.secrets.len(), 2);
            for (field, fate) in &step.report.secrets {
                prop_assert_eq!(*fate == SecretSyncResult::Carried, matches!(found.get(field), Some(SecretState::Whole(_))));
            }
            report = Some(step.report);
        }
    }
}
