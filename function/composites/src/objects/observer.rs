//! Observer Objects: they find out whether their remote object exists, and cannot create one.

use testplatform_apis::{
    foreign::{meta::find_condition, object::Object},
    names::crossplane,
};

/// Whether it may only observe and, with its own deletion, delete.
pub(crate) fn is_observer<R>(object: &Object<R>) -> bool {
    object.spec.management_policies == ["Observe", "Delete"]
}

/// Whether its result is reliable. provider-kubernetes drops its observation in the reconcile in which it sets its finalizer, but reports
/// Synced: that looks like a search without a result. So an observer is created without `watch` and gets it with its finalizer: the changed
/// spec makes it observe again, and the generation proves that it did.
fn has_reobserved<R>(object: &Object<R>) -> bool {
    object.spec.watch && object.metadata.generation > 1
}

/// Whether an observer gets `watch` next. One that was created with `watch`, because its predecessor of the same name was still observed,
/// first loses it.
pub(crate) fn may_set_watch<R>(object: &Object<R>) -> bool {
    let finalized = object.metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER);
    finalized && (has_reobserved(object) || !object.spec.watch)
}

/// Whether it searched for the remote object and did not find it. Only a result of the current generation counts: an older one answers an
/// older question. An Object that is being deleted is proof by its own end.
pub(crate) fn found_nothing<R>(object: &Object<R>) -> bool {
    let synced = find_condition(&object.status.conditions, "Synced");
    let current = synced.is_some_and(|c| {
        c.is_true() && c.observed_generation.is_none_or(|g| g == object.metadata.generation)
    });
    let has_remote = object.status.at_provider.manifest.is_some();
    let goes = object.metadata.deletion_timestamp.is_some();
    is_observer(object) && has_reobserved(object) && current && !has_remote && !goes
}
