//! The Lua that Argo CD runs, run: over the objects of the examples, and over what else there can be.

use std::fs;

use mlua::{Lua, LuaSerdeExt as _};
use serde_json::{Value, json};
use testplatform_apis::{condition::SpaceReady, pool_status::PoolPhase};
use testplatform_package::install::health::CHECKS;

use crate::install::{documents, repository};

/// Status and message, as Argo CD would show them.
fn health(object: &Value) -> (String, String) {
    let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap();
    let kind = object["kind"].as_str().unwrap();
    let check = CHECKS.iter().find(|check| check.group == group && check.kind == kind);
    let lua = Lua::new();
    lua.globals().set("obj", lua.to_value(object).unwrap()).unwrap();
    let told: mlua::Table = lua.load(check.unwrap().lua).eval().unwrap();
    (told.get("status").unwrap(), told.get("message").unwrap())
}

fn status(object: &Value) -> String {
    health(object).0
}

/// The composite of every example is judged by its phase.
#[test]
fn composites_of_every_phase() {
    let mut seen = std::collections::BTreeSet::new();
    for entry in fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        for object in documents(&path.join("desired.yaml")) {
            let Some(phase) = object["status"]["phase"].as_str() else { continue };
            if object["kind"] != "XTestPlatformCluster" && object["kind"] != "TestCluster" {
                continue;
            }
            let expected = match phase {
                "Pending" | "Provisioning" | "Deprovisioning" => "Progressing",
                "Ready" | "Deprovisioned" => "Healthy",
                "Degraded" | "Failed" => "Degraded",
                other => panic!("phase {other}"),
            };
            let (status, message) = health(&object);
            assert_eq!(status, expected, "{}: {phase}, {message}", path.display());
            let said = &object["status"]["message"];
            assert!(phase == "Ready" || phase == "Deprovisioned" || *said == message.as_str(), "{message}");
            seen.insert(phase.to_owned());
        }
    }
    assert_eq!(seen.len(), testplatform_apis::phase::Phase::ALL.len(), "{seen:?}");
}

/// A pool is judged by its phase, and by whether its definition can be used.
#[test]
fn pools_of_every_phase() {
    let pool = |phase: &str, conditions: Value| {
        let mut pool = object("ci.openshift.org/v1alpha1", "XTestPlatformClusterPool", &conditions);
        pool["status"]["phase"] = phase.into();
        pool["status"]["message"] = "in words".into();
        health(&pool)
    };
    for phase in PoolPhase::ALL {
        let expected = match phase {
            PoolPhase::Pending | PoolPhase::Draining => "Progressing",
            PoolPhase::Ready | PoolPhase::Drained => "Healthy",
            PoolPhase::Degraded => "Degraded",
        };
        assert_eq!(pool(phase.as_str(), json!([])), (expected.into(), "in words".into()), "{phase}");
        let refused = json!([condition("RequestAccepted", "False", "InvalidPool", "spec.size: no")]);
        assert_eq!(pool(phase.as_str(), refused), ("Degraded".into(), "spec.size: no".into()), "{phase}");
    }
    let stuck = json!([condition("Synced", "False", "ReconcileError", "no function")]);
    assert_eq!(pool("Ready", stuck), ("Degraded".into(), "no function".into()));
    let paused = json!([condition("Synced", "False", "ReconcilePaused", "paused")]);
    assert_eq!(pool("Ready", paused).0, "Healthy");
    let bare = json!({ "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformClusterPool" });
    assert_eq!(health(&bare), ("Progressing".into(), "waiting".into()));
}

