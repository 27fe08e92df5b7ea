//! Resources on a hub for a claim with tenant credentials, besides its ClusterClaim or its cluster by template: a namespace of its own, a
//! RoleBinding for the controller that copies Secrets, a ConfigMap with the request to it and its answer, and for a ClusterClaim a
//! ClusterPool of size 0 that creates the one cluster. The credentials of a cluster by template are in that namespace too, so a second
//! RoleBinding admits the provider that publishes them.
//!
//! Creation has this order: the namespace; once the hub has it, the resources that the copying controller needs; once it reports that the
//! Secrets exist, the pool; then the ClusterClaim, or the cluster. Deletion has the reverse order. The cluster ends with its ClusterClaim,
//! or with the pool, which owns it until it is assigned ([`teardown`]). The rest leaves the desired state when nothing is left that incurs
//cost; the copying controller then removes the Secrets. The Object of the pool, or of the cluster by template, depends on the
//! namespace's Object. So provider-kubernetes deletes the namespace and its Secrets only after that is gone, and Hive holds the pool until
//! its last cluster is gone. This also holds where the claim itself is deleted and nobody calls this function. Nothing else in the
//! namespace is deleted on its own.
//!
//! No resource changes once it was requested: observed resources are repeated.

mod teardown;

pub(crate) use teardown::report_orphaned_pool;

use serde_json::{Value, json};
use testplatform_apis::{
    byoc::{self, CARRIER_ROLE, COMPOSITE, LABEL, PARCELS, PUBLISHER_ROLE, TENANT},
    collect,
    foreign::{cluster_pool, object},
    names::{
        ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
        ours,
    },
};

use self::teardown::{PoolTeardown, pool_teardown};
use super::{dependents, object as composing};
use crate::{
    cluster::{
        backends::intent::{ManagementPolicies, PlannedRequest},
        observed::{
            Observed,
            tenant_credentials::{
                ACCESS, NAMESPACE, ObservedObject, POOL, PROVIDER, REQUEST, TENANT_RESOURCES,
                TenantNamespace, read_report, read_tenant_namespace,
            },
        },
        request::{Block, Validated},
    },
    objects::{build_object, observer},
    sdk::response::DesiredResource,
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Everything that is to exist now.
pub(crate) fn build_resources(request: &PlannedRequest, observed: &Observed) -> Vec<DesiredResource> {
    let chosen = match &request.block {
        Block::ClusterClaim(claimed) => claimed.tenant_namespace.clone(),
        Block::Template(templated) => templated.tenant_namespace.clone(),
        Block::CiOperator(_) => None,
    };
    // Delete takes everything along: where somebody else's cluster is in it by now, the namespace is let go of.
    let lets_go = composing::is_remote_replaced(request, observed);
    let goes = request.intent.completion.is_some();
    let Some(tenant_namespace) = read_tenant_namespace(&observed.tenant_credentials)
        .or(chosen)
        .filter(|_| lets_go || !goes || has_stale_holder(observed))
    else {
        return vec![];
    };
    let teardown =
        if request.intent.teardown && !lets_go { pool_teardown(observed) } else { PoolTeardown::NotStarted };
    let wanted = |name: &str| {
        let has_namespace =
            observed.tenant_credentials.get(NAMESPACE).is_some_and(|part| part.live_remote().is_some());
        match name {
            NAMESPACE => true,
            POOL => {
                observed.primary.is_some()
                    || read_report(&observed.tenant_credentials).is_some_and(|r| r.carried)
            }
            _ => has_namespace,
        }
    };
    let make = |name: &'static str| {
        let before = observed.tenant_credentials.get(name);
        let looks = name == POOL && matches!(teardown, PoolTeardown::Observed | PoolTeardown::Complete);
        if name == POOL && teardown == PoolTeardown::Removed {
            return None;
        }
        let manifest = match before {
            Some(part) => part.manifest().clone(),
            None if looks || (wanted(name) && !goes) => {
                build_manifest(name, request, observed, &tenant_namespace)?
            }
            None => return None,
        };
        let ready = request.intent.primary_ready || before.is_some_and(ObservedObject::is_synced);
        let mut object = compose_object(name, request, &tenant_namespace, manifest);
        if lets_go {
            composing::set_policies(&mut object["spec"], ManagementPolicies::Observe);
        } else if looks {
            composing::set_policies(&mut object["spec"], ManagementPolicies::ObserveDelete);
            if before.is_some_and(|part| observer::may_set_watch(&part.object)) {
                object["spec"]["watch"] = true.into();
            }
        }
        Some(DesiredResource { name: name.into(), object, ready })
    };
    TENANT_RESOURCES.into_iter().filter_map(make).collect()
}

/// Whether the namespace would not go, because one that is gone is still said to hold it. That is taken back by asking for it once more.
fn has_stale_holder(observed: &Observed) -> bool {
    let pool = observed.tenant_credentials.get(POOL).map(|part| &part.object.metadata);
    let primary = observed.primary.as_ref().map(|primary| &primary.object.metadata);
    let namespace = observed.tenant_credentials.get(NAMESPACE).map(|part| &part.object.metadata);
    namespace.is_some_and(|blocked| dependents::has_stale_finalizer(blocked, pool.into_iter().chain(primary)))
}

