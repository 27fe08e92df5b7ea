//! EphemeralCluster on the Test Platform hub: a ProwJob runs ci-operator, which makes the cluster.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use testplatform_apis::{
    account::Mode,
    collect,
    condition::{Condition, ConditionStatus, ConditionType, Credentials, Mirrored, split_completion},
    foreign::{
        ephemeral_cluster::{
            API_VERSION, KIND, Status, TERMINAL_CREATE_REASONS, TOO_MANY_PROW_JOBS, TROUBLES, conditions,
        },
        meta::{ObservedCondition, find_condition},
    },
    names::{ObjectName, ours},
    text::bounded,
};

use super::{
    Backend, Health, Job, Stage, TeardownMethod,
    common::{object, published_credentials::ADMIN_PUBLISHED},
};
use crate::{
    cluster::{
        backends::intent::{ManagementPolicies, PlannedRequest},
        observed::{EPHEMERAL_CLUSTER, Observed, Remote},
        request::{Block, Validated},
    },
    objects::{assemble_object, build_object},
    sdk::response::DesiredResource,
};

/// The backend of the `ciOperator` block.
pub struct EphemeralClusters;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: polled often while something is
/// expected to change. True while the cluster is ready and its end was not asked for, and once the job has ended.
const CEL: &str = "has(object.status) && has(object.status.conditions) && \
(object.status.conditions.exists(c, c.type == 'ProwJobCompleted' && c.status == 'True') || \
(has(object.status.phase) && object.status.phase == 'Failed' && \
object.status.conditions.exists(c, c.type == 'ProwJobCreating' && c.status == 'False' && \
has(c.reason) && c.reason in ['EphemeralClusterValidationFailure', 'CIOperatorJobsGenerateFailure', 'TooManyProwJobsBound'])) || \
(object.status.conditions.exists(c, c.type == 'ClusterReady' && c.status == 'True') && \
!(has(object.spec.tearDownCluster) && object.spec.tearDownCluster == true)))";

/// Within this time a kubeconfig is delivered on time. Well below the quarter of an hour that the hub waits after the end of a lifetime.
const PROMPT: SignedDuration = SignedDuration::from_mins(5);

/// The most conditions of the hub that are shown.
const MAX_MIRRORED: usize = 32;

impl Backend for EphemeralClusters {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        EPHEMERAL_CLUSTER
    }

    fn teardown_method(&self) -> TeardownMethod {
        TeardownMethod::SetField
    }

    fn build_resources(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        health: &Health,
    ) -> Vec<DesiredResource> {
        let manifest = build_manifest(request, observed);
        let primary = object::build_primary(EPHEMERAL_CLUSTER, request, observed, manifest, CEL, Map::new());
        let credentials = object::build_credentials(request, observed, health, Map::new());
        primary.into_iter().chain(credentials).collect()
    }

    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health {
        let Block::CiOperator(block) = &request.block else { return Health::default() };
        let mut health = Health {
            version_desired: requested_version(block),
            workflow: block.get("test").and_then(|t| t["workflow"].as_str()).map(str::to_owned),
            ..Health::default()
        };
        let Some(primary) = &observed.primary else { return health };
        let Some(Remote::EphemeralCluster(remote)) = primary.remote() else {
            health.mirrored = mirror_conditions(&[], observed);
            return health;
        };
        let before = observed.composite.status.prow_job.as_ref().is_some_and(|j| j.id.is_some());
        let status = &remote.status.value;
        let ready = find_condition(&status.conditions, conditions::CLUSTER_READY).filter(|c| c.is_true());
        health.stage = read_stage(status, ready.is_some(), before || observed.ever_ready());
        health.phase_word.clone_from(&status.phase);
        // A status that cannot be read may belong to a running cluster; a second request would create a second one.
        health.has_cluster = !status.prow_job_id.is_empty() || before || remote.status.error.is_some();
        health.teardown_arrived = remote.spec.value.tear_down_cluster;
        health.ready_since = ready.and_then(|c| c.last_transition_time);
        health.ends_at = hive_end(request, observed, health.ready_since);
        health.secret = ObjectName::try_from(status.secret_ref.as_str()).ok();
        let mode = remote.metadata.annotation(ours::CREDENTIALS_MODE);
        let account = mode == Some(Mode::ServiceAccount.as_str());
        health.publishes_admin = request.access.is_some() && !account && health.secret.is_some();
        if health.secret.take_if(|_| health.publishes_admin).is_some() {
            health.blocking = Some((Credentials::SecretMissing, ADMIN_PUBLISHED.into()));
        }
        let in_sync = find_condition(&status.conditions, conditions::CREDENTIALS_IN_SYNC);
        if let Some(withdrawn) =
            in_sync.filter(|c| c.is_false() && c.reason == conditions::KUBECONFIG_WITHDRAWN)
        {
            health.secret = None;
            health.blocking = Some((Credentials::KubeconfigRejected, bounded(&withdrawn.message, 512)));
        }
        health.revision = remote.metadata.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
        health.job = Job { id: bounded(&status.prow_job_id, 253), url: bounded(&status.prow_job_url, 2048) };
        health.mirrored = mirror_conditions(&status.conditions, observed);
        health.diagnostics =
            remote.metadata.annotation(ours::DIAGNOSTICS).map(|d| bounded(d, super::api::MAX_DIAGNOSTICS));
        health.waiting = failure_message(status);
        health.unreadable = remote.status.error.clone().or_else(|| remote.spec.error.clone());
        health
    }
}

