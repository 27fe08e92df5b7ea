//! `Cluster`, `cluster.x-k8s.io`. Its kubeconfig is there as soon as its endpoint is known, long before anything answers. There is no
//! password.

use testplatform_apis::{
    foreign::meta::{ObservedCondition, condition},
    template::Backend,
};

use super::{Kind, Password, Place};
use crate::{clusters::object, publish::Key};

/// The table.
pub(super) struct Cluster;

/// `v1beta2`: its API answers.
const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
/// `v1beta1`, where it does not say the other.
const CONTROL_PLANE_READY: &str = "ControlPlaneReady";

impl Kind for Cluster {
    fn backend(&self) -> Backend {
        Backend::ClusterApi
    }

    fn conditions(&self) -> &'static [&'static str] {
        &[CONTROL_PLANE_AVAILABLE, CONTROL_PLANE_READY]
    }

    fn runs(&self, holder: &object::Cluster) -> Result<(), &'static str> {
        let later = holder.status.value.later.as_ref();
        let later = later.and_then(|later| condition(&later.conditions, CONTROL_PLANE_AVAILABLE));
        let said = holder.condition(CONTROL_PLANE_AVAILABLE).or(later);
        let said = said.or_else(|| holder.condition(CONTROL_PLANE_READY));
        said.is_some_and(ObservedCondition::is_true)
            .then_some(())
            .ok_or("the Cluster does not say yet that its control plane is available")
    }

    fn place<'a>(&self, holder: &'a object::Cluster) -> Result<Place<'a>, &'static str> {
        Ok(Place {
            kubeconfig: Key::new(format!("{}-kubeconfig", holder.name()), "value"),
            password: Password::None,
        })
    }
}
