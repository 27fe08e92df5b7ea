//! API calls on the hub for bundles.

use crate::rights::{Grant, RbacScope};

/// Calls in the clusters themselves need no permission on the hub.
pub const GRANTS: &[Grant] = &[Grant {
    place: RbacScope::Bundles,
    group: "",
    resource: "configmaps",
    names: &[],
    verbs: &["get", "list", "watch", "patch"],
    proxy: true,
    why: "Requests for bundles. Annotations and one finalizer are patched, the data never.",
}];