/// Latest end of a cluster that ci-operator claims from a pool. Hive counts from its own assignment, however late the kubeconfig came. A longer
/// lifetime is one that an earlier version promised.
fn hive_end(request: &Validated, observed: &Observed, ready_since: Option<Timestamp>) -> Option<Timestamp> {
    let longest = request.block.before_hive()?;
    request.lifetime.effective.filter(|lifetime| *lifetime <= longest)?;
    // Without a time of readiness nothing is known to be assigned, and Hive counts nothing.
    let ready = ready_since?;
    let since = observed.composite.metadata.creation_timestamp.map_or(ready, |created| created.max(ready));
    since.checked_add(longest.as_signed()).ok()
}

/// `taken`: a job was seen for it before, whatever the hub remembers.
fn read_stage(status: &Status, ready: bool, accepted: bool) -> Stage {
    if let Some(done) =
        find_condition(&status.conditions, conditions::PROW_JOB_COMPLETED).filter(|c| c.is_true())
    {
        let success = match status.phase.as_str() {
            "Deprovisioned" => true,
            "Failed" => false,
            _ => done.reason != "ProwJobFailure",
        };
        let (how, message) = split_completion(&done.reason, &done.message);
        return Stage::Ended { success, reason: how.to_owned(), message: bounded(message, 512) };
    }
    match status.phase.as_str() {
        "Deprovisioned" => Stage::Ended { success: true, reason: String::new(), message: String::new() },
        "Failed" => failing_stage(status, accepted),
        "Deprovisioning" => Stage::TearingDown,
        "Ready" if ready => Stage::Ready,
        // The upstream controller writes a phase once there is a ProwJob.
        "" if !accepted && status.prow_job_id.is_empty() => Stage::Queued,
        _ => Stage::Provisioning,
    }
}

/// The upstream controller says Failed for much that it recovers from.
fn failing_stage(status: &Status, accepted: bool) -> Stage {
    let creating = find_condition(&status.conditions, conditions::PROW_JOB_CREATING)
        .filter(|c| c.is_false() && TERMINAL_CREATE_REASONS.contains(&c.reason.as_str()))
        // A hub that lost its memory refuses what it took before.
        .filter(|_| !accepted);
    if let Some(refused) = creating {
        let costs = refused.reason == TOO_MANY_PROW_JOBS || !status.prow_job_id.is_empty();
        return Stage::Refused { message: condition_text(refused), costs };
    }
    let types = [conditions::CLUSTER_READY, conditions::TEST_COMPLETED, conditions::PROW_JOB_CREATING];
    let reported = types.iter().filter_map(|t| find_condition(&status.conditions, t)).find(|c| c.is_false());
    Stage::Failing(reported.map(condition_text).unwrap_or_default())
}

