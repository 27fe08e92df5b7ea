//! Invariants of every response. A bug thus becomes a FATAL, which changes nothing, and never a destroyed cluster or a leaked secret.

use memchr::memmem;
use prost::{Message as _, bytes::Bytes};
use testplatform_apis::{
    collect,
    condition::{ConditionType, JobCompleted},
    foreign::meta::ObservedCondition,
    phase::Phase,
    template::{Backend, descriptor::Underlying},
};

use crate::{
    cluster::{
        backends::intent::PrimaryAction,
        lifecycle::ClusterEvaluation,
        observed::{
            BUNDLES, BUNDLES_OBSERVER, CREDENTIALS, ENDED, EPHEMERAL_CLUSTER, HOSTED, OURS,
            is_auxiliary_name, is_ended_by_removal, is_template_resource,
            tenant_credentials::{POOL, TENANT_RESOURCES},
        },
        request::Resolution,
    },
    sdk::{
        invariants::{find_changed_foreign, find_missing, find_repeated_condition},
        proto::{Resource, RunFunctionRequest, RunFunctionResponse},
    },
};

/// Finds an invariant that the response violates.
pub fn find_violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &ClusterEvaluation,
) -> Option<String> {
    find_dropped(response, request, evaluation)
        .or_else(|| find_leak(response, request, evaluation))
        .or_else(|| find_changed_foreign(response, request, &OURS))
        .or_else(|| find_repeated_condition(response))
        .or_else(|| find_forgotten_cluster(evaluation))
}

/// No unobserved cluster may count as ended: a search has to come first.
fn find_forgotten_cluster(evaluation: &ClusterEvaluation) -> Option<String> {
    let observed = &evaluation.observed;
    let nothing = |reason: &str| reason == JobCompleted::NothingToTearDown.as_str();
    let over = evaluation.plan.lifecycle.completion.as_ref().is_some_and(|o| nothing(&o.reason));
    let shown = observed.composite.shown(ConditionType::ProwJobCompleted);
    let before = shown.is_some_and(ObservedCondition::is_true);
    (over && !before && observed.primary.is_none() && observed.cluster_may_exist())
        .then(|| "a cluster that may be there would count as nothing".to_owned())
}

/// No existing resource of ours may be dropped.
fn find_dropped(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &ClusterEvaluation,
) -> Option<String> {
    let lifecycle = &evaluation.plan.lifecycle;
    let over =
        matches!(lifecycle.phase, Phase::Deprovisioned | Phase::Failed) && lifecycle.completion.is_some();
    // Removing this Object ends its cluster, so only a teardown may do it.
    let ends = lifecycle.teardown
        && lifecycle.completion.is_none()
        && matches!(lifecycle.phase, Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed);
    let judged_of = evaluation.plan.request.as_ref().ok();
    let never_made = evaluation.observed.primary.as_ref().is_some_and(|primary| !primary.remote_may_exist());
    let elsewhere = never_made && judged_of.is_some_and(|r| r.intent.action == PrimaryAction::Relocate);
    let resolved =
        judged_of.and_then(|r| r.templated()).filter(|t| matches!(t.resolution, Resolution::Resolved(_)));
    let groups = resolved.and_then(|t| t.effective.as_ref()?.node_groups.as_ref());
    // A group is removed only if the claim no longer requests it, never because the request is unknown.
    let unasked = |group: &str| groups.is_some_and(|groups| groups.iter().all(|g| g.name != group));
    let goes = ends || elsewhere || lifecycle.completion.is_some();
    let parts = evaluation.observed.node_pools.0.iter();
    let parts = parts.map(|(name, part)| (name.as_str(), goes || unasked(&part.group)));
    // An object whose HostedCluster is always watched ends with its cluster. Another one ends earlier, so the observer stays until nothing
    // is left.
    let backend = evaluation.plan.primary_resource.and_then(Backend::of_primary_resource);
    let underlying = backend.and_then(|backend| backend.descriptor().underlying);
    let hosted_goes = match underlying {
        Some(Underlying::Always(_)) => goes,
        Some(Underlying::Observed(_)) | None => over || elsewhere,
    };
    let parts = parts.chain(evaluation.observed.hosted.iter().map(|_| (HOSTED, hosted_goes)));
    // The bundle request goes with the cluster. Its observer stays until nothing is left, or until teardown is no longer requested.
    let bundles = &evaluation.observed.bundles;
    let bundle_requests = bundles.request.iter().map(|_| (BUNDLES, goes));
    let undone_goes = lifecycle.completion.is_some() || elsewhere || !lifecycle.teardown;
    let undone = bundles.observer.iter().map(|_| (BUNDLES_OBSERVER, undone_goes));
    let ahead = evaluation.observed.prerequisites.keys().map(|name| (*name, lifecycle.completion.is_some()));
    let parts = parts.chain(bundle_requests).chain(undone).chain(ahead);
    let own = evaluation.observed.primary.as_ref().map(|primary| primary.name);
    let ended = evaluation.observed.completion_record.is_some();
    let brought = &evaluation.observed.tenant_credentials;
    let observed_only = evaluation.observed.transfer.hides_primary();
    let known = |name: &&str| match *name {
        ENDED => ended,
        name if TENANT_RESOURCES.contains(&name) => brought.contains_key(name),
        name => !is_template_resource(name) || own == Some(name),
    };
    let ours = OURS.into_iter().filter(known).map(|name| {
        let on_purpose = match name {
            CREDENTIALS => over,
            // An Object that only watched another composite's cluster ends nothing by going.
            EPHEMERAL_CLUSTER if observed_only => true,
            // A cluster without a ClusterClaim ends with the pool, which goes before the rest.
            POOL if ends => true,
            // They outlive the cluster, and go once nothing is left of it.
            name if TENANT_RESOURCES.contains(&name) => lifecycle.completion.is_some(),
            _ => is_ended_by_removal(name) && (ends || (elsewhere && is_template_resource(name))),
        };
        (name, on_purpose)
    });
    find_missing(ours.chain(parts), response, request)
}

