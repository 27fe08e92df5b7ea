//! Hive ClusterClaim on a hub: a pool provides a cluster that was installed in advance.
//!
//! The primary Object carries the claim, and its removal ends the cluster. Hive keeps a deleted claim until its cluster is destroyed, and
//! provider-kubernetes keeps a deleted Object until the claim is gone. Core does not show an Object that it is deleting, so the Object is
//! desired again as an observer: it shows the old one while that goes, and its successor proves that nothing is left. Everything that must
//! outlive the primary Object is recorded on `credentials`, which goes last.

mod facts;
mod health;
mod hive_conditions;
mod messages;

use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    duration::GoDuration,
    foreign::cluster_claim::{API_VERSION, KIND},
    names::ours,
};

use super::{
    Backend, Health, TeardownMethod,
    common::{object, tenant_credentials},
};
use crate::{
    cluster::{
        backends::intent::{PlannedRequest, PrimaryAction},
        observed::{CLUSTER_CLAIM, Observed, PrimaryObject, Remote},
        request::{Block, PoolClaim, PoolRef, Validated},
    },
    objects::assemble_object,
    sdk::response::DesiredResource,
};

/// The backend of the `clusterClaim` block.
pub struct ClusterClaims;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster runs and its credentials are
/// published, and once the cluster is gone for good.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
(object.status.conditions.exists(c, c.type == 'ClusterRunning' && c.status == 'False' && has(c.reason) && c.reason == 'ClusterDeleted') || \
(object.status.conditions.exists(c, c.type == 'ClusterRunning' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations))";

/// Delay of Hive's own end after the claim's end.
const GRACE: GoDuration = GoDuration::from_mins(15);

impl Backend for ClusterClaims {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        CLUSTER_CLAIM
    }

    fn teardown_method(&self) -> TeardownMethod {
        TeardownMethod::DeleteObject
    }

    fn build_resources(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        health: &Health,
    ) -> Vec<DesiredResource> {
        let Block::ClusterClaim(claimed) = &request.block else { return vec![] };
        let Some(place) = request.pool() else {
            // Nothing tells any more whose they are. They stay where they are, with what they remember.
            let orphaned = observed.credentials.as_ref().and_then(|_| {
                object::build_credentials(
                    request,
                    observed,
                    health,
                    memory_annotations(request, observed, None),
                )
            });
            return orphaned.into_iter().collect();
        };
        let manifest = build_manifest(request, observed, claimed, place);
        let mut notes = credentials_namespace_annotation(request, place);
        let selected = object::hub_reason(observed, Some(place.reason));
        notes.extend(collect::to_text_object([(ours::HUB_REASON, selected)]));
        let primary = object::build_primary(CLUSTER_CLAIM, request, observed, manifest, CEL, notes);
        let memory = memory_annotations(request, observed, Some(place));
        let credentials = object::build_credentials(request, observed, health, memory);
        primary.into_iter().chain(credentials).collect()
    }

    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health {
        match &request.block {
            Block::ClusterClaim(claimed) => {
                let mut health = health::assess_health(claimed, request, observed);
                tenant_credentials::report_orphaned_pool(&mut health, request, observed);
                health
            }
            Block::CiOperator(_) | Block::Template(_) => Health::default(),
        }
    }
}

/// The ClusterClaim as we ask for it: never `spec.namespace`, which Hive writes, nor status.
fn build_manifest(
    request: &PlannedRequest,
    observed: &Observed,
    claimed: &PoolClaim,
    place: &PoolRef,
) -> Value {
    let primary = observed.primary.as_ref();
    // Changing it would leave the claim behind and make another one.
    let name = primary.and_then(|w| w.manifest()["metadata"]["name"].as_str());
    let mut annotations = object::remote_annotations(request, observed);
    annotations.insert(ours::RESUME.into(), claimed.resume.to_string().into());
    annotations.extend(credentials_namespace_annotation(request, place));
    let mut metadata = json!({
        "name": name.unwrap_or(request.name.as_str()),
        "namespace": place.namespace,
    });
    metadata["annotations"] = Value::Object(annotations);
    if let Some(uid) = object::pin_uid(request, observed) {
        metadata["uid"] = uid.as_str().into();
    }
    let spec = match primary {
        Some(primary) => repeat_spec(primary, place),
        None => initial_spec(request, place),
    };
    assemble_object(API_VERSION, KIND, metadata, spec)
}

