//! API calls in the namespace of the credentials of ClusterClaims and of clusters by template. Two controllers publish there.

use crate::rights::{Grant, RbacScope};

/// The table.
pub const GRANTS: &[Grant] = &[Grant {
    place: RbacScope::Credentials,
    group: "",
    resource: "secrets",
    names: &[],
    verbs: &["get", "list", "watch", "create", "patch", "delete"],
    proxy: true,
    why: "Published credentials. Nothing else that is secret may live in this namespace.",
}];
