//! provider-kubernetes Objects as we emit them. Names are the incumbent's: running clusters survive the switch.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    foreign::object::{API_VERSION, KIND},
    names::{Uid, crossplane, ephemeral_cluster as annotations, keys, ours},
};

use super::{Desired, Health};
use crate::{
    intent::{Policies, Write},
    observed::{CREDENTIALS, EPHEMERAL_CLUSTER, Observed, PENDING, Writer},
    pools::Place,
    text::bounded,
    validate::{Block, Validated},
};

/// The writer: the Object `managed-<composite>` around `manifest`, or nothing. `annotations` are the backend's own.
pub(super) fn writer(
    name: &'static str,
    request: &Validated,
    observed: &Observed,
    manifest: &Value,
    cel: &str,
    mut annotations: Map<String, Value>,
) -> Option<Desired> {
    let intent = &request.intent;
    let mut annotate = |key: &str, value: &str| annotations.insert(key.to_owned(), value.into());
    let mut policies = Policies::Full;
    match &intent.write {
        Write::Nothing | Write::Remove => return None,
        Write::Create => {}
        Write::Update(allowed) => policies = *allowed,
        Write::Look { .. } => policies = Policies::ObserveDelete,
        Write::Again { vanished } => {
            annotate(ours::ATTEMPT, "2");
            annotate(ours::VANISHED_UID, vanished.as_str());
        }
    }
    if let (Write::Update(_), Some(writer)) = (&intent.write, &observed.writer) {
        for key in [ours::ATTEMPT, ours::VANISHED_UID] {
            if let Some(value) = writer.object.metadata.annotation(key) {
                annotate(key, value);
            }
        }
    }
    if let Some(at) = intent.ready_at {
        annotate(ours::READY_AT, &at.to_string());
    }
    if let Some(granted) = request.lifetime.granted {
        annotate(ours::DEFAULT_LIFETIME, &granted.to_string());
    }
    if let Some(failure) = intent.failed {
        annotate(ours::FAILED, failure.as_str());
    }
    if let Some(over) = &intent.over {
        annotate(ours::OVER, over);
    }
    let mut spec = json!({
        "forProvider": { "manifest": manifest },
        "providerConfigRef": { "name": provider_config(request, observed) },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": cel },
        "watch": true,
    });
    match policies {
        Policies::Full => {}
        Policies::ObserveDelete => spec["managementPolicies"] = json!(["Observe", "Delete"]),
        Policies::Observe => spec["managementPolicies"] = json!(["Observe"]),
    }
    let mut object = object(&format!("managed-{}", request.name), annotations, &spec);
    if name != EPHEMERAL_CLUSTER {
        object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    }
    Some(Desired { name, object, ready: intent.writer_ready })
}

/// The Object that observes the Secret with the credentials. From birth on, paused while no Secret is named:
/// an Observe-only Object for something absent is a permanent error.
pub(super) fn credentials(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    mut annotations: Map<String, Value>,
) -> Option<Desired> {
    if !request.intent.credentials {
        return None;
    }
    let ready = request.intent.credentials_ready;
    let known = known_secret(observed, health);
    let unpaused = known.is_some()
        || observed.credentials.as_ref().is_some_and(super::super::observed::Credentials::has_finalizer);
    let secret = known.unwrap_or_else(|| format!("{}-credentials", request.name));
    if !unpaused {
        // One with a finalizer is never paused: it could not be deleted any more.
        annotations.insert(crossplane::PAUSED.into(), "true".into());
    }
    if request.intent.read_again {
        annotations.insert(ours::READ_AGAIN.into(), "true".into());
    }
    if let Some(revision) = &health.revision {
        // A change of an annotation makes provider-kubernetes read the Secret again at once.
        annotations.insert(ours::CREDENTIALS_REVISION.into(), bounded(revision, 256).into());
    }
    let before = observed
        .credentials
        .as_ref()
        .filter(|c| !c.paused())
        .and_then(|c| c.object.spec.for_provider.manifest["metadata"]["namespace"].as_str());
    let namespace = match place(request) {
        // A hub has a namespace of its own for them, and where that is was found out with the hub.
        Some(place) => &place.credentials_namespace,
        None => before.unwrap_or(&request.settings.credentials_namespace),
    };
    let detail = |key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": secret,
            "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
        })
    };
    let name = format!("credentials-{}", request.name);
    let spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": { "manifest": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "namespace": namespace },
        } },
        "connectionDetails": [detail(keys::KUBECONFIG), detail(keys::KUBEADMIN_PASSWORD)],
        "providerConfigRef": { "name": provider_config(request, observed) },
        "writeConnectionSecretToRef": {
            "name": name, "namespace": request.settings.connection_secret_namespace,
        },
    });
    Some(Desired { name: CREDENTIALS, object: object(&name, annotations, &spec), ready })
}

