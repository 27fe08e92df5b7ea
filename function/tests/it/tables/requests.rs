//! Requests: accepted, or refused in words that name the field.

use std::collections::BTreeSet;

use function_model::world::World;
use serde_json::json;
use testplatform_apis::condition::Request;

use crate::tables::Change;

/// A change of a good claim, its phase, and `RequestAccepted`: status, reason, and a part of its message.
const REQUESTS: &[(Change, &str, &str, Request, &str)] = &[
    (|_| {}, "Pending", "True", Request::Accepted, "the request was accepted"),
    // Errors that cannot be corrected lead to Failed.
    (
        |w| w.spec = json!({}),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec: sets none of ciOperator, clusterClaim and template",
    ),
    (|w| w.spec["clusterClaim"] = json!({}), "Failed", "False", Request::InvalidClaim, "spec: sets both"),
    (
        |w| w.spec["ciOperator"] = json!("x"),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.ciOperator: is not an object",
    ),
    (
        |w| w.spec = json!({ "clusterClaim": [] }),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.clusterClaim: is not an object",
    ),
    (
        |w| w.spec["ciOperator"]["test"]["workflow"] = json!(1),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.ciOperator.test.workflow: ",
    ),
    (
        |w| w.spec["ciOperator"]["test"]["env"] = json!({ "A": 1 }),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.ciOperator.test.env.A: ",
    ),
    (
        |w| w.spec["ciOperator"]["baseImages"] = json!({ "cli": { "name": "n" } }),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.ciOperator.baseImages.cli.namespace: ",
    ),
    // Two problems at once are both named.
    (
        |w| w.spec["ciOperator"]["test"] = json!({ "workflow": 1, "clusterProfile": 2 }),
        "Failed",
        "False",
        Request::InvalidClaim,
        "clusterProfile: must be a string, not a whole number; spec.ciOperator.test.workflow: ",
    ),
    // Obstacles that an administrator can remove lead to Pending.
    (
        |w| w.environment = None,
        "Pending",
        "False",
        Request::EnvironmentConfigMissing,
        "EnvironmentConfig envcfg does not exist",
    ),
    (
        |w| w.environment = Some(json!({})),
        "Pending",
        "False",
        Request::EnvironmentConfigInvalid,
        "data.clusterName",
    ),
    (
        |w| w.environment = Some(json!({ "clusterName": 7 })),
        "Pending",
        "False",
        Request::EnvironmentConfigInvalid,
        "data.clusterName",
    ),
    // Fields of templates are not dropped beside another block.
    (
        |w| w.spec["template"] = json!("hosted"),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec: sets both ciOperator and template",
    ),
    (
        |w| w.spec["nodeGroups"] = json!([]),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.nodeGroups: belongs to template, not to ciOperator",
    ),
    (
        |w| w.spec = json!({ "clusterClaim": { "version": "4.20" } }),
        "Pending",
        "False",
        Request::PoolsMissing,
        "EnvironmentConfig testplatform-pools; ask the platform team",
    ),
    // Optional values with errors are left out, with a report.
    (
        |w| w.annotations = json!({ "ephemeralcluster.ci.openshift.io/task-run-name": "a\nb" }),
        "Pending",
        "True",
        Request::AnnotationIgnored,
        "ephemeralcluster.ci.openshift.io/task-run-name",
    ),
    (
        |w| w.spec["lifetime"] = json!("5 parsecs"),
        "Pending",
        "True",
        Request::LifetimeIgnored,
        "spec.lifetime",
    ),
    (|w| w.spec["lifetime"] = json!("30s"), "Pending", "True", Request::LifetimeIgnored, "at least a minute"),
    (|w| w.spec["lifetime"] = json!(90), "Pending", "True", Request::LifetimeIgnored, "spec.lifetime"),
    (
        |w| {
            w.spec["lifetime"] = json!("9h");
            w.input["maxima"] = json!({ "lifetime": "4h" });
        },
        "Pending",
        "True",
        Request::LifetimeClamped,
        "spec.lifetime is clamped to 4h",
    ),
    (
        |w| w.spec["ciOperator"]["later"] = json!({ "x": 1 }),
        "Pending",
        "True",
        Request::UnknownFieldForwarded,
        "spec.ciOperator.later",
    ),
    (
        |w| w.spec["tearDownCluster"] = json!("yes"),
        "Pending",
        "True",
        Request::ChangeIgnored,
        "spec.tearDownCluster",
    ),
    (|w| w.claim = false, "Pending", "True", Request::NoTenant, "administrator"),
    // Forms that upstream's schema accepts and the Konflux task sends.
    (|w| w.spec["ciOperator"]["test"]["clusterClaim"] = json!({}), "Pending", "True", Request::Accepted, ""),
    (|w| w.spec["ciOperator"] = json!({}), "Pending", "True", Request::Accepted, ""),
    // The hub's report.
    (
        |w| {
            w.settle();
            w.report_phase(
                "Failed",
                &[("ProwJobCreating", "False", "EphemeralClusterValidationFailure", "no such profile")],
            );
        },
        "Failed",
        "False",
        Request::HubRefused,
        "no such profile",
    ),
    (
        |w| {
            w.refuses = Some("failed to create typed patch object (a/b; c/v1, Kind=D): .spec.ciOperator.x: field not declared in schema".into());
        },
        "Failed",
        "False",
        Request::UnknownField,
        "spec.ciOperator.x",
    ),
    (
        |w| {
            w.spec["lifetime"] = json!("3h");
            w.settle();
            w.hub_ready();
        },
        "Ready",
        "True",
        Request::LifetimeBeyondHub,
        "ends a cluster after 2h",
    ),
];

