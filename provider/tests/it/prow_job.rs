//! The manifest of a ProwJob. `SNAPSHOTS=overwrite cargo test -p provider-testplatform --test it prow_job` writes the goldens.

use crate::support;

use std::path::Path;

use provider_testplatform::{config::Config, controllers::ephemeral_cluster::prow_job::name_for};
use rstest::rstest;
use serde_json::{Value, json};
use snapbox::{Data, assert_data_eq, data::DataFormat};
use support::{HIVE, IPI, config, job, with, yaml};
use testplatform_test_data::upstream;

const PIPELINE_RUN: &str = "/metadata/annotations/ephemeralcluster.ci.openshift.io~1pipeline-run-name";
const TASK_RUN: &str = "/metadata/annotations/ephemeralcluster.ci.openshift.io~1task-run-name";

fn printed(value: &Value) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 100_000 };
    let mut text = serde_saphyr::to_string_with_options(value, options).unwrap();
    // serde_json keeps or sorts keys depending on what else is in the build.
    assert!(text.starts_with("apiVersion: "), "{text}");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[rstest]
#[case("ipi", IPI)]
#[case("hive", HIVE)]
fn the_manifest_is_the_golden(#[case] name: &str, #[case] object: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/draft/{name}.prowjob.yaml"));
    let golden = Data::read_from(&path, Some(DataFormat::Text)).raw();
    assert_data_eq!(Data::text(printed(&job(&yaml(object), &Config::default()))).raw(), golden);
}

/// A field that the API server would prune is as bad as one that it would refuse.
#[rstest]
#[case(yaml(IPI), Config::default())]
#[case(yaml(HIVE), Config::default())]
#[case(with(IPI, PIPELINE_RUN, json!("no name")), Config::parse("full.yaml", include_str!("../config/full.yaml")).unwrap())]
fn the_manifest_fits_prows_schema(#[case] object: Value, #[case] mut config: Config) {
    let directory = upstream();
    config.ephemeral_cluster.max_config_bytes = Config::default().ephemeral_cluster.max_config_bytes;
    let text = std::fs::read_to_string(directory.join("crds/prowjobs.prow.k8s.io.yaml")).unwrap();
    let crd = yaml(&text);
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    let manifest = job(&object, &config);
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(&manifest).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
    let known = ["apiVersion", "kind", "metadata"];
    let unknown: Vec<_> =
        testplatform_apis::ci_operator::unknown_fields(schema, manifest.as_object().unwrap())
            .into_iter()
            .filter(|path| !known.iter().any(|known| path.starts_with(known)))
            .collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[rstest]
#[case::pipeline_run(yaml(IPI), "ephemeralcluster-ci-acme-on-pull-request-x7k2p-", None)]
#[case::task_run(yaml(HIVE), "ephemeralcluster-ci-provision-", None)]
#[case::neither(with(HIVE, TASK_RUN, json!(null)), "ephemeralcluster-ci-tp-hive-cluster-8x2kd-", None)]
#[case::illegal(with(HIVE, TASK_RUN, json!("<no value>")), "ephemeralcluster-ci-tp-hive-cluster-8x2kd-", Some("annotation ephemeralcluster.ci.openshift.io/task-run-name is left out of the job's name: it is not an RFC 1123 subdomain of at most 63 characters"))]
#[case::illegal_but_other(with(HIVE, PIPELINE_RUN, json!("x".repeat(64))), "ephemeralcluster-ci-provision-", Some("annotation ephemeralcluster.ci.openshift.io/pipeline-run-name is left out of the job's name: it is not an RFC 1123 subdomain of at most 63 characters"))]
#[case::no_duration(with(IPI, "/metadata/annotations/testplatform.ci.openshift.org~1max-lifetime", json!("long")), "ephemeralcluster-ci-acme-on-pull-request-x7k2p-", Some("annotation testplatform.ci.openshift.org/max-lifetime is not a duration such as 4h, and the hub's default counts instead"))]
fn the_job_is_named_after_the_run(#[case] object: Value, #[case] begin: &str, #[case] remark: Option<&str>) {
    let manifest = job(&object, &Config::default());
    let name = manifest["spec"]["job"].as_str().unwrap();
    let uid = name_for(object["metadata"]["uid"].as_str().unwrap());
    assert_eq!(manifest["metadata"]["name"], uid);
    let expected = format!("{begin}{}", &uid[..8]);
    assert_eq!(name, expected);
    assert_eq!(manifest["metadata"]["annotations"]["prow.k8s.io/job"], expected);
    let said = manifest["metadata"]["annotations"]["testplatform.ci.openshift.org/remark"].as_str();
    assert_eq!(said, remark);
}

/// Two clusters of one PipelineRun must not be pinned to one build cluster. And ci-operator goes into a namespace that is there:
/// in that of an EphemeralCluster that had the name before it would find a signal and a dead kubeconfig.
#[rstest]
#[case::of_a_run(yaml(IPI))]
#[case::of_no_run(with(HIVE, TASK_RUN, json!(null)))]
fn no_two_share_a_job_name_or_a_namespace(#[case] object: Value) {
    let mut other = object.clone();
    other["metadata"]["uid"] = json!("another");
    let (a, b) = (job(&object, &Config::default()), job(&other, &Config::default()));
    let arguments = |job: &Value| job["spec"]["pod_spec"]["containers"][0]["args"].clone();
    assert_ne!(arguments(&a), arguments(&b));
    assert_ne!(a["spec"]["job"], b["spec"]["job"]);
    assert_ne!(a["metadata"]["name"], b["metadata"]["name"]);
}

#[rstest]
#[case("x".repeat(63))]
#[case(format!("{}-{}", "x".repeat(43), "y".repeat(19)))]
fn labels_are_legal_whatever_the_names(#[case] run: String) {
    let mut object = with(IPI, PIPELINE_RUN, json!(run));
    object["spec"]["ciOperator"]["releases"]["latest"]["candidate"]["version"] = json!("4.20 (nightly)");
    let manifest = job(&object, &Config::default());
    for (key, value) in manifest["metadata"]["labels"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(value.len() <= 63 && value.chars().all(legal), "{key}={value}");
        assert!(!value.starts_with(['-', '.', '_']) && !value.ends_with(['-', '.', '_']), "{key}={value}");
    }
    assert_eq!(manifest["metadata"]["labels"].get("job-release"), None);
}

/// The step begins when the cluster is made. When its time is over, ci-operator still has to destroy the cluster, which Prow would
/// not let it if the job's time were over too.
#[rstest]
#[case::annotations(yaml(IPI), "{}", "15h15m0s", "22h15m0s")]
#[case::defaults(yaml(HIVE), "{}", "6h15m0s", "14h15m0s")]
#[case::configured(
    yaml(HIVE),
    "{ provisionTimeout: 1h, maxLifetime: 30m, deprovisionTimeout: 2h }",
    "1h45m0s",
    "4h45m0s"
)]
fn the_job_has_time_to_provision_to_wait_and_to_destroy(
    #[case] object: Value,
    #[case] section: &str,
    #[case] step: &str,
    #[case] whole: &str,
) {
    let manifest = job(&object, &config(section));
    assert_eq!(manifest["spec"]["decoration_config"]["timeout"], whole);
    let inline = inline(&manifest);
    assert_eq!(inline["tests"][0]["steps"]["test"][0]["timeout"], step);
}

