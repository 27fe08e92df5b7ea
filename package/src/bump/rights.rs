//! The rights that a Konflux cluster needs on the hub, read from the files that grant them, and the rights of a ClusterRole.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{Problem, text};

/// Rights to grant on the hub. This file is their only definition.
const HUB: (&str, &str) = (
    "package/install/hub/konflux-identity-rbac.yaml",
    include_str!("../../install/hub/konflux-identity-rbac.yaml"),
);

/// Rights of Kubernetes' own role `edit` for the relevant kinds. A component that binds the role does not list them.
const EDIT: (&str, &str, [&str; 8]) =
    ("", "secrets", ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]);

/// One verb on one kind, or on one of its objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource in the plural, including subresources such as `/status`.
    pub resource: String,
    /// The only allowed object name, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The verb.
    pub verb: String,
}

impl Right {
    fn new(group: &str, resource: &str, name: Option<&str>, verb: &str) -> Self {
        let name = name.map(str::to_owned);
        Self { group: group.to_owned(), resource: resource.to_owned(), name, verb: verb.to_owned() }
    }

    /// Whether it covers another, by wildcards or because they are equal.
    pub fn covers_right(&self, other: &Self) -> bool {
        let covers = |ours: &str, theirs: &str| ours == "*" || ours == theirs;
        covers(&self.group, &other.group)
            && covers(&self.resource, &other.resource)
            && covers(&self.verb, &other.verb)
            && (self.name.is_none() || self.name == other.name)
    }
}

/// Rights of a Konflux cluster on the hub.
///
/// # Errors
/// Never, as a test shows.
pub fn required_rights() -> Result<BTreeSet<Right>, Problem> {
    Ok(rights_of_roles(&text::parse_documents(HUB.0, HUB.1.as_bytes())?))
}

/// The rights of the roles among some documents.
pub fn rights_of_roles(documents: &[Value]) -> BTreeSet<Right> {
    documents
        .iter()
        .filter(|document| matches!(text::str_at(document, &["kind"]), Some("Role" | "ClusterRole")))
        .flat_map(rights_of_role)
        .collect()
}

/// Placeholder for the group: the rule applies to URLs of the API server, not to a kind.
const URLS: &str = "nonResourceURLs";

/// The rights of each role with its namespace; none: all namespaces.
pub fn rights_by_namespace(documents: &[Value]) -> Vec<(Option<String>, Right)> {
    let mut found = Vec::new();
    for document in documents {
        let place = match text::str_at(document, &["kind"]) {
            Some("ClusterRole") => None,
            Some("Role") => {
                Some(text::str_at(document, &["metadata", "namespace"]).unwrap_or_default().to_owned())
            }
            _ => continue,
        };
        found.extend(rights_of_role(document).into_iter().map(|right| (place.clone(), right)));
    }
    found.sort();
    found.dedup();
    found
}

/// The rights of one role.
pub fn rights_of_role(role: &Value) -> Vec<Right> {
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        text::items_at(rule, &[key]).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut rights = Vec::new();
    for rule in text::items_at(role, &["rules"]) {
        let names = texts(rule, "resourceNames");
        // No names means all names.
        let names: Vec<Option<&str>> =
            if names.is_empty() { vec![None] } else { names.iter().map(|name| Some(&**name)).collect() };
        for url in texts(rule, URLS) {
            rights.extend(texts(rule, "verbs").iter().map(|verb| Right::new(URLS, &url, None, verb)));
        }
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                for verb in texts(rule, "verbs") {
                    rights.extend(names.iter().map(|name| Right::new(&group, &resource, *name, &verb)));
                }
            }
        }
    }
    rights
}

/// The rights of bound roles that come with Kubernetes.
pub fn rights_of_bound_roles(documents: &[Value]) -> BTreeSet<Right> {
    let bound = documents.iter().any(|document| {
        text::str_at(document, &["kind"]) == Some("ClusterRoleBinding")
            && matches!(
                text::str_at(document, &["roleRef", "name"]),
                Some("edit" | "admin" | "cluster-admin")
            )
    });
    let (group, resource, verbs) = EDIT;
    verbs.iter().filter(|_| bound).map(|verb| Right::new(group, resource, None, verb)).collect()
}

