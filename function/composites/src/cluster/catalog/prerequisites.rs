//! Prerequisites of a cluster on its hub: their request, and what a claim waits for.

use serde_json::{Value, json};
use testplatform_apis::{
    bundle::{self, BundleProgress, ClusterRef},
    cloud,
    condition::{Request, SetupLevel},
    json,
    names::{ObjectName, ours},
    prerequisites,
    template::{Backend, entry::BundleDocument},
    text::bounded,
};

use crate::{
    cluster::{
        observed::{
            Observed,
            prerequisites::{CLOUD, PREREQUISITE_RESOURCES, read_answer},
            report_text,
            tenant_credentials::ObservedObject,
        },
        request::{AdmissionIssue, Placement, Resolution, ResolvedSpec, Templated},
    },
    objects::SyncState,
};

/// The longest name of whoever asks for a credential; a longer one is cut.
const MAX_REQUESTER: usize = 253;

/// Whether one of them was requested by another template, for another kind of cluster, or with other bundles than the claim selects now.
/// Changes within a bundle of the same name do not matter: a catalogue change affects no existing request. A missing or broken entry proves
/// nothing.
pub(crate) fn is_for_another_cluster(
    templated: &Templated,
    tenant: Option<&str>,
    observed: &Observed,
) -> bool {
    let (Resolution::Resolved(resolved), Some(backend), Some(placement)) =
        (&templated.resolution, templated.backend, &templated.placement)
    else {
        return false;
    };
    observed.prerequisites.iter().any(|(name, part)| {
        let by = part.object.metadata.annotation(ours::TEMPLATE);
        let now = build_manifest(name, resolved, placement, backend, tenant, observed);
        by.is_some_and(|by| by != templated.template)
            || now.is_none_or(|now| summarize_request(part.manifest()) != summarize_request(&now))
    })
}

/// For which cluster a ConfigMap orders what, by names.
fn summarize_request(manifest: &Value) -> Option<Value> {
    let order: Value = json::read_text(manifest["data"][cloud::ORDER].as_str()?).ok()?;
    let bundles = |list: &str| -> Vec<Value> {
        order[list].as_array().into_iter().flatten().map(|bundle| bundle["name"].clone()).collect()
    };
    Some(json!([order["cluster"], bundles("prerequisites"), bundles("preCreate")]))
}

/// Whether a claim is to have one.
pub(crate) fn is_wanted(name: &str, resolved: &ResolvedSpec) -> bool {
    if name == CLOUD {
        resolved.backend_spec.cloud_credential().is_some()
    } else {
        !resolved.bundles.has_no_hub_bundles()
    }
}

/// The ConfigMap as it is asked for at first.
pub(crate) fn build_manifest(
    name: &str,
    resolved: &ResolvedSpec,
    placement: &Placement,
    backend: Backend,
    tenant: Option<&str>,
    observed: &Observed,
) -> Option<Value> {
    if !is_wanted(name, resolved) {
        return None;
    }
    let kind = backend.cluster_kind();
    let cluster = ClusterRef {
        group: kind.group.to_owned(),
        kind: kind.kind.to_owned(),
        name: ObjectName::try_from(placement.name.as_str()).ok()?,
    };
    let tenant = tenant.unwrap_or_default();
    let (map, label, order) = if name == CLOUD {
        let (credential, composite) =
            (resolved.backend_spec.cloud_credential()?, &observed.composite.metadata);
        // A file that is rendered may have none.
        let uid = composite.uid.as_ref().filter(|uid| !uid.as_str().is_empty());
        let order = cloud::CredentialRequestSpec {
            uid: uid.map_or_else(|| composite.name.clone(), |uid| uid.as_str().to_owned()),
            cloud: credential.cloud.clone(),
            tenant: tenant.to_owned(),
            requested_by: read_requester(observed),
            generation: requested_generation(observed).unwrap_or_default(),
            roles: credential.roles.clone(),
            lifetime: credential.lifetime,
            cluster,
        };
        (cloud::secret_name(&order.cluster.name), cloud::LABEL, serde_json::to_string(&order))
    } else {
        let message = placement.placeholders(tenant);
        let made = |all: &[BundleDocument]| all.iter().map(|bundle| bundle.to_bundle(&message)).collect();
        let order = prerequisites::PrerequisiteRequestSpec {
            prerequisites: made(&resolved.bundles.prerequisites),
            pre_create: made(&resolved.bundles.pre_create),
            cluster,
        };
        (
            prerequisites::config_map_name(&order.cluster.name),
            prerequisites::LABEL,
            serde_json::to_string(&order),
        )
    };
    let mut manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    manifest["metadata"] =
        json!({ "name": map, "namespace": placement.namespace, "labels": { label: "true" } });
    manifest["data"] = json!({ cloud::ORDER: order.ok()? });
    Some(manifest)
}