/// Initial spec. For a search, the minimum that makes the object valid.
fn initial_spec(request: &PlannedRequest, place: &PoolRef) -> Value {
    let mut spec = json!({ "clusterPoolName": place.pool });
    if let Some(subject) = &place.subject {
        spec["subjects"] = json!([{
            "kind": "ServiceAccount", "name": subject.name.as_str(), "namespace": subject.namespace.as_str(),
        }]);
    }
    let looks = matches!(request.intent.action, PrimaryAction::Probe { .. });
    if let Some(lifetime) = hub_lifetime(request).filter(|_| !looks) {
        spec["lifetime"] = lifetime.to_string().into();
    }
    spec
}

/// Spec as it was requested, for ever: from the primary Object's manifest, or from the claim itself where a searching manifest lacks it.
fn repeat_spec(primary: &PrimaryObject, place: &PoolRef) -> Value {
    let mut spec = json!({ "clusterPoolName": place.pool });
    let remote = match primary.remote() {
        Some(Remote::ClusterClaim(remote)) => Some(&remote.spec.value),
        Some(_) | None => None,
    };
    let before = &primary.manifest()["spec"];
    let lifetime = before["lifetime"].as_str().or_else(|| remote?.lifetime.as_deref());
    if let Some(lifetime) = lifetime {
        spec["lifetime"] = lifetime.into();
    }
    let subjects = [Some(&before["subjects"]), remote.map(|r| &r.subjects)];
    if let Some(subjects) = subjects.into_iter().flatten().find(|s| s.is_array()) {
        spec["subjects"] = subjects.clone();
    }
    spec
}

/// Hive's own end of the claim. It counts from the assignment, ours from Ready, and ours may be extended without a word to the hub.
fn hub_lifetime(request: &Validated) -> Option<GoDuration> {
    let life = &request.lifetime;
    let provision = life.reported_timeout.unwrap_or(GoDuration::ZERO);
    Some(life.max?.saturating_add(provision).saturating_add(GRACE))
}

/// Namespace of the credentials on the hub, recorded on the primary Object and, should that be lost, on the claim. A searching Object does
/// not know it.
fn credentials_namespace_annotation(request: &PlannedRequest, place: &PoolRef) -> Map<String, Value> {
    let is_written = !matches!(request.intent.action, PrimaryAction::Probe { .. });
    let note = is_written
        .then(|| (ours::CREDENTIALS_NAMESPACE.to_owned(), place.credentials_namespace.as_str().into()));
    collect::to_object(note)
}

/// Annotations of `credentials`: location and identity of the cluster, and its end.
fn memory_annotations(
    request: &PlannedRequest,
    observed: &Observed,
    place: Option<&PoolRef>,
) -> Map<String, Value> {
    let recorded = || Some(observed.credentials.as_ref()?.object.metadata.annotation(ours::POOL)?.to_owned());
    let uid =
        observed.primary.as_ref().and_then(PrimaryObject::remote_uid).or_else(|| observed.remembered_uid());
    let at = request.intent.ready_at.map(|at| at.to_string());
    collect::to_text_object([
        (ours::POOL, place.map(|place| format!("{}/{}", place.namespace, place.pool)).or_else(recorded)),
        (ours::REMOTE_UID, uid.map(|u| u.0)),
        (ours::ENDING, request.intent.teardown_reason.clone()),
        (ours::FAILED, request.intent.failure.map(|f| f.as_str().to_owned())),
        (ours::READY_AT, at),
    ])
}
