//! The inline ci-operator configuration: one test, whose workflow makes the cluster, and one step in it, which waits.
//!
//! The tenant's own parts are passed on unchanged. Additions go into the copy that is made here, never into the spec.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    duration::GoDuration,
    names::ci_operator::{TEST, WAIT_STEP},
};

use super::{request::Request, wait_step};
use crate::config::{EphemeralClusters, WAIT_IMAGE};

/// Grace period of the wait step after SIGTERM: it ends at once.
const GRACE_PERIOD: &str = "15s";

/// Parts of `spec.ciOperator` by their names there and in ci-operator.
const SECTIONS: [(&str, &str); 4] = [
    ("buildRoot", "build_root"),
    ("externalImages", "external_images"),
    ("releases", "releases"),
    ("resources", "resources"),
];

/// The configuration. `timeout` is how long the wait step may take.
pub fn ci_operator_config(request: &Request<'_>, settings: &EphemeralClusters, timeout: GoDuration) -> Value {
    let mut config = Map::new();
    for (ours, theirs) in SECTIONS {
        if let Some(section) = request.section(ours) {
            config.insert(theirs.into(), section.clone().into());
        }
    }
    config.entry("resources").or_insert_with(|| json!(settings.resources));
    let mut images = request.section("baseImages").cloned().unwrap_or_default();
    images.insert(WAIT_IMAGE.into(), json!(settings.wait_image));
    config.insert("base_images".into(), images.into());
    config.insert("tests".into(), json!([test(request, settings, timeout)]));
    // Nothing reads it but a check that it is there: the configuration is of no repository.
    config
        .insert("zz_generated_metadata".into(), json!({ "org": "org", "repo": "repo", "branch": "branch" }));
    config.into()
}

fn test(request: &Request<'_>, settings: &EphemeralClusters, timeout: GoDuration) -> Value {
    let mut steps = Map::new();
    for (ours, theirs) in [("workflow", "workflow"), ("clusterProfile", "cluster_profile")] {
        if let Some(text) = request.test_text(ours) {
            steps.insert(theirs.into(), text.into());
        }
    }
    if let Some(Value::Object(env)) = request.test().and_then(|test| test.get("env"))
        && !env.is_empty()
    {
        steps.insert("env".into(), env.clone().into());
    }
    steps.insert(
        "test".into(),
        json!([{
            "as": WAIT_STEP,
            "from": WAIT_IMAGE,
            "commands": wait_step::script(&settings.wait_step),
            "resources": settings.wait_step.resources,
            "timeout": timeout,
            "grace_period": GRACE_PERIOD,
        }]),
    );
    // A test needs a schedule; this one runs because it has a job.
    let mut test = json!({ "as": TEST, "cron": "@yearly", "steps": steps });
    if let Some(claim) = request.claim() {
        test["cluster_claim"] = claim.clone();
    }
    test
}