/// The Secret that the hub names, or named when it was last heard.
pub(crate) fn known_secret(observed: &Observed, health: &Health) -> Option<String> {
    let last = || {
        let credentials = observed.credentials.as_ref().filter(|c| !c.paused())?;
        let name = credentials.secret_name();
        (!name.is_empty() && name != PENDING).then(|| name.to_owned())
    };
    health.secret.as_ref().map(|s| s.as_str().to_owned()).filter(|s| s != PENDING).or_else(last)
}

/// The hub is the one on which the cluster is, whatever the input says by now.
fn provider_config<'a>(request: &'a Validated, observed: &'a Observed) -> &'a str {
    let of_writer = observed.writer.as_ref().map(|w| w.object.spec.provider_config_ref.name.as_str());
    // With the writer gone, status remembers where it was; so does the place that was found.
    let remembered = || observed.composite.status.hub.as_ref().and_then(|h| h.name.as_deref());
    let otherwise = place(request).map_or(&request.settings.provider_config, |p| &p.hub);
    of_writer.filter(|n| !n.is_empty()).or_else(remembered).unwrap_or(otherwise)
}

fn place(request: &Validated) -> Option<&Place> {
    match &request.block {
        Block::ClusterClaim(claimed) => claimed.place.as_ref(),
        Block::CiOperator(_) | Block::Template => None,
    }
}

/// The uid that pins the remote object.
pub(super) fn pinned(request: &Validated, observed: &Observed) -> Option<Uid> {
    match &request.intent.write {
        Write::Update(_) => observed.writer.as_ref().and_then(Writer::uid),
        Write::Look { uid } => uid.clone(),
        Write::Nothing | Write::Create | Write::Remove | Write::Again { .. } => None,
    }
}

/// Annotations of the remote object: for whom it is, and how long it may take and live.
pub(super) fn notes(request: &Validated, observed: &Observed) -> Map<String, Value> {
    let mut notes = Map::new();
    let mut note = |key: &str, value: &str| notes.insert(key.to_owned(), value.into());
    let writer = observed.writer.as_ref();
    // The hub authorises by it: what the running cluster was made for wins for the life of the claim.
    let cluster = writer
        .and_then(Writer::remote)
        .and_then(|r| r.metadata().annotation(annotations::KONFLUX_CLUSTER))
        .or_else(|| writer.and_then(|w| w.manifest_annotation(annotations::KONFLUX_CLUSTER)))
        .or_else(|| observed.environment.cluster_name());
    if let Some(cluster) = cluster {
        note(annotations::KONFLUX_CLUSTER, cluster);
    }
    if let Some(tenant) = &request.tenant {
        note(annotations::KONFLUX_TENANT, tenant);
    }
    for (key, name) in &request.run_names {
        note(key, name.as_str());
    }
    let life = &request.lifetime;
    let durations = [
        (ours::LIFETIME, life.effective),
        (ours::MAX_LIFETIME, life.longest),
        (ours::PROVISION_TIMEOUT, life.told_timeout),
    ];
    for (key, duration) in durations {
        if let Some(duration) = duration {
            note(key, &duration.to_string());
        }
    }
    notes
}

/// An Object around what it carries.
pub(crate) fn object(name: &str, annotations: Map<String, Value>, spec: &Value) -> Value {
    let mut metadata = json!({ "name": name });
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec })
}
