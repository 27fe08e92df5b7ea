//! `ClusterTemplateInstance`, `clustertemplate.openshift.io`. It is set `Ready` repeatedly, whatever happened to its cluster, and names a
//! Secret with a password whether it exists or not.

use testplatform_apis::{foreign::meta::ObservedCondition, template::Backend};

use super::{ClusterKind, CredentialsLocation, Password, named};
use crate::credentials::{cluster_object::Cluster, publish::Key};

/// The table.
pub(super) struct ClusterTemplateInstance;

const READY: &str = "Ready";
/// The cluster is there.
const INSTALLED: &str = "ClusterInstallSucceeded";
/// So is what goes into it.
const SET_UP: &str = "ClusterSetupSucceeded";

impl ClusterKind for ClusterTemplateInstance {
    fn backend(&self) -> Backend {
        Backend::Caas
    }

    fn secret_names(&self) -> [&'static str; 2] {
        ["clustertemplateinstance-secrets", "clustertemplateinstance-orphans"]
    }

    fn conditions(&self) -> &'static [&'static str] {
        &[INSTALLED, SET_UP]
    }

    fn runs(&self, holder: &Cluster) -> Result<(), &'static str> {
        let fails = holder.condition(INSTALLED).is_some_and(ObservedCondition::is_false);
        (holder.status.value.phase == READY && !fails)
            .then_some(())
            .ok_or("the ClusterTemplateInstance is not ready yet")
    }

    fn place<'a>(&self, holder: &'a Cluster) -> Result<CredentialsLocation<'a>, &'static str> {
        let status = &holder.status.value;
        let secret = named(status.kubeconfig.as_ref())
            .ok_or("the ClusterTemplateInstance does not name the Secret with its kubeconfig yet")?;
        let at = named(status.admin_password.as_ref()).map(|secret| Key::new(secret, "password"));
        let since =
            [INSTALLED, SET_UP].iter().filter_map(|type_| holder.condition(type_)?.last_transition_time);
        let password = Password::Perhaps { at, since: since.max() };
        Ok(CredentialsLocation { kubeconfig: Key::new(secret, "kubeconfig"), password })
    }
}
