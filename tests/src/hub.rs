//! The hub as its administrators set it up: kinds, namespace, and one identity per Konflux cluster.

use anyhow::Context as _;
use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, SOON, at, at_root, has},
    control_plane::{ControlPlane, Identity},
    kinds::{CRD, SECRET},
    manifests,
};

/// Namespace of every EphemeralCluster and of their credentials.
pub const NAMESPACE: &str = "ephemeral-cluster";
/// ServiceAccount of the Konflux cluster.
pub const IDENTITY: &str = "konflux";
const EPHEMERAL_CLUSTERS: &str = "ephemeralclusters.ci.openshift.io";

/// Installs what the hub has.
pub async fn prepare(hub: &Cluster) -> anyhow::Result<()> {
    hub.apply(&manifests::foreign_crd(EPHEMERAL_CLUSTERS)?).await?;
    hub.until_is(&at_root(CRD, EPHEMERAL_CLUSTERS), SOON, "established", |crd| {
        has(crd, "Established", "True", "")
    })
    .await?;
    hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })).await?;
    hub.apply_all(&manifests::package("hub/konflux-identity-rbac.yaml")?).await
}

/// A token of a ServiceAccount, which is good until its ticket is torn.
#[derive(Clone, Debug)]
pub struct Credential {
    /// A kubeconfig with it.
    pub kubeconfig: Value,
    ticket: String,
}

/// Issues a token. It is bound to a Secret of its own, so that it can be revoked without the others.
pub async fn issue(hub: &ControlPlane, account: &str, ticket: &str) -> anyhow::Result<Credential> {
    let ticket = format!("{account}-{ticket}");
    let manifest = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": ticket, "namespace": NAMESPACE },
    });
    let secret = hub.cluster().apply(&manifest).await?;
    let bound = BoundObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Secret".into()),
        name: Some(ticket.clone()),
        uid: secret["metadata"]["uid"].as_str().map(str::to_owned),
    };
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { bound_object_ref: Some(bound), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), NAMESPACE);
    let issued = accounts.create_token_request(account, &PostParams::default(), &request).await?;
    let token = issued.status.and_then(|s| s.token).context("no token was issued")?;
    Ok(Credential { kubeconfig: hub.kubeconfig_for(&Identity::Token(token)), ticket })
}

/// Revokes a token. The API server may go on accepting it for some seconds.
pub async fn revoke(hub: &ControlPlane, credential: &Credential) -> anyhow::Result<()> {
    hub.cluster().delete(&at(SECRET, NAMESPACE, &credential.ticket)).await
}
