//! `Cluster`, `cluster.x-k8s.io`. Its kubeconfig is there as soon as its endpoint is known, long before anything answers. There is no
//! password.

use testplatform_apis::{foreign::meta::ObservedCondition, template::Backend};

use super::{ClusterKind, CredentialsLocation, Password};
use crate::credentials::{cluster_object as object, publish::Key};

/// The table.
pub(super) struct ClusterApiCluster;

/// Its API answers.
const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";

impl ClusterKind for ClusterApiCluster {
    fn backend(&self) -> Backend {
        Backend::ClusterApi
    }

    fn secret_names(&self) -> [&'static str; 2] {
        ["cluster-secrets", "cluster-orphans"]
    }

    fn conditions(&self) -> &'static [&'static str] {
        &[CONTROL_PLANE_AVAILABLE]
    }

    fn runs(&self, holder: &object::Cluster) -> Result<(), &'static str> {
        let condition = holder.condition(CONTROL_PLANE_AVAILABLE);
        condition
            .is_some_and(ObservedCondition::is_true)
            .then_some(())
            .ok_or("the Cluster does not report yet that its control plane is available")
    }

    fn place<'a>(&self, holder: &'a object::Cluster) -> Result<CredentialsLocation<'a>, &'static str> {
        Ok(CredentialsLocation {
            kubeconfig: Key::new(format!("{}-kubeconfig", holder.name()), "value"),
            password: Password::None,
        })
    }
}
