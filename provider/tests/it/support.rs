//! Shared helpers of the tests of drafts.

use jiff::Timestamp;
use provider_testplatform::{
    config::{Config, profiles::Profiles},
    controllers::ephemeral_cluster::{draft::draft, observed_state::Draft},
};
use serde_json::Value;

pub const IPI: &str = include_str!("../draft/ipi.yaml");
pub const HIVE: &str = include_str!("../draft/hive.yaml");

const PROFILES: &str = "
cluster_profiles:
- name: aws
  owners:
  - org: openshift
  - konflux: { tenant: acme-tenant, clusters: [stone-stg], cluster_groups: [production] }
  cluster_type: aws
  lease_type: aws-quota-slice
  secret: cluster-secrets-aws
- name: gcp
  owners:
  - konflux: { tenant: other-tenant, clusters: [stone-prd-rh01] }
  cluster_type: gcp
- name: bare
konflux:
  cluster_groups:
    production: [stone-prd-rh01, stone-prd-rh02]
";

/// Cases of a property test: a fifth of those of the whole tier, which sets `TESTPLATFORM_WALKS`, in the quick tier.
#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
pub fn bounded(whole: u32) -> u32 {
    if std::env::var("TESTPLATFORM_WALKS").is_ok() { whole } else { whole.div_ceil(5) }
}

/// A kubeconfig in the form in which it is published.
pub fn kubeconfig(server: &str, token: &str) -> String {
    format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    server: {server}\n  name: a\n\
         contexts:\n- context:\n    cluster: a\n    user: a\n  name: a\n\
         current-context: a\nkind: Config\nusers:\n- name: a\n  user:\n    token: {token}\n"
    )
}

pub fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

pub fn profiles() -> Profiles {
    Profiles::parse(PROFILES).unwrap()
}

pub fn now() -> Timestamp {
    "2026-03-02T12:00:00.75Z".parse().unwrap()
}

/// A configuration in which only these fields of `ephemeralCluster` are said.
pub fn config(section: &str) -> Config {
    Config::parse("test", &format!("ephemeralCluster: {section}")).unwrap()
}

pub fn drafted(object: &Value, config: &Config) -> Draft {
    draft(object, config, &profiles(), now())
}

/// The manifest that is made.
pub fn job(object: &Value, config: &Config) -> Value {
    match drafted(object, config) {
        Draft::Job(manifest) => *manifest,
        other => panic!("no job: {other:?}"),
    }
}

/// The object with a value at a JSON pointer; with null, without what is there.
pub fn with(object: &str, pointer: &str, value: Value) -> Value {
    let mut object = yaml(object);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
    if value.is_null() {
        parent.remove(&key);
    } else {
        parent.insert(key, value);
    }
    object
}