/// Last requester of the cluster, as recorded by an admission policy.
pub(crate) fn read_requester(observed: &Observed) -> Option<String> {
    let recorded = observed.composite.metadata.annotation(ours::REQUESTED_BY).filter(|by| !by.is_empty());
    recorded.map(|by| bounded(by, MAX_REQUESTER))
}

/// For the how-manieth credential the claim asks. None: it does not say, or what it says is no number.
pub(crate) fn requested_generation(observed: &Observed) -> Option<i64> {
    observed.composite.metadata.annotation(ours::CLOUD_CREDENTIAL_GENERATION)?.parse().ok()
}

/// Why no cluster can be asked for yet.
pub(crate) fn check_ready(resolved: &ResolvedSpec, observed: &Observed) -> Result<(), AdmissionIssue> {
    for name in PREREQUISITE_RESOURCES {
        let part = observed.prerequisites.get(name);
        if part.is_none() && !is_wanted(name, resolved) {
            continue;
        }
        let waits = match name {
            CLOUD => credential_problem(part).map(|message| (Request::PlatformCredentialsNotReady, message)),
            _ => prerequisites_problem(part).map(|(_, message)| (Request::PrerequisitesNotReady, message)),
        };
        if let Some((reason, message)) = waits {
            return Err(AdmissionIssue::new(reason, message));
        }
    }
    Ok(())
}

/// Why the cluster waits for its prerequisites, and whether they have failed.
pub(crate) fn prerequisites_problem(part: Option<&ObservedObject>) -> Option<(SetupLevel, String)> {
    let Some(part) = part else {
        return Some((SetupLevel::Running, "the prerequisites are being sent to the hub".into()));
    };
    if is_deleting(part) {
        return Some((SetupLevel::Running, deleting_message(part)));
    }
    let report: bundle::BundleReport = read_answer(part, prerequisites::REPORT).unwrap_or_default();
    let message = |what: &str| {
        let bundle = report.bundle.as_deref().map_or_else(|| "a bundle".to_owned(), |name| bounded(name, 96));
        let rest = report_text(&bundle::BundleReport { bundle: None, ..report.clone() });
        if rest.is_empty() { format!("{bundle} {what}") } else { format!("{bundle} {what}: {rest}") }
    };
    match report.state {
        Some(BundleProgress::Applied) => None,
        Some(BundleProgress::SetupFailed) => {
            Some((SetupLevel::SetupFailed, message("was not ready in time on the hub")))
        }
        Some(BundleProgress::Running | BundleProgress::BeforeDeletion) => {
            Some((SetupLevel::Running, message("is being set up on the hub")))
        }
        None => Some((SetupLevel::Running, unanswered_message(part, "clusters.prerequisites"))),
    }
}

/// Why the cluster waits for its credential.
pub(crate) fn credential_problem(part: Option<&ObservedObject>) -> Option<String> {
    let Some(part) = part else { return Some("a cloud credential is being requested from the hub".into()) };
    if is_deleting(part) {
        return Some(deleting_message(part));
    }
    let report: cloud::CloudCredentialReport = read_answer(part, cloud::REPORT).unwrap_or_default();
    match report.state {
        // A working one is there, and it is rotated later.
        Some(cloud::CredentialPhase::Valid | cloud::CredentialPhase::RotationFailed) => None,
        Some(state) => Some(format!("no cloud credential yet: {}", report_message(state, &report))),
        None => Some(unanswered_message(part, "clusters.cloudCredentials")),
    }
}

/// Whether it is being deleted, here or on the hub: what it was answered holds no longer.
fn is_deleting(part: &ObservedObject) -> bool {
    let remote = part.object.status.at_provider.manifest.as_ref();
    let of_remote = remote.and_then(|remote| remote.metadata.deletion_timestamp);
    part.object.metadata.deletion_timestamp.or(of_remote).is_some()
}

fn deleting_message(part: &ObservedObject) -> String {
    format!("{} is being deleted by someone else; it is created again afterwards", config_map_name(part))
}

fn config_map_name(part: &ObservedObject) -> String {
    let metadata = &part.manifest()["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    format!("ConfigMap {}/{}", text("namespace"), text("name"))
}

/// Message while the hub-side provider has not answered.
pub(crate) fn unanswered_message(part: &ObservedObject, setting: &str) -> String {
    let map = config_map_name(part);
    match &part.sync {
        SyncState::Refused(message) => format!("the hub refuses {map}: {message}"),
        SyncState::Unavailable(outage) => format!("{map} cannot be made: {outage}"),
        SyncState::Paused => format!("an administrator paused the Object with {map}"),
        SyncState::Unknown
        | SyncState::InSync
        | SyncState::Deleted
        | SyncState::Replaced
        | SyncState::UnknownField(_) => format!(
            "the hub-side provider has not answered in {map} yet; {setting} in its configuration must be on"
        ),
    }
}

pub(crate) fn report_message(state: cloud::CredentialPhase, report: &cloud::CloudCredentialReport) -> String {
    report.message.as_deref().map_or_else(|| state.as_str().to_owned(), |message| bounded(message, 512))
}
