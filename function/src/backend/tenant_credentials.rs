//! What is made on a hub for a claim that brings its own credentials, beside its ClusterClaim or its cluster by template: a namespace of its own,
//! a RoleBinding that lets the carrier in, a ConfigMap that tells the carrier what to bring and takes its answer, and for a ClusterClaim a
//! ClusterPool of size 0 that makes the one cluster. The credentials of a cluster by template are in that namespace too, so a second
//! RoleBinding lets in who publishes them.
//!
//! In this order: the namespace; once the hub has it, what the carrier needs; once the carrier has said that the Secrets are there, the pool; and
//! once that is there the ClusterClaim, or the cluster. Going it is the reverse. The cluster ends with its ClusterClaim, or with the pool, whose it is
//! until it is assigned ([`ending`]). The rest leaves the desired state when nothing is left that costs money; the carrier takes the Secrets away then.
//! The Object of the pool, or of the cluster by template, depends on the namespace's, so provider-kubernetes deletes the namespace, and with it
//! the Secrets, only once that is gone, the pool being held by Hive until its last cluster is; also where the claim itself is deleted and nobody asks
//! this function. What is in the namespace beside the pool is never deleted alone.
//!
//! Nothing of it changes once it was asked for: what is observed is repeated.

mod admission;
mod teardown;

pub(crate) use admission::{check_ready, collect_issues};
pub(crate) use teardown::report_orphaned_pool;

use serde_json::{Value, json};
use testplatform_apis::{
    byoc::{self, CARRIER_ROLE, COMPOSITE, LABEL, PARCELS, PUBLISHER_ROLE, TENANT},
    foreign::{cluster_pool, object},
    gather,
    names::{
        ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
        ours,
    },
};

use self::teardown::{PoolTeardown, pool_teardown};
use super::{Desired, dependents, object as composing};
use crate::{
    intent::ManagementPolicies,
    observed::{
        Observed, observer,
        tenant_credentials::{
            ACCESS, NAMESPACE, ObservedObject, POOL, PROVIDER, REQUEST, TENANT_RESOURCES, TenantNamespace,
            read_report, read_tenant_namespace,
        },
    },
    validate::{Block, Validated},
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Everything that is to exist now.
pub(crate) fn build_resources(request: &Validated, observed: &Observed) -> Vec<Desired> {
    let chosen = match &request.block {
        Block::ClusterClaim(claimed) => claimed.tenant_namespace.clone(),
        Block::Template(templated) => templated.tenant_namespace.clone(),
        Block::CiOperator(_) => None,
    };
    // Delete takes everything along: where somebody else's cluster is in it by now, the namespace is let go of.
    let lets_go = composing::is_remote_replaced(request, observed);
    let goes = request.intent.completion.is_some();
    let Some(home) = read_tenant_namespace(&observed.tenant_credentials)
        .or(chosen)
        .filter(|_| lets_go || !goes || is_namespace_held(observed))
    else {
        return vec![];
    };
    let going =
        if request.intent.teardown && !lets_go { pool_teardown(observed) } else { PoolTeardown::NotStarted };
    let wanted = |name: &str| {
        let is_there =
            observed.tenant_credentials.get(NAMESPACE).is_some_and(|part| part.live_remote().is_some());
        match name {
            NAMESPACE => true,
            POOL => {
                observed.primary.is_some()
                    || read_report(&observed.tenant_credentials).is_some_and(|r| r.carried)
            }
            _ => is_there,
        }
    };
    let make = |name: &'static str| {
        let before = observed.tenant_credentials.get(name);
        let looks = name == POOL && matches!(going, PoolTeardown::Observed | PoolTeardown::Complete);
        if name == POOL && going == PoolTeardown::Removed {
            return None;
        }
        let manifest = match before {
            Some(part) => part.manifest().clone(),
            None if looks || (wanted(name) && !goes) => build_manifest(name, request, observed, &home)?,
            None => return None,
        };
        let ready = request.intent.primary_ready || before.is_some_and(ObservedObject::is_synced);
        let mut object = compose_object(name, request, &home, manifest);
        if lets_go {
            composing::set_policies(&mut object["spec"], ManagementPolicies::Observe);
        } else if looks {
            composing::set_policies(&mut object["spec"], ManagementPolicies::ObserveDelete);
            if before.is_some_and(|part| observer::may_set_watch(&part.object)) {
                object["spec"]["watch"] = true.into();
            }
        }
        Some(Desired { name: name.into(), object, ready })
    };
    TENANT_RESOURCES.into_iter().filter_map(make).collect()
}

