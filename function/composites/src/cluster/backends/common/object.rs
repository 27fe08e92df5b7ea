//! provider-kubernetes Objects as this function emits them. Their names are the incumbent's, so that running clusters survive the switch.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    condition::{Failure, HubSelection},
    names::{Uid, crossplane, ephemeral_cluster as annotations, keys, ours},
    text::bounded,
    yaml::sort_keys,
};

use crate::{
    cluster::{
        backends::{
            Health, Stage,
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        observed::{CREDENTIALS, Credentials, EPHEMERAL_CLUSTER, Observed, PENDING, PrimaryObject},
        request::{Block, Validated},
    },
    objects::{SyncState, build_object},
    sdk::{composite::Flavour, response::DesiredResource},
};

/// Builds the primary Object: `managed-<composite>` around `manifest`, or nothing. `annotations` are the backend's own.
pub(in crate::cluster::backends) fn build_primary(
    name: &'static str,
    request: &PlannedRequest,
    observed: &Observed,
    manifest: Value,
    cel: &str,
    mut annotations: Map<String, Value>,
) -> Option<DesiredResource> {
    let intent = &request.intent;
    let mut annotate = |key: &str, value: &str| annotations.insert(key.to_owned(), value.into());
    let (policies, watch) = match &intent.action {
        PrimaryAction::Omit | PrimaryAction::Remove | PrimaryAction::Relocate => return None,
        PrimaryAction::Create if request.templated().is_some() => {
            (ManagementPolicies::ObserveCreateDelete, true)
        }
        PrimaryAction::Create | PrimaryAction::Recreate { .. } => (ManagementPolicies::Full, true),
        // Without its finalizer the next reconcile would look as if it had found nothing, and would prove that nothing is left.
        PrimaryAction::Update(ManagementPolicies::ObserveDelete) if intent.teardown_deferred => (
            ManagementPolicies::ObserveDelete,
            observed.primary.as_ref().is_some_and(PrimaryObject::may_set_watch),
        ),
        PrimaryAction::Update(allowed) => (*allowed, true),
        PrimaryAction::Probe { .. } => (
            ManagementPolicies::ObserveDelete,
            observed.primary.as_ref().is_some_and(PrimaryObject::may_set_watch),
        ),
    };
    for (key, value) in
        attempt_annotations(request, observed).into_iter().chain(effective_annotation(request))
    {
        annotate(key, &value);
    }
    if let Some(ending) = &intent.teardown_reason {
        annotate(ours::ENDING, ending);
    }
    if let Some(at) = intent.ready_at {
        annotate(ours::READY_AT, &at.to_string());
    }
    if let Some(granted) = request.lifetime.granted {
        annotate(ours::DEFAULT_LIFETIME, &granted.to_string());
    }
    if let Some(failure) = intent.failure {
        annotate(ours::FAILED, failure.as_str());
    }
    if let Some(over) = &intent.completion {
        annotate(ours::OVER, over);
    }
    for (key, value) in &intent.transfer_annotations {
        annotate(key, value);
    }
    let mut spec = json!({
        "forProvider": {},
        "providerConfigRef": { "name": provider_config_name(request, observed) },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": cel },
    });
    // Moved, because json! copies its values.
    spec["forProvider"]["manifest"] = manifest;
    if watch {
        spec["watch"] = true.into();
    }
    set_policies(&mut spec, policies);
    let mut object = build_object(&request.primary_name(), annotations, spec);
    if name != EPHEMERAL_CLUSTER {
        object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    }
    Some(DesiredResource { name: name.into(), object, ready: intent.primary_ready })
}

/// Sets the management policies. Without any, provider-kubernetes may do everything.
pub(in crate::cluster::backends) fn set_policies(spec: &mut Value, policies: ManagementPolicies) {
    let some: &[&str] = match policies {
        ManagementPolicies::Full => return,
        ManagementPolicies::ObserveCreateDelete => &["Observe", "Create", "Delete"],
        ManagementPolicies::ObserveDelete => &["Observe", "Delete"],
        ManagementPolicies::Observe => &["Observe"],
    };
    spec["managementPolicies"] = json!(some);
}

/// Annotations of the attempt, from the second one on: on the primary Object, and on `credentials`, should the former be lost.
fn attempt_annotations(request: &PlannedRequest, observed: &Observed) -> Vec<(&'static str, String)> {
    let (attempt, vanished) = match &request.intent.action {
        PrimaryAction::Recreate { vanished } => (2, Some(vanished.clone())),
        PrimaryAction::Omit
        | PrimaryAction::Create
        | PrimaryAction::Update(_)
        | PrimaryAction::Probe { .. }
        | PrimaryAction::Remove
        | PrimaryAction::Relocate => (observed.attempt(), observed.vanished_uid()),
    };
    let attempt = (attempt > 1).then(|| (ours::ATTEMPT, attempt.to_string()));
    attempt.into_iter().chain(vanished.map(|uid| (ours::VANISHED_UID, uid.0))).collect()
}

/// Effective request of a template: on the primary Object, and on `credentials`, should the former be lost.
fn effective_annotation(request: &Validated) -> Option<(&'static str, String)> {
    let effective = request.templated()?.effective.as_ref()?;
    // Without nulls and with sorted keys: the same bytes in every pass.
    let value = serde_json::to_value(effective).ok()?;
    Some((ours::EFFECTIVE, sort_keys(&value).to_string()))
}

/// Builds the Object that observes the Secret with the credentials. It exists from the beginning and is paused while no Secret is named: an
/// Observe-only Object for a missing Secret is a permanent error.
pub(in crate::cluster::backends) fn build_credentials(
    request: &PlannedRequest,
    observed: &Observed,
    health: &Health,
    mut annotations: Map<String, Value>,
) -> Option<DesiredResource> {
    if !request.intent.wants_credentials {
        return None;
    }
    let ready = request.intent.credentials_ready;
    let known = known_secret(observed, health);
    let unpaused = (known.is_some() && may_publish(request, observed, health))
        || observed.credentials.as_ref().is_some_and(Credentials::has_finalizer);
    let secret = known.unwrap_or_else(|| format!("{}-credentials", request.name));
    if !unpaused {
        // One with a finalizer is never paused: it could not be deleted any more.
        annotations.insert(crossplane::PAUSED.into(), "true".into());
    }
    let notes = attempt_annotations(request, observed).into_iter().chain(effective_annotation(request));
    annotations.extend(notes.map(|(key, value)| (key.into(), value.into())));
    if let Some(granted) = request.lifetime.granted {
        annotations.insert(ours::DEFAULT_LIFETIME.into(), granted.to_string().into());
    }
    annotations.extend(
        request.intent.transfer_annotations.iter().map(|(key, value)| ((*key).into(), value.as_str().into())),
    );
    let intent = &request.intent;
    let times =
        [(ours::REFRESH_REQUESTED_AT, intent.reread_at), (ours::WITHHELD_SINCE, intent.withheld_since)];
    annotations.extend(times.into_iter().filter_map(|(key, at)| Some((key.into(), at?.to_string().into()))));
    let read_last = || observed.credentials.as_ref()?.object.metadata.annotation(ours::CREDENTIALS_REVISION);
    // A changed annotation makes provider-kubernetes read the Secret again at once. If the remote object is not observed, as between
    // removal and observation, or names no revision, there is nothing new to read.
    if let Some(revision) = health.revision.as_deref().or_else(read_last) {
        annotations.insert(ours::CREDENTIALS_REVISION.into(), bounded(revision, 256).into());
    }
    let hub_was_chosen = !matches!(request.block, Block::CiOperator(_));
    let before = observed
        .credentials
        .as_ref()
        .filter(|c| hub_was_chosen || !c.is_paused())
        .and_then(|c| c.object.spec.for_provider.manifest["metadata"]["namespace"].as_str());
    let namespace = match request.credentials_namespace() {
        // A hub has its own namespace for them, which was chosen with the hub.
        Some(namespace) => namespace,
        None => before.unwrap_or(&request.settings.credentials_namespace),
    };
    let detail = |key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": secret,
            "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
        })
    };
    let name = format!("credentials-{}", request.name);
    let mut spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": { "manifest": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "namespace": namespace },
        } },
        "providerConfigRef": { "name": provider_config_name(request, observed) },
        // The default, which provider-kubernetes would write down.
        "readiness": { "policy": "SuccessfulCreate" },
        "writeConnectionSecretToRef": {
            "name": name, "namespace": request.settings.connection_secret_namespace,
        },
    });
    // provider-kubernetes keeps its earlier write, and none of the admin's credentials arrive here.
    if !(unpaused && health.publishes_admin) {
        // Moved, because json! copies its values.
        spec["connectionDetails"] = vec![detail(keys::KUBECONFIG), detail(keys::KUBEADMIN_PASSWORD)].into();
    }
    let mut object = build_object(&name, annotations, spec);
    // For a composite in a namespace the finalizer proves that provider-kubernetes has written the tenant's Secret.
    let goes = observed.credentials.as_ref().is_some_and(|c| c.object.metadata.deletion_timestamp.is_some());
    // No finalizer can be added during a deletion.
    if unpaused && !goes && !matches!(observed.composite.flavour, Flavour::Namespaced(_)) {
        // provider-kubernetes would add it by an update that drops its last observation, until the next reconcile half a minute later.
        object["metadata"]["finalizers"] = json!([crossplane::FINALIZER]);
    }
    Some(DesiredResource { name: CREDENTIALS.into(), object, ready })
}