/// A space is judged by its phase, and by whether somebody has to do something; that of the incumbent, which has no phase, by core's words.
#[test]
fn spaces_of_every_phase() {
    let space = |kind: &str, phase: Option<&str>, conditions: Value| {
        let mut space = object("eaas.konflux-ci.dev/v1alpha1", kind, &conditions);
        if let Some(phase) = phase {
            space["status"]["phase"] = phase.into();
            space["status"]["message"] = "in words".into();
        }
        health(&space)
    };
    let is = |status: &str, message: &str| (status.to_owned(), message.to_owned());
    let of = |reason: SpaceReady, ready: &str| {
        let told = if reason == SpaceReady::SpaceAvailable { "True" } else { "False" };
        json!([condition("SpaceReady", told, reason.as_str(), "in words"), condition("Ready", ready, "", "")])
    };
    for kind in ["Namespace", "XNamespace"] {
        for reason in SpaceReady::ALL.iter().copied() {
            let expected = match reason {
                SpaceReady::SpaceAvailable
                | SpaceReady::SpaceNamespacePending
                | SpaceReady::SpaceContentPending
                | SpaceReady::SpaceCredentialsPending
                | SpaceReady::SpaceHubUnreachable
                | SpaceReady::SpacePaused
                | SpaceReady::SpaceTerminating => "Progressing",
                SpaceReady::SpaceNameInvalid | SpaceReady::SpaceRefused => "Degraded",
            };
            assert_eq!(
                space(kind, Some("Pending"), of(reason, "False")),
                is(expected, "in words"),
                "{reason:?}"
            );
            // It was there before, so something happened to it.
            assert_eq!(space(kind, Some("Degraded"), of(reason, "True")), is("Degraded", "in words"));
        }
        let ready = of(SpaceReady::SpaceAvailable, "True");
        assert_eq!(space(kind, Some("Ready"), ready), is("Healthy", "space ready"));
        let stuck = json!([condition("Synced", "False", "ReconcileError", "no function")]);
        assert_eq!(space(kind, Some("Ready"), stuck), is("Degraded", "no function"));
        let of_incumbent = |ready: &str| space(kind, None, json!([condition("Ready", ready, "", "")]));
        assert_eq!(of_incumbent("True"), is("Healthy", "space ready"));
        assert_eq!(of_incumbent("False"), is("Progressing", "waiting"));
    }
}

/// Objects of the examples: a paused one is on its way, which is how credentials begin.
#[test]
fn objects_of_the_examples() {
    let mut paused = 0;
    let mut judged = 0;
    for entry in fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        for object in documents(&path.join("observed.yaml")) {
            if object["kind"] != "Object" {
                continue;
            }
            judged += 1;
            let is = |type_: &str, value: &str| {
                let conditions = object["status"]["conditions"].as_array();
                conditions.into_iter().flatten().any(|c| c["type"] == type_ && c["status"] == value)
            };
            let expected = if object["metadata"]["annotations"]["crossplane.io/paused"] == "true" {
                paused += 1;
                "Progressing"
            } else if is("Synced", "False") {
                "Degraded"
            } else if is("Synced", "True") && is("Ready", "True") {
                "Healthy"
            } else {
                "Progressing"
            };
            assert_eq!(status(&object), expected, "{}", path.display());
        }
    }
    assert!(paused > 2 && judged > 10, "{paused} of {judged}");
}

/// One that mirrors the facts of a hub is never ready on purpose; that it cannot be read is trouble all the same.
#[test]
fn mirrors_of_facts() {
    let path = repository().join("package/install/components/hub-facts/object.yaml");
    let mut mirror = documents(&path).remove(0);
    for (synced, expected) in [("True", "Healthy"), ("False", "Degraded"), ("Unknown", "Progressing")] {
        let conditions = json!([
            condition("Synced", synced, "", "no such thing"),
            condition("Ready", "False", "Unavailable", ""),
        ]);
        mirror["status"] = json!({ "conditions": conditions });
        assert_eq!(status(&mirror), expected);
    }
}

fn object(api_version: &str, kind: &str, conditions: &Value) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": {}, "status": { "conditions": conditions } })
}

fn claim(conditions: &Value) -> Value {
    object("ci.openshift.org/v1alpha1", "TestPlatformCluster", conditions)
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message })
}

