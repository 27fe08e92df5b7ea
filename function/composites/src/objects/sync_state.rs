//! Sync state of a remote object, from the pinned uid and provider-kubernetes' Synced condition.

use serde_json::Value;
use testplatform_apis::{
    foreign::{
        meta::{Metadata, ObservedCondition, find_condition},
        object::Object,
    },
    names::{Uid, crossplane},
};

use super::outage::Outage;

/// Sync state between a request and its remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// No report yet.
    Unknown,
    /// The remote object matches the request.
    InSync,
    /// The pinned object is gone.
    Deleted,
    /// Another object has its name.
    Replaced,
    /// The hub does not know the field at this path.
    UnknownField(String),
    /// The hub refuses the request, with this message.
    Refused(String),
    /// The hub does nothing for now, for this reason.
    Unavailable(Outage),
    /// An administrator paused the Object.
    Paused,
}

impl SyncState {
    /// Whether the hub answered, so that the observation is current.
    pub fn is_up_to_date(&self) -> bool {
        match self {
            Self::InSync | Self::Refused(_) | Self::UnknownField(_) => true,
            Self::Unknown | Self::Deleted | Self::Replaced | Self::Unavailable(_) | Self::Paused => false,
        }
    }
}

/// Uid that the manifest carries.
pub(crate) fn pinned_uid<R>(object: &Object<R>) -> Option<Uid> {
    object.spec.for_provider.manifest["metadata"]["uid"].as_str().map(|u| Uid(u.to_owned()))
}

/// With server-side apply a pinned object that is gone answers "uid mismatch", a replaced one "metadata.uid: … field is
/// immutable". `seen` is the metadata of the remote object as it was last observed.
pub(crate) fn read_sync_state<R>(object: &Object<R>, seen: Option<&Metadata>) -> SyncState {
    let pin = pinned_uid(object);
    let remote_uid = seen.and_then(|m| m.uid.as_ref());
    let other = pin.as_ref().zip(remote_uid).is_some_and(|(pin, seen)| pin != seen);
    let Some(synced) = find_condition(&object.status.conditions, "Synced") else {
        return if other { SyncState::Replaced } else { SyncState::Unknown };
    };
    if other {
        return SyncState::Replaced;
    }
    if synced.is_true() {
        return SyncState::InSync;
    }
    classify_failure(synced, pin.is_some())
}

/// Whether condition Synced of an Object that may not create reports a missing remote object.
pub(crate) fn found_none(synced: &ObservedCondition) -> bool {
    synced.is_false() && synced.message.ends_with("external resource does not exist")
}

/// Whether provider-kubernetes created the remote object of an Object, or began to: it records that first. Without that annotation an
/// existing object is older, and was adopted.
pub(crate) fn began_to_create(metadata: &Metadata) -> bool {
    [crossplane::EXTERNAL_CREATE_PENDING, crossplane::EXTERNAL_CREATE_SUCCEEDED]
        .iter()
        .any(|key| metadata.annotation(key).is_some())
}

/// Whether provider-kubernetes could delete the object of an Object, as far as known. It first tries to apply the manifest, even while the
/// Object is being deleted, and deletes nothing as long as the hub refuses that. A manifest that it has not tried yet, or could not try,
/// may be refused; the hub's own spec is not. `seen`: the hub's spec. Sources: provider-kubernetes,
/// `internal/controller/cluster/object/object.go`, `Observe`, and crossplane-runtime, `pkg/reconciler/managed/reconciler.go`, `Reconcile`.
pub(crate) fn is_deletable<R>(object: &Object<R>, sync: &SyncState, seen: Option<&Value>) -> bool {
    (*sync == SyncState::InSync && is_current(object))
        || seen.is_none_or(|spec| object.spec.for_provider.manifest["spec"] == *spec)
}

/// Whether the report of provider-kubernetes belongs to the Object's current generation.
pub(crate) fn is_current<R>(object: &Object<R>) -> bool {
    let current = |synced: &ObservedCondition| {
        synced.observed_generation.is_none_or(|generation| generation == object.metadata.generation)
    };
    find_condition(&object.status.conditions, "Synced").is_some_and(current)
}