/// Failure that delays the cluster beyond its normal duration. `ClusterReady` itself is not mirrored.
fn failure_message(status: &Status) -> String {
    let failing = find_condition(&status.conditions, conditions::CLUSTER_READY)
        .filter(|c| c.is_false() && TROUBLES.contains(&c.reason.as_str()));
    // Without a phase the hub tries to create the ProwJob again and again.
    let creating = || {
        find_condition(&status.conditions, conditions::PROW_JOB_CREATING)
            .filter(|c| c.is_false() && status.phase.is_empty() && status.prow_job_id.is_empty())
    };
    failing.or_else(creating).map(|c| bounded(&c.message, 512)).unwrap_or_default()
}

fn condition_text(condition: &ObservedCondition) -> String {
    match (condition.reason.is_empty(), condition.message.is_empty()) {
        (_, true) => bounded(&condition.reason, 512),
        (true, false) => bounded(&condition.message, 512),
        (false, false) => bounded(&format!("{}: {}", condition.reason, condition.message), 512),
    }
}

/// The EphemeralCluster as we ask for it.
fn build_manifest(request: &PlannedRequest, observed: &Observed) -> Value {
    let primary = observed.primary.as_ref();
    let known = |field: &str| primary.and_then(|w| w.manifest()["metadata"][field].as_str());
    // Changing it would leave the running cluster behind and ask for another one.
    let adopted = observed.transfer.adopted().map(|place| place.name.as_str());
    let name = known("name").or(adopted).unwrap_or(request.name.as_str());
    let mut metadata = json!({
        "name": name,
        "namespace": remote_namespace(request, observed),
    });
    let mut annotations = object::remote_annotations(request, observed);
    if let Some(at) = lifetime_begins_late(request, observed) {
        annotations.insert(ours::DELIVERED_AT.into(), at.to_string().into());
    }
    metadata["annotations"] = Value::Object(annotations);
    if let Some(uid) = object::pin_uid(request, observed) {
        metadata["uid"] = uid.as_str().into();
    }
    let mut spec = Map::new();
    if let Block::CiOperator(block) = &request.block {
        spec.insert("ciOperator".into(), Value::Object(block.clone()));
    }
    match (request.intent.teardown, request.teardown) {
        (true, _) => spec.insert("tearDownCluster".into(), true.into()),
        (false, Some(requested)) => spec.insert("tearDownCluster".into(), requested.into()),
        (false, None) => None,
    };
    assemble_object(API_VERSION, KIND, metadata, Value::Object(spec))
}

/// When the lifetime begins, if that is so long after the hub was ready that the hub's own end would come before the claim's: at the delivery
/// of the kubeconfig. Until that is known it is the end of provisioning, the latest time for it. Once written it stays.
fn lifetime_begins_late(request: &PlannedRequest, observed: &Observed) -> Option<Timestamp> {
    let primary = observed.primary.as_ref()?;
    let delivered = request.intent.ready_at.or(observed.composite.status.ready_at);
    if let Some(before) = primary.manifest_annotation(ours::DELIVERED_AT) {
        return delivered.or_else(|| before.parse().ok());
    }
    request.lifetime.effective.filter(|_| !request.lifetime.lost)?;
    let Some(Remote::EphemeralCluster(remote)) = primary.remote() else { return None };
    let ready = find_condition(&remote.status.value.conditions, conditions::CLUSTER_READY)?;
    let on_hub = ready.last_transition_time.filter(|_| ready.is_true())?;
    let late = on_hub.checked_add(PROMPT).ok()?;
    if let Some(delivered) = delivered {
        return (delivered > late).then_some(delivered);
    }
    let created = observed.composite.metadata.creation_timestamp?;
    let latest = created.checked_add(request.lifetime.provision_timeout()?).ok()?;
    (observed.now > late && latest > on_hub && !request.intent.teardown).then_some(latest)
}

