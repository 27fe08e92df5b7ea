//! Rights of each role, and their limits, by the API server's own authorizer, which knows aggregation.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use testplatform_apis::offer;
use testplatform_tests::{
    cluster::{Cluster, SOON, at_root},
    control_plane::ControlPlane,
    kinds::CLUSTER_ROLE,
    manifests, patience,
};

use super::overlays::{apply, render};

const CLAIMS: (&str, &str) = ("ci.openshift.org", "testplatformclusters");
const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 4] = ["create", "update", "patch", "delete"];

/// Binds a role to a user of its name, in a namespace of its own.
async fn bound(cluster: &Cluster, role: &str) -> anyhow::Result<String> {
    let namespace = format!("team-{role}");
    cluster
        .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }))
        .await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": role, "namespace": namespace },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role }],
    });
    cluster.apply(&binding).await?;
    Ok(namespace)
}

/// `true` if a user may do something.
async fn may(
    cluster: &Cluster,
    user: &str,
    namespace: &str,
    verb: &str,
    (group, resource): (&str, &str),
) -> anyhow::Result<bool> {
    let (resource, subresource) = resource.split_once('/').map_or((resource, None), |(r, s)| (r, Some(s)));
    let attributes = ResourceAttributes {
        namespace: Some(namespace.to_owned()),
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: subresource.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            user: Some(user.to_owned()),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Everything that a role may and may not do with claims, in its namespace and elsewhere.
async fn exactly(cluster: &Cluster, role: &str, namespace: &str, edits: bool) -> anyhow::Result<()> {
    for verb in READ {
        ensure!(may(cluster, role, namespace, verb, CLAIMS).await?, "{role} may not {verb} claims");
        ensure!(!may(cluster, role, "default", verb, CLAIMS).await?, "{role} may {verb} claims of others");
    }
    for verb in WRITE {
        ensure!(may(cluster, role, namespace, verb, CLAIMS).await? == edits, "{role}: {verb} claims");
    }
    for verb in [READ.as_slice(), &WRITE].concat() {
        let status = ("ci.openshift.org", "testplatformclusters/status");
        ensure!(
            !may(cluster, role, namespace, verb, status).await?,
            "{role} may {verb} the status of claims"
        );
    }
    ensure!(may(cluster, role, namespace, "list", ("", "events")).await?, "{role} sees no events");
    ensure!(
        !may(cluster, role, namespace, "deletecollection", CLAIMS).await?,
        "{role} may delete all claims at once"
    );
    Ok(())
}

/// Through aggregation, which a controller does.
pub async fn tenants_with_kubernetes_roles(cluster: &Cluster) -> anyhow::Result<()> {
    for (role, edits) in [("view", false), ("edit", true), ("admin", true)] {
        let aggregated = |role: &Value| {
            let rules = role["rules"].as_array();
            let verb = if edits { "create" } else { "get" };
            let is = |rule: &&Value| {
                rule["resources"].as_array().is_some_and(|r| r.contains(&CLAIMS.1.into()))
                    && rule["verbs"].as_array().is_some_and(|v| v.contains(&verb.into()))
            };
            rules.is_some_and(|rules| rules.iter().any(|rule| is(&rule)))
        };
        cluster.until_is(&at_root(CLUSTER_ROLE, role), SOON, "aggregated", aggregated).await?;
        let namespace = bound(cluster, role).await?;
        settled(cluster, role, &namespace, if edits { "create" } else { "get" }).await?;
        exactly(cluster, role, &namespace, edits).await?;
    }
    Ok(())
}

/// By patches of roles that are there.
pub async fn tenants_with_konflux_roles(plane: &ControlPlane, kubectl: &Path) -> anyhow::Result<()> {
    let cluster = plane.cluster();
    let roles = render(kubectl, "tests/konflux-rbac")?;
    ensure!(roles.len() == 5, "{} roles", roles.len());
    let runner = roles.iter().find(|r| r["metadata"]["name"] == "konflux-integration-runner");
    let its = runner.and_then(|r| r["rules"].as_array()).context("no runner")?;
    ensure!(its.len() == 1, "the runner was touched: {its:?}");
    apply(plane, kubectl, &roles)?;
    for (who, edits) in [("viewer", false), ("contributor", false), ("maintainer", true), ("admin", true)] {
        let role = format!("konflux-{who}-user-actions");
        let namespace = bound(cluster, &role).await?;
        settled(cluster, &role, &namespace, if edits { "create" } else { "get" }).await?;
        exactly(cluster, &role, &namespace, edits).await?;
        let own = ("appstudio.redhat.com", "applications");
        ensure!(may(cluster, &role, &namespace, "get", own).await?, "{role} lost what it had");
        for verb in ["get", "list"] {
            ensure!(
                !may(cluster, &role, &namespace, verb, ("", "secrets")).await?,
                "{role} may {verb} Secrets"
            );
        }
    }
    Ok(())
}

/// Everybody who is logged in may read the offers, and nothing else.
pub async fn everybody_reads_what_is_offered(plane: &ControlPlane, kubectl: &Path) -> anyhow::Result<()> {
    let cluster = plane.cluster();
    let mut objects = manifests::package("install/components/offers/rbac.yaml")?;
    objects.extend(manifests::package("install/examples/offers.yaml")?);
    apply(plane, kubectl, &objects).context("offers are refused")?;
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let may = async |group: &str, verb: &str, resource: &str, name: Option<&str>| {
        let attributes = ResourceAttributes {
            namespace: Some(offer::NAMESPACE.to_owned()),
            verb: Some(verb.to_owned()),
            resource: Some(resource.to_owned()),
            name: name.map(str::to_owned),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            user: Some("somebody".to_owned()),
            groups: Some(vec![group.to_owned()]),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let answer = reviews.create(&PostParams::default(), &review).await?;
        anyhow::Ok(answer.status.is_some_and(|status| status.allowed))
    };
    let own = Some(offer::CONFIG_MAP);
    let heard = async {
        while !may("system:authenticated", "get", "configmaps", own).await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    patience::timeout(SOON, heard).await.context("nobody may ever read what is offered")??;
    for (group, verb, resource, name) in [
        ("system:unauthenticated", "get", "configmaps", own),
        ("system:authenticated", "get", "configmaps", Some("another")),
        ("system:authenticated", "list", "configmaps", None),
        ("system:authenticated", "watch", "configmaps", own),
        ("system:authenticated", "update", "configmaps", own),
        ("system:authenticated", "patch", "configmaps", own),
        ("system:authenticated", "delete", "configmaps", own),
        ("system:authenticated", "get", "secrets", own),
    ] {
        ensure!(!may(group, verb, resource, name).await?, "{group} may {verb} {resource} {name:?}");
    }
    Ok(())
}

/// The authorizer hears of roles and bindings a moment after they are written.
async fn settled(cluster: &Cluster, user: &str, namespace: &str, verb: &str) -> anyhow::Result<()> {
    let heard = async {
        while !may(cluster, user, namespace, verb, CLAIMS).await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    patience::timeout(SOON, heard).await.with_context(|| format!("{user} may never {verb} claims"))?
}
