//! The writer: the Object that carries the remote object. Its manifest is our memory, its Synced condition
//! tells how the hub took it.

use serde_json::Value;
use testplatform_apis::{
    foreign::{
        ephemeral_cluster::EphemeralCluster,
        meta::{ObservedCondition, condition},
        object::Object,
    },
    names::{Uid, crossplane, ours},
};

use super::Unusable;
use crate::wire;

/// The observed writer.
#[derive(Debug)]
pub struct Writer {
    /// The Object.
    pub object: Object<EphemeralCluster>,
    /// How the remote object stands to it.
    pub link: Link,
}

/// How the remote object stands to what we ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Nothing was reported yet.
    Unknown,
    /// As asked for.
    InSync,
    /// The pinned object is gone.
    Deleted,
    /// Another object has its name.
    Replaced,
    /// The hub does not know the field at this path.
    UnknownField(String),
    /// The hub refuses: its words.
    Refused(String),
    /// The hub cannot be reached: in what way.
    Unreachable(&'static str),
    /// An administrator paused the Object.
    Paused,
}

impl Writer {
    pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Self, Unusable> {
        let mut object: Object<EphemeralCluster> =
            wire::from_struct(bytes).map_err(|e| super::unreadable(name, e))?;
        let link = link(&object);
        // After a second try was asked for, what is reported is at first still the one that vanished.
        let vanished = object.metadata.annotation(ours::VANISHED_UID).map(str::to_owned);
        let remote = &mut object.status.at_provider.manifest;
        if remote
            .as_ref()
            .and_then(|r| r.metadata.uid.as_ref())
            .is_some_and(|u| Some(u.as_str()) == vanished.as_deref())
        {
            *remote = None;
        }
        Ok(Self { object, link })
    }

    /// What was last asked for.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// An annotation of the manifest that was last asked for.
    pub fn manifest_annotation(&self, key: &str) -> Option<&str> {
        self.manifest()["metadata"]["annotations"][key].as_str()
    }

    /// The remote object as it was last observed. Not another one under its name.
    pub fn remote(&self) -> Option<&EphemeralCluster> {
        let remote = self.object.status.at_provider.manifest.as_ref()?;
        (self.link != Link::Replaced).then_some(remote)
    }

    /// The uid that pins the cluster: the manifest's own, else that of the first observation.
    pub fn uid(&self) -> Option<Uid> {
        pin(&self.object).or_else(|| self.remote()?.metadata.uid.clone())
    }

    /// Which try at the remote object this is.
    pub fn attempt(&self) -> i64 {
        self.object.metadata.annotation(ours::ATTEMPT).and_then(|a| a.parse().ok()).unwrap_or(1)
    }

    /// Whether the manifest asks for the end. One-way: true stays.
    pub fn asks_for_teardown(&self) -> bool {
        self.manifest()["spec"]["tearDownCluster"] == Value::Bool(true)
    }

    /// Whether it only watches, and nothing is settled: it finds out whether there is a remote object, and cannot
    /// make one.
    pub fn looks(&self) -> bool {
        let settled =
            [ours::FAILED, ours::OVER].iter().any(|key| self.object.metadata.annotation(key).is_some());
        self.only_watches() && !settled
    }

    fn only_watches(&self) -> bool {
        self.object.spec.management_policies == ["Observe", "Delete"]
    }

    /// Whether it looked for the remote object and did not find it. Told of the current generation only: before
    /// that, the answer is one to an older question.
    pub fn found_nothing(&self) -> bool {
        let synced = condition(&self.object.status.conditions, "Synced");
        let current = synced.is_some_and(|c| {
            c.is_true() && c.observed_generation.is_none_or(|g| g == self.object.metadata.generation)
        });
        self.only_watches() && current && self.remote().is_none()
    }

    /// Whether a remote object may exist. Until one was observed, provider-kubernetes' own notes and the hub's
    /// answer tell: a create that was begun, and of which nobody knows how it ended, may have happened.
    pub fn may_exist(&self) -> bool {
        let noted = |key| self.object.metadata.annotation(key).is_some();
        let synced = condition(&self.object.status.conditions, "Synced");
        let refused = matches!(self.link, Link::Refused(_) | Link::UnknownField(_));
        // provider-kubernetes creates only what it looked for and did not find.
        if self.found_nothing() || (refused && synced.is_some_and(|c| c.message.starts_with("create failed")))
        {
            return false;
        }
        if self.remote().is_some()
            || pin(&self.object).is_some()
            || noted(crossplane::EXTERNAL_CREATE_SUCCEEDED)
        {
            return !matches!(self.link, Link::Deleted | Link::Replaced);
        }
        match self.link {
            Link::Deleted | Link::Replaced | Link::Refused(_) | Link::UnknownField(_) => false,
            Link::Unknown | Link::Unreachable(_) | Link::Paused | Link::InSync => {
                noted(crossplane::EXTERNAL_CREATE_PENDING) || self.only_watches()
            }
        }
    }
}

fn pin(object: &Object<EphemeralCluster>) -> Option<Uid> {
    object.spec.for_provider.manifest["metadata"]["uid"].as_str().map(|u| Uid(u.to_owned()))
}