const MAX_LIFETIME: &str = "/metadata/annotations/testplatform.ci.openshift.org~1max-lifetime";

/// Prow ends a pod after two days unless the job says otherwise.
#[test]
fn a_long_lifetime_is_not_cut_by_prow() {
    let short = job(&yaml(IPI), &Config::default());
    assert_eq!(short["spec"]["decoration_config"].get("pod_running_timeout"), None);
    let long = job(&with(IPI, MAX_LIFETIME, json!("60h")), &Config::default());
    assert_eq!(long["spec"]["decoration_config"]["pod_running_timeout"], "72h15m0s");
}

/// ci-operator has its namespace deleted after three days unless it is told otherwise, and then nothing can destroy the cluster.
#[rstest]
#[case::in_time("59h45m", "{}", &[])]
#[case::longer("60h", "{}", &["--delete-after=72h15m0s"])]
#[case::much_longer("96h", "{}", &["--delete-after=108h15m0s"])]
#[case::decided("96h", "{ arguments: [--delete-after=200h] }", &["--delete-after=200h"])]
#[case::decided_with_one_dash("96h", "{ arguments: [-delete-after=0s] }", &["-delete-after=0s"])]
fn a_long_lifetime_is_not_cut_by_its_namespace(
    #[case] lifetime: &str,
    #[case] pod: &str,
    #[case] wanted: &[&str],
) {
    let config = Config::parse("test", &format!("prow: {{ ciOperator: {pod} }}")).unwrap();
    let manifest = job(&with(IPI, MAX_LIFETIME, json!(lifetime)), &config);
    let arguments = manifest["spec"]["pod_spec"]["containers"][0]["args"].as_array().unwrap();
    let told: Vec<_> =
        arguments.iter().filter_map(Value::as_str).filter(|a| a.contains("delete-after")).collect();
    assert_eq!(told, wanted);
}