/// The spec of a remote object, if it has one.
pub(crate) fn non_empty_spec(spec: &Value) -> Option<&Value> {
    Some(spec).filter(|spec| spec.as_object().is_some_and(|members| !members.is_empty()))
}

/// Classifies a failed Synced condition. Failures of the pinned uid are recognized by the API server's full sentence, because the hub's
/// messages quote field names and tenant input that may contain any word. For the same reason they are checked first.
fn classify_failure(synced: &ObservedCondition, pinned: bool) -> SyncState {
    let text = synced.message.as_str();
    let has = |message: &[&str]| message.iter().any(|w| text.contains(w));
    if synced.reason == "ReconcilePaused" {
        return SyncState::Paused;
    }
    let quotes = has(&[" is invalid: ", "denied the request"]);
    if pinned && !quotes && has(&[": uid mismatch: the provided object specified uid "]) {
        return SyncState::Deleted;
    }
    if pinned && !has(&["denied the request"]) && is_uid_conflict(text) {
        return SyncState::Replaced;
    }
    if let Some(path) = unknown_field(text) {
        return SyncState::UnknownField(path);
    }
    if text.starts_with("observe failed: cannot get object") && has(&["is forbidden"]) {
        return SyncState::Unavailable(Outage::Unreachable("it does not accept the credentials"));
    }
    if has(&[" is invalid: ", "denied the request", " is forbidden: ", "exceeded quota"]) {
        return SyncState::Refused(strip_error_layers(text));
    }
    if let Some(outage) = Outage::of(text) {
        return SyncState::Unavailable(outage);
    }
    let is_creation = has(&["create failed"]);
    if (is_creation && has(&REFUSED_CREATION)) || has(&["update failed", "cannot get desired state"]) {
        return SyncState::Refused(strip_error_layers(text));
    }
    // The object may have been created all the same, so this is no refusal.
    if is_creation {
        return SyncState::Unavailable(Outage::Failing(
            "the cause is not known; condition Synced of the Object has the message",
        ));
    }
    SyncState::Unavailable(Outage::Unreachable("it cannot be observed"))
}

/// Words with which an API server refuses a creation, beside those of admission: a conflict of field managers, a name that is taken, a namespace
/// that is missing, and objects that it cannot read.
const REFUSED_CREATION: [&str; 6] = [
    "Apply failed with ",
    " already exists",
    "\" not found",
    "the server rejected our request",
    "failed to create typed patch object",
    "strict decoding error",
];

/// Whether the API server rejects the uid first: it lists errors of metadata before others.
fn is_uid_conflict(text: &str) -> bool {
    let conflict = text.split_once("metadata.uid: Invalid value: \"").and_then(|(before, rest)| {
        let (_, after) = rest.split_once('"')?;
        Some(after.starts_with(": field is immutable") && !before.contains("spec."))
    });
    conflict == Some(true)
}

/// The path before "field not declared in schema".
fn unknown_field(text: &str) -> Option<String> {
    let (before, _) = text.split_once(": field not declared in schema")?;
    let path = before.rsplit(' ').next().unwrap_or_default().trim_start_matches('.');
    Some(testplatform_apis::text::bounded(path, 256))
}