/// The incumbent says its phase in a condition alone, also after a switch back.
#[test]
fn claims_of_the_incumbent() {
    let synced = condition("Synced", "True", "ReconcileSuccess", "");
    let phase = |phase: &str| condition("_EphemeralClusterPhase", "True", "", phase);
    let ready = |status: &str| condition("Ready", status, "Available", "");
    let done = |reason: &str| condition("ProwJobCompleted", "True", reason, "it ended");
    for (conditions, expected) in [
        (json!([]), "Progressing"),
        (json!([synced, phase("Provisioning"), ready("False")]), "Progressing"),
        (json!([synced, phase("Ready"), ready("True")]), "Healthy"),
        (json!([synced, phase("Deprovisioning"), ready("True")]), "Progressing"),
        (json!([synced, phase("Deprovisioned"), ready("True"), done("ProwJobCompleted")]), "Healthy"),
        (json!([synced, phase("Deprovisioned"), ready("True"), done("ProwJobFailure")]), "Degraded"),
        (json!([synced, phase("Failed"), ready("False")]), "Degraded"),
        (json!([condition("Synced", "False", "ReconcileError", "no function"), phase("Ready")]), "Degraded"),
        (
            json!([condition("Synced", "False", "ReconcilePaused", "paused"), phase("Provisioning")]),
            "Progressing",
        ),
    ] {
        assert_eq!(status(&claim(&conditions)), expected, "{conditions}");
    }
    let bare = json!({ "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster" });
    assert_eq!(health(&bare), ("Progressing".into(), "waiting".into()));
}

/// Claims are offered by a definition that has them. Of any other core never says that, and it is healthy without.
#[test]
fn definitions_with_claims_and_without() {
    let definition = |path: &str, conditions: Value| {
        let mut definition = documents(&repository().join("package").join(path)).remove(0);
        definition["status"] = json!({ "conditions": conditions });
        status(&definition)
    };
    let established = condition("Established", "True", "WatchingCompositeResource", "");
    let offered = condition("Offered", "True", "WatchingCompositeResourceClaim", "");
    let broken = condition("Established", "False", "Broken", "no");
    let ending = condition("Established", "False", "TerminatingCompositeResource", "");
    for (path, alone) in [
        ("xrds/xtestplatformclusters.ci.openshift.org.yaml", "Progressing"),
        ("install/components/spaces/definition.yaml", "Progressing"),
        ("install/components/test-clusters/definition.yaml", "Healthy"),
        ("install/components/cluster-pools/definition.yaml", "Healthy"),
    ] {
        assert_eq!(definition(path, json!([established])), alone, "{path}");
        assert_eq!(definition(path, json!([established, offered])), "Healthy", "{path}");
        assert_eq!(definition(path, json!([])), "Progressing", "{path}");
        assert_eq!(definition(path, json!([broken, offered])), "Degraded", "{path}");
        assert_eq!(definition(path, json!([ending])), "Progressing", "{path}");
    }
}

/// Of one that was changed the conditions are those of before until core has seen it, and what comes after has to wait.
#[test]
fn definitions_that_were_changed() {
    let path = repository().join("package/xrds/xtestplatformclusters.ci.openshift.org.yaml");
    let mut definition = documents(&path).remove(0);
    definition["metadata"]["generation"] = 2.into();
    for (established, offered, expected) in
        [(1, 1, "Progressing"), (2, 1, "Progressing"), (1, 2, "Progressing"), (2, 2, "Healthy")]
    {
        let mut conditions = json!([
            condition("Established", "True", "WatchingCompositeResource", ""),
            condition("Offered", "True", "WatchingCompositeResourceClaim", ""),
        ]);
        conditions[0]["observedGeneration"] = established.into();
        conditions[1]["observedGeneration"] = offered.into();
        definition["status"] = json!({ "conditions": conditions });
        assert_eq!(status(&definition), expected, "{established}, {offered}");
    }
}

/// Fields that core's package manager writes on the way, v2.3.4, and before 2.0.
/// Both Argo CDs ignore the same, in a list that ours has.
#[test]
fn defaults_of_an_api_server_are_no_difference() {
    let of = |file: &str| documents(&repository().join("package/install").join(file)).remove(0);
    let words = &of("argocd/argocd-cm.yaml")["data"]["resource.customizations.ignoreDifferences.external-secrets.io_ExternalSecret"];
    let ignored: Value = serde_saphyr::from_str(words.as_str().unwrap()).unwrap();
    let operator =
        &of("argocd/argocd-cr.yaml")["spec"]["resourceIgnoreDifferences"]["resourceIdentifiers"][0];
    assert_eq!(
        (&operator["group"], &operator["kind"]),
        (&json!("external-secrets.io"), &json!("ExternalSecret"))
    );
    assert_eq!(operator["customization"], ignored);
    let secret = of("components/external-secret/external-secret.yaml");
    assert!(
        secret["spec"]["dataFrom"].as_array().unwrap().iter().all(|from| from["extract"]["key"].is_string())
    );
    for path in ignored["jqPathExpressions"].as_array().unwrap() {
        assert!(path.as_str().unwrap().starts_with(".spec.dataFrom[]?.extract."), "{path}");
    }
}

