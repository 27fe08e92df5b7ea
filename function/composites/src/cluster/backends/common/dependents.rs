//! Finalizers that keep an Object whose remote object must not go before another's.
//!
//! provider-kubernetes holds the deletion of an Object that others depend on with one finalizer for each of them. It adds that finalizer
//! once, right after its own on the dependent, and never retries a write that conflicts. So this function sets it too, as soon as the
//! dependent has its own finalizer. That holds where the claim is deleted and core only deletes. Core withdraws its own finalizers once the
//! Object is desired without them, so an end that the claim requests does not rely on this. Source: provider-kubernetes,
//! `internal/controller/cluster/object/object.go`, `objFinalizer`.

use std::collections::BTreeMap;

use testplatform_apis::{foreign::meta::Metadata, names::crossplane};

use crate::{
    cluster::observed::{BUNDLES, Observed},
    sdk::response::DesiredResource,
};

/// How that finalizer begins; the uid of the Object that depends follows.
const REFERRED: &str = "kubernetes.crossplane.io/referred-by-object-";

/// Says of every Object by whom it is held.
pub(crate) fn add_finalizers(resources: &mut [DesiredResource], observed: &Observed) {
    let mut by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for desired in &*resources {
        // An Object without provider-kubernetes' own finalizer would never release the others.
        let has_finalizer =
            |metadata: &&Metadata| metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER);
        let Some(uid) =
            metadata_of(observed, &desired.name).filter(has_finalizer).and_then(|m| m.uid.as_ref())
        else {
            continue;
        };
        let references = desired.object["spec"]["references"].as_array().into_iter().flatten();
        for name in references.filter_map(|reference| reference["dependsOn"]["name"].as_str()) {
            by.entry(name.to_owned()).or_default().push(format!("{REFERRED}{}", uid.as_str()));
        }
    }
    if by.is_empty() {
        return;
    }
    for desired in resources {
        // No finalizer can be added during a deletion.
        let goes = metadata_of(observed, &desired.name).is_some_and(|m| m.deletion_timestamp.is_some());
        let finalizers_by_dependent =
            desired.object["metadata"]["name"].as_str().and_then(|name| by.remove(name));
        if let Some(mut finalizers) = finalizers_by_dependent.filter(|_| !goes) {
            finalizers.sort();
            desired.object["metadata"]["finalizers"] = finalizers.into();
        }
    }
}

/// Whether one is said to hold an Object that is not there any more, of these that may. Core says so once more where the one that depended went
/// between what was read and what is written, and would not take it back of what is not desired again: nothing deletes it then.
pub(crate) fn has_stale_finalizer<'o>(blocked: &Metadata, by: impl Iterator<Item = &'o Metadata>) -> bool {
    let existing: Vec<&str> = by.filter_map(|dependent| Some(dependent.uid.as_ref()?.as_str())).collect();
    let holders = blocked.finalizers.iter().filter_map(|finalizer| finalizer.strip_prefix(REFERRED));
    blocked.deletion_timestamp.is_none() && holders.into_iter().any(|uid| !existing.contains(&uid))
}

/// The Object of that composition resource name, where it may depend on another or another on it.
fn metadata_of<'o>(observed: &'o Observed, name: &str) -> Option<&'o Metadata> {
    let primary =
        observed.primary.as_ref().filter(|primary| primary.name == name).map(|w| &w.object.metadata);
    let group = || observed.node_pools.0.get(name).map(|part| &part.object.metadata);
    let bundles =
        || observed.bundles.request.as_ref().filter(|_| name == BUNDLES).map(|o| &o.object.metadata);
    let brought = || observed.tenant_credentials.get(name).map(|part| &part.object.metadata);
    primary.or_else(group).or_else(bundles).or_else(brought)
}
