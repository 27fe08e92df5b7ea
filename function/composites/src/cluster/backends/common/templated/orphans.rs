//! Resources without a hub or without a known backend: nothing can be requested, and existing ones stay unchanged.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::object::{NEVER, Object},
    names::ours,
};

use super::memory_annotations;
use crate::{
    cluster::{
        backends::{
            Health,
            common::{object as composing, readiness},
            intent::PlannedRequest,
        },
        observed::{HOSTED, Observed},
    },
    objects::build_object,
    sdk::response::DesiredResource,
};

/// Notes of what is beside a writer, whatever made it.
const PART_ANNOTATIONS: [&str; 3] = [ours::NODE_BASE, ours::NODE_CLASS, ours::REMOTE_UID];

/// Annotations of backends on their primary Objects.
const BACKEND_ANNOTATIONS: [&str; 4] =
    [ours::NODE_CLASSES, ours::FAILED_JOBS, ours::ROLLS_FROM, ours::ADOPTED_CLASS];

/// `credentials`, which remembers what was given up; and what is beside a writer that is lost. With what it looks at or carries a cluster goes on,
/// until somebody who knows where that is helps, or nothing is left of it.
pub(in crate::cluster::backends) fn orphaned_resources(
    request: &PlannedRequest,
    observed: &Observed,
    health: &Health,
) -> Vec<DesiredResource> {
    let own = collect::to_text_object(
        BACKEND_ANNOTATIONS.map(|key| (key, observed.annotation(key).map(str::to_owned))),
    );
    let credentials = observed.credentials.as_ref().and_then(|_| {
        composing::build_credentials(
            request,
            observed,
            health,
            memory_annotations(request, observed, None, &own),
        )
    });
    if request.intent.completion.is_some() {
        return credentials.into_iter().collect();
    }
    let parts = observed.node_pools.0.iter();
    let parts =
        parts.map(|(name, part)| repeat_object(name, (&part.object, readiness::NODE_POOL, "pool"), request));
    credentials.into_iter().chain(parts).chain(repeat_hosted(request, observed)).collect()
}

/// Repeats the observer of a HostedCluster unchanged.
pub(in crate::cluster::backends) fn repeat_hosted(
    request: &PlannedRequest,
    observed: &Observed,
) -> Option<DesiredResource> {
    let before = observed.hosted.as_ref()?;
    Some(repeat_object(HOSTED, (&before.object, readiness_query(observed), HOSTED), request))
}

/// When what looks at a HostedCluster is ready. Once what stood for that was seen to be gone it is asked to look once more: only a change of its spec
/// makes it, and tells that it did. The HostedCluster may have come to be after it was last looked for.
pub(in crate::cluster::backends) fn readiness_query(observed: &Observed) -> &'static str {
    if observed.needs_reobservation() { NEVER } else { readiness::HOSTED_CLUSTER }
}

/// The same Object once more: on the hub on which it is, with what it was allowed to do.
fn repeat_object<R>(
    name: &str,
    (before, cel, component): (&Object<R>, &str, &str),
    request: &PlannedRequest,
) -> DesiredResource {
    let was = &before.spec;
    let mut spec = json!({
        "forProvider": { "manifest": was.for_provider.manifest },
        "providerConfigRef": { "name": was.provider_config_ref.name },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": cel },
    });
    if was.watch {
        spec["watch"] = true.into();
    }
    if !was.references.is_null() {
        spec["references"] = was.references.clone();
    }
    // The API server's default for an unset field.
    if !was.management_policies.is_empty() && was.management_policies != ["*"] {
        spec["managementPolicies"] = json!(was.management_policies);
    }
    let recorded = |key| (key, before.metadata.annotation(key).map(str::to_owned));
    let annotations: Map<String, Value> = collect::to_text_object(PART_ANNOTATIONS.map(recorded));
    let mut object = build_object(&before.metadata.name, annotations, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: component });
    DesiredResource { name: name.to_owned().into(), object, ready: request.intent.primary_ready }
}
