//! API calls for credentials of clouds.

use crate::rights::{Grant, RbacScope};

/// The table.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::CloudCredentials,
        group: "",
        resource: "configmaps",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "Which clusters are to have a credential of their cloud. Annotations and one finalizer are patched, what is in them never.",
    },
    // RBAC cannot let somebody write Secrets of some names that are not known before.
    Grant {
        place: RbacScope::CloudCredentials,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get", "create", "patch", "delete"],
        proxy: true,
        why: "Those credentials, each in a Secret beside its cluster. Of others none is changed.",
    },
    Grant {
        place: RbacScope::CloudCredentials,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Events about their results.",
    },
    Grant {
        place: RbacScope::CloudIssuers,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "By whom they are made. Only those with a label are asked for.",
    },
];
