//! Prerequisites of a cluster by template, which outlive it: bundles on the hub, and a cloud credential of its own. For each a ConfigMap
//! beside the cluster's object carries the request, and the hub-side provider answers in it.
//!
//! They are composed from the catalogue and the claim once nothing else blocks the cluster. The cluster is requested once both have a
//! positive answer. From then on they are repeated unchanged, except for the requester and the generation of a credential; a lost one is
//! not created again. If the claim changes to another template or other bundles before that, no cluster is requested: it would run on a
//! setup for another one, and on a hub that its own template may exclude. The prerequisites cannot be recreated, because core reports
//! nothing about Objects that are no longer desired, so nobody would know when they are gone. They leave the desired state when nothing is
//! left
//that incurs cost. Their order of deletion does not depend on that: the provider holds the ConfigMaps until the cluster's object is
//! gone, even where the claim itself is deleted and nobody calls this function.

mod status;

pub(crate) use status::{credential_condition, restore_conditions};

use serde_json::{Map, Value, json};
use testplatform_apis::{bundle::BundleProgress, cloud, collect, json, names::ours, prerequisites};

use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        catalog::prerequisites::{build_manifest, read_requester, requested_generation},
        observed::{
            Observed,
            prerequisites::{CLOUD, PREREQUISITE_RESOURCES},
            tenant_credentials::ObservedObject,
        },
        request::{Placement, Resolution, ResolvedSpec, Templated},
    },
    objects::build_object,
    sdk::response::DesiredResource,
};

/// Annotations that the Objects get when they are first requested.
const ANNOTATIONS: [&str; 3] = [ours::CREDENTIALS_NAMESPACE, ours::TEMPLATE, ours::HUB_REASON];

/// Builds the desired resources.
pub(crate) fn build_resources(request: &PlannedRequest, observed: &Observed) -> Vec<DesiredResource> {
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

/// The Secret that a cluster is to name as that of its own credential.
pub(in crate::cluster::backends) fn credential_secret(observed: &Observed) -> Option<&str> {
    observed.prerequisites.get(CLOUD)?.manifest()["metadata"]["name"].as_str()
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
    request: &PlannedRequest,
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
