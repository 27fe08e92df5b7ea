//! Bundles that a template applies inside its clusters. A ConfigMap beside the cluster's own object carries the request, and the hub-side
//! provider answers in it.
//!
//! It is composed from the catalogue and the claim once the cluster's object was observed. From then on it is repeated unchanged: a
//! catalogue change affects no existing cluster. The provider holds the ConfigMap until everything that precedes a deletion is done. When
//! the claim requests teardown, the ConfigMap leaves the desired state first, and the primary Object follows once an observer Object shows
//! that the ConfigMap is gone. When the claim itself is deleted nobody calls this function: the ConfigMap's Object depends on the primary
//! Object and so keeps it. When that Object is lost nobody else deletes the ConfigMap, so teardown adopts it only to delete it.
//!
//! **Invariant:** a cluster that was requested without bundles never gets any.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    bundle::{self, BundleProgress, BundleReport, BundleRequestSpec, ClusterRef},
    condition::{ConditionStatus, SetupLevel, TemplateConditionType},
    foreign::object as foreign,
    names::{ObjectName, crossplane, ours},
    template::entry::BundleDocument,
    text::bounded,
};

use super::object as composing;
use crate::{
    cluster::{
        backends::{
            BackendCondition, Health,
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        observed::{BUNDLES, BUNDLES_OBSERVER, Observed, report_text, tenant_credentials::ObservedObject},
        request::{BundleSelection, Placement, Resolution, Templated, Validated},
    },
    objects::{SyncState, build_object, observer},
    sdk::response::DesiredResource,
};

/// Noted on the one that looks: that the hub had the ConfigMap, and its Object was taken away.
const REMOVED: &str = "true";
/// The same where nobody saw that Object.
const OBSERVED: &str = "seen";

/// Builds the desired resources.
pub(crate) fn build_resources(request: &PlannedRequest, observed: &Observed) -> Vec<DesiredResource> {
    let order = build_request(request, observed).map(|(manifest, policies)| {
        let mut spec = object_spec(request, observed, manifest);
        let state = |state: BundleProgress| {
            format!("object.metadata.annotations['{}'].contains('\"state\":\"{state:?}\"')", bundle::REPORT)
        };
        // The answer is to be seen by the poll of those that are not ready: nobody may watch all ConfigMaps of a hub.
        spec["readiness"] = json!({ "policy": "DeriveFromCelQuery", "celQuery": format!(
            "has(object.metadata.annotations) && '{}' in object.metadata.annotations && {}",
            bundle::REPORT, state(BundleProgress::Applied),
        ) });
        spec["references"] = json!([{ "dependsOn": {
            "apiVersion": foreign::API_VERSION, "kind": foreign::KIND, "name": request.primary_name(),
        } }]);
        composing::set_policies(&mut spec, policies);
        compose_object(BUNDLES, request, spec)
    });
    let undone = observer_manifest(request, observed).map(|manifest| {
        let mut spec = object_spec(request, observed, manifest);
        // Never ready, so that it looks every 30 s.
        spec["readiness"] = json!({ "policy": "DeriveFromCelQuery", "celQuery": foreign::NEVER });
        composing::set_policies(&mut spec, ManagementPolicies::Observe);
        let mut made = compose_object(BUNDLES_OBSERVER, request, spec);
        if observed.bundles.was_created() {
            let how = if is_removed(observed) { REMOVED } else { OBSERVED };
            made.object["metadata"]["annotations"] = json!({ ours::BUNDLES_REQUESTED: how });
        }
        made
    });
    order.into_iter().chain(undone).collect()
}

/// Whether any were asked for with the cluster, noted on writer and `credentials`.
pub(in crate::cluster::backends) fn requested_annotation(
    request: &PlannedRequest,
    observed: &Observed,
) -> Option<(String, Value)> {
    let begins = request.intent.action == PrimaryAction::Create
        && !selected_bundles(request).is_none_or(BundleSelection::has_no_cluster_bundles);
    let recorded = observed.annotation(ours::BUNDLES_REQUESTED).is_some();
    (begins || recorded).then(|| (ours::BUNDLES_REQUESTED.to_owned(), "true".into()))
}

/// Whether something is still being done inside the cluster before it may go.
pub(in crate::cluster::backends) fn awaits_pre_delete(request: &PlannedRequest, observed: &Observed) -> bool {
    observed.bundles.was_created()
        && observer_manifest(request, observed).is_some()
        && !observed.bundles.is_deleted()
}

/// Condition of the template's setup. None: the template sets up nothing.
pub(in crate::cluster::backends) fn setup_condition(
    templated: &Templated,
    observed: &Observed,
) -> Option<BackendCondition<SetupLevel>> {
    use ConditionStatus::{False, True};
    let bundles = &observed.bundles;
    let report = bundles.report().unwrap_or_default();
    if report.state == Some(BundleProgress::BeforeDeletion) || bundles.observer.is_some() {
        return Some(teardown_condition(&report, observed));
    }
    let Some(order) = &bundles.request else {
        let none = match &templated.resolution {
            Resolution::Resolved(resolved) => resolved.bundles.post_install.is_empty(),
            Resolution::Blocked | Resolution::Frozen { .. } => false,
        };
        let waits = observed.annotation(ours::BUNDLES_REQUESTED).is_some() && !none;
        return waits.then(|| {
            BackendCondition::of(False, SetupLevel::Running, "the hub has not received the bundles yet")
        });
    };
    if !bundles.has_post_install() {
        return None;
    }
    if let (SyncState::Refused(message), None) = (&order.sync, report.state) {
        let message = format!(
            "the hub refuses ConfigMap {} with the bundles: {message}",
            namespaced_name(order.manifest())
        );
        return Some(BackendCondition::of(False, SetupLevel::SetupFailed, message));
    }
    Some(match report.state {
        Some(BundleProgress::Applied) => {
            BackendCondition::of(True, SetupLevel::Applied, "the bundles of the template are ready")
        }
        Some(BundleProgress::SetupFailed) => BackendCondition::of(
            False,
            SetupLevel::SetupFailed,
            bundle_message("was not ready in time", &report),
        ),
        Some(BundleProgress::Running | BundleProgress::BeforeDeletion) => {
            BackendCondition::of(False, SetupLevel::Running, bundle_message("is being set up", &report))
        }
        None => BackendCondition::of(
            False,
            SetupLevel::Running,
            "bundles are applied after the cluster's API server answers",
        ),
    })
}

/// Keeps a setup failure visible while the primary Object is not observed, between its removal and the observer's first result.
pub(crate) fn restore_setup_condition(health: &mut Health, observed: &Observed) {
    if observed.bundles.observer.is_none() || health.conditions.setup.is_some() {
        return;
    }
    let level = teardown_condition(&observed.bundles.report().unwrap_or_default(), observed);
    if level.reason == SetupLevel::SetupFailed && health.waiting.is_empty() {
        health.waiting.clone_from(&level.message);
    }
    health.conditions.setup = Some(level);
}

/// Condition during teardown. An earlier setup failure stays visible.
fn teardown_condition(report: &BundleReport, observed: &Observed) -> BackendCondition<SetupLevel> {
    let shown = observed.composite.of_template(TemplateConditionType::TemplateApplied);
    let failed = shown.filter(|c| c.is_false() && c.reason == SetupLevel::SetupFailed.as_str());
    match (failed, report.state) {
        (Some(shown), _) => {
            BackendCondition::of(ConditionStatus::False, SetupLevel::SetupFailed, shown.message.clone())
        }
        (None, Some(BundleProgress::BeforeDeletion)) => {
            let message = bundle_message("is being carried out before teardown", report);
            BackendCondition::of(ConditionStatus::False, SetupLevel::Running, message)
        }
        (None, _) => BackendCondition::of(
            ConditionStatus::Unknown,
            SetupLevel::NotReported,
            "the cluster is being torn down",
        ),
    }
}

/// Condition that teardown waits for, in a sentence without a subject.
pub(in crate::cluster::backends) fn teardown_waits_for(observed: &Observed) -> Option<String> {
    let bundles = &observed.bundles;
    if bundles.is_deleted() {
        return None;
    }
    if let Some(report) =
        bundles.report().filter(|report| report.state == Some(BundleProgress::BeforeDeletion))
    {
        return Some(format!("waits for {}", report_text(&report)));
    }
    // It is there, and nothing tells what is still to be done.
    let visible =
        bundles.observer.as_ref().filter(|looks| looks.object.status.at_provider.manifest.is_some());
    visible.map(|looks| format!("waits until ConfigMap {} is gone", namespaced_name(looks.manifest())))
}

fn bundle_message(what: &str, report: &BundleReport) -> String {
    let bundle = report.bundle.as_deref().map_or_else(|| "a bundle".to_owned(), |name| bounded(name, 96));
    let rest = BundleReport { bundle: None, ..report.clone() };
    let rest = report_text(&rest);
    if rest.is_empty() { format!("{bundle} {what}") } else { format!("{bundle} {what}: {rest}") }
}

/// Bundles that the catalogue entry selects for the claim, where known.
fn selected_bundles(request: &Validated) -> Option<&BundleSelection> {
    match &request.templated()?.resolution {
        Resolution::Resolved(resolved) => Some(&resolved.bundles),
        Resolution::Blocked | Resolution::Frozen { .. } => None,
    }
}

/// The ConfigMap that tells, and what may be done to it.
fn build_request(request: &PlannedRequest, observed: &Observed) -> Option<(Value, ManagementPolicies)> {
    if is_ending(request) {
        return adopted_request(request, observed)
            .map(|manifest| (manifest, ManagementPolicies::ObserveDelete));
    }
    match &observed.bundles.request {
        Some(order) if is_adopted(order) => {
            Some((order.manifest().clone(), ManagementPolicies::ObserveDelete))
        }
        Some(order) => Some((order.manifest().clone(), ManagementPolicies::Full)),
        None => initial_request(request, observed).map(|manifest| (manifest, ManagementPolicies::Full)),
    }
}

/// The same at birth: once it is known that the cluster is ours, and that it was asked for with bundles.
fn initial_request(request: &PlannedRequest, observed: &Observed) -> Option<Value> {
    observed.annotation(ours::BUNDLES_REQUESTED)?;
    let (chosen, placement) = (selected_bundles(request)?, request.templated()?.placement.as_ref()?);
    let primary = observed.primary.as_ref()?;
    let is_remote_known = primary.remote().is_some() && primary.remote_uid().is_some();
    let may =
        request.intent.action == PrimaryAction::Update(ManagementPolicies::Full) && !request.intent.teardown;
    if chosen.has_no_cluster_bundles() || !is_remote_known || !may {
        return None;
    }
    let remote = primary.manifest();
    let (group, _) = remote["apiVersion"].as_str()?.split_once('/')?;
    let tenant = request.tenant.as_deref().unwrap_or_default();
    let message = placement.placeholders(tenant);
    let made = |all: &[BundleDocument]| all.iter().map(|bundle| bundle.to_bundle(&message)).collect();
    let order = BundleRequestSpec {
        cluster: ClusterRef {
            group: group.to_owned(),
            kind: remote["kind"].as_str()?.to_owned(),
            name: ObjectName::try_from(placement.name.as_str()).ok()?,
        },
        post_install: made(&chosen.post_install),
        pre_delete: made(&chosen.pre_delete),
    };
    let mut manifest = config_map_at(placement);
    manifest["metadata"]["labels"] = json!({ bundle::LABEL: "true" });
    manifest["data"] = json!({ bundle::ORDER: serde_json::to_string(&order).ok()? });
    Some(manifest)
}

/// The same of an Object that was lost: taken up by one that can only delete it, until provider-kubernetes has that, and so deletes it when it
/// is taken away. The ConfigMap has to be there, and to be ours by all that it says, and it is meant by its uid: Delete goes by name.
fn adopted_request(request: &PlannedRequest, observed: &Observed) -> Option<Value> {
    let looks = observed.bundles.observer.as_ref().filter(|looks| looks.is_synced())?;
    let remote = looks.live_remote()?;
    let labelled = remote.labels.get(bundle::LABEL).is_some_and(|label| label == "true");
    let of_cluster = |begun: &str| observed.expected_uid().is_some_and(|uid| uid.as_str() == begun);
    let own = labelled && remote.annotation(bundle::CLUSTER).is_none_or(of_cluster);
    if !own || is_removed(observed) || !is_observing(request, observed) {
        return None;
    }
    let metadata = &looks.manifest()["metadata"];
    let mut manifest = config_map(&metadata["name"], &metadata["namespace"]);
    manifest["metadata"]["uid"] = remote.uid.as_ref()?.as_str().into();
    Some(manifest)
}

/// Whether its Object was taken away, or is to be: what is seen of the ConfigMap after that is the last of it.
fn is_removed(observed: &Observed) -> bool {
    let bundles = &observed.bundles;
    if let Some(order) = &bundles.request {
        return !is_adopted(order) || has_finalizer(order);
    }
    let looks = bundles.observer.as_ref().map(|looks| &looks.object.metadata);
    looks.and_then(|metadata| metadata.annotation(ours::BUNDLES_REQUESTED)) == Some(REMOVED)
}

/// Whether the Object was made anew only to be taken away.
fn is_adopted(order: &ObservedObject) -> bool {
    observer::is_observer(&order.object)
}

/// Whether its end would be that of the ConfigMap.
fn has_finalizer(order: &ObservedObject) -> bool {
    order.object.metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER)
}

