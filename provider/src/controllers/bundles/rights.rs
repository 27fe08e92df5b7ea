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
    why: "What is to be set up in clusters. Annotations and one finalizer are patched, what is in them never.",
}];