/// Manifest of the first request.
fn build_manifest(
    name: &str,
    request: &PlannedRequest,
    observed: &Observed,
    tenant_namespace: &TenantNamespace,
) -> Option<Value> {
    let requested = &tenant_namespace.request;
    let of = |api_version: &str, kind: &str, name: &str, more: &[(&str, Value)]| {
        let mut object = json!({ "apiVersion": api_version, "kind": kind });
        object["metadata"] = json!({ "name": name, "namespace": tenant_namespace.namespace });
        object.as_object_mut()?.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Some(object)
    };
    if name == NAMESPACE {
        // Owner of the namespace. Changeable values and tenant input are excluded, because this manifest is never written again.
        let mut notes = composing::remote_annotations(request, observed);
        notes.retain(|key, _| [KONFLUX_CLUSTER, KONFLUX_TENANT].contains(&key.as_str()));
        let metadata =
            json!({ "name": tenant_namespace.namespace, "labels": { LABEL: "true" }, "annotations": notes });
        return Some(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }));
    }
    // Nothing half known: without what was asked for there is nothing to ask for.
    requested.as_object()?;
    match name {
        ACCESS | PROVIDER => {
            let (of_whom, role) =
                if name == ACCESS { ("carrier", CARRIER_ROLE) } else { ("provider", PUBLISHER_ROLE) };
            let account = requested[of_whom].as_object()?;
            let subjects = json!([{
                "kind": "ServiceAccount", "name": account.get("name"), "namespace": account.get("namespace"),
            }]);
            let reference = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role });
            of(&format!("{RBAC}/v1"), "RoleBinding", role, &[("roleRef", reference), ("subjects", subjects)])
        }
        REQUEST => {
            let parcels = json!(byoc::list_secret_copies(&requested["byoc"])).to_string();
            let data = json!({
                TENANT: request.tenant, COMPOSITE: observed.composite.metadata.name, PARCELS: parcels,
            });
            of("v1", "ConfigMap", byoc::REQUEST, &[("data", data)])
        }
        POOL => of(
            cluster_pool::API_VERSION,
            cluster_pool::KIND,
            request.name.as_str(),
            &[("spec", build_pool_spec(requested)?)],
        ),
        _ => None,
    }
}

/// A pool that makes a cluster only when it is claimed, and never a second one.
fn build_pool_spec(requested: &Value) -> Option<Value> {
    let byoc = &requested["byoc"];
    let (cloud, inside) = byoc::selected_cloud(byoc)?;
    let named = |field: &str| byoc::hub_secret_name(byoc, field).map(|name| json!({ "name": name }));
    let mut inside = inside.clone();
    inside["credentialsSecretRef"] = named("credentialsSecretRef")?;
    let mut spec = json!({
        "baseDomain": byoc["baseDomain"], "imageSetRef": { "name": requested["image"] },
        // A cluster whose installation fails is replaced, so one try is enough.
        "size": 0, "maxSize": 1, "installAttemptsLimit": 1,
    });
    spec["platform"] = json!({ cloud: inside });
    if let Some(name) = named("pullSecretRef") {
        spec["pullSecretRef"] = name;
    }
    Some(spec)
}

/// Name of the Object of a part. The name of a part has no dot, so no two of any composites have the same.
fn object_name(part: &str, request: &Validated) -> String {
    format!("{part}.{}", request.name)
}

/// Reference of an Object that must go before the namespace.
fn namespace_reference(request: &Validated) -> Value {
    json!([{ "dependsOn": {
        "apiVersion": object::API_VERSION, "kind": object::KIND, "name": object_name(NAMESPACE, request),
    } }])
}

/// The same of the writer of a cluster by template, also where that only looks: one that stops depending on its way out leaves its finalizer behind,
/// and whether one is on its way out core does not show. So the namespace, in which no Secret is any more by then, goes with the last of them.
pub(in crate::cluster::backends) fn add_namespace_reference(
    primary: &mut DesiredResource,
    request: &Validated,
    observed: &Observed,
) {
    let before = observed.primary.as_ref().map(|primary| primary.object.spec.references.clone());
    let own = || read_tenant_namespace(&observed.tenant_credentials).map(|_| namespace_reference(request));
    let references = before.filter(Value::is_array).or_else(own).unwrap_or_default();
    if references.is_array() {
        primary.object["spec"]["references"] = references;
    }
}

fn compose_object(
    name: &'static str,
    request: &Validated,
    tenant_namespace: &TenantNamespace,
    manifest: Value,
) -> Value {
    let mut spec = json!({ "forProvider": {}, "providerConfigRef": { "name": tenant_namespace.hub } });
    match name {
        NAMESPACE => {}
        POOL => spec["references"] = namespace_reference(request),
        // They go with the namespace.
        _ => spec["managementPolicies"] = json!(["Observe", "Create", "Update"]),
    }
    if name == REQUEST {
        // The carrier's answer is to be seen by the poll of those that are not ready: nobody may watch all ConfigMaps of a hub.
        let answer = ours::BYOC_REPORT;
        spec["readiness"] = json!({
            "policy": "DeriveFromCelQuery",
            "celQuery": format!(
                "has(object.metadata.annotations) && '{answer}' in object.metadata.annotations && \
                 object.metadata.annotations['{answer}'].contains('\"carried\":true')"
            ),
        });
    }
    spec["forProvider"]["manifest"] = manifest;
    let note = tenant_namespace
        .request
        .as_object()
        .map(|requested| (ours::BYOC.to_owned(), json!(requested).to_string().into()));
    let mut object = build_object(&object_name(name, request), collect::to_object(note), spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    object
}
