//! A `ValidatingAdmissionPolicy` of the hub, which refuses writes of one kind.

use serde_json::json;
use testplatform_tests::{
    cluster::{Cluster, at_root},
    kinds::Kind,
};

const POLICY: Kind =
    Kind { api_version: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy" };
const BINDING: Kind =
    Kind { api_version: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicyBinding" };

/// Refuses every creation and update of a `resource` of the API group for which the CEL expression is not true.
pub(super) async fn add(
    hub: &Cluster,
    name: &str,
    [group, resource]: [&str; 2],
    expression: &str,
    message: &str,
) -> anyhow::Result<()> {
    let rules = json!([{
        "apiGroups": [group], "apiVersions": ["*"], "resources": [resource],
        "operations": ["CREATE", "UPDATE"],
    }]);
    hub.apply(&json!({
        "apiVersion": POLICY.api_version, "kind": POLICY.kind, "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail", "matchConstraints": { "resourceRules": rules },
            "validations": [{ "expression": expression, "message": message }],
        },
    }))
    .await?;
    hub.apply(&json!({
        "apiVersion": BINDING.api_version, "kind": BINDING.kind, "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    }))
    .await
    .map(drop)
}

/// Removes the policy.
pub(super) async fn remove(hub: &Cluster, name: &str) -> anyhow::Result<()> {
    for at in [at_root(BINDING, name), at_root(POLICY, name)] {
        hub.delete(&at).await?;
    }
    Ok(())
}