/// The ConfigMap that is looked at on its way out.
fn observer_manifest(request: &PlannedRequest, observed: &Observed) -> Option<Value> {
    if !is_observing(request, observed) {
        return None;
    }
    let bundles = &observed.bundles;
    if let Some(before) = &bundles.observer {
        return Some(before.manifest().clone());
    }
    if let Some(order) = &bundles.request {
        let metadata = &order.manifest()["metadata"];
        return Some(config_map(&metadata["name"], &metadata["namespace"]));
    }
    observed.annotation(ours::BUNDLES_REQUESTED)?;
    request.templated()?.placement.as_ref().map(config_map_at)
}

/// Whether the ConfigMap's deletion is observed. The observer stays until nothing is left, even if the cluster's object goes earlier.
/// Without a teardown, because a request was withdrawn before anybody recorded it, nothing has to be observed.
fn is_observing(request: &PlannedRequest, observed: &Observed) -> bool {
    let intent = &request.intent;
    let looks = is_ending(request) || (intent.teardown && observed.bundles.observer.is_some());
    looks && intent.completion.is_none() && !matches!(intent.action, PrimaryAction::Relocate)
}

/// Whether it goes: before the cluster, with it, or because there is none any more.
fn is_ending(request: &PlannedRequest) -> bool {
    let intent = &request.intent;
    match intent.action {
        PrimaryAction::Remove | PrimaryAction::Relocate => true,
        PrimaryAction::Probe { .. } => intent.teardown_reason.is_some(),
        PrimaryAction::Omit
        | PrimaryAction::Create
        | PrimaryAction::Update(_)
        | PrimaryAction::Recreate { .. } => intent.teardown_deferred || intent.completion.is_some(),
    }
}

