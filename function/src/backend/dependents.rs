//! What keeps an Object whose remote object must not go before that of another.
//!
//! provider-kubernetes holds the deletion of an Object that others depend on by a finalizer for each of them. It adds that once, right after its
//! own on the one that depends, and where that write meets another it is never tried again. So it is said here, as soon as the one that depends
//! was taken up. That holds where the claim is deleted and core only deletes. Core takes back what it alone has said as soon as the Object is desired
//! in other words: what has to wait at an end that the claim asks for is not left to this. Source: provider-kubernetes, `internal/controller/cluster/object/object.go`, `objFinalizer`.

use std::collections::BTreeMap;

use testplatform_apis::{foreign::meta::Metadata, names::crossplane};

use super::Desired;
use crate::observed::{BUNDLES, Observed};

/// How that finalizer begins; the uid of the Object that depends follows.
const REFERRED: &str = "kubernetes.crossplane.io/referred-by-object-";

/// Says of every Object by whom it is held.
pub(crate) fn add_finalizers(resources: &mut [Desired], observed: &Observed) {
    let mut by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for desired in &*resources {
        // One that provider-kubernetes did not take up it would not let go of either.
        let taken = |metadata: &&Metadata| metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER);
        let Some(uid) = metadata_of(observed, &desired.name).filter(taken).and_then(|m| m.uid.as_ref())
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
        // None can be added to what is on its way out.
        let goes = metadata_of(observed, &desired.name).is_some_and(|m| m.deletion_timestamp.is_some());
        let held = desired.object["metadata"]["name"].as_str().and_then(|name| by.remove(name));
        if let Some(mut finalizers) = held.filter(|_| !goes) {
            finalizers.sort();
            desired.object["metadata"]["finalizers"] = finalizers.into();
        }
    }
}

/// Whether one is said to hold an Object that is not there any more, of these that may. Core says so once more where the one that depended went
/// between what was read and what is written, and would not take it back of what is not desired again: nothing deletes it then.
pub(crate) fn has_stale_finalizer<'o>(held: &Metadata, by: impl Iterator<Item = &'o Metadata>) -> bool {
    let there: Vec<&str> = by.filter_map(|dependent| Some(dependent.uid.as_ref()?.as_str())).collect();
    let holders = held.finalizers.iter().filter_map(|finalizer| finalizer.strip_prefix(REFERRED));
    held.deletion_timestamp.is_none() && holders.into_iter().any(|uid| !there.contains(&uid))
}

/// The Object of that composition resource name, where it may depend on another or another on it.
fn metadata_of<'o>(observed: &'o Observed, name: &str) -> Option<&'o Metadata> {
    let writer = observed.primary.as_ref().filter(|writer| writer.name == name).map(|w| &w.object.metadata);
    let group = || observed.node_pools.0.get(name).map(|part| &part.object.metadata);
    let bundles =
        || observed.bundles.request.as_ref().filter(|_| name == BUNDLES).map(|o| &o.object.metadata);
    let brought = || observed.tenant_credentials.get(name).map(|part| &part.object.metadata);
    writer.or_else(group).or_else(bundles).or_else(brought)
}