/// The same for a claim that takes its cluster from a pool.
const POOL_REQUESTS: &[(Change, &str, &str, Request, &str)] = &[
    (|w| w.environment = None, "Pending", "False", Request::EnvironmentConfigMissing, "envcfg"),
    (
        |w| w.refuses = Some("failed: .spec.newer: field not declared in schema".into()),
        "Pending",
        "False",
        Request::FieldNotDeclared,
        "spec.newer, which function-testplatform writes and not the claim",
    ),
    (
        |w| w.catalogue = Some(json!({ "pools": {} })),
        "Pending",
        "False",
        Request::CatalogueInvalid,
        "data.pools is not a list",
    ),
    (
        |w| {
            w.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("1d");
            w.spec["clusterClaim"] = json!({ "pool": { "name": "aws-420" } });
        },
        "Pending",
        "False",
        Request::CatalogueInvalid,
        "pool aws-420 cannot be used: pools[0] (aws-420): ",
    ),
    (
        |w| w.spec["clusterClaim"]["version"] = json!("4.21"),
        "Pending",
        "False",
        Request::PoolNotFound,
        "there is no pool with product ocp, version 4.21, architecture amd64; create a new claim for one of: hive-pools/aws-420 (ocp \
        4.20 amd64 aws dpp), hive-pools/aws-419",
    ),
    (
        |w| w.spec["clusterClaim"]["pool"] = json!({ "name": "nope", "namespace": "n" }),
        "Pending",
        "False",
        Request::PoolNotFound,
        "there is no pool n/nope with version 4.20",
    ),
    (
        |w| w.catalogue.as_mut().unwrap()["pools"][0]["allowedTenants"] = json!(["tenant-b"]),
        "Pending",
        "False",
        Request::PoolNotAllowed,
        "is not offered to namespace tenant-a; create a new claim for one of: hive-pools/aws-419",
    ),
    (
        |w| w.catalogue.as_mut().unwrap()["hubs"][0]["cordon"] = json!(true),
        "Pending",
        "False",
        Request::HubFull,
        "when there is room",
    ),
    (
        |w| w.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": 0 }]),
        "Pending",
        "False",
        Request::QuotaExceeded,
        "namespace tenant-a has used its quota of 0 clusters from pools at a time",
    ),
    (
        |w| {
            w.settle();
            w.hive_queues(&json!({ "pool": { "found": false } }));
        },
        "Pending",
        "False",
        Request::PoolNotFound,
        "the hub has no pool hive-pools/aws-420",
    ),
    (
        |w| {
            w.settle();
            w.hive_queues(&json!({ "pool": { "found": true, "deleting": true } }));
        },
        "Pending",
        "False",
        Request::PoolDeleting,
        "pool hive-pools/aws-420 is being deleted",
    ),
    (
        |w| {
            w.settle();
            w.hive_queues(&json!({ "supply": "CapacityBlocked" }));
        },
        "Pending",
        "False",
        Request::NoCapacity,
        "this claim is served when one is returned",
    ),
    (|_| {}, "Pending", "True", Request::Accepted, "the request was accepted"),
    // Errors in the block itself lead to Failed.
    (
        |w| w.spec["clusterClaim"] = json!({}),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.clusterClaim: clusterClaim needs version, or pool.name",
    ),
    (
        |w| w.spec["clusterClaim"]["version"] = json!(4.2),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.clusterClaim.version: expected a string",
    ),
    (
        |w| w.spec["clusterClaim"]["labels"] = json!({ "cloud": "aws" }),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.clusterClaim.labels: labels must not contain",
    ),
    (
        |w| w.spec["clusterClaim"]["timeout"] = json!("5s"),
        "Failed",
        "False",
        Request::InvalidClaim,
        "spec.clusterClaim.timeout: timeout must be a duration of at least 1m",
    ),
];

