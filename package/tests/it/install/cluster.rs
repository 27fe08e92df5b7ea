//! Which composites go by another revision, as pure data in and out.

use serde_json::{Value, json};
use testplatform_package::check::{
    revisions::{OutdatedReason, build_report, composite_kind},
    rollback,
};

const NAME: &str = "testplatform-ephemeral-cluster";

fn revision(name: &str, composition: &str, number: i64, functions: &[&str]) -> Value {
    let steps: Vec<Value> =
        functions.iter().map(|f| json!({ "step": f, "functionRef": { "name": f } })).collect();
    json!({
        "metadata": { "name": name, "labels": { "crossplane.io/composition-name": composition } },
        "spec": { "revision": number, "pipeline": steps },
    })
}

fn composite(name: &str, spec: &Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn on(revision: &str) -> Value {
    json!({ "compositionRef": { "name": NAME }, "compositionRevisionRef": { "name": revision } })
}

fn revisions() -> Vec<Value> {
    vec![
        // Not in the order of their numbers, and one of another Composition with a higher one.
        revision("new", NAME, 12, &["function-testplatform"]),
        revision(
            "old",
            NAME,
            9,
            &["function-go-templating", "function-go-templating", "function-auto-ready"],
        ),
        revision("other", "namespaces", 40, &["function-go-templating"]),
    ]
}

#[test]
fn a_cluster_without_outdated_composites_is_clean() {
    let mut claimed = on("new");
    claimed["claimRef"] = json!({ "namespace": "team-a", "name": "demo" });
    let report =
        build_report(NAME, &[composite("demo-1", &claimed), composite("b", &on("new"))], &revisions());
    assert!(report.is_clean());
    assert_eq!(report.newest.as_deref(), Some("new"));
    assert!(report.to_string().ends_with("all 2 composites go by it\n"), "{report}");
}

#[test]
fn outdated_composites_are_listed_with_the_reason() {
    let with = |mut spec: Value, key: &str, value: Value| {
        spec[key] = value;
        spec
    };
    let mut elsewhere = on("other");
    elsewhere["compositionRef"]["name"] = "namespaces".into();
    let claim = json!({ "namespace": "team-a", "name": "demo" });
    let composites = [
        composite("a-new", &on("new")),
        composite("b-old", &with(on("old"), "claimRef", claim)),
        composite("c-manual", &with(on("old"), "compositionUpdatePolicy", "Manual".into())),
        composite("d-kept", &with(on("old"), "compositionRevisionSelector", json!({ "matchLabels": {} }))),
        composite("e-other", &elsewhere),
        composite("f-fresh", &json!({})),
        composite("g-gone", &on("removed")),
        // As Crossplane 2 keeps them.
        composite("h-modern", &json!({ "crossplane": on("old") })),
    ];
    let report = build_report(NAME, &composites, &revisions());
    let left: Vec<_> = report.left.iter().map(|left| (left.composite.as_str(), left.reason)).collect();
    assert_eq!(
        left,
        [
            ("b-old", OutdatedReason::NotMovedYet),
            ("c-manual", OutdatedReason::Manual),
            ("d-kept", OutdatedReason::Selected),
            ("e-other", OutdatedReason::OtherComposition),
            ("f-fresh", OutdatedReason::NotLookedAt),
            ("g-gone", OutdatedReason::NotMovedYet),
            ("h-modern", OutdatedReason::NotMovedYet),
        ]
    );
    assert_eq!(report.left[0].claim.as_deref(), Some("team-a/demo"));
    assert_eq!(report.left[0].functions, ["function-go-templating", "function-auto-ready"]);
    assert_eq!(Vec::from_iter(&report.still_needed), ["function-auto-ready", "function-go-templating"]);
    let text = report.to_string();
    assert!(text.contains("7 of 8 composites do not go by it"), "{text}");
    assert!(
        text.contains("have to stay until they do: function-auto-ready, function-go-templating"),
        "{text}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["left"][1]["reason"], "Manual");
    assert_eq!(json["stillNeeded"][0], "function-auto-ready");
}

#[test]
fn without_a_revision_all_composites_are_outdated() {
    let report = build_report("another", &[composite("a", &on("new"))], &revisions());
    assert_eq!((report.newest.as_deref(), report.is_clean()), (None, false));
}

/// Asked about spaces, a list of claims would be no answer, and an empty one a false all-clear.
#[test]
fn the_composition_determines_the_listed_kind() {
    let mut revisions = revisions();
    let made = |api_version: &str, kind: &str| json!({ "apiVersion": api_version, "kind": kind });
    for revision in &mut revisions {
        revision["spec"]["compositeTypeRef"] = match revision["metadata"]["name"].as_str() {
            Some("other") => made("eaas.konflux-ci.dev/v1alpha1", "XNamespace"),
            Some("new") => made("ci.openshift.org/v1alpha1", "XTestPlatformCluster"),
            _ => made("ci.openshift.org/v1alpha0", "XTestPlatformCluster"),
        };
    }
    assert_eq!(
        composite_kind("namespaces", &revisions),
        Some(("eaas.konflux-ci.dev/v1alpha1", "XNamespace"))
    );
    assert_eq!(composite_kind(NAME, &revisions), Some(("ci.openshift.org/v1alpha1", "XTestPlatformCluster")));
    assert_eq!(composite_kind("another", &revisions), None, "it has no revision");
}

/// Of TestClusters there may be two of one name.
#[test]
fn a_composite_in_a_namespace_is_listed_with_it() {
    let mut composite = composite("demo", &json!({ "crossplane": on("old") }));
    composite["metadata"]["namespace"] = "team-a".into();
    let report = build_report(NAME, &[composite], &revisions());
    assert_eq!(report.left[0].composite, "team-a/demo");
}

/// The incumbent makes an EphemeralCluster of every composite, and knows none of what keeps ours from that.
#[test]
fn composites_that_cannot_roll_back_are_listed_with_the_reason() {
    let of = |name: &str, mut spec: Value, status: Value| {
        spec["claimRef"] = json!({ "namespace": "team-a", "name": name });
        json!({ "metadata": { "name": format!("{name}-x") }, "spec": spec, "status": status })
    };
    let ours = || json!({ "ciOperator": {} });
    let ready = json!({ "phase": "Ready" });
    let at = |hub: &str, namespace: &str| json!({ "phase": "Ready", "hub": { "name": hub }, "backend": { "namespace": namespace } });
    let (hub, namespace) = ("testplatform-kubernetes-provider-config", "ephemeral-cluster");
    let mut manual = json!({ "clusterClaim": {} });
    manual["compositionUpdatePolicy"] = "Manual".into();
    let mut ending = ours();
    ending["tearDownCluster"] = true.into();
    let mut composites = vec![
        of("ready", ours(), ready.clone()),
        of("asked", ours(), json!({})),
        of("usual", ours(), at(hub, namespace)),
        of("ending", ending, json!({ "phase": "Deprovisioning" })),
        of("kept", manual, ready.clone()),
    ];
    let clean = rollback::build_report(&composites);
    assert!(clean.is_clean(), "{clean}");
    assert_eq!(clean.to_string(), "all 4 composites that follow their Composition can go back\n");
    let mut deleted = of("deleted", ours(), json!({ "phase": "Failed" }));
    deleted["metadata"]["deletionTimestamp"] = "2026-03-02T12:00:00Z".into();
    let default = json!({ "ciOperator": { "test": { "name": "e2e", "clusterClaim": {} } } });
    let mut account = ours();
    account["credentials"] = json!({ "mode": "ServiceAccount" });
    composites.extend([
        deleted,
        of("hive", json!({ "clusterClaim": {} }), ready.clone()),
        of("template", json!({ "template": "t" }), json!({})),
        of("lost", ours(), json!({ "phase": "Failed" })),
        of("over", ours(), json!({ "phase": "Deprovisioned" })),
        of("given", ours(), json!({ "phase": "Ready", "handedOver": { "to": "team-a/given" } })),
        of("task", default, ready.clone()),
        of("account", account, ready.clone()),
        of("spent", ours(), json!({ "phase": "Deprovisioning" })),
        of("moved", ours(), at(hub, "another")),
        of("other-hub", ours(), at("another", namespace)),
    ]);
    let mut administrators = of("administrators", ours(), ready.clone());
    administrators["spec"].as_object_mut().unwrap().remove("claimRef");
    composites.push(administrators);
    let named = |name: &str, note: &str, value: &str| {
        let mut composite = of(name, ours(), ready.clone());
        composite["metadata"]["annotations"] =
            json!({ format!("ephemeralcluster.ci.openshift.io/{note}"): value });
        composite
    };
    composites.extend([
        named("plain", "task-run-name", "pr-12-provision"),
        named("unset", "another", "PR: fix #12"),
        named("colon", "task-run-name", "PR: fix #12"),
        named("digits", "pipeline-run-name", "12345"),
        named("word", "task-run-name", "on"),
        named("truth", "task-run-name", "true"),
        named("lines", "task-run-name", "a\n  b: c"),
    ]);
    let mut digits = of("tenant", ours(), ready.clone());
    digits["spec"]["claimRef"]["namespace"] = "4711".into();
    composites.push(digits);
    let report = rollback::build_report(&composites);
    let kept: Vec<_> = report.kept.iter().map(|kept| (kept.composite.as_str(), kept.reason)).collect();
    assert_eq!(
        kept,
        [
            ("account-x", rollback::StayReason::ServiceAccount),
            ("administrators-x", rollback::StayReason::NoTenant),
            ("colon-x", rollback::StayReason::Unquoted),
            ("digits-x", rollback::StayReason::Unquoted),
            ("given-x", rollback::StayReason::HandedOver),
            ("hive-x", rollback::StayReason::OtherBlock),
            ("lines-x", rollback::StayReason::Unquoted),
            ("lost-x", rollback::StayReason::Failed),
            ("moved-x", rollback::StayReason::Elsewhere),
            ("other-hub-x", rollback::StayReason::Elsewhere),
            ("over-x", rollback::StayReason::Deprovisioned),
            ("spent-x", rollback::StayReason::Ending),
            ("task-x", rollback::StayReason::Refused),
            ("template-x", rollback::StayReason::OtherBlock),
            ("tenant-x", rollback::StayReason::Unquoted),
            ("truth-x", rollback::StayReason::Unquoted),
            ("word-x", rollback::StayReason::Unquoted),
        ]
    );
    let text = report.to_string();
    assert!(text.contains("lost-x (claim team-a/lost): it is Failed; another cluster"), "{text}");
    assert!(text.contains("17 of 25 composites cannot go back\n"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["kept"][7], json!({ "composite": "lost-x", "claim": "team-a/lost", "reason": "Failed" }));
}
