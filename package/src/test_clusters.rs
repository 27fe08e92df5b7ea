//! Support for TestClusters, composites in the tenant's namespace: their Composition, and the component that adds them to an installation
//! with claims.
//!
//! Input: names. Output: JSON values and files. No I/O.

use serde_json::{Value, json};
use testplatform_apis::{claim, input, test_cluster, xrd};

use crate::{GeneratedFile, install, names::FUNCTION, render_generated};

/// Name of the Composition.
pub const COMPOSITION: &str = "testplatform-test-cluster";

/// The Composition of TestClusters: the pipeline of claims. It has no namespace for connection Secrets, since Crossplane writes none.
pub fn composition() -> Value {
    let fetched = |requirement: &str, name: &str| {
        json!({
            "requirementName": requirement,
            "apiVersion": "apiextensions.crossplane.io/v1beta1",
            "kind": "EnvironmentConfig",
            "name": name,
        })
    };
    let settings = input::Settings::default();
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {
            "name": COMPOSITION,
            "annotations": { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" },
        },
        "spec": {
            "compositeTypeRef": { "apiVersion": claim::API_VERSION, "kind": test_cluster::KIND },
            "mode": "Pipeline",
            "pipeline": [{
                "step": "testplatform",
                "functionRef": { "name": FUNCTION },
                "requirements": { "requiredResources": [
                    fetched("environment-config", &settings.environment_config),
                    fetched("pool-catalogue", &settings.pools),
                ] },
            }],
        },
    })
}

/// Makes a Composition of either flavour count composites of both.
pub fn count_both(composition: &mut Value) {
    let kinds = [claim::COMPOSITE_KIND, test_cluster::KIND];
    let of_clusters =
        composition["spec"]["compositeTypeRef"]["kind"].as_str().is_some_and(|k| kinds.contains(&k));
    let steps = composition.pointer_mut("/spec/pipeline").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten().filter(|_| of_clusters) {
        if step["functionRef"]["name"] == FUNCTION {
            step["input"]["apiVersion"] = input::API_VERSION.into();
            step["input"]["kind"] = input::KIND.into();
            step["input"]["bothFlavours"] = true.into();
        }
    }
}

/// The component: definition and Composition, each with Argo CD's annotations.
pub(crate) fn component() -> anyhow::Result<Vec<GeneratedFile>> {
    // Pruning the definition would delete every composite, and with it every cluster. The definition precedes the function, whose status it
    // declares.
    let mut composition = composition();
    count_both(&mut composition);
    Ok(vec![
        GeneratedFile {
            path: "install/components/test-clusters/composition.yaml".into(),
            text: render_generated(&install::protect_from_prune(composition, "3"))?,
        },
        GeneratedFile {
            path: "install/components/test-clusters/definition.yaml".into(),
            text: render_generated(&install::protect_from_prune(xrd::test_cluster()?, "-1"))?,
        },
    ])
}
