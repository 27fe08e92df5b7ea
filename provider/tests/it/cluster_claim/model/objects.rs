//! The model's state as the objects that the provider reads.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use provider_testplatform::{
    controllers::cluster_claim::{
        deployment::{ClusterMetadata, PoolRef, SecretRef},
        object::{ClusterClaim, ClusterDeployment},
    },
    credentials::Credentials,
};
use testplatform_apis::{foreign::meta::ObservedCondition, names::ours};
use testplatform_runtime::redacted::Redacted;

use super::{CLUSTERS, Claim, Cluster, LOOKED_AT, NAMES};
use crate::cluster_claim::fixture::{NAMESPACE, POOL, born};

pub(super) fn credentials(cluster: usize, kubeconfig: u8) -> Credentials {
    Credentials {
        kubeconfig: Redacted(vec![kubeconfig]),
        password: Redacted(vec![]),
        source_revision: format!("{cluster}@{kubeconfig}"),
    }
}

fn condition(type_: &str, holds: bool) -> ObservedCondition {
    let status = if holds { "True" } else { "False" }.to_owned();
    ObservedCondition { type_: type_.into(), status, ..ObservedCondition::default() }
}

pub(super) fn claim_object(claim: &Claim) -> ClusterClaim {
    let (status, revision) = &claim.notes;
    let annotations = [
        (ours::RESUME, Some("true".to_owned())),
        (ours::STATUS, status.clone()),
        (ours::CREDENTIALS_REVISION, revision.clone()),
    ];
    let mut object = ClusterClaim {
        metadata: ObjectMeta {
            name: Some(NAMES[LOOKED_AT].into()),
            namespace: Some(NAMESPACE.into()),
            uid: Some(format!("uid-{}", claim.uid)),
            creation_timestamp: Some(Time(born())),
            deletion_timestamp: claim.deleted.then(|| Time(later())),
            annotations: Some(
                annotations.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?))).collect(),
            ),
            ..ObjectMeta::default()
        },
        ..ClusterClaim::default()
    };
    object.spec.value.cluster_pool_name = POOL.into();
    object.spec.value.namespace = claim.assigned.map(|c| CLUSTERS[c].to_owned()).unwrap_or_default();
    object.status.value.conditions =
        vec![condition("Pending", !claim.served), condition("ClusterRunning", claim.runs)];
    object
}

fn later() -> Timestamp {
    born() + SignedDuration::from_mins(1)
}

pub(super) fn cluster_object(c: usize, cluster: &Cluster) -> ClusterDeployment {
    let mut object = ClusterDeployment {
        metadata: ObjectMeta {
            name: Some(CLUSTERS[c].into()),
            namespace: Some(CLUSTERS[c].into()),
            uid: Some(CLUSTERS[c].into()),
            deletion_timestamp: cluster.ending.then(|| Time(later())),
            ..ObjectMeta::default()
        },
        ..ClusterDeployment::default()
    };
    let spec = &mut object.spec.value;
    spec.installed = true;
    let secret = || SecretRef { name: "x".into() };
    spec.cluster_metadata =
        Some(ClusterMetadata { kubeconfig: secret(), password: Some(secret()), notes: Some(secret()) });
    spec.cluster_pool_ref = Some(PoolRef {
        namespace: NAMESPACE.into(),
        pool_name: POOL.into(),
        claim_name: cluster.claim.map(|n| NAMES[n].to_owned()).unwrap_or_default(),
    });
    object
}
