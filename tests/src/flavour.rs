//! The two ways in which a tenant asks: by a claim, or by a composite in their namespace.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    cluster::{At, Cluster, at, at_root, has},
    kinds::{CLAIM, COMPOSITE, CRD, Kind, NAMESPACED_OBJECT, OBJECT, TEST_CLUSTER, XRD},
    manifests,
};

/// Name of the definition of TestClusters.
pub const XRD_NAME: &str = "testclusters.ci.openshift.org";
/// Name of their Composition.
pub const COMPOSITION: &str = "testplatform-test-cluster";
/// The component that serves them.
const COMPONENT: &str = "install/components/test-clusters";
/// How long the definition may take to become usable.
const PATIENCE: Duration = Duration::from_mins(1);

/// How a tenant asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// By a claim, behind which there is a composite.
    Claim,
    /// By a composite in their namespace.
    TestCluster,
}

impl Flavour {
    /// Kind of the tenant's object.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Claim => CLAIM,
            Self::TestCluster => TEST_CLUSTER,
        }
    }

    /// Suffix of a scenario's name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Claim => "",
            Self::TestCluster => "_in_namespace",
        }
    }

    /// Asks for a Composition by name.
    pub fn compose(self, spec: &mut Value, composition: &str) {
        let reference = json!({ "name": composition });
        match self {
            Self::Claim => spec["compositionRef"] = reference,
            Self::TestCluster => spec["crossplane"]["compositionRef"] = reference,
        }
    }

    /// Under what name core has composed for it, once it has.
    pub fn composed(self, asked: &Value) -> Option<&str> {
        match self {
            Self::Claim => asked["spec"]["resourceRef"]["name"].as_str(),
            Self::TestCluster => {
                let refs = asked["spec"]["crossplane"]["resourceRefs"].as_array()?;
                let mut names = refs.iter().filter_map(|r| r["name"].as_str());
                names.find_map(|n| n.strip_prefix("credentials-").or_else(|| n.strip_prefix("managed-")))
            }
        }
    }

    /// The composite of what a tenant asked for, by the name of [`Self::composed`].
    pub fn composite(self, asked: &At, composed: &str) -> At {
        match self {
            Self::Claim => at_root(COMPOSITE, composed),
            Self::TestCluster => asked.clone(),
        }
    }

    /// One of its Objects, such as `managed`.
    pub fn object(self, namespace: &str, which: &str, composed: &str) -> At {
        let name = format!("{which}-{composed}");
        match self {
            Self::Claim => at_root(OBJECT, &name),
            Self::TestCluster => at(NAMESPACED_OBJECT, namespace, &name),
        }
    }
}

/// Serves TestClusters, with what is installed for that.
pub(crate) async fn serve(konflux: &Cluster) -> anyhow::Result<()> {
    for file in [
        "cluster-provider-config",
        "definition",
        "composition",
        "roles",
        "crossplane-fields-policy",
        "size-policy",
        "usages-policy",
    ] {
        konflux.apply_all(&manifests::package(&format!("{COMPONENT}/{file}.yaml"))?).await?;
    }
    let established = |it: &Value| has(it, "Established", "True", "");
    for kind in [XRD, CRD] {
        konflux.until_is(&at_root(kind, XRD_NAME), PATIENCE, "established", established).await?;
    }
    Ok(())
}

/// A ProviderConfig as Objects in namespaces go by it.
pub(crate) fn for_namespaces(mut config: Value) -> Value {
    config["apiVersion"] = "kubernetes.m.crossplane.io/v1alpha1".into();
    config["kind"] = "ClusterProviderConfig".into();
    config
}
