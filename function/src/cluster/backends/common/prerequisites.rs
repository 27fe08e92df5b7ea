//! Prerequisites of a cluster by template, which outlive it: bundles on the hub, and a cloud credential of its own. For each a ConfigMap
//! beside the cluster's object carries the request, and the hub-side provider answers in it.
//!
//! They are composed from the catalogue and the claim once nothing else blocks the cluster. The cluster is requested once both have a
//! positive answer. From then on they are repeated unchanged, except for the requester and the generation of a credential; a lost one is
//! not created again. If the claim changes to another template or other bundles before that, no cluster is requested: it would run on a
//! setup for another one, and on a hub that its own template may exclude. The prerequisites cannot be recreated, because core reports
//! nothing about Objects that are no longer desired, so nobody would know when they are gone. They leave the desired state when nothing is
//! left that costs money. Their order of deletion does not depend on that: the provider holds the ConfigMaps until the cluster's object is
//! gone, even where the claim itself is deleted and nobody calls this function.

mod status;

pub(crate) use status::{check_ready, credential_condition, restore_conditions};

use serde_json::{Map, Value, json};
use testplatform_apis::{
    bundle::{BundleProgress, ClusterRef},
    cloud, collect, json,
    names::{ObjectName, ours},
    prerequisites,
    template::{Backend, entry::BundleDocument},
};

use crate::{
    cluster::{
        observed::{
            Observed,
            prerequisites::{CLOUD, PREREQUISITE_RESOURCES},
            tenant_credentials::ObservedObject,
        },
        request::{AnyBackendSpec, Placement, Resolution, ResolvedSpec, Templated, Validated},
    },
    objects::build_object,
    sdk::response::DesiredResource,
    text::bounded,
};

/// Annotations that the Objects get when they are first requested.
const ANNOTATIONS: [&str; 3] = [ours::CREDENTIALS_NAMESPACE, ours::TEMPLATE, ours::HUB_REASON];
/// The longest name of whoever asks for a credential; a longer one is cut.
const MAX_REQUESTER: usize = 253;

/// Builds the desired resources.
pub(crate) fn build_resources(request: &Validated, observed: &Observed) -> Vec<DesiredResource> {
    if request.intent.completion.is_some() {
        return vec![];
    }
    let make = |name: &'static str| {
        let (hub, notes, manifest) = if let Some(before) = observed.prerequisites.get(name) {
            let recorded = |key| before.object.metadata.annotation(key).map(str::to_owned);
            let mut manifest = before.manifest().clone();
            if name == CLOUD {
                update_request(&mut manifest, observed);
            }
            (before.object.spec.provider_config_ref.name.clone(), ANNOTATIONS.map(recorded), manifest)
        } else {
            let templated = request.templated()?;
            let (placement, resolved) = initial_placement(templated, observed)?;
            let manifest = build_manifest(
                name,
                resolved,
                placement,
                templated.backend?,
                request.tenant.as_deref(),
                observed,
            )?;
            let notes = [
                placement.credentials_namespace.clone(),
                templated.template.clone(),
                placement.reason.clone(),
            ];
            (placement.hub.clone(), notes.map(Some), manifest)
        };
        Some(compose_object(name, request, observed, &hub, notes, manifest))
    };
    PREREQUISITE_RESOURCES.into_iter().filter_map(make).collect()
}

/// Whether one of them was requested by another template, for another kind of cluster, or with other bundles than the claim selects now.
/// Changes within a bundle of the same name do not matter: a catalogue change affects no existing request. A missing or broken entry proves
/// nothing.
pub(crate) fn is_for_another_cluster(
    templated: &Templated,
    tenant: Option<&str>,
    observed: &Observed,
) -> bool {
    let (Resolution::Resolved(resolved), Some(backend), Some(placement)) =
        (&templated.resolution, templated.backend, &templated.placement)
    else {
        return false;
    };
    observed.prerequisites.iter().any(|(name, part)| {
        let by = part.object.metadata.annotation(ours::TEMPLATE);
        let now = build_manifest(name, resolved, placement, backend, tenant, observed);
        by.is_some_and(|by| by != templated.template)
            || now.is_none_or(|now| summarize_request(part.manifest()) != summarize_request(&now))
    })
}

/// For which cluster a ConfigMap orders what, by names.
fn summarize_request(manifest: &Value) -> Option<Value> {
    let order: Value = json::read_text(manifest["data"][cloud::ORDER].as_str()?).ok()?;
    let bundles = |list: &str| -> Vec<Value> {
        order[list].as_array().into_iter().flatten().map(|bundle| bundle["name"].clone()).collect()
    };
    Some(json!([order["cluster"], bundles("prerequisites"), bundles("preCreate")]))
}

/// Where and of what they are asked for.
fn initial_placement<'a>(
    templated: &'a Templated,
    observed: &Observed,
) -> Option<(&'a Placement, &'a ResolvedSpec)> {
    let Resolution::Resolved(resolved) = &templated.resolution else { return None };
    let placement =
        templated.placement.as_ref().filter(|_| templated.may_begin && observed.primary.is_none())?;
    Some((placement, resolved))
}

/// Whether a claim is to have one.
pub(in crate::cluster::backends) fn is_wanted(name: &str, resolved: &ResolvedSpec) -> bool {
    if name == CLOUD {
        cloud_credential_of(resolved).is_some()
    } else {
        !resolved.bundles.has_no_hub_bundles()
    }
}

fn cloud_credential_of(
    resolved: &ResolvedSpec,
) -> Option<&testplatform_apis::template::kind::CloudCredential> {
    match &resolved.backend_spec {
        AnyBackendSpec::ClusterApi(order) => order.base.cloud_credential.as_ref(),
        AnyBackendSpec::HyperShift(_) | AnyBackendSpec::Caas(_) | AnyBackendSpec::Osac(_) => None,
    }
}

