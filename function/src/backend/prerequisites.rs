//! What comes ahead of a cluster by template, and goes after it: prerequisites on the hub, and a credential of the cloud of its own. Of either a
//! ConfigMap beside the cluster's object tells the hub-side provider, and is answered in.
//!
//! They are composed from the catalogue and the claim once nothing else keeps a cluster from being asked for, and that is asked for once both
//! are answered as they should. From then on they are repeated as they were, but for who asks for a credential and how often; one that is lost
//! is not made again. Should the claim ask for another template before, or for other bundles, no cluster is asked for: it would be one on what was
//! set up for another, and on a hub that its own template may be kept from. They cannot be taken away and made anew, because of what is not
//! desired any more core tells nothing, so nobody would know when it is gone. They leave the desired state when nothing is left that costs
//! money; that they outlive the cluster is not up to that, because the provider holds the ConfigMaps until its object is gone, also where the
//! claim itself is deleted and nobody asks this function.

mod status;

pub(crate) use status::{check_ready, credential_condition, restore_conditions};

use serde_json::{Map, Value, json};
use testplatform_apis::{
    bundle::{Cluster, State},
    cloud, gather, json,
    names::{ObjectName, ours},
    prerequisites,
    template::{Backend, entry::BundleDocument},
};

use super::{Desired, object as composing};
use crate::{
    observed::{
        Observed,
        prerequisites::{CLOUD, PREREQUISITE_RESOURCES},
        tenant_credentials::ObservedObject,
    },
    templates::{AnyBackendSpec, Placement, Resolution, ResolvedSpec, Templated},
    text::bounded,
    validate::Validated,
};

/// What is noted on the Objects when they are asked for.
const ANNOTATIONS: [&str; 3] = [ours::CREDENTIALS_NAMESPACE, ours::TEMPLATE, ours::HUB_REASON];
/// The longest name of whoever asks for a credential; a longer one is cut.
const MAX_REQUESTER: usize = 253;

/// What there is to be.
pub(crate) fn build_resources(request: &Validated, observed: &Observed) -> Vec<Desired> {
    if request.intent.completion.is_some() {
        return vec![];
    }
    let make = |name: &'static str| {
        let (hub, notes, manifest) = if let Some(before) = observed.prerequisites.get(name) {
            let noted = |key| before.object.metadata.annotation(key).map(str::to_owned);
            let mut manifest = before.manifest().clone();
            if name == CLOUD {
                update_request(&mut manifest, observed);
            }
            (before.object.spec.provider_config_ref.name.clone(), ANNOTATIONS.map(noted), manifest)
        } else {
            let templated = request.templated()?;
            let (site, whole) = initial_placement(templated, observed)?;
            let manifest =
                build_manifest(name, whole, site, templated.backend?, request.tenant.as_deref(), observed)?;
            let notes = [site.credentials_namespace.clone(), templated.template.clone(), site.reason.clone()];
            (site.hub.clone(), notes.map(Some), manifest)
        };
        Some(compose_object(name, request, observed, &hub, notes, manifest))
    };
    PREREQUISITE_RESOURCES.into_iter().filter_map(make).collect()
}