#[test]
fn packages_during_installation() {
    let asked = "registry.example.com/package:v2";
    let package = |kind: &str, identifier: Option<&str>, conditions: Value| {
        let mut package = object("pkg.crossplane.io/v1", kind, &conditions);
        package["spec"] = json!({ "package": asked });
        if let Some(identifier) = identifier {
            package["status"]["currentIdentifier"] = identifier.into();
        }
        // As an ImageConfig has it: nothing goes by it.
        package["status"]["resolvedPackage"] = "mirror.example.com/package:v2".into();
        health(&package)
    };
    let is = |status: &str, message: &str| (status.to_owned(), message.to_owned());
    let active = condition("Installed", "True", "ActivePackageRevision", "");
    let well = condition("Healthy", "True", "HealthyPackageRevision", "");
    let ill = |message: &str| condition("Healthy", "False", "UnhealthyPackageRevision", message);
    let not = |reason: &str, message: &str| condition("Installed", "False", reason, message);
    let (before, now) = (Some("registry.example.com/package:v1"), Some(asked));
    let unpulled = is("Progressing", "the package that is asked for is not pulled yet");
    for kind in ["Function", "Provider", "Configuration"] {
        assert_eq!(package(kind, None, json!([])), unpulled);
        let failed = json!([not("UnpackingPackage", "cannot pull"), ill("cannot pull")]);
        assert_eq!(package(kind, None, failed.clone()), is("Progressing", "cannot pull"));
        // A new revision without conditions, and one whose pods do not run yet.
        for words in [r#"Package revision health is """#, r#"Package runtime health is "False""#] {
            assert_eq!(package(kind, now, json!([active, ill(words)])), is("Progressing", words));
        }
        assert_eq!(package(kind, now, json!([active, well])), is("Healthy", "installed and healthy"));
        // An update: until it is pulled, what is said is said of the revision before.
        assert_eq!(package(kind, before, json!([active, well])), unpulled);
        assert_eq!(package(kind, before, failed), is("Progressing", "cannot pull"));
        let by_hand = json!([not("InactivePackageRevision", "inactive"), well]);
        assert_eq!(package(kind, now, by_hand), is("Progressing", "inactive"));
        assert_eq!(package(kind, now, json!([not("Refused", "no"), well])), is("Degraded", "no"));
        let waits = is("Progressing", "not installed and healthy yet");
        assert_eq!(package(kind, now, json!([active])), waits);
        assert_eq!(package(kind, now, json!([active, condition("Healthy", "Unknown", "", "")])), waits);
    }
}

#[test]
fn revisions_and_what_has_no_status() {
    let revision = |state: &str, conditions| {
        let mut revision = object("pkg.crossplane.io/v1", "FunctionRevision", &conditions);
        revision["spec"]["desiredState"] = state.into();
        revision
    };
    let whole = condition("RevisionHealthy", "True", "HealthyPackageRevision", "");
    let runs = |status: &str| condition("RuntimeHealthy", status, "UnhealthyPackageRevision", "");
    for (object, expected) in [
        (revision("Active", json!([whole, runs("True")])), "Healthy"),
        (revision("Active", json!([whole])), "Progressing"),
        (revision("Active", json!([whole, runs("False")])), "Degraded"),
        (revision("Active", json!([condition("Healthy", "True", "", "")])), "Healthy"),
        (revision("Inactive", json!([whole, runs("False")])), "Healthy"),
        (object("apiextensions.crossplane.io/v1", "Composition", &json!([])), "Healthy"),
    ] {
        assert_eq!(status(&object), expected, "{object}");
    }
}