/// The Secret that a cluster is to name as that of its own credential.
pub(in crate::cluster::backends) fn credential_secret(observed: &Observed) -> Option<&str> {
    observed.prerequisites.get(CLOUD)?.manifest()["metadata"]["name"].as_str()
}

/// The ConfigMap as it is asked for at first.
fn build_manifest(
    name: &str,
    resolved: &ResolvedSpec,
    placement: &Placement,
    backend: Backend,
    tenant: Option<&str>,
    observed: &Observed,
) -> Option<Value> {
    if !is_wanted(name, resolved) {
        return None;
    }
    let kind = backend.cluster_kind();
    let cluster = ClusterRef {
        group: kind.group.to_owned(),
        kind: kind.kind.to_owned(),
        name: ObjectName::try_from(placement.name.as_str()).ok()?,
    };
    let tenant = tenant.unwrap_or_default();
    let (map, label, order) = if name == CLOUD {
        let (credential, composite) = (cloud_credential_of(resolved)?, &observed.composite.metadata);
        // A file that is rendered may have none.
        let uid = composite.uid.as_ref().filter(|uid| !uid.as_str().is_empty());
        let order = cloud::CredentialRequestSpec {
            uid: uid.map_or_else(|| composite.name.clone(), |uid| uid.as_str().to_owned()),
            cloud: credential.cloud.clone(),
            tenant: tenant.to_owned(),
            requested_by: read_requester(observed),
            generation: requested_generation(observed).unwrap_or_default(),
            roles: credential.roles.clone(),
            lifetime: credential.lifetime,
            cluster,
        };
        (cloud::secret_name(&order.cluster.name), cloud::LABEL, serde_json::to_string(&order))
    } else {
        let message = placement.placeholders(tenant);
        let made = |all: &[BundleDocument]| all.iter().map(|bundle| bundle.to_bundle(&message)).collect();
        let order = prerequisites::PrerequisiteRequestSpec {
            prerequisites: made(&resolved.bundles.prerequisites),
            pre_create: made(&resolved.bundles.pre_create),
            cluster,
        };
        (
            prerequisites::config_map_name(&order.cluster.name),
            prerequisites::LABEL,
            serde_json::to_string(&order),
        )
    };
    let mut manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    manifest["metadata"] =
        json!({ "name": map, "namespace": placement.namespace, "labels": { label: "true" } });
    manifest["data"] = json!({ cloud::ORDER: order.ok()? });
    Some(manifest)
}

/// Last requester of the cluster, as recorded by an admission policy.
fn read_requester(observed: &Observed) -> Option<String> {
    let recorded = observed.composite.metadata.annotation(ours::REQUESTED_BY).filter(|by| !by.is_empty());
    recorded.map(|by| bounded(by, MAX_REQUESTER))
}

/// For the how-manieth credential the claim asks. None: it does not say, or what it says is no number.
fn requested_generation(observed: &Observed) -> Option<i64> {
    observed.composite.metadata.annotation(ours::CLOUD_CREDENTIAL_GENERATION)?.parse().ok()
}

/// Updates the changeable part of an existing request. Members that the claim does not set or that are unknown here stay.
fn update_request(manifest: &mut Value, observed: &Observed) {
    let Some(Ok(mut order)) =
        manifest["data"][cloud::ORDER].as_str().map(json::read_text::<Map<String, Value>>)
    else {
        return;
    };
    let by = read_requester(observed).map(Value::from);
    let generation = requested_generation(observed).map(Value::from);
    let mut changed = false;
    for (member, now) in [("requestedBy", by), ("generation", generation)] {
        if let Some(now) = now.filter(|now| order.get(member) != Some(now)) {
            order.insert(member.to_owned(), now);
            changed = true;
        }
    }
    if changed {
        manifest["data"][cloud::ORDER] = Value::Object(order).to_string().into();
    }
}

fn compose_object(
    name: &'static str,
    request: &Validated,
    observed: &Observed,
    hub: &str,
    notes: [Option<String>; 3],
    manifest: Value,
) -> DesiredResource {
    // The answer is to be seen by the poll of those that are not ready: nobody may watch all ConfigMaps of a hub.
    let (report, answer) = if name == CLOUD {
        let requested =
            manifest["data"][cloud::ORDER].as_str().and_then(|order| json::read_text::<Value>(order).ok());
        let generation = requested.and_then(|order| order["generation"].as_i64()).unwrap_or_default();
        (
            cloud::REPORT,
            format!(
                r#""state":"{}".*"generation":{generation}[,}}]"#,
                cloud::CredentialPhase::Valid.as_str()
            ),
        )
    } else {
        (prerequisites::REPORT, format!(r#""state":"{:?}""#, BundleProgress::Applied))
    };
    let mut spec = json!({ "forProvider": {}, "providerConfigRef": { "name": hub } });
    spec["forProvider"]["manifest"] = manifest;
    spec["readiness"] = json!({ "policy": "DeriveFromCelQuery", "celQuery": format!(
        "has(object.metadata.annotations) && '{report}' in object.metadata.annotations && object.metadata.annotations['{report}'].matches('{answer}')",
    ) });
    let notes = collect::to_text_object(ANNOTATIONS.into_iter().zip(notes));
    // The name of a part has no dot, so no two of any composites have the same.
    let mut object = build_object(&format!("{name}.{}", request.name), notes, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    let ready = request.intent.primary_ready
        || observed.prerequisites.get(name).is_some_and(ObservedObject::is_synced);
    DesiredResource { name: name.into(), object, ready }
}