/// Whether the content of the Secret on the hub may reach the tenant. For a claim the composite's readiness decides that later. For a
/// composite in a namespace this Object publishes it: not before the whole request is fulfilled, and never after the end.
fn may_publish(request: &PlannedRequest, observed: &Observed, health: &Health) -> bool {
    match observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => true,
        Flavour::Namespaced(_) => {
            let ends = request.intent.teardown || request.intent.failure.is_some();
            health.stage == Stage::Ready && !ends
        }
    }
}

/// Secret that the hub names, or last named.
pub(crate) fn known_secret(observed: &Observed, health: &Health) -> Option<String> {
    let last = || {
        let credentials = observed.credentials.as_ref().filter(|c| !c.is_paused())?;
        let name = credentials.secret_name();
        (!name.is_empty() && name != PENDING).then(|| name.to_owned())
    };
    health.secret.as_ref().map(|s| s.as_str().to_owned()).filter(|s| s != PENDING).or_else(last)
}

/// ProviderConfig of the cluster's hub, whatever the input has now.
pub(crate) fn provider_config_name<'a>(request: &'a Validated, observed: &'a Observed) -> &'a str {
    let of_writer = observed.primary.as_ref().map(|w| w.object.spec.provider_config_ref.name.as_str());
    let adopted = || Some(observed.transfer.adopted()?.hub.as_str());
    let of_place = || request.hub_name();
    // Without a primary Object, status records the hub. Before the first request it only records the input.
    let status = observed.composite.status.hub.as_ref().filter(|_| observed.was_made_before());
    let remembered = || status.and_then(|h| h.name.as_deref());
    // A claim whose hub was given up and not replaced, or whose pool is unknown, stays where it is.
    let of_credentials = || {
        let hub_was_chosen = !matches!(request.block, Block::CiOperator(_));
        let credentials = observed.credentials.as_ref().filter(|_| hub_was_chosen)?;
        Some(credentials.object.spec.provider_config_ref.name.as_str()).filter(|name| !name.is_empty())
    };
    let known = of_writer
        .filter(|n| !n.is_empty())
        .or_else(adopted)
        .or_else(of_place)
        .or_else(remembered)
        .or_else(of_credentials);
    known.unwrap_or(&request.settings.provider_config)
}

