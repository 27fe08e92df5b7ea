//! The published Secret of a ClusterClaim: by which labels it is known whose it is, since an owner reference does not cross
//! namespaces, and what becomes of one whose claim is gone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testplatform_apis::{
    foreign::cluster_claim::KIND,
    names::{ShortName, ours},
};

use super::object::{ClusterClaim, GROUP};
use crate::{caches::source_revision, ephemeral_cluster::credentials::Published};

/// The labels that say whose a Secret is.
pub fn labels(claim: &ClusterClaim) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = [
        (ours::OWNER_GROUP, GROUP),
        (ours::OWNER_KIND, KIND),
        (ours::OWNER_NAMESPACE, claim.namespace()),
        (ours::OWNER_UID, claim.uid()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    // A longer one is no label value; the Secret's name has it.
    if ShortName::try_from(claim.name()).is_ok() {
        labels.insert(ours::OWNER_NAME.to_owned(), claim.name().to_owned());
    }
    labels
}

/// Whether a Secret was published for this very claim, or a sentence that says whose it is.
pub fn ours(secret: &ObjectMeta, claim: &ClusterClaim) -> Result<(), String> {
    let name = secret.name.as_deref().unwrap_or_default();
    match owner(secret) {
        Some(owner) if owner.uid == claim.uid() && owner.namespace == claim.namespace() => Ok(()),
        Some(Owner { namespace, uid }) => Err(format!(
            "Secret {name} was published for a ClusterClaim in namespace {namespace} (uid {uid})"
        )),
        None => Err(format!("Secret {name} was not published for a ClusterClaim")),
    }
}

/// The ClusterClaim that a Secret was published for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

/// The ClusterClaim that a Secret was published for; none if it was not for one.
pub fn owner(secret: &ObjectMeta) -> Option<Owner<'_>> {
    let label = |key| secret.labels.as_ref()?.get(key).map(String::as_str);
    if label(ours::OWNER_GROUP) != Some(GROUP) || label(ours::OWNER_KIND) != Some(KIND) {
        return None;
    }
    Some(Owner { namespace: label(ours::OWNER_NAMESPACE)?, uid: label(ours::OWNER_UID)? })
}

/// What is known of `<claim>-credentials`.
pub fn judge(secret: Option<&ObjectMeta>, claim: &ClusterClaim) -> Published {
    let Some(metadata) = secret else { return Published::Absent };
    match ours(metadata, claim) {
        Ok(()) => Published::Ours {
            revision: metadata.resource_version.clone().unwrap_or_default(),
            source_revision: source_revision(metadata).cloned(),
        },
        Err(whose) => Published::Foreign(whose),
    }
}

/// Whether a Secret has outlived its claim. `claim` is what the API server says is there by the claim's name.
pub fn is_left_behind(secret: &ObjectMeta, claim: Option<&ClusterClaim>) -> bool {
    owner(secret).is_some_and(|owner| claim.is_none_or(|claim| claim.uid() != owner.uid))
}
