//! An API server in small: structure by JSON schema, rules by a CEL evaluator, nulls pruned as a real one does.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};
use testplatform_apis::xrd;

/// The generated XRD.
pub fn xrd() -> &'static Value {
    static XRD: OnceLock<Value> = OnceLock::new();
    XRD.get_or_init(|| xrd::test_platform_cluster().unwrap())
}

/// The schema of composite and claim, as far as it is ours.
pub fn schema() -> &'static Value {
    xrd().pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap()
}

/// An API server's verdict on an object that is created, or changed from `old`: every complaint as `path: sentence`.
pub fn admit(schema: &Value, new: &Value, old: Option<&Value>) -> Result<(), Vec<String>> {
    let new = without_nulls(schema, new);
    let old = old.map(|old| without_nulls(schema, old));
    let structure = jsonschema::draft202012::new(schema).unwrap();
    let mut complaints: Vec<String> =
        structure.iter_errors(&new).map(|error| format!("{}: {error}", error.instance_path())).collect();
    if complaints.is_empty()
        && let Err(errors) = kube_cel::Validator::new().validate(schema, &new, old.as_ref())
    {
        complaints.extend(errors.into_vec().iter().map(ToString::to_string));
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// A claim with this `spec` is created.
pub fn create(spec: &Value) -> Result<(), Vec<String>> {
    admit(schema(), &json!({ "spec": spec }), None)
}

/// The `spec` of a claim is changed.
pub fn update(old: &Value, new: &Value) -> Result<(), Vec<String>> {
    admit(schema(), &json!({ "spec": new }), Some(&json!({ "spec": old })))
}

/// Nulls of declared fields that are not nullable count as absent; in undeclared fields they stay.
fn without_nulls(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter_map(|(key, member)| {
                    let inner = schema.pointer("/properties").and_then(|properties| properties.get(key));
                    match inner.or_else(|| schema.get("additionalProperties")) {
                        Some(_) if member.is_null() => None,
                        Some(inner) => Some((key.clone(), without_nulls(inner, member))),
                        None => Some((key.clone(), member.clone())),
                    }
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| without_nulls(schema.get("items").unwrap_or(&Value::Null), item))
                .collect(),
        ),
        other => other.clone(),
    }
}

pub fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

pub fn read_yaml(path: &Path) -> Value {
    yaml(&std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The Konflux task's claim if its parameters are left alone: stanzas that are empty, null or `{}`.
pub fn konflux_default() -> Value {
    yaml(
        "
ciOperator:
  buildRoot:
    image_stream_tag:
      namespace: openshift
      name: release
      tag: rhel-9-release-golang-1.24-openshift-4.20
  baseImages: {}
  externalImages: {}
  releases: {}
  resources: null
  test:
    clusterProfile: null
    clusterClaim: {}
    env: {}
    workflow: ipc-aws
writeConnectionSecretToRef:
  name: provision-secret
",
    )
}

/// A claim with a value in every field that upstream knows.
pub fn all_fields() -> Value {
    yaml(
        r#"
tearDownCluster: false
lifetime: 4h30m
ciOperator:
  baseImages:
    cli: { namespace: ocp, name: "4.20", tag: cli, as: tools }
  buildRoot:
    from_repository: true
    use_build_cache: false
    image_stream_tag: { namespace: openshift, name: release, tag: golang, as: root }
    project_image:
      context_dir: build
      dockerfile_literal: FROM scratch
      dockerfile_path: Dockerfile
      ref: org.repo
      build_args: [{ name: A, value: "1" }, { name: B }, {}]
      inputs:
        bin: { as: [base], paths: [{ destination_dir: ., source_path: /bin/x }] }
  externalImages:
    tool: { registry: quay.io, namespace: org, name: tool, tag: v1, as: t, pull_secret: s, pull_spec: quay.io/org/tool:v1 }
  releases:
    initial: { integration: { name: "4.20", namespace: ocp, include_built_images: true, reference_policy: Local } }
    latest: { release: { channel: stable, version: "4.20", architecture: arm64, relative: 1 } }
    next: { candidate: { product: ocp, stream: nightly, version: "4.21", architecture: amd64, relative: 2 } }
    early: { prerelease: { product: ocp, version_bounds: { lower: 4.20.0-0, upper: 4.21.0-0, stream: 4-stable }, architecture: multi, relative: 0 } }
  resources:
    "*": { requests: { cpu: 100m }, limits: { memory: 4Gi } }
  test:
    workflow: ipi-aws
    clusterProfile: aws
    env: { FOO: bar, "ON": "yes" }
    clusterClaim:
      { product: ocp, version: "4.20", architecture: amd64, cloud: aws, owner: dpp, as: latest, timeout: 1h, labels: { region: us-east-1 } }
"#,
    )
}

/// A claim that takes a cluster from a pool.
pub fn pooled() -> Value {
    yaml(
        r#"
clusterClaim:
  { product: ocp, version: "4.20", architecture: amd64, cloud: aws, owner: dpp, labels: { region: us-east-1 }, timeout: 1h30m, pool: { name: p, namespace: pools }, resume: false }
"#,
    )
}

/// A claim for a cluster by template, with a value in every field.
pub fn templated() -> Value {
    yaml(
        r#"
template: hosted
version: "4.20"
parameters: { fips: true, sizes: [1, 2], nested: { deep: null } }
controlPlane: { replicas: 3, class: large }
nodeGroups:
- { name: a, class: small, count: 2, arch: arm64, failureDomain: z, labels: { a: b }, parameters: { x: 1 } }
- { name: b, class: small, autoscale: { min: 1, max: 3 }, taints: [{ key: k, value: v, effect: NoSchedule }] }
network:
  { podCIDR: 10.132.0.0/14, serviceCIDR: 172.31.0.0/16, machineCIDR: 10.0.0.0/24, internal: { networkID: net, subnetID: sub }, external: { networkID: net }, dnsNameservers: [10.0.0.1] }
hub: { name: hub-1, force: true, selector: { matchLabels: { region: x } }, affinity: Pack }
timeouts: { provision: 1h, teardown: 30m }
lifetime: 2h
tearDownCluster: false
"#,
    )
}
