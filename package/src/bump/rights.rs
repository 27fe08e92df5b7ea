//! The rights that a Konflux cluster needs on the hub, read from the files that grant them, and what a ClusterRole gives.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{Problem, text};

/// What the hub has to grant. The one place where these rights are written down.
const HUB: (&str, &str) = (
    "package/install/hub/konflux-identity-rbac.yaml",
    include_str!("../../install/hub/konflux-identity-rbac.yaml"),
);

/// What Kubernetes' own role `edit` gives of the kinds that are in question here. A component that binds it does not list it.
const EDIT: (&str, &str, [&str; 8]) =
    ("", "secrets", ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]);

/// One verb on one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource in the plural, with `/status` and the like.
    pub resource: String,
    /// The verb.
    pub verb: String,
}

impl Right {
    fn new(group: &str, resource: &str, verb: &str) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned(), verb: verb.to_owned() }
    }

    /// Whether it covers another, by wildcards or because it is the same.
    pub fn covers(&self, other: &Self) -> bool {
        let covers = |ours: &str, theirs: &str| ours == "*" || ours == theirs;
        covers(&self.group, &other.group)
            && covers(&self.resource, &other.resource)
            && covers(&self.verb, &other.verb)
    }
}

/// What a Konflux cluster needs on the hub.
///
/// # Errors
/// Never, as a test shows.
pub fn needed() -> Result<BTreeSet<Right>, Problem> {
    Ok(of_roles(&text::documents(HUB.0, HUB.1.as_bytes())?))
}

/// The rights in the roles among some documents.
pub fn of_roles(documents: &[Value]) -> BTreeSet<Right> {
    documents
        .iter()
        .filter(|document| matches!(text::str_at(document, &["kind"]), Some("Role" | "ClusterRole")))
        .flat_map(of_cluster_role)
        .collect()
}

/// The rights in one role.
pub fn of_cluster_role(role: &Value) -> Vec<Right> {
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        text::items(rule, &[key]).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut rights = Vec::new();
    for rule in text::items(role, &["rules"]) {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                for verb in texts(rule, "verbs") {
                    rights.push(Right::new(&group, &resource, &verb));
                }
            }
        }
    }
    rights
}

/// The rights of roles that are bound by name and come with Kubernetes.
pub fn of_bound(documents: &[Value]) -> BTreeSet<Right> {
    let bound = documents.iter().any(|document| {
        text::str_at(document, &["kind"]) == Some("ClusterRoleBinding")
            && matches!(
                text::str_at(document, &["roleRef", "name"]),
                Some("edit" | "admin" | "cluster-admin")
            )
    });
    let (group, resource, verbs) = EDIT;
    verbs.iter().filter(|_| bound).map(|verb| Right::new(group, resource, verb)).collect()
}

/// Rights as the rules of a role, one kind a line.
pub fn rules<'a>(rights: impl IntoIterator<Item = &'a Right>) -> String {
    let mut kinds = std::collections::BTreeMap::<(&str, &str), Vec<&str>>::new();
    for right in rights {
        kinds.entry((&right.group, &right.resource)).or_default().push(&right.verb);
    }
    let rule = |((group, resource), verbs): ((&str, &str), Vec<&str>)| {
        let group = if group.is_empty() { "\"\"" } else { group };
        format!("{{apiGroups: [{group}], resources: [{resource}], verbs: [{}]}}", verbs.join(", "))
    };
    kinds.into_iter().map(rule).collect::<Vec<_>>().join(", ")
}