/// Message of the hub itself, without the wrapping of the layers between.
fn strip_error_layers(text: &str) -> String {
    let mut message = text;
    while let Some((layer, rest)) = message.split_once(": ")
        && ["create failed", "update failed", "observe failed", "cannot "]
            .iter()
            .any(|l| layer.starts_with(l))
    {
        message = rest;
    }
    testplatform_apis::text::bounded(message, 512)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "create failed: cannot create object: cannot create object: Operation cannot be fulfilled: uid mismatch: the provided object specified uid a, and no existing object was found",
        SyncState::Deleted
    )]
    #[case(
        "observe failed: cannot get desired state: cannot dry run SSA: EphemeralCluster.ci.openshift.io \"x\" is invalid: metadata.uid: Invalid value: \"a\": field is immutable",
        SyncState::Replaced
    )]
    #[case("observe failed: cannot get desired state: cannot dry run SSA: failed to create typed patch object (ns/x; ci.openshift.io/v1, Kind=EphemeralCluster): .spec.ciOperator.foo: field not declared in schema", SyncState::UnknownField("spec.ciOperator.foo".into()))]
    #[case(
        "observe failed: cannot get object: Unauthorized",
        SyncState::Unavailable(Outage::Unreachable("it does not accept our credentials"))
    )]
    #[case(
        "observe failed: cannot get object: Get \"https://10.0.0.1:6443/x\": dial tcp 10.0.0.1:6443: connect: connection refused",
        SyncState::Unavailable(Outage::Unreachable("the connection is refused"))
    )]
    #[case(
        "connect failed: cannot get provider config: ProviderConfig \"p\" not found",
        SyncState::Unavailable(Outage::Unreachable(
            "its ProviderConfig or the Secret that it refers to cannot be used"
        ))
    )]
    #[case("create failed: cannot create object: cannot create object: ephemeralclusters.ci.openshift.io \"x\" is forbidden: no", SyncState::Refused("ephemeralclusters.ci.openshift.io \"x\" is forbidden: no".into()))]
    #[case(
        "observe failed: cannot get object: no matches for kind \"EphemeralCluster\" in version \"ci.openshift.io/v1\"",
        SyncState::Unavailable(Outage::KindNotServed)
    )]
    #[case(
        "update failed: cannot apply object: etcdserver: mvcc: database space exceeded",
        SyncState::Unavailable(Outage::Failing("its database is full"))
    )]
    #[case(
        "create failed: cannot create object: Internal error occurred: failed calling webhook \"w\": failed to call webhook: Post \"https://w.x.svc:443/v\": dial tcp 10.0.0.9:443: connect: connection refused",
        SyncState::Unavailable(Outage::Failing("one of its admission webhooks does not answer"))
    )]
    #[case(
        "create failed: cannot create object: cannot create object: Apply failed with 1 conflict: conflict with \"x\"",
        SyncState::Refused("Apply failed with 1 conflict: conflict with \"x\"".into())
    )]
    #[case(
        "create failed: cannot create object: cannot create object: namespaces \"x\" not found",
        SyncState::Refused("namespaces \"x\" not found".into())
    )]
    #[case(
        "create failed: cannot create object: cannot create object: stream error: stream ID 7; INTERNAL_ERROR; received from peer",
        SyncState::Unavailable(Outage::Failing(
            "the cause is not known; condition Synced of the Object has the message"
        ))
    )]
    // A creation before that may have made the object.
    #[case(
        "observe failed: cannot get object: the server rejected our request for an unknown reason",
        SyncState::Unavailable(Outage::Unreachable("it cannot be observed"))
    )]
    #[case(
        "cannot resolve resource references: cannot get referenced resource: objects.kubernetes.crossplane.io \"managed-x\" not found",
        SyncState::Unavailable(Outage::Unreachable("it cannot be observed"))
    )]
    #[case("", SyncState::Unavailable(Outage::Unreachable("it cannot be observed")))]
    fn synced_texts_are_told_apart(#[case] message: &str, #[case] expected: SyncState) {
        let synced =
            ObservedCondition { message: message.into(), status: "False".into(), ..Default::default() };
        assert_eq!(
            classify_failure(&synced, expected == SyncState::Deleted || expected == SyncState::Replaced),
            expected
        );
    }

    #[test]
    fn without_a_pin_nothing_was_lost() {
        let message = "x: uid mismatch: the provided object specified uid a".into();
        let synced = ObservedCondition { message, ..Default::default() };
        assert_eq!(
            classify_failure(&synced, false),
            SyncState::Unavailable(Outage::Unreachable("it cannot be observed"))
        );
    }
}
