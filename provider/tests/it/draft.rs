//! Which EphemeralClusters get a job, and what the others are told. The sentences are what a tenant sees.

use crate::support;

use provider_testplatform::{
    config::profiles::Profiles,
    controllers::ephemeral_cluster::{draft::draft, observed_state::Draft},
};
use rstest::rstest;
use serde_json::{Value, json};
use support::{HIVE, IPI, config, drafted, job, now, profiles, with, yaml};

const TEST: &str = "/spec/ciOperator/test";
const TENANT: &str = "/metadata/annotations/ephemeralcluster.ci.openshift.io~1konflux-tenant";
const CLUSTER: &str = "/metadata/annotations/ephemeralcluster.ci.openshift.io~1konflux-cluster";

fn refusal(object: &Value, section: &str) -> String {
    match drafted(object, &config(section)) {
        Draft::Refused(refusal) => format!("{}: {}", refusal.reason, without_size(&refusal.message)),
        other => panic!("not refused: {other:?}"),
    }
}

/// The size follows the wait step's script.
fn without_size(message: &str) -> String {
    match (message.find(" has "), message.find(" bytes,")) {
        (Some(_), Some(end)) => {
            let digits = message[..end].rsplit(' ').next().unwrap();
            assert!(digits.parse::<usize>().unwrap() > 1024, "{message}");
            message.replace(&format!("has {digits} bytes"), "has {size} bytes")
        }
        _ => message.to_owned(),
    }
}

