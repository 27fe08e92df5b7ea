//! Common part of all template backends. Removing the primary Object ends the cluster. An Object that is being deleted is desired again as
//! an observer, and everything that must outlive it is recorded on `credentials`.

mod failure;
pub(in crate::cluster::backends) mod members;
mod orphans;
mod sentence;
mod status;

pub(in crate::cluster::backends) use failure::{FailureCondition, is_network_error, is_quota_error};
pub(in crate::cluster::backends) use orphans::{orphaned_resources, readiness_query, repeat_hosted};
pub(in crate::cluster::backends) use sentence::Sentence;
pub(in crate::cluster::backends) use status::{BackendStatus, unobserved_health};

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::ResourceKind,
    json,
    names::{hub, ours},
    template::{self, entry::fill_placeholders, kind::BackendDefinition},
    yaml::sort_keys,
};

use super::{bundles, object, tenant_credentials};
use crate::{
    cluster::{
        backends::{
            Backend, Health, TeardownMethod,
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        catalog::{hubs, templates::Rollout},
        observed::{Observed, PrimaryObject},
        request::{BackendSpec, Placement, RequestedBackend, Resolution, ResolvedSpec, Templated, Validated},
    },
    objects::{SyncState, assemble_object},
    sdk::response::DesiredResource,
};

/// Delay after the end of the longest lifetime before the hub ends the cluster by itself.
const OVERDUE: SignedDuration = SignedDuration::from_hours(1);

/// A backend of templates: everything about it that its descriptor does not say.
pub(in crate::cluster::backends) trait TemplateBackend: Rollout + Sync {
    /// Its part of a catalogue entry.
    type Definition: RequestedBackend;
    /// Readiness of the primary Object as CEL, which governs the 30 s poll where watches are dead.
    const READINESS: &'static str;

    /// Composes the object of the cluster, and its parts. `wanted`: the request; none if the cluster stays as it was requested.
    fn compose_cluster(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        wanted: Option<BackendRequest<'_, Self::Definition>>,
        placement: &Placement,
    ) -> ComposedCluster;

    /// Interprets the observed resources for the claim's owner.
    fn assess_cluster(&self, templated: &Templated, request: &Validated, observed: &Observed) -> Health;
}

impl<T: TemplateBackend> Backend for T {
    fn build_resources(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        health: &Health,
    ) -> Vec<DesiredResource> {
        build_resources(
            T::Definition::BACKEND,
            T::READINESS,
            (request, observed, health),
            |templated, placement| {
                self.compose_cluster(request, observed, BackendRequest::from_templated(templated), placement)
            },
        )
    }

    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health {
        match request.templated() {
            Some(templated) => self.assess_cluster(templated, request, observed),
            None => Health::default(),
        }
    }

    fn kind(&self) -> &'static str {
        T::Definition::BACKEND.cluster_kind().kind
    }

    fn primary_resource(&self) -> &'static str {
        T::Definition::BACKEND.descriptor().primary_resource
    }

    fn teardown_method(&self) -> TeardownMethod {
        TeardownMethod::DeleteObject
    }
}

/// Request in terms of a backend, once fully resolved.
pub(in crate::cluster::backends) struct BackendRequest<'a, K: BackendDefinition> {
    pub spec: &'a ResolvedSpec,
    pub backend_spec: &'a BackendSpec<K>,
    /// Where, if that is known.
    pub placement: Option<&'a Placement>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask the same of the kind")]
impl<K: BackendDefinition> Clone for BackendRequest<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: BackendDefinition> Copy for BackendRequest<'_, K> {}

impl<'a, K: RequestedBackend> BackendRequest<'a, K> {
    /// Request of a claim. None: it is not resolved, or for another backend.
    pub fn from_templated(templated: &'a Templated) -> Option<Self> {
        match &templated.resolution {
            Resolution::Resolved(whole) => Some(Self {
                spec: whole,
                backend_spec: K::select_request(&whole.backend_spec)?,
                placement: templated.placement.as_ref(),
            }),
            Resolution::Blocked | Resolution::Frozen { .. } => None,
        }
    }
}