/// Maximum pattern length for a search without tables, which take longer to build than such a search.
const PROBE: usize = 32;

/// Secrets travel as connection details only.
fn find_leak(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &ClusterEvaluation,
) -> Option<String> {
    let observed = &evaluation.observed;
    let of_credentials = observed.credentials.as_ref().map(|c| &c.details);
    let values = [Some(&observed.details), of_credentials]
        .into_iter()
        .flatten()
        .flat_map(|d| [&d.kubeconfig, &d.password])
        .flatten()
        // Shorter ones occur by chance in any text.
        .filter(|v| v.len() >= 8);
    let values = collect::to_set(values);
    let ours = OURS;
    let desired = response.desired.as_ref()?;
    let parts =
        desired.resources.iter().filter(|(name, _)| is_auxiliary_name(name)).map(|(_, bytes)| bytes.as_ref());
    let objects = ours.iter().filter_map(|name| desired.resources.get(*name)).map(AsRef::as_ref).chain(parts);
    let composite = desired.composite.as_ref().map(|c| c.resource.as_ref());
    let texts = response.results.iter().map(|r| r.message.as_bytes());
    let shown = response.conditions.iter().filter_map(|c| c.message.as_deref()).map(str::as_bytes);
    let open: Vec<&[u8]> = objects.chain(composite).chain(texts).chain(shown).collect();
    // A text that contains the secret contains the end of the secret.
    let within = |texts: &[&[u8]], value: &[u8]| {
        let end = memmem::Finder::new(&value[value.len().saturating_sub(PROBE)..]);
        texts.iter().any(|text| end.find(text).is_some() && memmem::find(text, value).is_some())
    };
    // A password that the request itself shows openly is no secret, whoever chose it.
    let state = request.observed.as_ref()?;
    let public = |value: &[u8]| {
        let public = ours
            .iter()
            .filter_map(|name| state.resources.get(*name))
            .filter_map(|r| Resource::decode(r.clone()).ok());
        let public: Vec<Bytes> = public.chain(state.composite.clone()).map(|r| r.resource).collect();
        let public: Vec<&[u8]> = public.iter().map(AsRef::as_ref).collect();
        within(&public, value)
    };
    // A value longer than every text, as most kubeconfigs are, is in none of them.
    let longest = open.iter().map(|text| text.len()).max().unwrap_or_default();
    let mut values = values.into_iter().filter(|value| value.len() <= longest);
    values
        .any(|value| within(&open, value) && !public(value))
        .then(|| "a secret would leave through something other than connection details".to_owned())
}