/// What the pin and provider-kubernetes' Synced condition say. With server-side apply a pinned object that is
/// gone answers "uid mismatch", a replaced one "metadata.uid: … field is immutable".
fn link(object: &Object<EphemeralCluster>) -> Link {
    let pin = pin(object);
    let seen = object.status.at_provider.manifest.as_ref().and_then(|r| r.metadata.uid.as_ref());
    let other = pin.as_ref().zip(seen).is_some_and(|(pin, seen)| pin != seen);
    let Some(synced) = condition(&object.status.conditions, "Synced") else {
        return if other { Link::Replaced } else { Link::Unknown };
    };
    if other {
        return Link::Replaced;
    }
    if synced.is_true() {
        return Link::InSync;
    }
    judge(synced, pin.is_some())
}

/// What a failed Synced means. Words of the hub come first: they quote field names and text of the tenant, in which
/// every other word may occur.
fn judge(synced: &ObservedCondition, pinned: bool) -> Link {
    let text = synced.message.as_str();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if synced.reason == "ReconcilePaused" {
        return Link::Paused;
    }
    if pinned && has(&["uid mismatch"]) {
        return Link::Deleted;
    }
    if pinned && has(&["metadata.uid"]) && has(&["field is immutable"]) {
        return Link::Replaced;
    }
    if let Some(path) = unknown_field(text) {
        return Link::UnknownField(path);
    }
    if text.starts_with("observe failed: cannot get object") && has(&["is forbidden"]) {
        return Link::Unreachable("it does not let us in");
    }
    if has(&[" is invalid: ", "denied the request", " is forbidden: ", "exceeded quota"]) {
        return Link::Refused(hub_words(text));
    }
    let ways: [(&str, &[&str]); 7] = [
        (
            "it does not accept our credentials",
            &["Unauthorized", "asked for the client to provide credentials"],
        ),
        ("its certificate is not trusted", &["x509:", "certificate signed by", "remote error: tls:"]),
        ("the connection is refused", &["connection refused"]),
        ("its host name is unknown", &["no such host"]),
        ("its ProviderConfig or the Secret behind it cannot be used", &["connect failed: "]),
        (
            "it does not answer",
            &[
                "i/o timeout",
                "Client.Timeout",
                "TLS handshake timeout",
                "deadline exceeded",
                "unexpected EOF",
                ": EOF",
                "connection reset",
                "connection lost",
                "dial tcp",
                "no route to host",
            ],
        ),
        (
            "it is not able to answer",
            &[
                "currently unable to handle the request",
                "in the time allotted",
                "etcdserver:",
                "oo many requests",
                "Internal error occurred",
                "failed to get API group",
                "no matches for kind",
            ],
        ),
    ];
    if let Some((way, _)) = ways.into_iter().find(|(_, words)| has(words)) {
        return Link::Unreachable(way);
    }
    if has(&["create failed", "update failed", "cannot get desired state"]) {
        return Link::Refused(hub_words(text));
    }
    Link::Unreachable("it cannot be observed")
}

/// The path before "field not declared in schema".
fn unknown_field(text: &str) -> Option<String> {
    let (before, _) = text.split_once(": field not declared in schema")?;
    let path = before.rsplit(' ').next().unwrap_or_default().trim_start_matches('.');
    Some(crate::text::bounded(path, 256))
}

/// What the hub itself said, without the wrapping of the layers between.
fn hub_words(text: &str) -> String {
    let mut words = text;
    while let Some((layer, rest)) = words.split_once(": ")
        && ["create failed", "update failed", "observe failed", "cannot "]
            .iter()
            .any(|l| layer.starts_with(l))
    {
        words = rest;
    }
    crate::text::bounded(words, 512)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "create failed: cannot create object: cannot create object: Operation cannot be fulfilled: uid mismatch: the provided object specified uid a, and no existing object was found",
        Link::Deleted
    )]
    #[case(
        "observe failed: cannot get desired state: cannot dry run SSA: EphemeralCluster.ci.openshift.io \"x\" is invalid: metadata.uid: Invalid value: \"a\": field is immutable",
        Link::Replaced
    )]
    #[case("observe failed: cannot get desired state: cannot dry run SSA: failed to create typed patch object (ns/x; ci.openshift.io/v1, Kind=EphemeralCluster): .spec.ciOperator.foo: field not declared in schema", Link::UnknownField("spec.ciOperator.foo".into()))]
    #[case(
        "observe failed: cannot get object: Unauthorized",
        Link::Unreachable("it does not accept our credentials")
    )]
    #[case(
        "observe failed: cannot get object: Get \"https://10.0.0.1:6443/x\": dial tcp 10.0.0.1:6443: connect: connection refused",
        Link::Unreachable("the connection is refused")
    )]
    #[case(
        "connect failed: cannot get provider config: ProviderConfig \"p\" not found",
        Link::Unreachable("its ProviderConfig or the Secret behind it cannot be used")
    )]
    #[case("create failed: cannot create object: cannot create object: ephemeralclusters.ci.openshift.io \"x\" is forbidden: no", Link::Refused("ephemeralclusters.ci.openshift.io \"x\" is forbidden: no".into()))]
    #[case("", Link::Unreachable("it cannot be observed"))]
    fn synced_texts_are_told_apart(#[case] message: &str, #[case] expected: Link) {
        let synced =
            ObservedCondition { message: message.into(), status: "False".into(), ..Default::default() };
        assert_eq!(judge(&synced, expected == Link::Deleted || expected == Link::Replaced), expected);
    }

    #[test]
    fn without_a_pin_nothing_was_lost() {
        let synced = ObservedCondition { message: "uid mismatch".into(), ..Default::default() };
        assert_eq!(judge(&synced, false), Link::Unreachable("it cannot be observed"));
    }
}