impl<K: BackendDefinition> BackendRequest<'_, K> {
    /// Spec of the hub, where it refuses the last request and the claim now resolves to another one. No member of the refused request may
    /// remain, and members of others are theirs.
    pub fn accepted_spec(self, observed: &Observed) -> Option<Map<String, Value>> {
        let primary =
            observed.primary.as_ref().filter(|primary| self.spec.is_rollback && primary.is_refused())?;
        let hub_spec = primary.hub_spec()?.as_object()?;
        Some(shared_members(primary.manifest()["spec"].as_object()?, hub_spec))
    }

    /// A catalogue document with its placeholders filled in.
    pub fn fill_placeholders(self, document: &Map<String, Value>) -> Map<String, Value> {
        let mut filled = document.clone();
        if let Some(placement) = self.placement {
            let message = [("name", placement.name.as_str()), ("namespace", placement.namespace.as_str())];
            filled.values_mut().for_each(|member| fill_placeholders(member, &message));
        }
        filled
    }
}

/// Requested members that exist on the hub, with the hub's values.
pub(in crate::cluster::backends) fn shared_members(
    requested: &Map<String, Value>,
    there: &Map<String, Value>,
) -> Map<String, Value> {
    let both = requested.iter().filter_map(|(member, requested)| {
        let hub_value = there.get(member)?;
        let value = match (requested, hub_value) {
            (Value::Object(requested), Value::Object(there)) => {
                Value::Object(shared_members(requested, there))
            }
            _ => hub_value.clone(),
        };
        Some((member.clone(), value))
    });
    collect::to_object(both)
}

/// Output of a backend for one request.
#[derive(Default)]
pub(in crate::cluster::backends) struct ComposedCluster {
    /// The backend's annotations on the object that represents the cluster.
    pub annotations: Map<String, Value>,
    /// Its spec.
    pub spec: Map<String, Value>,
    /// Annotations of the backend on the primary Object and, should that be lost, on `credentials`.
    pub primary_annotations: Map<String, Value>,
    /// Resources besides the primary Object.
    pub parts: Vec<DesiredResource>,
}

/// Builds the primary Object with all its parts, and `credentials`. `cel`: readiness of the primary Object.
fn build_resources(
    backend: template::Backend,
    cel: &str,
    (request, observed, health): (&PlannedRequest, &Observed, &Health),
    compose: impl FnOnce(&Templated, &Placement) -> ComposedCluster,
) -> Vec<DesiredResource> {
    let Some(templated) = request.templated() else { return vec![] };
    let Some(placement) = &templated.placement else { return orphaned_resources(request, observed, health) };
    let ComposedCluster { annotations, spec, primary_annotations: own, parts } =
        compose(templated, placement);
    // An Object that was lost or is being deleted repeats its previous spec and not the catalogue's current one. It needs a spec: without
    // it an apply is refused, and provider-kubernetes neither observes nor deletes an object that it could not apply.
    let instead = spec_to_restore(request, observed);
    let remembers = applies_request(request) || instead.is_some();
    let spec = match instead {
        Some(of_hub) => of_hub.clone(),
        None if applies_request(request) => spec,
        None => requested_spec(observed).map_or(spec, Cow::into_owned),
    };
    let memory = memory_annotations(request, observed, remembers.then_some(&spec), &own);
    let manifest = build_manifest(backend.cluster_kind(), request, observed, placement, (annotations, spec));
    let mut notes = primary_annotations(request, observed, templated);
    notes.extend(own);
    notes.extend(bundles::requested_annotation(request, observed));
    let mut primary =
        object::build_primary(backend.descriptor().primary_resource, request, observed, manifest, cel, notes);
    if let Some(primary) = &mut primary {
        tenant_credentials::add_namespace_reference(primary, request, observed);
    }
    let credentials = object::build_credentials(request, observed, health, memory);
    primary.into_iter().chain(parts).chain(credentials).collect()
}