#[rstest]
#[case::schema(IPI, "/spec/ciOperator/test/env", json!("A=b"), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.env must be an object, not a string")]
#[case::long_name(IPI, "/metadata/name", json!("x".repeat(64)), "{}", r#"EphemeralClusterValidationFailure: the name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is longer than 63 characters, the limit for a label of its job"#)]
#[case::profile_and_claim(HIVE, "/spec/ciOperator/test/clusterProfile", json!("aws"), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test has both clusterProfile and clusterClaim: leave one of them out")]
#[case::no_profile(IPI, "/spec/ciOperator/test/clusterProfile", json!(null), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.clusterProfile is not set: name a cluster profile, or request a cluster from a pool with clusterClaim")]
#[case::empty_profile(IPI, "/spec/ciOperator/test/clusterProfile", json!(""), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.clusterProfile is not set: name a cluster profile, or request a cluster from a pool with clusterClaim")]
#[case::unknown_profile(IPI, "/spec/ciOperator/test/clusterProfile", json!("azure9"), "{}", r#"EphemeralClusterValidationFailure: cluster profile "azure9" does not exist: name one that the step registry has"#)]
#[case::not_owner(IPI, "/spec/ciOperator/test/clusterProfile", json!("gcp"), "{}", r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "stone-prd-rh01" does not own cluster profile "gcp": the step registry would need `- konflux: {tenant: "acme-tenant", clusters: ["stone-prd-rh01"]}` among the owners of that profile"#)]
#[case::other_cluster(IPI, CLUSTER, json!("kflux-ocp-p01"), "{}", r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "kflux-ocp-p01" does not own cluster profile "aws": the step registry would need `- konflux: {tenant: "acme-tenant", clusters: ["kflux-ocp-p01"]}` among the owners of that profile"#)]
#[case::nobodys(IPI, "/spec/ciOperator/test/clusterProfile", json!("bare"), "{}", r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "stone-prd-rh01" does not own cluster profile "bare": the step registry would need `- konflux: {tenant: "acme-tenant", clusters: ["stone-prd-rh01"]}` among the owners of that profile"#)]
#[case::no_tenant(IPI, TENANT, json!(null), "{}", r#"EphemeralClusterValidationFailure: annotation ephemeralcluster.ci.openshift.io/konflux-tenant is not set, so the owner cannot be determined for cluster profile "aws""#)]
#[case::no_cluster(IPI, CLUSTER, json!(null), "{}", r#"EphemeralClusterValidationFailure: annotation ephemeralcluster.ci.openshift.io/konflux-cluster is not set, so the owner cannot be determined for cluster profile "aws""#)]
#[case::no_workflow(IPI, "/spec/ciOperator/test/workflow", json!(null), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.workflow is not set: no step would create a cluster")]
#[case::no_test(IPI, TEST, json!(null), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.clusterProfile is not set: name a cluster profile, or request a cluster from a pool with clusterClaim; spec.ciOperator.test.workflow is not set: no step would create a cluster")]
#[case::claim_owner(HIVE, TENANT, json!("other-tenant"), "{ clusterClaimOwners: [{ tenant: acme-tenant, claims: { owner: dpp } }] }", r#"EphemeralClusterValidationFailure: tenant "other-tenant" on Konflux cluster "stone-prd-rh01" must not take such a cluster from a pool: the hub's configuration would need `- {tenant: "other-tenant", clusters: ["stone-prd-rh01"], claims: {product: "ocp", version: "4.20", architecture: "amd64", cloud: "aws", owner: "dpp"}}` in ephemeralCluster.clusterClaimOwners"#)]
#[case::claim_pattern(HIVE, "/spec/ciOperator/test/clusterClaim/owner", json!("obs"), "{ clusterClaimOwners: [{ tenant: acme-tenant, claims: { owner: dpp } }] }", r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "stone-prd-rh01" must not take such a cluster from a pool: the hub's configuration would need `- {tenant: "acme-tenant", clusters: ["stone-prd-rh01"], claims: {product: "ocp", version: "4.20", architecture: "amd64", cloud: "aws", owner: "obs"}}` in ephemeralCluster.clusterClaimOwners"#)]
#[case::claim_cluster(HIVE, CLUSTER, json!("kflux-ocp-p01"), "{ clusterClaimOwners: [{ tenant: acme-tenant, clusters: [stone-prd-rh01] }] }", r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "kflux-ocp-p01" must not take such a cluster from a pool: the hub's configuration would need `- {tenant: "acme-tenant", clusters: ["kflux-ocp-p01"], claims: {product: "ocp", version: "4.20", architecture: "amd64", cloud: "aws", owner: "dpp"}}` in ephemeralCluster.clusterClaimOwners"#)]
#[case::claim_nobody(HIVE, TENANT, json!(null), "{ clusterClaimOwners: [] }", "EphemeralClusterValidationFailure: annotation ephemeralcluster.ci.openshift.io/konflux-tenant is not set, so the owner cannot be determined for a cluster from a pool")]
#[case::reserved_label(HIVE, "/spec/ciOperator/test/clusterClaim/labels", json!({ "version": "4.19", "region": "x" }), "{}", "EphemeralClusterValidationFailure: spec.ciOperator.test.clusterClaim.labels may not have the key version: use clusterClaim.version")]
#[case::reserved_image(IPI, "/spec/ciOperator/baseImages/testplatform-wait-cli", json!({ "namespace": "n", "name": "n", "tag": "t" }), "{}", r#"EphemeralClusterValidationFailure: spec.ciOperator.baseImages["testplatform-wait-cli"] has the name testplatform-wait-cli, which is reserved for an image of this provider: choose another name"#)]
#[case::reserved_second_name(IPI, "/spec/ciOperator/externalImages/fedora/as", json!("testplatform-wait-cli"), "{}", r#"EphemeralClusterValidationFailure: spec.ciOperator.externalImages["fedora"] has the name testplatform-wait-cli, which is reserved for an image of this provider: choose another name"#)]
#[case::denied_image(IPI, "/spec/ciOperator/externalImages/cli", json!({ "registry": "r", "namespace": "n", "name": "n", "tag": "t" }), "{ deniedImageNames: [cli] }", r#"EphemeralClusterValidationFailure: spec.ciOperator.externalImages["cli"] has the name "cli", which steps of workflows use for an image of theirs: choose another name"#)]
#[case::no_releases(IPI, "/spec/ciOperator/releases", json!({}), "{}", "CIOperatorJobsGenerateFailure: spec.ciOperator.releases is empty: set the release to install, or request a cluster from a pool with clusterClaim")]
#[case::oversize(IPI, "/spec/ciOperator/test/env/LONG", json!("x".repeat(3000)), "{ maxConfigBytes: 4096 }", "CIOperatorJobsGenerateFailure: the ci-operator configuration made of spec.ciOperator has {size} bytes, and a job can take 4096: make it shorter")]
#[case::hostile(IPI, TENANT, json!("a\"]}\n- konflux: {"), "{}", "EphemeralClusterValidationFailure: tenant \"a\\\"]}\\n- konflux: {\" on Konflux cluster \"stone-prd-rh01\" does not own cluster profile \"aws\": the step registry would need `- konflux: {tenant: \"a\\\"]}\\n- konflux: {\", clusters: [\"stone-prd-rh01\"]}` among the owners of that profile")]
fn each_refusal_has_its_sentence(
    #[case] object: &str,
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] section: &str,
    #[case] expected: &str,
) {
    assert_eq!(refusal(&with(object, pointer, value), section), expected);
}

#[test]
fn every_error_is_reported_at_once_in_upstreams_order() {
    let mut object = yaml(IPI);
    object["spec"]["ciOperator"] = json!({
        "baseImages": { "cli": { "namespace": "n", "name": "n", "tag": "t" } },
        "test": { "clusterProfile": "gcp" },
    });
    assert_eq!(refusal(&object, "{ deniedImageNames: [cli], maxConfigBytes: 1024 }"), [
r#"EphemeralClusterValidationFailure: tenant "acme-tenant" on Konflux cluster "stone-prd-rh01" does not own cluster profile "gcp": the step registry would need `- konflux: {tenant: "acme-tenant", clusters: ["stone-prd-rh01"]}` among the owners of that profile"#,
"spec.ciOperator.test.workflow is not set: no step would create a cluster",
r#"spec.ciOperator.baseImages["cli"] has the name "cli", which steps of workflows use for an image of theirs: choose another name"#,
"spec.ciOperator.releases is empty: set the release to install, or request a cluster from a pool with clusterClaim",
"the ci-operator configuration made of spec.ciOperator has {size} bytes, and a job can take 1024: make it shorter"
].join("; "));
}