/// The Object by which the cluster of another composite is watched before it is taken over: it can neither change nor end anything.
pub(crate) fn build_watch(request: &PlannedRequest, observed: &Observed) -> Option<DesiredResource> {
    let place = crate::cluster::admission::transfer::watched_object(observed)?;
    let Block::CiOperator(block) = &request.block else { return None };
    let mut metadata = json!({ "name": place.name, "namespace": place.namespace, "uid": place.uid.as_str() });
    // No more than what the remote object has in any case: even what only watches tries what it would do.
    if let Some(access) = &request.access {
        metadata["annotations"] = json!({ ours::CREDENTIALS_WISH: access.to_string() });
    }
    let spec = json!({ "ciOperator": block });
    let manifest = assemble_object(API_VERSION, KIND, metadata, spec);
    let mut spec = json!({
        "forProvider": {},
        "providerConfigRef": { "name": place.hub },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": CEL },
        "watch": true,
    });
    spec["forProvider"]["manifest"] = manifest;
    object::set_policies(&mut spec, ManagementPolicies::Observe);
    let notes = collect::to_text_object(
        request.intent.transfer_annotations.iter().map(|(key, value)| (*key, Some(value.clone()))),
    );
    let object = build_object(&request.primary_name(), notes, spec);
    Some(DesiredResource { name: EPHEMERAL_CLUSTER.into(), object, ready: false })
}

/// Namespace of the EphemeralCluster, whatever the input has now. Before the first request an earlier pass recorded only the input.
pub(crate) fn remote_namespace<'a>(request: &'a Validated, observed: &'a Observed) -> &'a str {
    let of_writer = observed.primary.as_ref().and_then(|w| w.manifest()["metadata"]["namespace"].as_str());
    let status = observed.composite.status.backend.as_ref().filter(|_| observed.was_made_before());
    let remembered = || status.and_then(|b| b.namespace.as_deref());
    let adopted = || Some(observed.transfer.adopted()?.namespace.as_str());
    of_writer.or_else(adopted).or_else(remembered).unwrap_or(&request.settings.namespace)
}

/// The hub's conditions, except what is reserved, ours, or said twice.
fn mirror_conditions(reported: &[ObservedCondition], observed: &Observed) -> Vec<Condition> {
    let mut shown: Vec<Condition> = Vec::new();
    for c in reported {
        let reserved = ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"].contains(&c.type_.as_str())
            || ConditionType::parse(&c.type_).is_some();
        let legal = !c.type_.is_empty() && c.type_.len() <= 63 && !c.type_.contains(char::is_control);
        if reserved || !legal || shown.len() == MAX_MIRRORED || shown.iter().any(|s| s.type_ == c.type_) {
            continue;
        }
        shown.push(Condition {
            type_: c.type_.clone(),
            status: ConditionStatus::parse(&c.status).unwrap_or(ConditionStatus::Unknown),
            reason: bounded(&c.reason, 256),
            message: bounded(&c.message, 2048),
        });
    }
    // A condition that is no longer returned keeps its last value for ever, so it is said to be unknown.
    let lasting =
        [conditions::PROW_JOB_CREATING, conditions::TEST_COMPLETED, conditions::CREDENTIALS_IN_SYNC];
    for type_ in lasting {
        let once = find_condition(&observed.composite.conditions, type_).is_some();
        if once && !shown.iter().any(|s| s.type_ == type_) {
            shown.push(Condition {
                type_: type_.into(),
                status: ConditionStatus::Unknown,
                reason: Mirrored::NotReported.as_str().into(),
                message: "the hub does not report it any more".into(),
            });
        }
    }
    shown
}

/// The OpenShift version that was asked for, as far as the claim reports it.
fn requested_version(block: &Map<String, Value>) -> Option<String> {
    let claim = block.get("test").map(|t| &t["clusterClaim"]["version"]);
    let latest = block.get("releases").map(|r| &r["latest"]);
    let paths = [("integration", "name"), ("candidate", "version"), ("release", "version")];
    let release = latest.and_then(|l| paths.iter().find_map(|(kind, field)| l[kind][field].as_str()));
    claim.and_then(Value::as_str).or(release).map(|v| bounded(v, 64))
}