/// Whether the namespace would not go, because one that is gone is still said to hold it. That is taken back by asking for it once more.
fn is_namespace_held(observed: &Observed) -> bool {
    let pool = observed.tenant_credentials.get(POOL).map(|part| &part.object.metadata);
    let writer = observed.primary.as_ref().map(|writer| &writer.object.metadata);
    let namespace = observed.tenant_credentials.get(NAMESPACE).map(|part| &part.object.metadata);
    namespace.is_some_and(|held| dependents::has_stale_finalizer(held, pool.into_iter().chain(writer)))
}

/// What is asked of the hub for the first time.
fn build_manifest(
    name: &str,
    request: &Validated,
    observed: &Observed,
    home: &TenantNamespace,
) -> Option<Value> {
    let asked = &home.request;
    let of = |api_version: &str, kind: &str, name: &str, more: &[(&str, Value)]| {
        let mut object = json!({ "apiVersion": api_version, "kind": kind });
        object["metadata"] = json!({ "name": name, "namespace": home.namespace });
        object.as_object_mut()?.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Some(object)
    };
    if name == NAMESPACE {
        // Whose it is. What may change, and what a tenant wrote, has no place in what is never written again.
        let mut notes = composing::remote_annotations(request, observed);
        notes.retain(|key, _| [KONFLUX_CLUSTER, KONFLUX_TENANT].contains(&key.as_str()));
        let metadata = json!({ "name": home.namespace, "labels": { LABEL: "true" }, "annotations": notes });
        return Some(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }));
    }
    // Nothing half known: without what was asked for there is nothing to ask for.
    asked.as_object()?;
    match name {
        ACCESS | PROVIDER => {
            let (of_whom, role) =
                if name == ACCESS { ("carrier", CARRIER_ROLE) } else { ("provider", PUBLISHER_ROLE) };
            let account = asked[of_whom].as_object()?;
            let subjects = json!([{
                "kind": "ServiceAccount", "name": account.get("name"), "namespace": account.get("namespace"),
            }]);
            let reference = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role });
            of(&format!("{RBAC}/v1"), "RoleBinding", role, &[("roleRef", reference), ("subjects", subjects)])
        }
        REQUEST => {
            let parcels = json!(byoc::parcels(&asked["byoc"])).to_string();
            let data = json!({
                TENANT: request.tenant, COMPOSITE: observed.composite.metadata.name, PARCELS: parcels,
            });
            of("v1", "ConfigMap", byoc::REQUEST, &[("data", data)])
        }
        POOL => of(
            cluster_pool::API_VERSION,
            cluster_pool::KIND,
            request.name.as_str(),
            &[("spec", build_pool_spec(asked)?)],
        ),
        _ => None,
    }
}

/// A pool that makes a cluster only when it is claimed, and never a second one.
fn build_pool_spec(asked: &Value) -> Option<Value> {
    let byoc = &asked["byoc"];
    let (cloud, inside) = byoc::cloud(byoc)?;
    let named = |field: &str| byoc::on_the_hub(byoc, field).map(|name| json!({ "name": name }));
    let mut inside = inside.clone();
    inside["credentialsSecretRef"] = named("credentialsSecretRef")?;
    let mut spec = json!({
        "baseDomain": byoc["baseDomain"], "imageSetRef": { "name": asked["image"] },
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

/// What an Object has that goes before the namespace.
fn namespace_reference(request: &Validated) -> Value {
    json!([{ "dependsOn": {
        "apiVersion": object::API_VERSION, "kind": object::KIND, "name": object_name(NAMESPACE, request),
    } }])
}

/// The same of the writer of a cluster by template, also where that only looks: one that stops depending on its way out leaves its finalizer behind,
/// and whether one is on its way out core does not show. So the namespace, in which no Secret is any more by then, goes with the last of them.
pub(super) fn add_namespace_reference(writer: &mut Desired, request: &Validated, observed: &Observed) {
    let before = observed.primary.as_ref().map(|writer| writer.object.spec.references.clone());
    let own = || read_tenant_namespace(&observed.tenant_credentials).map(|_| namespace_reference(request));
    let references = before.filter(Value::is_array).or_else(own).unwrap_or_default();
    if references.is_array() {
        writer.object["spec"]["references"] = references;
    }
}

fn compose_object(name: &'static str, request: &Validated, home: &TenantNamespace, manifest: Value) -> Value {
    let mut spec = json!({ "forProvider": {}, "providerConfigRef": { "name": home.hub } });
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
    let note = home.request.as_object().map(|asked| (ours::BYOC.to_owned(), json!(asked).to_string().into()));
    let mut object = composing::build_object(&object_name(name, request), gather::object(note), spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    object
}
