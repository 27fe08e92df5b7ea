//! API calls for spaces.

use testplatform_apis::space::SERVICE_ACCOUNT;

use super::observe::ROOT_CA;
use crate::rights::{Grant, RbacScope};

/// API calls for the credentials of spaces, whatever else is enabled.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::Spaces,
        group: "",
        resource: "namespaces",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "Spaces. One annotation is patched. RBAC cannot restrict this to namespaces with a label.",
    },
    Grant {
        place: RbacScope::Spaces,
        group: "",
        resource: "serviceaccounts/token",
        names: &[SERVICE_ACCOUNT],
        verbs: &["create"],
        proxy: true,
        why: "Tokens of the account of a space, and of no other account.",
    },
    Grant {
        place: RbacScope::SpaceCredentials,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        proxy: true,
        why: "Published credentials. Nothing else that is secret may live in this namespace.",
    },
    Grant {
        place: RbacScope::SpaceCredentials,
        group: "",
        resource: "configmaps",
        names: &[ROOT_CA],
        verbs: &["get"],
        proxy: true,
        why: "Certificates of the API server, where no file holds them.",
    },
];
