//! The HostedCluster as we ask for it.
//!
//! Nearly nothing of a HostedCluster can change. So it is composed once, from the catalogue and the claim, and from then on repeated as it
//! was asked for, with the release and the parameters of the claim in it: a catalogue that changes changes no cluster.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use testplatform_apis::{
    byoc,
    template::kind::{Document, Platform, merge},
};

use super::{Wanted, document, facts, rollout};
use crate::{
    backend::templated::{
        Before,
        members::{default, set as set_member},
    },
    observed::Observed,
    templates::Brings,
};

/// Its spec.
pub(super) fn spec(observed: &Observed, wanted: Option<Wanted<'_>>) -> Map<String, Value> {
    let standing = || wanted.and_then(|wanted| wanted.standing(observed)).map(Cow::Owned);
    match (standing().or_else(|| before(observed)), wanted) {
        (Some(before), Some(wanted)) => {
            let mut spec = before.into_owned();
            set(&mut spec, wanted, &rollout::cluster_image(observed, wanted));
            spec
        }
        (Some(before), None) => before.into_owned(),
        (None, Some(wanted)) => asked(wanted),
        // Of what is only looked for nothing is known.
        (None, None) => Map::new(),
    }
}

/// What was asked for before.
pub(super) fn before(observed: &Observed) -> Option<Cow<'_, Map<String, Value>>> {
    let seen = facts::remote(observed).map(|remote| &remote.spec);
    Some(Before::of(observed, seen, |spec| spec.contains_key("release"))?.spec)
}

/// What may change, in what there is.
fn set(spec: &mut Map<String, Value>, wanted: Wanted<'_>, image: &str) {
    spec.insert("release".into(), json!({ "image": image }));
    document::settings(spec, Document::HostedCluster, &wanted.order.parameters);
}

/// At birth.
fn asked(wanted: Wanted<'_>) -> Map<String, Value> {
    let Wanted { whole, order, .. } = wanted;
    let mut spec = wanted.filled(&order.base.hosted_cluster);
    document::platform(&mut spec, order.base.platform);
    default(&mut spec, "etcd", document::etcd);
    if order.base.platform == Platform::KubeVirt {
        default(&mut spec, "services", document::services);
    }
    default(&mut spec, "networking", || json!({}));
    let network = &whole.network;
    for (member, asked, otherwise) in [
        ("clusterNetwork", &network.pod_cidr, Some("10.132.0.0/14")),
        ("serviceNetwork", &network.service_cidr, Some("172.31.0.0/16")),
        ("machineNetwork", &network.machine_cidr, None),
    ] {
        let bare = spec.get("networking").is_none_or(|n| n[member].is_null());
        if let Some(cidr) = asked.as_deref().or(otherwise.filter(|_| bare)) {
            set_member(&mut spec, &["networking", member], json!([{ "cidr": cidr }]));
        }
    }
    if let Some(replicas) = whole.control_plane.replicas {
        let policy = if replicas == 1 { "SingleReplica" } else { "HighlyAvailable" };
        spec.insert("controllerAvailabilityPolicy".into(), policy.into());
    }
    merge(&mut spec, wanted.filled(&order.overlay).get("hostedCluster"));
    set(&mut spec, wanted, rollout::image(wanted));
    if let Some(Brings { byoc, .. }) = &whole.brings {
        // What the entry names is in a namespace of the entry's.
        for (member, field) in [("pullSecret", byoc::PULL_SECRET), ("sshKey", byoc::SSH_KEY)] {
            match byoc::on_the_hub(byoc, field) {
                Some(name) => spec.insert(member.into(), json!({ "name": name })),
                None => spec.remove(member),
            };
        }
    }
    spec
}