/// Builds the object that represents the cluster.
fn build_manifest(
    kind: ResourceKind,
    request: &PlannedRequest,
    observed: &Observed,
    placement: &Placement,
    (own, spec): (Map<String, Value>, Map<String, Value>),
) -> Value {
    let mut annotations = object::remote_annotations(request, observed);
    annotations.extend(own);
    if !matches!(request.intent.action, PrimaryAction::Probe { .. }) {
        annotations
            .insert(ours::CREDENTIALS_NAMESPACE.into(), placement.credentials_namespace.as_str().into());
        if let Some(end) = latest_end(request, observed) {
            annotations.insert(ours::LATEST_END.into(), end.to_string().into());
        }
    }
    let mut metadata = json!({ "name": placement.name, "namespace": placement.namespace });
    metadata["annotations"] = Value::Object(annotations);
    if let Some(uid) = object::pin_uid(request, observed) {
        metadata["uid"] = uid.as_str().into();
    }
    assemble_object(&kind.api_version(), kind.kind, metadata, Value::Object(spec))
}

/// The time by which the claim has ended its cluster: its creation and the longest provisioning, or a later delivery, plus the longest lifetime
/// and [`OVERDUE`]. It never becomes an earlier one. None without a lifetime, or without a longest one.
fn latest_end(request: &PlannedRequest, observed: &Observed) -> Option<Timestamp> {
    let life = &request.lifetime;
    let created = observed.composite.metadata.creation_timestamp.filter(|_| !life.lost)?;
    life.effective?;
    let provisioned = created.checked_add(life.reported_timeout?.as_signed()).ok()?;
    let ready = request.intent.ready_at.or(observed.composite.status.ready_at);
    let begins = ready.map_or(provisioned, |ready| ready.max(provisioned));
    let end = begins.checked_add(life.max?.as_signed().checked_add(OVERDUE)?).ok()?;
    let before = observed.primary.as_ref().and_then(|primary| primary.manifest_annotation(ours::LATEST_END));
    Some(before.and_then(|at| at.parse().ok()).map_or(end, |before: Timestamp| before.max(end)))
}

/// Whether the composed spec is requested from the hub.
fn applies_request(request: &PlannedRequest) -> bool {
    match request.intent.action {
        PrimaryAction::Create | PrimaryAction::Update(_) | PrimaryAction::Recreate { .. } => {
            !request.intent.teardown_deferred
        }
        PrimaryAction::Omit
        | PrimaryAction::Probe { .. }
        | PrimaryAction::Remove
        | PrimaryAction::Relocate => false,
    }
}

/// The hub's spec, if it has to replace a requested spec that the hub refuses or may refuse: otherwise nothing could be deleted. It is
/// recorded like a request, so that it is repeated until the end.
fn spec_to_restore<'o>(request: &PlannedRequest, observed: &'o Observed) -> Option<&'o Map<String, Value>> {
    let primary = observed.primary.as_ref()?;
    let goes = match request.intent.action {
        // The next pass removes it.
        PrimaryAction::Update(ManagementPolicies::ObserveDelete) => request.intent.teardown_deferred,
        // It is being deleted already, whoever removed it.
        PrimaryAction::Probe { .. } => {
            matches!(primary.sync, SyncState::Refused(_) | SyncState::UnknownField(_))
        }
        PrimaryAction::Update(
            ManagementPolicies::Full | ManagementPolicies::ObserveCreateDelete | ManagementPolicies::Observe,
        )
        | PrimaryAction::Create
        | PrimaryAction::Recreate { .. }
        | PrimaryAction::Omit
        | PrimaryAction::Remove
        | PrimaryAction::Relocate => false,
    };
    primary.hub_spec().filter(|_| goes)?.as_object()
}

/// The requested spec: from the primary Object, unless that was recreated to search; else from `credentials`.
fn requested_spec(observed: &Observed) -> Option<Cow<'_, Map<String, Value>>> {
    let remembering =
        observed.primary.as_ref().filter(|w| w.manifest_annotation(ours::CREDENTIALS_NAMESPACE).is_some());
    let written = remembering.and_then(|primary| primary.manifest()["spec"].as_object());
    let recorded = || json::read_text(observed.credentials_annotation(ours::REMOTE_SPEC)?).ok();
    written.map(Cow::Borrowed).or_else(|| recorded().map(Cow::Owned))
}

/// The requested spec.
pub(in crate::cluster::backends) struct PreviousSpec<'o> {
    /// From the primary Object or `credentials`; if both were lost, from the hub.
    pub spec: Cow<'o, Map<String, Value>>,
    of_hub: bool,
}