/// Rights in the format of role rules, one kind per line.
pub fn format_rules<'a>(rights: impl IntoIterator<Item = &'a Right>) -> String {
    type Kind<'a> = (&'a str, &'a str, Option<&'a str>);
    let mut kinds = std::collections::BTreeMap::<Kind<'_>, Vec<&str>>::new();
    for right in rights {
        let kind = (&*right.group, &*right.resource, right.name.as_deref());
        kinds.entry(kind).or_default().push(&right.verb);
    }
    let rule = |((group, resource, name), verbs): (Kind<'_>, Vec<&str>)| {
        if group == URLS {
            return format!("{{{URLS}: [{resource}], verbs: [{}]}}", verbs.join(", "));
        }
        let group = if group.is_empty() { "\"\"" } else { group };
        let names = name.map_or_else(String::new, |name| format!("resourceNames: [{name}], "));
        format!("{{apiGroups: [{group}], resources: [{resource}], {names}verbs: [{}]}}", verbs.join(", "))
    };
    kinds.into_iter().map(rule).collect::<Vec<_>>().join(", ")
}

/// All bindings, one for each subject of each binding.
pub fn list_bindings(documents: &[Value]) -> BTreeSet<Binding> {
    let mut found = BTreeSet::new();
    for document in documents {
        let of = |value: &Value, key: &str| text::str_at(value, &[key]).unwrap_or_default().to_owned();
        let place = match text::str_at(document, &["kind"]) {
            Some("ClusterRoleBinding") => None,
            Some("RoleBinding") => {
                Some(text::str_at(document, &["metadata", "namespace"]).unwrap_or_default().to_owned())
            }
            _ => continue,
        };
        let role = document.get("roleRef").cloned().unwrap_or_default();
        found.extend(text::items_at(document, &["subjects"]).map(|subject| Binding {
            place: place.clone(),
            role: format!("{} {}", of(&role, "kind"), of(&role, "name")),
            subject: match text::str_at(subject, &["namespace"]) {
                Some(namespace) => format!("{} {namespace}/{}", of(subject, "kind"), of(subject, "name")),
                None => format!("{} {}", of(subject, "kind"), of(subject, "name")),
            },
        }));
    }
    found
}

/// Roles that gain rules through labels: Kubernetes and Crossplane aggregate the rules of all roles with such a label.
pub fn list_aggregations(roles: &[Value]) -> BTreeSet<Binding> {
    let mut found = BTreeSet::new();
    for role in roles {
        let name = text::str_at(role, &["metadata", "name"]).unwrap_or_default();
        let gets = |subject: String, role: String| Binding { place: None, role, subject };
        let labels = text::at(role, &["metadata", "labels"]).and_then(Value::as_object);
        for (label, _) in
            labels.into_iter().flatten().filter(|(label, value)| is_aggregation_label(label, value))
        {
            found.insert(gets(format!("whoever gathers {label}"), format!("ClusterRole {name}")));
        }
        for selector in text::items_at(role, &["aggregationRule", "clusterRoleSelectors"]) {
            found.insert(gets(format!("ClusterRole {name}"), format!("every ClusterRole with {selector}")));
        }
    }
    found
}

/// Labels such as `rbac.authorization.k8s.io/aggregate-to-edit` and `rbac.crossplane.io/aggregate-to-crossplane`.
fn is_aggregation_label(label: &str, value: &Value) -> bool {
    let by_name = label.split_once('/').is_some_and(|(_, name)| name.starts_with("aggregate-to-"));
    by_name && value.as_str() == Some("true")
}

/// Assignment of a role to a subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    /// Namespace; none: all namespaces.
    pub place: Option<String>,
    /// Kind and name of the role.
    pub role: String,
    /// Kind and name of the subject.
    pub subject: String,
}

impl Binding {
    /// Whether Kubernetes ships the role, and it consists of wildcards or reads every Secret.
    pub fn is_wide(&self) -> bool {
        self.place.is_none()
            && matches!(&*self.role, "ClusterRole cluster-admin" | "ClusterRole admin" | "ClusterRole edit")
    }
}
