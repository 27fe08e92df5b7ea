//! Statuses and versions of the CRD: what this version writes and objects that are stored.

use serde_json::{Value, json};
use testplatform_package::to_yaml;
use testplatform_test_data::upstream;

use super::Checkout;
use crate::packages::support::{package, yaml};

const CLEAN: &str = "in step with the CRD; every difference is a listed one\n";

fn conditions(crd: &mut Value) -> &mut Value {
    &mut status(crd)["properties"]["conditions"]
}

fn status(crd: &mut Value) -> &mut Value {
    &mut crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["status"]
}

/// The lines of the check of a CRD, changed.
fn check(change: impl Fn(&mut Value)) -> Vec<String> {
    let checkout = Checkout::new();
    let mut crd = checkout.definition(|_| {});
    change(&mut crd);
    let path = checkout.file("crd.yaml", &to_yaml(&crd).unwrap());
    lines(&checkout, &["--crd", &path, "--check"])
}

/// The same beside the CRD that the hub has.
fn check_update(change: impl Fn(&mut Value)) -> Vec<String> {
    let checkout = Checkout::new();
    let mut crd = checkout.definition(|_| {});
    let running = checkout.file("running.yaml", &to_yaml(&crd).unwrap());
    change(&mut crd);
    let path = checkout.file("crd.yaml", &to_yaml(&crd).unwrap());
    lines(&checkout, &["--crd", &path, "--check", "--running", &running])
}

fn lines(checkout: &Checkout, arguments: &[&str]) -> Vec<String> {
    let (clean, said) = checkout.sync(arguments).unwrap();
    assert_eq!(clean, said == CLEAN, "{said}");
    said.lines().filter(|_| !clean).map(str::to_owned).collect()
}

/// One line, with all of these texts.
fn only(lines: &[String], texts: &[&str]) {
    assert_eq!(lines.len(), 1, "{lines:#?}");
    for text in texts {
        assert!(lines[0].contains(text), "{text}: {}", lines[0]);
    }
}

/// The provider is right under both.
#[test]
fn statuses_of_both_upstream_definitions_are_accepted() {
    let file = "ephemeralclusters.ci.openshift.io.yaml";
    let newest = package().parent().unwrap().join("tests/crds/newest");
    for directory in [upstream().join("crds"), newest] {
        let theirs = yaml(&directory.join(file));
        let schema = &theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
        assert_eq!(check(|crd| *status(crd) = schema.clone()), [""; 0], "{}", directory.display());
    }
}

#[test]
fn a_refused_status_is_drift() {
    let refused = "the API server would refuse the whole status that this version writes";
    let todo = "Do not install this CRD before the provider";
    only(
        &check(|crd| status(crd)["required"] = json!(["phase", "observedGeneration"])),
        &["status: required is [\"phase\",\"observedGeneration\"] in the CRD", refused, todo],
    );
    only(
        &check(|crd| conditions(crd)["items"]["required"] = json!(["status", "type", "observedGeneration"])),
        &["status.conditions[]: required is", refused],
    );
    only(
        &check(|crd| status(crd)["properties"]["phase"]["enum"] = json!(["Provisioning", "Ready", "Failed"])),
        &["status.phase: enum is", refused],
    );
    only(
        &check(|crd| conditions(crd)["x-kubernetes-list-type"] = "set".into()),
        &["status.conditions: x-kubernetes-list-type is \"set\" in the CRD and nothing here", refused],
    );
    only(
        &check(|crd| conditions(crd)["items"]["properties"]["reason"]["maxLength"] = 16.into()),
        &["status.conditions[].reason: maxLength is 16 in the CRD", refused],
    );
    only(
        &check(|crd| drop(status(crd)["properties"].as_object_mut().unwrap().remove("prowJobId"))),
        &["status.prowJobId: not in the CRD (string)", todo],
    );
    only(
        &check(|crd| {
            let schema = &mut crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"];
            schema.as_object_mut().unwrap().remove("status");
        }),
        &["status: not in the CRD (object)"],
    );
}

#[test]
fn additional_status_fields_are_ignored() {
    let none = check(|crd| {
        status(crd)["properties"]["retries"] = json!({ "type": "integer" });
        status(crd)["properties"]["phase"]["enum"].as_array_mut().unwrap().push("Paused".into());
    });
    assert_eq!(none, [""; 0]);
}

#[test]
fn stored_objects_need_their_version() {
    let stored = |versions: Value| check(move |crd| crd["status"]["storedVersions"] = versions.clone());
    assert_eq!(stored(json!(["v1"])), [""; 0]);
    only(
        &stored(json!(["v1alpha1", "v1"])),
        &[
            "status.storedVersions: v1alpha1 is not the storage version (v1), and objects may be stored in it",
            "kubectl get ephemeralclusters.ci.openshift.io -A -o yaml | kubectl replace -f -",
            "storedVersions",
        ],
    );
    only(
        &stored(json!(["v1beta1", "v1"])),
        &["v1beta1 is not a version of the CRD any more", "the API server refuses the CRD", "served: false"],
    );
}

/// Beside the CRD that the hub has, it counts which version that one serves and stores.
#[test]
fn an_update_keeps_served_and_stored_versions() {
    let version = |crd: &Value, name: &str, served: bool, storage: bool| {
        let mut version = crd["spec"]["versions"][1].clone();
        (version["name"], version["served"], version["storage"]) =
            (name.into(), served.into(), storage.into());
        version
    };
    assert_eq!(check_update(|_| {}), [""; 0]);
    only(
        &check_update(|crd| {
            crd["spec"]["versions"] =
                json!([version(crd, "v1", true, false), version(crd, "v2", true, true)]);
        }),
        &[
            "spec.versions.v1: the storage version becomes v2",
            "objects stay stored in v1 until they are written again",
            "kubectl replace",
        ],
    );
    let checkout = Checkout::new();
    let mut running = checkout.definition(|_| {});
    running["spec"]["versions"] =
        json!([version(&running, "v1beta1", true, false), version(&running, "v1", true, true)]);
    let crd = checkout.crd(|_| {});
    let running = checkout.file("running.yaml", &to_yaml(&running).unwrap());
    let lines = lines(&checkout, &["--crd", &crd, "--check", "--running", &running]);
    only(&lines, &["spec.versions.v1beta1: no longer served", "served: true"]);
}

/// Narrower than what the hub has, although wider than what this version needs.
#[test]
fn an_update_that_would_refuse_stored_objects_is_drift() {
    let lines = check_update(|crd| {
        let spec = &mut crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["properties"]["tearDownCluster"]["enum"] = json!([true]);
        status(crd)["required"] = json!(["phase", "prowJobURL"]);
    });
    let update = |text: &str| {
        lines.iter().any(|line| line.starts_with("drift: update of v1: ") && line.contains(text))
    };
    assert!(update("status: required [\"phase\"] became [\"phase\",\"prowJobURL\"]"), "{lines:#?}");
    assert!(update("spec.tearDownCluster: enum [true] added"), "{lines:#?}");
    assert!(update("stored objects"), "{lines:#?}");
}
