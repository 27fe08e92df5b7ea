//! The kinds of Hive as they are cached: what decisions need, and no more, because there may be thousands.
//!
//! Source: openshift/hive, `apis/hive/v1`.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::NamespaceResourceScope};
use testplatform_apis::{foreign::cluster_claim, names::ours};

use super::{deployment, pool};
use crate::{cached_object::cached_object, credentials::publish::SecretOwner};

/// API group of Hive.
pub const GROUP: &str = "hive.openshift.io";
/// Its one version.
const VERSION: &str = "v1";

macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $plural:literal, $spec:ty, $status:ty) => {
        cached_object! {
            $(#[$doc])*
            $name, $spec, $status
        }

        impl Resource for $name {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;

            fn kind(&(): &()) -> Cow<'_, str> {
                stringify!($name).into()
            }

            fn group(&(): &()) -> Cow<'_, str> {
                GROUP.into()
            }

            fn version(&(): &()) -> Cow<'_, str> {
                VERSION.into()
            }

            fn plural(&(): &()) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

kind! {
    /// Asks for a cluster of a pool in its own namespace.
    ClusterClaim, "clusterclaims", cluster_claim::Spec, cluster_claim::Status
}
kind! {
    /// Keeps clusters at hand.
    ClusterPool, "clusterpools", pool::Spec, pool::Status
}
kind! {
    /// One cluster, in a namespace of its own and of its own name.
    ClusterDeployment, "clusterdeployments", deployment::Spec, deployment::Status
}

impl ClusterClaim {
    /// Whom its published Secret is for.
    pub fn owner(&self) -> SecretOwner<'_> {
        let (namespace, name, uid) = (self.namespace(), self.name(), self.uid());
        SecretOwner { group: GROUP, kind: cluster_claim::KIND, namespace, name, uid }
    }

    /// Whether the function created it: each of its ClusterClaims tells whether to resume its cluster. Others, such as those of ci-operator,
    /// only wait in the same queue.
    pub fn is_marked(&self) -> bool {
        self.annotation(ours::RESUME).is_some()
    }

    /// Whether to resume its cluster when it hibernates.
    pub fn wants_resume(&self) -> bool {
        self.annotation(ours::RESUME).is_some_and(|word| word != "false")
    }

    /// Name of the pool.
    pub fn pool(&self) -> &str {
        &self.spec.value.cluster_pool_name
    }

    /// Namespace and name of the ClusterDeployment that Hive chose, if it has.
    pub fn assigned(&self) -> Option<&str> {
        Some(self.spec.value.namespace.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether it waits in its pool's queue.
    pub fn is_waiting(&self) -> bool {
        self.assigned().is_none() && !self.is_deleted() && self.spec.error.is_none()
    }
}