impl<'o> PreviousSpec<'o> {
    /// `seen`: the hub's spec. `complete`: whether a spec is a requested one.
    pub fn of(
        observed: &'o Observed,
        observed_remote: Option<&'o Value>,
        complete: impl Fn(&Map<String, Value>) -> bool,
    ) -> Option<Self> {
        observed.primary.as_ref()?;
        let requested = requested_spec(observed).filter(|spec| complete(spec));
        let of_hub = requested.is_none();
        let of_hub_spec = || observed_remote?.as_object().filter(|spec| complete(spec)).map(Cow::Borrowed);
        requested.or_else(of_hub_spec).map(|spec| Self { spec, of_hub })
    }

    /// Members that belong to this function, where others write into the hub's spec.
    pub fn own_members(&self, members: &[&str]) -> Map<String, Value> {
        let own = self.spec.iter().filter(|(member, _)| !self.of_hub || members.contains(&member.as_str()));
        collect::to_object(own.map(|(member, value)| (member.clone(), value.clone())))
    }
}

/// Annotations of the primary Object: namespace of the credentials on the hub, which a searching Object does not know, reason for that hub,
/// hubs that were given up, and the last accepted request.
fn primary_annotations(
    request: &PlannedRequest,
    observed: &Observed,
    templated: &Templated,
) -> Map<String, Value> {
    let looks = matches!(request.intent.action, PrimaryAction::Probe { .. });
    let placement = templated.placement.as_ref().filter(|_| !looks);
    let published =
        placement.map(|placement| (ours::CREDENTIALS_NAMESPACE, placement.credentials_namespace.clone()));
    let selected = object::hub_reason(observed, placement.map(|placement| placement.reason.as_str()));
    let given_up = hubs::excluded_annotation(&templated.excluded).map(|note| (hub::EXCLUDED, note));
    let accepted =
        templated.last_accepted.as_ref().filter(|taken| Some(*taken) != templated.effective.as_ref());
    // Without nulls and with sorted keys: the same bytes in every pass.
    let accepted_text =
        accepted.and_then(|taken| Some(sort_keys(&serde_json::to_value(taken).ok()?).to_string()));
    let all =
        published.into_iter().chain(given_up).chain(accepted_text.map(|taken| (ours::LAST_ACCEPTED, taken)));
    collect::to_text_object(all.map(|(key, text)| (key, Some(text))).chain([(ours::HUB_REASON, selected)]))
}

/// Annotations of `credentials`: location and identity of the cluster, its end, and the hubs that were given up. `own`: the backend's
/// annotations.
fn memory_annotations(
    request: &PlannedRequest,
    observed: &Observed,
    spec: Option<&Map<String, Value>>,
    own: &Map<String, Value>,
) -> Map<String, Value> {
    let Some(templated) = request.templated() else { return Map::new() };
    let leaves = request.intent.action == PrimaryAction::Relocate;
    let excluded = templated.excluded_hubs(leaves);
    let was_requested = observed.primary.is_some()
        || observed.was_made_before()
        || request.intent.action == PrimaryAction::Create;
    let place = |placement: &Placement| format!("{}/{}", placement.namespace, placement.name);
    // Sorted: the same bytes in every pass.
    let text = |spec: &Map<String, Value>| sort_keys(&Value::Object(spec.clone())).to_string();
    let spec = spec.map(text).or_else(|| Some(text(&*self::requested_spec(observed)?)));
    let uid =
        observed.primary.as_ref().and_then(PrimaryObject::remote_uid).or_else(|| observed.remembered_uid());
    let asks = bundles::requested_annotation(request, observed);
    let mut notes = collect::to_text_object([
        (ours::REMOTE, templated.placement.as_ref().filter(|_| was_requested && !leaves).map(place)),
        (ours::REMOTE_SPEC, spec.filter(|_| was_requested && !leaves)),
        (ours::REMOTE_UID, uid.map(|u| u.0)),
        (ours::ENDING, request.intent.teardown_reason.clone()),
        (ours::FAILED, request.intent.failure.map(|f| f.as_str().to_owned())),
        (ours::READY_AT, request.intent.ready_at.map(|at| at.to_string())),
        (hub::EXCLUDED, hubs::excluded_annotation(&excluded)),
    ]);
    notes.extend(asks);
    if was_requested && !leaves {
        notes.extend(own.clone());
    }
    notes
}
