//! Refusals by the webhooks of CaaS.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::instance;
use crate::{
    cluster::{Cluster, SOON, at_root},
    hypershift::CLUSTERS,
    kinds::{ADMISSION_POLICY, INSTANCE},
    patience,
};

/// How soon it is looked again whether a policy is in force.
const AGAIN: Duration = Duration::from_millis(300);

/// Policy by which the API server refuses in place of the webhooks: unless `rule` holds, the answer is `words`.
pub(super) fn policy(name: &str, operation: &str, rule: &str, words: &str) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    [
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
            "spec": {
                "matchConstraints": { "resourceRules": [{
                    "apiGroups": ["clustertemplate.openshift.io"], "apiVersions": ["v1alpha1"],
                    "resources": ["clustertemplateinstances"], "operations": [operation],
                }] },
                "validations": [{ "expression": rule, "message": words }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
            "spec": { "policyName": name, "validationActions": ["Deny"] },
        }),
    ]
}

/// A quota of CaaS' own that lets a tenant have none, until it is lifted.
pub struct Quota {
    hub: Cluster,
    name: String,
}

impl Quota {
    /// Waits until it is in force.
    pub async fn set(hub: &Cluster, tenant: &str) -> anyhow::Result<Self> {
        let name = format!("quota-of-{tenant}");
        let rule = format!(
            "!has(object.metadata.annotations) || !object.metadata.annotations.exists(key, object.metadata.annotations[key] == '{tenant}')"
        );
        let words = "failed quota: cluster instance not allowed - maximum cluster instances reached";
        hub.apply_all(&policy(&name, "CREATE", &rule, words)).await?;
        let probe = format!("probe-of-{tenant}");
        let manifest = json!({
            "apiVersion": INSTANCE.api_version, "kind": INSTANCE.kind,
            "metadata": { "name": probe, "namespace": CLUSTERS, "annotations": { "of": tenant } },
            "spec": { "clusterTemplateRef": "none" },
        });
        let in_force = async {
            loop {
                match hub.create(&manifest).await {
                    Err(refused) if refused.to_string().contains(words) => return anyhow::Ok(()),
                    // Made, or one of before is still there: CaaS that is played may have put its finalizer on it again.
                    _ => {
                        hub.merge(&instance(&probe), &json!({ "metadata": { "finalizers": null } }))
                            .await
                            .ok();
                        hub.delete(&instance(&probe)).await?;
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        patience::timeout(SOON, in_force).await.context("the quota never is in force")??;
        Ok(Self { hub: hub.clone(), name })
    }

    /// Lets the tenant have more.
    pub async fn lift(self) -> anyhow::Result<()> {
        self.hub.delete(&at_root(ADMISSION_POLICY, &self.name)).await
    }
}
