//! The requested HostedCluster.
//!
//! Most of a HostedCluster is immutable. So it is composed once, from the catalogue and the claim. From then on it is repeated with the
//! release and the parameters of the claim: a catalogue change affects no existing cluster.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use testplatform_apis::{
    byoc,
    template::kind::{Platform, TargetDocument, merge_overlay},
};

use super::{HyperShiftRequest, document, facts, rollout};
use crate::cluster::{
    backends::common::templated::members::{default, set as set_member},
    observed::Observed,
    request::BroughtCredentials,
};

/// Its spec.
pub(super) fn build_spec(observed: &Observed, wanted: Option<HyperShiftRequest<'_>>) -> Map<String, Value> {
    let standing = || wanted.and_then(|wanted| wanted.accepted_spec(observed)).map(Cow::Owned);
    match (standing().or_else(|| facts::previous_spec(observed)), wanted) {
        (Some(before), Some(wanted)) => {
            let mut spec = before.into_owned();
            set_changeable(&mut spec, wanted, &rollout::cluster_image(observed, wanted));
            spec
        }
        (Some(before), None) => before.into_owned(),
        (None, Some(wanted)) => initial_spec(wanted),
        // A manifest that only searches has no known spec.
        (None, None) => Map::new(),
    }
}

/// Sets everything that may change in an existing spec.
fn set_changeable(spec: &mut Map<String, Value>, wanted: HyperShiftRequest<'_>, image: &str) {
    spec.insert("release".into(), json!({ "image": image }));
    document::apply_settings(spec, TargetDocument::HostedCluster, &wanted.backend_spec.parameters);
}

/// At birth.
fn initial_spec(wanted: HyperShiftRequest<'_>) -> Map<String, Value> {
    let HyperShiftRequest { spec: resolved, backend_spec: order, .. } = wanted;
    let mut spec = wanted.fill_placeholders(&order.base.hosted_cluster);
    document::set_platform(&mut spec, order.base.platform);
    default(&mut spec, "etcd", document::default_etcd);
    if order.base.platform == Platform::KubeVirt {
        default(&mut spec, "services", document::default_services);
    }
    default(&mut spec, "networking", || json!({}));
    let network = &resolved.network;
    for (member, requested, otherwise) in [
        ("clusterNetwork", &network.pod_cidr, Some("10.132.0.0/14")),
        ("serviceNetwork", &network.service_cidr, Some("172.31.0.0/16")),
        ("machineNetwork", &network.machine_cidr, None),
    ] {
        let bare = spec.get("networking").is_none_or(|n| n[member].is_null());
        if let Some(cidr) = requested.as_deref().or(otherwise.filter(|_| bare)) {
            set_member(&mut spec, &["networking", member], json!([{ "cidr": cidr }]));
        }
    }
    if let Some(replicas) = resolved.control_plane.replicas {
        let policy = if replicas == 1 { "SingleReplica" } else { "HighlyAvailable" };
        spec.insert("controllerAvailabilityPolicy".into(), policy.into());
    }
    merge_overlay(&mut spec, wanted.fill_placeholders(&order.overlay).get("hostedCluster"));
    set_changeable(&mut spec, wanted, rollout::requested_image(wanted));
    if let Some(BroughtCredentials { byoc, .. }) = &resolved.tenant_credentials {
        // Secrets that the catalogue entry names are in the entry's namespace.
        for (member, field) in [("pullSecret", byoc::PULL_SECRET), ("sshKey", byoc::SSH_KEY)] {
            match byoc::hub_secret_name(byoc, field) {
                Some(name) => spec.insert(member.into(), json!({ "name": name })),
                None => spec.remove(member),
            };
        }
    }
    spec
}