fn config_map_at(placement: &Placement) -> Value {
    config_map(&format!("{}{}", placement.name, bundle::SUFFIX).into(), &placement.namespace.as_str().into())
}

fn config_map(name: &Value, namespace: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace } })
}

fn namespaced_name(manifest: &Value) -> String {
    let text = |field: &str| manifest["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// On the hub on which it is, whatever becomes of the writer.
fn object_spec(request: &Validated, observed: &Observed, manifest: Value) -> Value {
    let before = observed.bundles.request.as_ref().or(observed.bundles.observer.as_ref());
    let before = before.map(|part| part.object.spec.provider_config_ref.name.as_str());
    let hub = before.filter(|hub| !hub.is_empty());
    let hub = hub.unwrap_or_else(|| composing::provider_config_name(request, observed));
    let mut spec = json!({ "forProvider": {}, "providerConfigRef": { "name": hub } });
    spec["forProvider"]["manifest"] = manifest;
    spec
}

fn compose_object(name: &'static str, request: &PlannedRequest, spec: Value) -> DesiredResource {
    // The name of a part has no dot, so no two of any composites have the same.
    let mut object = build_object(&format!("{name}.{}", request.name), Map::new(), spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    DesiredResource { name: name.into(), object, ready: request.intent.primary_ready }
}