#[test]
fn job_has_the_configured_values() {
    let config = Config::parse("full.yaml", include_str!("../config/full.yaml")).unwrap();
    let mut config = config;
    config.ephemeral_cluster.cluster_claim_owners = None;
    let manifest = job(&yaml(HIVE), &config);
    assert_eq!(manifest["metadata"]["namespace"], "jobs");
    assert_eq!(manifest["metadata"]["labels"]["team"], "tp");
    assert_eq!(manifest["metadata"]["annotations"]["note"], "made for Konflux");
    assert_eq!(manifest["spec"]["namespace"], "pods");
    assert_eq!(manifest["spec"]["cluster"], "build99");
    assert_eq!(manifest["spec"]["prowjob_defaults"]["tenant_id"], "konflux");
    assert_eq!(
        manifest["spec"]["decoration_config"],
        json!({ "grace_period": "30m0s", "skip_cloning": true, "timeout": "32h15m0s", "utility_images": { "entrypoint": "entrypoint" } })
    );
    let pod = &manifest["spec"]["pod_spec"];
    assert_eq!(pod["nodeSelector"], json!({ "ci": "yes" }));
    assert_eq!(pod["serviceAccountName"], "runner");
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["ci-operator", "--verbose"]));
    assert_eq!(
        container["args"],
        json!([
            "--a=b",
            "--hive-kubeconfig=/hive/kubeconfig",
            "--target=cluster-provisioning",
            "--input-hash=tp-hive-cluster-8x2kd",
            "--input-hash=0b5a1f3c-8a5d-4a7e-bb6e-4f6d1e2c3a9f"
        ])
    );
    assert_eq!(container["env"][0], json!({ "name": "A", "value": "b" }));
    assert_eq!(
        pod["volumes"],
        json!([
            { "name": "hive", "secret": { "secretName": "hive", "items": [{ "key": "kubeconfig", "path": "kubeconfig" }] } },
            { "name": "pull", "secret": { "secretName": "pull-secret", "items": [{ "key": "a", "path": "a" }, { "key": "b", "path": "b" }] } },
        ])
    );
    let inline = inline(&manifest);
    assert_eq!(
        inline["base_images"]["testplatform-wait-cli"],
        json!({ "namespace": "ocp", "name": "4.22", "tag": "tools" })
    );
    assert_eq!(inline["resources"], json!({ "*": { "requests": { "cpu": "100m" } } }));
}

/// ci-operator reads the configuration with a reader of YAML 1.1, and never changes what the tenant wrote.
#[test]
fn the_tenants_parts_arrive_as_they_are() {
    let object = yaml(IPI);
    let inline = inline(&job(&object, &Config::default()));
    let block = &object["spec"]["ciOperator"];
    assert_eq!(inline["build_root"], block["buildRoot"]);
    assert_eq!(inline["external_images"], block["externalImages"]);
    assert_eq!(inline["releases"], block["releases"]);
    assert_eq!(inline["base_images"]["upi-installer"], block["baseImages"]["upi-installer"]);
    let steps = &inline["tests"][0]["steps"];
    assert_eq!(steps["env"], block["test"]["env"]);
    assert_eq!(steps["workflow"], "ipi-aws");
    assert_eq!(steps["cluster_profile"], "aws");
    assert_eq!(steps["test"][0]["from"], "testplatform-wait-cli");
    let text = unresolved(&job(&object, &Config::default()));
    assert!(text.contains("BASE_DOMAIN: \"yes\""), "{text}");
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let once = serde_json::to_string(&job(&yaml(IPI), &Config::default())).unwrap();
    assert_eq!(once, serde_json::to_string(&job(&yaml(IPI), &Config::default())).unwrap());
}

fn unresolved(manifest: &Value) -> String {
    let env = manifest.pointer("/spec/pod_spec/containers/0/env").unwrap().as_array().unwrap();
    let found = env.iter().find(|variable| variable["name"] == "UNRESOLVED_CONFIG").unwrap();
    found["value"].as_str().unwrap().to_owned()
}

fn inline(manifest: &Value) -> Value {
    yaml(&unresolved(manifest))
}
