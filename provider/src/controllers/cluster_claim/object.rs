//! The kinds of Hive as they are cached: what decisions need, and no more, because there may be thousands.
//!
//! Source: openshift/hive, `apis/hive/v1`.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::NamespaceResourceScope};
use testplatform_apis::{
    foreign::{
        cluster_claim,
        meta::{ObservedCondition, find_condition},
    },
    names::ours,
};

use super::{
    deployment::{self, HIBERNATING, conditions, names},
    pool,
};
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

impl ClusterDeployment {
    /// Whether it is on its way out, or marked for it.
    pub fn is_ending(&self) -> bool {
        let marked = |key: &&str| self.annotation(key) == Some("true");
        self.is_deleted() || [names::REMOVE, names::REMOVE_CLAIMED].iter().any(marked)
    }

    /// A condition of it.
    pub fn condition(&self, type_: &str) -> Option<&ObservedCondition> {
        find_condition(&self.status.value.conditions, type_)
    }

    /// Whether it belongs to a pool and is unclaimed.
    pub fn is_unclaimed(&self) -> bool {
        self.spec.value.cluster_pool_ref.as_ref().is_some_and(|pool| pool.claim_name.is_empty())
    }

    /// Whether it is one of a pool.
    pub fn is_of(&self, namespace: &str, pool: &str) -> bool {
        let pool_ref = self.spec.value.cluster_pool_ref.as_ref();
        pool_ref.is_some_and(|of| of.namespace == namespace && of.pool_name == pool)
    }

    /// Whether its installation failed for good: the pool replaces it.
    pub fn is_broken(&self) -> bool {
        self.condition(conditions::PROVISION_STOPPED).is_some_and(ObservedCondition::is_true)
    }

    /// Power state as Hive reports it; the step of the transition where Hive reports only that. None if unknown.
    pub fn power_state(&self) -> Option<&str> {
        let reported = Some(self.status.value.power_state.as_str()).filter(|word| !word.is_empty());
        reported.or_else(|| {
            let asleep = self.condition(conditions::HIBERNATING).filter(|c| c.is_true());
            let step = asleep.or_else(|| self.condition(conditions::READY));
            step.map(|c| c.reason.as_str()).filter(|word| !word.is_empty())
        })
    }

    /// Since when it sleeps; None if it does not, or is on its way.
    pub fn asleep_since(&self) -> Option<Option<Timestamp>> {
        let asleep = self.condition(conditions::HIBERNATING).filter(|c| c.is_true())?;
        (self.spec.value.power_state == HIBERNATING).then_some(asleep.last_transition_time)
    }

    /// Whether somebody keeps everybody else's hands off its power state.
    pub fn power_is_paused(&self) -> bool {
        self.annotation(names::POWER_PAUSED).is_some_and(|word| word != "false")
    }

    /// The version that it runs.
    pub fn version(&self) -> Option<&str> {
        let label = |key| self.metadata.labels.as_ref()?.get(key).map(String::as_str);
        let installed = || Some(self.status.value.install_version.as_str());
        [label(names::VERSION), label(names::VERSION_PATCH), installed()]
            .into_iter()
            .flatten()
            .find(|version| !version.is_empty())
    }

    /// Drops unread fields.
    pub fn drop_unread_fields(&mut self) {
        for map in [&mut self.metadata.labels, &mut self.metadata.annotations].into_iter().flatten() {
            map.retain(|key, _| names::READ.contains(&key.as_str()));
        }
        let is_read = |c: &ObservedCondition| conditions::READ_CONDITIONS.contains(&c.type_.as_str());
        self.status.value.conditions.retain(is_read);
    }
}
