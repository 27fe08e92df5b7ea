//! Requirements of claims that have their own namespace on the hub, and objects in it.

use testplatform_apis::{byoc::REQUEST, space::CLUSTER_ROLE};

use super::{Need, WATCHES, WRITES, build_permission};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Verbs on objects in that namespace, which are never deleted individually.
const MAKES: [&str; 3] = ["get", "create", "patch"];

fn need(verb: &'static str, group: &'static str, resource: &'static str, name: Option<&'static str>) -> Need {
    let why = match (verb, resource) {
        ("bind", _) => "without it the role can be given to nobody",
        (_, "namespaces") => "every claim has a namespace of its own",
        _ => "it is made in the namespace of every claim",
    };
    Need { right: build_permission(verb, group, resource, None, name), advised: false, why }
}

/// For claims with credentials of the tenant, besides their kinds. `roles` are granted to a subject in each namespace.
pub(super) fn byoc(roles: &[&'static str]) -> Vec<Need> {
    let mut needs: Vec<Need> = WRITES.map(|verb| need(verb, "", "namespaces", None)).into();
    needs.extend(MAKES.map(|verb| need(verb, "", "configmaps", Some(REQUEST))));
    for role in roles {
        needs.extend(MAKES.map(|verb| need(verb, RBAC, "rolebindings", Some(role))));
        needs.push(need("bind", RBAC, "clusterroles", Some(role)));
    }
    needs
}

/// For spaces.
pub(super) fn spaces() -> Vec<Need> {
    let mut needs: Vec<Need> = WRITES.map(|verb| need(verb, "", "namespaces", None)).into();
    needs.extend(WATCHES.map(|verb| Need {
        right: build_permission(verb, "", "namespaces", None, None),
        advised: true,
        why: "without it provider-kubernetes polls, and sees late that credentials are published",
    }));
    for (group, resource) in [
        ("", "resourcequotas"),
        ("", "limitranges"),
        ("", "serviceaccounts"),
        ("networking.k8s.io", "networkpolicies"),
        (RBAC, "rolebindings"),
    ] {
        needs.extend(MAKES.map(|verb| need(verb, group, resource, None)));
    }
    needs.push(need("bind", RBAC, "clusterroles", Some(CLUSTER_ROLE)));
    needs
}