/// The primary Object's annotation with the reason for its hub, decided when the Object is first composed. Older Objects without it are not
/// written again for it.
pub(in crate::cluster::backends) fn hub_reason(
    observed: &Observed,
    selected: Option<&str>,
) -> Option<String> {
    let reason = match &observed.primary {
        Some(primary) => primary.object.metadata.annotation(ours::HUB_REASON),
        None => selected.filter(|reason| *reason != HubSelection::Pinned.as_str()),
    };
    reason.map(str::to_owned)
}

/// Uid that pins the remote object.
pub(in crate::cluster::backends) fn pin_uid(request: &PlannedRequest, observed: &Observed) -> Option<Uid> {
    match &request.intent.action {
        // A manifest that lost its uid, such as from a backup, gets the remembered one: without it a second cluster would be created.
        PrimaryAction::Update(_) => observed.expected_uid(),
        PrimaryAction::Probe { uid } => uid.clone(),
        PrimaryAction::Omit
        | PrimaryAction::Create
        | PrimaryAction::Remove
        | PrimaryAction::Relocate
        | PrimaryAction::Recreate { .. } => None,
    }
}

/// Annotations of the remote object: its owner, timeout and lifetime.
pub(in crate::cluster::backends) fn remote_annotations(
    request: &PlannedRequest,
    observed: &Observed,
) -> Map<String, Value> {
    let mut notes = Map::new();
    let mut note = |key: &str, value: &str| notes.insert(key.to_owned(), value.into());
    let primary = observed.primary.as_ref();
    // The hub authorizes by it: the original value holds for the life of the claim.
    let cluster = primary
        .and_then(PrimaryObject::remote)
        .and_then(|r| r.metadata().annotation(annotations::KONFLUX_CLUSTER))
        .or_else(|| primary.and_then(|w| w.manifest_annotation(annotations::KONFLUX_CLUSTER)))
        .or_else(|| observed.environment.cluster_name());
    if let Some(cluster) = cluster {
        note(annotations::KONFLUX_CLUSTER, cluster);
    }
    // An administrator's composite has no tenant, and keeps the incumbent's value: the hub records the owner of a cluster, and withdraws
    // its credentials if that changes.
    let recorded = || primary.and_then(|w| w.manifest_annotation(annotations::KONFLUX_TENANT));
    if let Some(tenant) = request.tenant.as_deref().or_else(recorded) {
        note(annotations::KONFLUX_TENANT, tenant);
    }
    for (key, name) in &request.run_annotations {
        note(key, name.as_str());
    }
    if let Some(access) = &request.access {
        note(ours::CREDENTIALS_WISH, &access.to_string());
    }
    let life = &request.lifetime;
    // A search keeps the annotations of the original request.
    if life.lost || matches!(request.intent.action, PrimaryAction::Probe { .. }) {
        return notes;
    }
    let durations = [
        (ours::LIFETIME, life.effective),
        (ours::MAX_LIFETIME, life.max),
        (ours::PROVISION_TIMEOUT, life.reported_timeout),
    ];
    for (key, duration) in durations {
        if let Some(duration) = duration {
            note(key, &duration.to_string());
        }
    }
    notes
}

/// Whether another object has the name of the cluster's object now. Delete works by name, so nothing around it may be deleted any more.
pub(in crate::cluster::backends) fn is_remote_replaced(
    request: &PlannedRequest,
    observed: &Observed,
) -> bool {
    let replaced = observed.primary.as_ref().is_some_and(|primary| primary.sync == SyncState::Replaced);
    replaced || request.intent.failure == Some(Failure::RemoteReplaced)
}
