//! The manifests of the overlays, as the charts read them.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::template::ChartTemplate;
use crate::{
    GeneratedFile,
    bump::{Rendered, Tree, render_directory},
};

/// Paths below `package/`, each with its text in this build.
macro_rules! texts {
    ($($path:literal),* $(,)?) => { [$(($path, include_str!(concat!("../../../", $path)))),*] };
}

/// Files that are written by hand. A missing one is an error of the generator, which names it.
static TEXTS: &[(&str, &str)] = &texts![
    "compositions/kustomization.yaml",
    "compositions/testplatform-ephemeral-cluster.yaml",
    "crds/kustomization.yaml",
    "xrds/kustomization.yaml",
    "install/api/kustomization.yaml",
    "install/components/cluster-pools/kustomization.yaml",
    "install/components/external-secret/external-secret.yaml",
    "install/components/external-secret/kustomization.yaml",
    "install/components/hub-access/kustomization.yaml",
    "install/components/hub-access/provider-config.yaml",
    "install/components/hub-monitoring/kustomization.yaml",
    "install/components/hub-monitoring/pod-monitor.yaml",
    "install/components/kube-state-metrics/kustomization.yaml",
    "install/components/kube-state-metrics/rbac.yaml",
    "install/components/monitoring/kustomization.yaml",
    "install/components/monitoring/pod-monitor.yaml",
    "install/components/offers/kustomization.yaml",
    "install/components/offers/rbac.yaml",
    "install/components/spaces/crossplane-fields-policy.yaml",
    "install/components/spaces/kustomization.yaml",
    "install/components/test-clusters/cluster-provider-config.yaml",
    "install/components/test-clusters/crossplane-fields-policy.yaml",
    "install/components/test-clusters/kustomization.yaml",
    "install/components/test-clusters/roles.yaml",
    "install/components/test-clusters/size-policy.yaml",
    "install/components/test-clusters/usages-policy.yaml",
    "install/function/function.yaml",
    "install/function/kustomization.yaml",
    "install/function/network-policy.yaml",
    "install/function/pod-disruption-budget.yaml",
    "install/function/runtime-config.yaml",
    "install/hub/deployment.yaml",
    "install/hub/konflux-identity-clusterclaims-rbac.yaml",
    "install/hub/konflux-identity-clusterpools-rbac.yaml",
    "install/hub/konflux-identity-hub-facts-rbac.yaml",
    "install/hub/konflux-identity-rbac.yaml",
    "install/hub/konflux-identity-spaces-rbac.yaml",
    "install/hub/konflux-identity.yaml",
    "install/hub/namespace-spaces.yaml",
    "install/hub/namespaces.yaml",
    "install/hub/network-policy.yaml",
    "install/hub/provider-config.yaml",
    "install/hub/provider-rbac.yaml",
    "install/namespaces/kustomization.yaml",
    "install/namespaces/namespaces.yaml",
    "install/overlays/crossplane/environment-config.yaml",
    "install/overlays/development/provider-config.yaml",
    "install/overlays/development/provider-kubernetes-rbac.yaml",
    "install/tenants/crossplane-fields-policy.yaml",
    "install/tenants/kustomization.yaml",
    "install/tenants/roles.yaml",
    "install/tenants/size-policy.yaml",
];

/// Directory of a kustomization that only the generator sees.
const SELECTION: &str = "selection";

/// The manifests, hand-written and generated.
pub struct Manifests {
    tree: Tree,
}

impl Manifests {
    /// The hand-written manifests of this build, with the generated ones.
    pub fn new(generated: &[GeneratedFile]) -> Self {
        let mut tree: Tree = TEXTS.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        for file in generated {
            tree.insert(file.path.clone(), file.text.as_bytes());
        }
        Self { tree }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If it is not among the manifests.
    pub fn text(&self, path: &str) -> anyhow::Result<&str> {
        let bytes = self.tree.get(path).with_context(|| format!("the charts do not read {path}"))?;
        Ok(std::str::from_utf8(bytes)?)
    }

    /// The objects of a file.
    ///
    /// # Errors
    /// If it is not among the manifests, or is not YAML.
    pub fn read_file(&self, path: &str) -> anyhow::Result<Vec<ChartTemplate>> {
        let objects: Vec<Value> =
            serde_saphyr::from_multiple(self.text(path)?).with_context(|| path.to_owned())?;
        Ok(objects.into_iter().filter(|object| !object.is_null()).map(ChartTemplate::new).collect())
    }

    /// The objects that kustomize renders from directories of resources and components.
    ///
    /// # Errors
    /// If kustomize would refuse them, or if a file is not among the manifests.
    pub fn render(&self, resources: &[&str], components: &[&str]) -> anyhow::Result<Vec<ChartTemplate>> {
        let list = |paths: &[&str]| paths.iter().flat_map(|path| ["- ../", *path, "\n"]).collect::<String>();
        let kustomization = format!("resources:\n{}components:\n{}", list(resources), list(components));
        let mut tree = self.tree.clone();
        tree.insert(format!("{SELECTION}/kustomization.yaml"), kustomization);
        let rendered = render_directory(&tree, SELECTION).map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let Rendered { objects, absent, unresolved, ineffective, .. } = rendered;
        ensure!(absent.is_empty(), "the charts do not read {absent:?}");
        ensure!(unresolved.is_empty() && ineffective.is_empty(), "{unresolved:?} {ineffective:?}");
        Ok(objects.into_iter().map(|object| ChartTemplate::new(object.value)).collect())
    }
}
