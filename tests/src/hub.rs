//! The hub as its administrators set it up: kinds, namespaces, and one identity per Konflux cluster. Hive is on it too.

pub mod another;
pub mod own;

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_package::hub::token::{HubTokenRequest, IssuedToken, issue_token};

use crate::{
    caas,
    cluster::{Cluster, SOON, at, at_root, has},
    cluster_api,
    control_plane::{ControlPlane, Identity, connect},
    hive::{
        self,
        offer::{CREDENTIALS, POOLS},
    },
    hypershift, keystone,
    kinds::{CRD, EPHEMERAL_CLUSTER, SECRET},
    manifests, osac, patience, prow, space,
};

/// Namespace of every EphemeralCluster and of their credentials.
pub const NAMESPACE: &str = "ephemeral-cluster";
/// Namespace of those EphemeralClusters that an actor fulfils, as the upstream controller would.
pub const ACTED: &str = "acted";
/// ServiceAccount of the Konflux cluster.
pub const IDENTITY: &str = "konflux";
const DEFINITIONS: [&str; 2] = ["ephemeralclusters.ci.openshift.io", "prowjobs.prow.k8s.io"];

/// Installs what the hub has.
pub async fn prepare(hub: &Cluster) -> anyhow::Result<()> {
    for name in DEFINITIONS {
        define(hub, &manifests::foreign_crd(name)?).await?;
    }
    hive::define(hub, &hive::definitions()?).await?;
    hive::define(hub, &hypershift::definitions()?).await?;
    hive::define(hub, &cluster_api::definitions()?).await?;
    hive::define(hub, &osac::definitions()?).await?;
    hive::define(hub, &caas::definitions()?).await?;
    hub.apply_all(&manifests::package("install/hub/namespaces.yaml")?).await?;
    for name in [
        ACTED,
        prow::JOBS,
        POOLS,
        CREDENTIALS,
        hypershift::CLUSTERS,
        osac::ORDERS,
        space::CREDENTIALS,
        keystone::ISSUERS,
    ] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        hub.apply(&namespace).await?;
    }
    hub.apply_all(&manifests::package("install/hub/konflux-identity.yaml")?).await?;
    let rights = manifests::package("install/hub/konflux-identity-rbac.yaml")?;
    hub.apply_all(&rights).await?;
    for kind in ["clusterclaims", "clusterpools"] {
        let path = format!("install/hub/konflux-identity-{kind}-rbac.yaml");
        hub.apply_all(&manifests::package(&path)?).await?;
    }
    // The same identity, with the same rights in the other namespace.
    for mut right in rights {
        if right["kind"] == "Role" || right["kind"] == "RoleBinding" {
            right["metadata"]["namespace"] = ACTED.into();
            hub.apply(&right).await?;
        }
    }
    Ok(())
}

/// Installs a definition, or puts it in the place of another one, and waits until objects of it can be made.
pub async fn define(hub: &Cluster, definition: &Value) -> anyhow::Result<()> {
    let applied = hub.apply(definition).await?;
    let name = applied["metadata"]["name"].as_str().context("a definition without a name")?;
    let established = |crd: &Value| has(crd, "Established", "True", "");
    hub.until_is(&at_root(CRD, name), SOON, "established", established).await.map(|_| ())
}

/// A token of a ServiceAccount, which is good until its ticket is torn.
#[derive(Clone, Debug)]
pub struct Credential {
    /// A kubeconfig with it.
    pub kubeconfig: Value,
    namespace: String,
    ticket: String,
}

impl Credential {
    /// The same by way of a port of this machine, behind which the hub is.
    #[must_use]
    pub fn through(&self, port: u16) -> Self {
        let mut other = self.clone();
        other.kubeconfig["clusters"][0]["cluster"]["server"] = format!("https://127.0.0.1:{port}").into();
        other
    }
}

/// For how long tokens are good, in seconds. The hour that there is by default is over before two thousand claims are.
const DAY: i64 = 86_400;

/// Issues a token. It is bound to a Secret of its own, so that it can be revoked without the others.
pub async fn issue(hub: &ControlPlane, account: &str, ticket: &str) -> anyhow::Result<Credential> {
    issue_in(hub, NAMESPACE, account, ticket).await
}

/// As [`issue`], for a ServiceAccount of another namespace.
pub async fn issue_in(
    hub: &ControlPlane,
    namespace: &str,
    account: &str,
    ticket: &str,
) -> anyhow::Result<Credential> {
    let ticket = format!("{account}-{ticket}");
    let manifest = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": ticket, "namespace": namespace },
    });
    hub.cluster().apply(&manifest).await?;
    let asked = HubTokenRequest { namespace, account, bound: Some(&ticket), seconds: Some(DAY) };
    let IssuedToken { token, .. } = issue_token(hub.client(), &asked).await?;
    Ok(Credential {
        kubeconfig: hub.kubeconfig_for(&Identity::Token(token)),
        namespace: namespace.to_owned(),
        ticket,
    })
}

/// Revokes a token. The API server may go on accepting it for some seconds.
pub async fn revoke(hub: &ControlPlane, credential: &Credential) -> anyhow::Result<()> {
    hub.cluster().delete(&at(SECRET, &credential.namespace, &credential.ticket)).await
}

/// Waits until the API server has noticed that a token is no longer good.
pub async fn until_refused(credential: &Credential) -> anyhow::Result<()> {
    let somebody = Cluster::new("hub, as it was", connect(&credential.kubeconfig.to_string()).await?);
    let refused = async {
        while somebody.get(&at(EPHEMERAL_CLUSTER, &credential.namespace, "none")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    patience::timeout(SOON, refused).await.context("the old token is still good")
}
