//! The cluster that is delivered. It is a namespace on the hub's API server, with a user that may do what it likes in
//! there and nothing elsewhere: a kubeconfig that really works costs no third control plane.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::{
    authentication::v1::{SelfSubjectReview, TokenRequest},
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};

use crate::{
    cluster::{At, Cluster, at, at_root},
    control_plane::{ControlPlane, Identity, connect},
    kinds::{CONFIG_MAP, NAMESPACE, SECRET, SERVICE_ACCOUNT},
};

const USER: &str = "kube-admin";

/// A cluster to be used.
pub struct Delivered {
    place: At,
    /// Everything that is needed to use it.
    pub kubeconfig: String,
    /// Password for a web console.
    pub password: String,
}

impl Delivered {
    /// Makes it.
    pub async fn make(hub: &ControlPlane, composite: &str) -> anyhow::Result<Self> {
        let (place, namespace) = (place(composite), namespace(composite));
        let metadata = |name: &str| json!({ "name": name, "namespace": namespace });
        let rbac = "rbac.authorization.k8s.io";
        let cluster = hub.cluster();
        let manifests = [
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }),
            json!({ "apiVersion": "v1", "kind": SERVICE_ACCOUNT.kind, "metadata": metadata(USER) }),
            json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": metadata(USER),
                "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }],
            }),
            json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": metadata(USER),
                "roleRef": { "apiGroup": rbac, "kind": "Role", "name": USER },
                "subjects": [{ "kind": "ServiceAccount", "name": USER, "namespace": namespace }],
            }),
        ];
        cluster.apply_all(&manifests).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), &namespace);
        let request = TokenRequest::default();
        let issued = accounts.create_token_request(USER, &PostParams::default(), &request).await?;
        let token = issued.status.and_then(|s| s.token).context("no token was issued")?;
        let mut kubeconfig = hub.kubeconfig_for(&Identity::Token(token));
        kubeconfig["contexts"][0]["context"]["namespace"] = namespace.as_str().into();
        // Anything that changes from run to run will do.
        let uid = cluster.get(&place).await?.unwrap_or_default();
        let uid = uid["metadata"]["uid"].as_str().unwrap_or_default().replace('-', "");
        let password = uid.as_bytes().chunks(5).take(4).map(String::from_utf8_lossy).collect::<Vec<_>>();
        Ok(Self { place, kubeconfig: serde_saphyr::to_string(&kubeconfig)?, password: password.join("-") })
    }

    /// Removes it, which goes on for a while after this.
    pub async fn remove(&self, hub: &Cluster) -> anyhow::Result<()> {
        hub.delete(&self.place).await
    }
}

/// Where the cluster for a composite is.
pub fn place(composite: &str) -> At {
    at_root(NAMESPACE, &namespace(composite))
}

fn namespace(composite: &str) -> String {
    format!("cluster-{composite}")
}

/// Uses a kubeconfig as whoever found it in a Secret would. Returns the results, in words.
pub async fn prove(kubeconfig: &str) -> anyhow::Result<Vec<String>> {
    let parsed = Kubeconfig::from_yaml(kubeconfig)?;
    let server = parsed.clusters.first().and_then(|c| c.cluster.as_ref()?.server.clone());
    let context = parsed.contexts.first().and_then(|c| c.context.as_ref());
    let namespace = context.and_then(|c| c.namespace.clone()).context("it names no namespace")?;
    let client = connect(kubeconfig).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    let user = whoami(client.clone()).await?;
    let cluster = Cluster::new("the delivered cluster", client);
    let written = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "hello", "namespace": namespace },
        "data": { "greeting": "made with the delivered kubeconfig" },
    });
    cluster.create(&written).await.context("it cannot create a ConfigMap")?;
    let read = cluster.get(&at(CONFIG_MAP, &namespace, "hello")).await?.unwrap_or(Value::Null);
    ensure!(read["data"] == written["data"], "the ConfigMap differs from what was written");
    let refused = cluster.list(SECRET).await.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(refused.contains("forbidden"), "it can list all Secrets: {refused}");
    Ok(vec![
        format!("Kubernetes {} at {}", version.git_version, server.unwrap_or_default()),
        format!("as {user}"),
        "created ConfigMap hello and read it; Secrets of other namespaces are refused".to_owned(),
    ])
}

async fn whoami(client: Client) -> anyhow::Result<String> {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = SelfSubjectReview { metadata: ObjectMeta::default(), status: None };
    let review =
        reviews.create(&PostParams::default(), &review).await.context("the token is not accepted")?;
    review.status.and_then(|s| s.user_info?.username).context("the API server names no user")
}
