//! API calls on the hub for prerequisites of clusters.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    rights::{Grant, RbacScope},
};

/// API calls that do not depend on the allowed resources. Reading the cluster's object is among the permissions for its credentials.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::Prerequisites,
        group: "",
        resource: "configmaps",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "Requests for prerequisites. Annotations and one finalizer are patched, the data never.",
    },
    Grant {
        place: RbacScope::Prerequisites,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Events about their results.",
    },
];

/// API calls on all allowed resources.
const VERBS: &str = "get, create, patch, delete";

/// Rules for the configured resources, one for each API group.
pub(crate) fn configured(config: &Config) -> String {
    let allowed = config.clusters.prerequisites.allowed();
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for resource in &allowed {
        groups.entry(resource.group()).or_default().push(resource.plural());
    }
    let rule = |(group, resources): (&str, Vec<&str>)| {
        let (group, resources) = (if group.is_empty() { "\"\"" } else { group }, resources.join(", "));
        format!(
            "# Objects that may be created, updated and deleted. Those of others are never changed.\n\
             - apiGroups: [{group}]\n  resources: [{resources}]\n  verbs: [{VERBS}]\n"
        )
    };
    groups.into_iter().map(rule).collect()
}
