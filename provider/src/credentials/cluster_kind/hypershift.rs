//! `HostedCluster`, `hypershift.openshift.io`. It names its Secrets long before its API server answers.

use testplatform_apis::{
    foreign::{hosted_cluster::conditions::AVAILABLE, meta::ObservedCondition},
    template::Backend,
};

use super::{ClusterKind, CredentialsLocation, Password, named};
use crate::{
    credentials::{cluster_object::Cluster, publish::Key},
    rights::{Grant, RbacScope},
};

/// The call by which the versions are read that HyperShift can make.
pub const VERSIONS_GRANT: Grant = Grant {
    place: RbacScope::SupportedVersions,
    group: "",
    resource: "configmaps",
    names: &["supported-versions"],
    verbs: &["get"],
    proxy: true,
    why: "Versions that HyperShift supports.",
};

/// The table.
pub(super) struct HostedCluster;

impl ClusterKind for HostedCluster {
    fn backend(&self) -> Backend {
        Backend::HyperShift
    }

    fn secret_names(&self) -> [&'static str; 2] {
        ["hostedcluster-secrets", "hostedcluster-orphans"]
    }

    fn conditions(&self) -> &'static [&'static str] {
        &[AVAILABLE]
    }

    fn runs(&self, holder: &Cluster) -> Result<(), &'static str> {
        let available = holder.condition(AVAILABLE).is_some_and(ObservedCondition::is_true);
        available.then_some(()).ok_or("the HostedCluster does not report yet that its API server answers")
    }

    fn place<'a>(&self, holder: &'a Cluster) -> Result<CredentialsLocation<'a>, &'static str> {
        let status = &holder.status.value;
        // The other one leads to a name that its users need not know.
        let secret = named(status.custom_kubeconfig.as_ref()).or_else(|| named(status.kubeconfig.as_ref()));
        let secret = secret.ok_or("the HostedCluster does not name the Secret with its kubeconfig yet")?;
        let configured = holder.spec.value.configuration.as_ref();
        let password = match named(status.kubeadmin_password.as_ref()) {
            Some(secret) => Password::At(Key::new(secret, "password")),
            None if configured.is_some_and(|c| c.oauth.is_some()) => Password::None,
            None => {
                let since = holder.condition(AVAILABLE).and_then(|c| c.last_transition_time);
                Password::Perhaps { at: None, since }
            }
        };
        Ok(CredentialsLocation { kubeconfig: Key::new(secret, "kubeconfig"), password })
    }
}