/// Whether one of them was asked for by another template, for another kind of cluster, or with other bundles than the claim chooses now. What a bundle
/// of the same name says by now does not matter: a catalogue that changes changes nothing that was asked for. An entry that is missing or broken
/// says nothing.
pub(crate) fn is_for_another_cluster(
    templated: &Templated,
    tenant: Option<&str>,
    observed: &Observed,
) -> bool {
    let (Resolution::Resolved(whole), Some(backend), Some(site)) =
        (&templated.resolution, templated.backend, &templated.placement)
    else {
        return false;
    };
    observed.prerequisites.iter().any(|(name, part)| {
        let by = part.object.metadata.annotation(ours::TEMPLATE);
        let now = build_manifest(name, whole, site, backend, tenant, observed);
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
    let Resolution::Resolved(whole) = &templated.resolution else { return None };
    let site = templated.placement.as_ref().filter(|_| templated.may_begin && observed.primary.is_none())?;
    Some((site, whole))
}

/// Whether a claim is to have one.
pub(super) fn is_wanted(name: &str, whole: &ResolvedSpec) -> bool {
    if name == CLOUD { cloud_credential_of(whole).is_some() } else { !whole.bundles.has_no_hub_bundles() }
}

fn cloud_credential_of(whole: &ResolvedSpec) -> Option<&testplatform_apis::template::kind::CloudCredential> {
    match &whole.backend_spec {
        AnyBackendSpec::ClusterApi(order) => order.base.cloud_credential.as_ref(),
        AnyBackendSpec::HyperShift(_) | AnyBackendSpec::Caas(_) | AnyBackendSpec::Osac(_) => None,
    }
}

/// The Secret that a cluster is to name as that of its own credential.
pub(super) fn credential_secret(observed: &Observed) -> Option<&str> {
    observed.prerequisites.get(CLOUD)?.manifest()["metadata"]["name"].as_str()
}

/// The ConfigMap as it is asked for at first.
fn build_manifest(
    name: &str,
    whole: &ResolvedSpec,
    site: &Placement,
    backend: Backend,
    tenant: Option<&str>,
    observed: &Observed,
) -> Option<Value> {
    if !is_wanted(name, whole) {
        return None;
    }
    let kind = backend.cluster_kind();
    let cluster = Cluster {
        group: kind.group.to_owned(),
        kind: kind.kind.to_owned(),
        name: ObjectName::try_from(site.name.as_str()).ok()?,
    };
    let tenant = tenant.unwrap_or_default();
    let (map, label, order) = if name == CLOUD {
        let (credential, composite) = (cloud_credential_of(whole)?, &observed.composite.metadata);
        // A file that is rendered may have none.
        let uid = composite.uid.as_ref().filter(|uid| !uid.as_str().is_empty());
        let order = cloud::Order {
            uid: uid.map_or_else(|| composite.name.clone(), |uid| uid.as_str().to_owned()),
            cloud: credential.cloud.clone(),
            tenant: tenant.to_owned(),
            requested_by: read_requester(observed),
            generation: requested_generation(observed).unwrap_or_default(),
            roles: credential.roles.clone(),
            lifetime: credential.lifetime,
            cluster,
        };
        (cloud::name(&order.cluster.name), cloud::LABEL, serde_json::to_string(&order))
    } else {
        let words = site.placeholders(tenant);
        let made = |all: &[BundleDocument]| all.iter().map(|bundle| bundle.made(&words)).collect();
        let order = prerequisites::Order {
            prerequisites: made(&whole.bundles.prerequisites),
            pre_create: made(&whole.bundles.pre_create),
            cluster,
        };
        (prerequisites::name(&order.cluster.name), prerequisites::LABEL, serde_json::to_string(&order))
    };
    let mut manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    manifest["metadata"] = json!({ "name": map, "namespace": site.namespace, "labels": { label: "true" } });
    manifest["data"] = json!({ cloud::ORDER: order.ok()? });
    Some(manifest)
}

/// Whoever asked for the cluster last, as an admission policy notes it.
fn read_requester(observed: &Observed) -> Option<String> {
    let noted = observed.composite.metadata.annotation(ours::REQUESTED_BY).filter(|by| !by.is_empty());
    noted.map(|by| bounded(by, MAX_REQUESTER))
}

/// For the how-manieth credential the claim asks. None: it does not say, or what it says is no number.
fn requested_generation(observed: &Observed) -> Option<i64> {
    observed.composite.metadata.annotation(ours::CLOUD_CREDENTIAL_GENERATION)?.parse().ok()
}

/// What may change of an order that was made. What is not said, or not understood here, stays.
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
) -> Desired {
    // The answer is to be seen by the poll of those that are not ready: nobody may watch all ConfigMaps of a hub.
    let (report, answer) = if name == CLOUD {
        let asked =
            manifest["data"][cloud::ORDER].as_str().and_then(|order| json::read_text::<Value>(order).ok());
        let generation = asked.and_then(|order| order["generation"].as_i64()).unwrap_or_default();
        (
            cloud::REPORT,
            format!(r#""state":"{}".*"generation":{generation}[,}}]"#, cloud::State::Valid.as_str()),
        )
    } else {
        (prerequisites::REPORT, format!(r#""state":"{:?}""#, State::Applied))
    };
    let mut spec = json!({ "forProvider": {}, "providerConfigRef": { "name": hub } });
    spec["forProvider"]["manifest"] = manifest;
    spec["readiness"] = json!({ "policy": "DeriveFromCelQuery", "celQuery": format!(
        "has(object.metadata.annotations) && '{report}' in object.metadata.annotations && object.metadata.annotations['{report}'].matches('{answer}')",
    ) });
    let notes = gather::texts(ANNOTATIONS.into_iter().zip(notes));
    // The name of a part has no dot, so no two of any composites have the same.
    let mut object = composing::build_object(&format!("{name}.{}", request.name), notes, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    let ready = request.intent.primary_ready
        || observed.prerequisites.get(name).is_some_and(ObservedObject::is_synced);
    Desired { name: name.into(), object, ready }
}