/// The same of a claim that brings its own credentials, once the carrier may do its work.
const BROUGHT_REQUESTS: &[(Change, &str, &str, Request, &str)] = &[
    (
        |_| {},
        "Pending",
        "False",
        Request::SecretsNotCarried,
        "the carrier of the Secrets has not reported anything",
    ),
    (
        |w| w.report_copies(false, "Forbidden", "Carried"),
        "Pending",
        "False",
        Request::SecretForbidden,
        "package/install/examples/byoc-role.yaml",
    ),
    (
        |w| w.report_copies(false, "NotFound", "Carried"),
        "Pending",
        "False",
        Request::SecretNotFound,
        "there is no Secret my-aws",
    ),
    (
        |w| w.report_copies(false, "Carried", "KeyMissing"),
        "Pending",
        "False",
        Request::SecretIncomplete,
        "Secret my-pull (spec.byoc.pullSecretRef) needs the keys .dockerconfigjson",
    ),
    (
        |w| {
            w.report_copies(true, "Carried", "Carried");
            w.settle();
            w.report_copies(true, "Carried", "Forbidden");
        },
        "Pending",
        "True",
        Request::SecretsOutdated,
        "the hub keeps the Secrets that were copied before",
    ),
];

#[test]
fn every_refusal_of_a_pool_claim_names_the_field() {
    let mut seen = BTreeSet::new();
    let with = |start: fn() -> World| move |case| (start, case);
    let pools = POOL_REQUESTS.iter().map(with(World::hive_claim));
    let brought = BROUGHT_REQUESTS.iter().map(with(World::byoc_pending));
    let cases = REQUESTS.iter().map(with(World::default)).chain(pools).chain(brought);
    for (i, (start, (change, phase, status, reason, part))) in cases.enumerate() {
        let mut world = start();
        change(&mut world);
        world.settle();
        let shown = &world.conditions["RequestAccepted"];
        assert_eq!(world.phase(), *phase, "case {i}: {shown}");
        assert_eq!(
            (&shown["status"], &shown["reason"]),
            (&json!(status), &json!(reason.as_str())),
            "case {i}: {shown}"
        );
        assert!(shown["message"].as_str().unwrap().contains(part), "case {i}: {shown}");
        seen.insert(*reason);
    }
    seen.extend(crate::tables::templates::REQUESTS.iter().map(|(_, reason, _)| *reason));
    // Only an accepted one can show it, which needs a backend that is served: see tests/templates.
    seen.insert(Request::TemplateDeprecated);
    // It takes two composites: see tests/handover.
    seen.extend([Request::TakeOverWaits, Request::HandedOver, Request::HandOverWaits]);
    assert_eq!(seen, Request::ALL.iter().copied().collect(), "every reason has its case");
}
