//! Step → client: one annotation, and events. Nothing of a pool's spec is ever written.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Made},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::json;
use testplatform_apis::{
    foreign::cluster_pool::{API_VERSION, KIND},
    names::ours,
    pool_report::PoolStatus,
};
use testplatform_runtime::{
    apply::MANAGER,
    error::already_exists,
    event::{Event, truncate_text},
};

use super::observe::hive;

/// Writes the annotation. It carries the resourceVersion that was read, so that a decision on an old copy fails.
pub(super) async fn write_status(
    client: &Client,
    object: &DynamicObject,
    status: &PoolStatus,
) -> kube::Result<()> {
    let metadata = &object.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &hive(KIND));
    let text = status.to_annotation().map_err(kube::Error::SerdeError)?;
    let patch = json!({ "metadata": {
        "resourceVersion": metadata.resource_version, "annotations": { ours::POOL_STATUS: text },
    } });
    let parameters = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    api.patch(metadata.name.as_deref().unwrap_or_default(), &parameters, &Patch::Merge(&patch)).await?;
    Ok(())
}

/// Emits events about the pool. Each is emitted once, because it reports a transition.
pub(super) async fn emit(
    client: &Client,
    object: &DynamicObject,
    event: &Event,
    instance: &str,
    now: Timestamp,
) -> kube::Result<()> {
    let metadata = &object.metadata;
    let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone().unwrap_or_default());
    let made = Made {
        metadata: ObjectMeta {
            name: Some(format!(
                "{}.{}.{:x}",
                truncate_text(&name, 150),
                event.reason.to_lowercase(),
                now.as_nanosecond()
            )),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(truncate_text(&event.reason, 128)),
        note: Some(truncate_text(&event.note, 1024)),
        action: Some("Reconcile".to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(API_VERSION.into()),
            kind: Some(KIND.into()),
            name: Some(name),
            namespace: namespace.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        reporting_controller: Some(MANAGER.to_owned()),
        reporting_instance: Some(truncate_text(instance, 128)),
        ..Made::default()
    };
    let events: Api<Made> = Api::namespaced(client.clone(), namespace.as_deref().unwrap_or_default());
    match events.create(&PostParams::default(), &made).await {
        Err(error) if already_exists(&error) => Ok(()),
        other => other.map(|_| ()),
    }
}
