//! Observer of the chart's HostedCluster, whose name is the uid of the ClusterTemplateInstance.

use jiff::Timestamp;
use serde_json::json;
use testplatform_apis::{
    collect,
    foreign::hosted_cluster::{API_VERSION, HOSTED_CLUSTER},
    names::{ObjectName, ours},
    template::entry::Observes,
};

use super::CaasRequest;
use crate::{
    cluster::{
        backends::{
            common::{object, templated},
            intent::{PlannedRequest, PrimaryAction},
        },
        observed::{HOSTED, Observed},
        request::Templated,
    },
    objects::build_object,
    sdk::response::DesiredResource,
};

/// Where the HostedClusters are, if the catalogue does not say.
const NAMESPACE: &str = "clusters";

/// The Object, from the moment on at which the uid is known until nothing is left.
pub(super) fn build_observer(
    request: &PlannedRequest,
    observed: &Observed,
    wanted: Option<CaasRequest<'_>>,
) -> Option<DesiredResource> {
    let intent = &request.intent;
    if intent.completion.is_some() || matches!(intent.action, PrimaryAction::Omit | PrimaryAction::Relocate) {
        return None;
    }
    let before = observed.hosted.as_ref();
    let observing = wanted.filter(|w| matches!(w.spec.observes, Some(Observes::HostedCluster)));
    before.map(|_| ()).or(observing.map(|_| ()))?;
    let uid = observed.expected_uid().or_else(|| before?.uid());
    // No API server gives a uid that is no name, but somebody's hand can write one.
    let Some((name, uid)) = uid.and_then(|uid| Some((ObjectName::try_from(uid.as_str()).ok()?, uid))) else {
        return templated::repeat_hosted(request, observed);
    };
    let of_entry = || observing.and_then(|w| w.backend_spec.base.hosted_cluster_namespace.as_ref());
    let namespace = match before.map(|hosted| hosted.namespaced_name().0).filter(|known| !known.is_empty()) {
        Some(known) => known.to_owned(),
        None => of_entry().map_or_else(|| NAMESPACE.to_owned(), ToString::to_string),
    };
    let known = before.map(|hosted| hosted.object.spec.provider_config_ref.name.as_str());
    let hub = known
        .filter(|hub| !hub.is_empty())
        .unwrap_or_else(|| object::provider_config_name(request, observed));
    let metadata = json!({ "name": name.as_str(), "namespace": namespace });
    let mut spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": {},
        "providerConfigRef": { "name": hub },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": templated::readiness_query(observed) },
        "watch": true,
    });
    spec["forProvider"]["manifest"] =
        json!({ "apiVersion": API_VERSION, "kind": HOSTED_CLUSTER, "metadata": metadata });
    let annotations = collect::to_text_object([(ours::REMOTE_UID, Some(uid.to_string()))]);
    let mut object = build_object(&format!("{HOSTED}-{}", request.name), annotations, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: HOSTED });
    Some(DesiredResource { name: HOSTED.into(), object, ready: intent.primary_ready })
}

/// Until when what goes since then is waited for.
pub(super) fn teardown_deadline(templated: &Templated, since: Option<Timestamp>) -> Option<Timestamp> {
    let patience = templated.effective.as_ref().and_then(|e| e.timeouts?.teardown)?;
    since?.checked_add(patience.as_signed()).ok()
}