/// A tenant's list may be as long as the object.
#[test]
fn many_problems_are_counted() {
    let images: serde_json::Map<_, _> = (0..50)
        .map(|n| (format!("i{n:02}"), json!({ "namespace": "n", "name": "n", "tag": "t", "as": "cli" })))
        .collect();
    let message =
        refusal(&with(IPI, "/spec/ciOperator/baseImages", images.into()), "{ deniedImageNames: [cli] }");
    assert!(message.ends_with("; and 40 more"), "{message}");
}

#[rstest]
#[case::owner_by_group(with(IPI, CLUSTER, json!("stone-prd-rh02")), "{}")]
#[case::owner_by_name(with(IPI, CLUSTER, json!("stone-stg")), "{}")]
#[case::privileged_anywhere(with(IPI, CLUSTER, json!("kflux-ocp-p01")), "{ privilegedTenants: [acme-tenant] }")]
#[case::privileged_with_anything(with(IPI, "/spec/ciOperator/test/clusterProfile", json!("bare")), "{ privilegedTenants: [acme-tenant] }")]
#[case::claim_without_rules(with(HIVE, TENANT, json!(null)), "{}")]
#[case::claim_owner(
    yaml(HIVE),
    "{ clusterClaimOwners: [{ tenant: acme-tenant, clusters: [stone-prd-rh01], claims: { cloud: aws, version: '4.20' } }] }"
)]
#[case::claim_defaults(with(HIVE, "/spec/ciOperator/test/clusterClaim/product", json!(null)), "{ clusterClaimOwners: [{ tenant: acme-tenant, claims: { product: ocp } }] }")]
#[case::claim_privileged(yaml(HIVE), "{ privilegedTenants: [acme-tenant], clusterClaimOwners: [] }")]
#[case::claim_without_workflow(with(HIVE, "/spec/ciOperator/test/workflow", json!(null)), "{}")]
#[case::own_cli(with(IPI, "/spec/ciOperator/baseImages/cli", json!({ "namespace": "n", "name": "n", "tag": "t" })), "{}")]
fn these_are_served(#[case] object: Value, #[case] section: &str) {
    job(&object, &config(section));
}

/// An empty tenant in the registry must not let in those who have none.
#[test]
fn empty_tenant_owns_no_profile() {
    let profiles = Profiles::parse(
        "cluster_profiles: [{ name: aws, owners: [{ konflux: { clusters: ['', stone-prd-rh01] } }] }]",
    );
    let object = with(IPI, TENANT, json!(null));
    let drafted = draft(&object, &config("{ privilegedTenants: [x] }"), &profiles.unwrap(), now());
    assert!(matches!(drafted, Draft::Refused(_)), "{drafted:?}");
}

#[rstest]
#[case::profiles(
    yaml(IPI),
    Profiles::unavailable("the file is not there"),
    "the cluster profiles cannot be read: the file is not there"
)]
#[case::newer_hub(with(IPI, "/spec/ciOperator/test/retries", json!(2)), profiles(), "spec.ciOperator.test.retries is not known to this version of provider-testplatform: it has to be updated first")]
#[case::no_uid(with(IPI, "/metadata/uid", json!(null)), profiles(), "the EphemeralCluster cannot be read: it has no uid or no spec.ciOperator")]
#[case::no_block(with(IPI, "/spec/ciOperator", json!(null)), profiles(), "the EphemeralCluster cannot be read: it has no uid or no spec.ciOperator")]
fn failure_on_our_side_is_retried(#[case] object: Value, #[case] profiles: Profiles, #[case] expected: &str) {
    match draft(&object, &config("{}"), &profiles, now()) {
        Draft::Later(refusal) => assert_eq!(
            (refusal.reason, refusal.message.as_str()),
            ("CIOperatorJobsGenerateFailure", expected)
        ),
        other => panic!("{other:?}"),
    }
}

/// Somebody who waits for the registry should not wait for what will be refused anyhow; a claim does not need it.
#[test]
fn missing_registry_affects_only_its_users() {
    let gone = Profiles::unavailable("gone");
    let refused = draft(&with(IPI, "/spec/ciOperator/releases", json!({})), &config("{}"), &gone, now());
    assert!(matches!(refused, Draft::Refused(_)), "{refused:?}");
    let claimed = draft(&yaml(HIVE), &config("{}"), &gone, now());
    assert!(matches!(claimed, Draft::Job(_)), "{claimed:?}");
}
