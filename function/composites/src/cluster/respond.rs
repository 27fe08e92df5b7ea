//! `ClusterEvaluation` → response: encodes the decisions for the wire.

pub mod conditions;
pub mod events;
pub mod messages;
mod refusal;
pub mod status;
pub mod transfer;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::{
    collect,
    condition::{ConditionType, FatalReason},
    foreign::meta::ObservedCondition,
};

use crate::{
    Options,
    cluster::{
        lifecycle::ClusterEvaluation,
        observed::{
            ClaimSecret, Credentials, Details, RequirementOptions, hub_requirements, requirements as required,
        },
        request::Block,
        respond::{conditions::build_conditions, events::find_events, status::build_status},
    },
    sdk::{
        composite::Flavour,
        fatal::{build_fatal, repeat_conditions},
        proto::{self, Ready, Resource, RunFunctionRequest, RunFunctionResponse, State, Target},
        response::{
            UNSETTLED_TTL, encode_condition, encode_event, encode_resource, response_meta, ttl_until,
        },
        wire,
    },
};

/// TTL while a connection Secret is missing.
const MISSED_TTL: SignedDuration = SignedDuration::from_secs(15);

/// TTL while core is about to write the claim's Secret: that takes it well below a second.
const DELIVERY_TTL: SignedDuration = SignedDuration::from_secs(2);

/// Builds the full response. Resources of earlier steps pass through byte for byte, and their fields of the composite stay.
pub fn build_response(
    request: &RunFunctionRequest,
    evaluation: &ClusterEvaluation,
    options: &Options,
    now: Timestamp,
) -> RunFunctionResponse {
    let target = match evaluation.observed.composite.claim {
        Some(_) => Target::CompositeAndClaim,
        None => Target::Composite,
    };
    let conditions = build_conditions(evaluation);
    let results = find_events(evaluation, &conditions).into_iter().map(|e| encode_event(e, target)).collect();
    let desired = match build_desired(request, evaluation) {
        Ok(desired) => desired,
        Err(error) => {
            let why = format!("cannot encode the desired state: {error}; nothing is changed");
            return build_fatal(
                request,
                FatalReason::InternalError.as_str(),
                why,
                repeat_conditions(request),
            );
        }
    };
    RunFunctionResponse {
        meta: Some(response_meta(request, Some(choose_ttl(evaluation, options, now)))),
        desired: Some(desired),
        results,
        context: request.context.clone(),
        requirements: build_requirements(request, evaluation),
        conditions: conditions.into_iter().map(|c| encode_condition(c, target)).collect(),
        output: None,
    }
}

/// The configured TTL, but no later than the next deadline requires: 0.9 of the remaining time, at least a second. Core adds up to a tenth.
fn choose_ttl(evaluation: &ClusterEvaluation, options: &Options, now: Timestamp) -> SignedDuration {
    let configured =
        evaluation.settings.ttl.map_or(options.ttl, testplatform_apis::duration::GoDuration::as_signed);
    // Core gets no event for the rewritten Secret.
    let wanted = evaluation.plan.request.as_ref().is_ok_and(|r| r.intent.wants_credentials);
    let missed =
        wanted && evaluation.observed.credentials.as_ref().is_some_and(Credentials::is_secret_deleted);
    let sooner = [
        evaluation.plan.blocked_by().map(|_| UNSETTLED_TTL),
        transfer::is_in_progress(evaluation).then_some(transfer::IN_PROGRESS_TTL),
        missed.then_some(MISSED_TTL),
        undelivered_ttl(evaluation),
    ];
    let configured = sooner.into_iter().flatten().fold(configured, SignedDuration::min);
    ttl_until(configured, evaluation.plan.lifecycle.next_deadline, now)
}

/// TTL of a claim whose Secret core has to write, or cannot write.
fn undelivered_ttl(evaluation: &ClusterEvaluation) -> Option<SignedDuration> {
    let ClusterEvaluation { observed, plan, .. } = evaluation;
    let has_kubeconfig = plan.lifecycle.details.as_ref().is_some_and(Details::has_kubeconfig);
    let claimed = observed.composite.claim.is_some() && !plan.lifecycle.is_complete();
    if !claimed || !has_kubeconfig {
        return None;
    }
    match observed.claim_secret {
        // Nothing comes by itself that a pass could see.
        ClaimSecret::Written | ClaimSecret::Unnamed => None,
        ClaimSecret::Refused(_) => Some(MISSED_TTL),
        ClaimSecret::Awaited => Some(UNSETTLED_TTL),
        ClaimSecret::NotFetched => {
            let shown = observed.composite.shown(ConditionType::CredentialsPublished);
            shown.is_some_and(ObservedCondition::is_false).then_some(DELIVERY_TTL)
        }
    }
}

fn build_desired(request: &RunFunctionRequest, evaluation: &ClusterEvaluation) -> Result<State, wire::Error> {
    let mut desired = request.desired.clone().unwrap_or_default();
    for resource in &evaluation.plan.resources {
        let message = encode_resource(resource, request)?;
        desired.resources.insert(resource.name.clone().into_owned(), Bytes::from(message.encode_to_vec()));
    }
    let composite = &evaluation.observed.composite;
    let before = desired.composite.take().unwrap_or_default();
    let mut body = if before.resource.is_empty() { json!({}) } else { wire::to_value(&before.resource)? };
    body["apiVersion"] = composite.api_version.as_str().into();
    body["kind"] = composite.kind.as_str().into();
    composite.require_version(&mut body);
    merge_fields(&mut body["status"], json!(build_status(evaluation)));
    // A composite in a namespace has no connection Secret: the Object `credentials` writes the tenant's itself.
    let given = evaluation.plan.lifecycle.details.as_ref().filter(|_| composite.flavour == Flavour::Claimed);
    let ours = given.map(Details::entries).unwrap_or_default();
    let is_ours = |key: &str| ours.iter().any(|e| e.key == key);
    let mut connection_details = before.connection_details;
    connection_details.retain(|e| !is_ours(&e.key));
    connection_details.extend(ours.iter().cloned());
    collect::sort_few(&mut connection_details, |a, b| a.key.cmp(&b.key));
    desired.composite = Some(Resource {
        resource: wire::json_to_struct(&body)?,
        connection_details,
        ready: if is_ready(evaluation) { Ready::True } else { Ready::False }.into(),
    });
    Ok(desired)
}

/// Puts fields over those of an earlier step. Its other fields stay: core removes omitted ones.
fn merge_fields(before: &mut Value, ours: Value) {
    match (before, ours) {
        (Value::Object(before), Value::Object(ours)) => before.extend(ours),
        (before, ours) => *before = ours,
    }
}

/// Whether the composite is ready: only then does its Secret reach the tenant, including an emptied one.
fn is_ready(evaluation: &ClusterEvaluation) -> bool {
    use testplatform_apis::phase::Phase;
    let lifecycle = &evaluation.plan.lifecycle;
    let composite = &evaluation.observed.composite;
    // After a restore nothing but the hub may know that credentials were published. A status that remembers a phase would know it too.
    let unknown = composite.status.phase.is_none() || composite.is_ready();
    let given = lifecycle.ever_ready || (unknown && evaluation.plan.health.ready_since.is_some());
    match lifecycle.phase {
        Phase::Pending | Phase::Provisioning => false,
        // A ready composite makes core replace the tenant's Secret as a whole: never by nothing.
        Phase::Ready | Phase::Degraded | Phase::Deprovisioning => {
            lifecycle.ever_ready && lifecycle.details.is_some()
        }
        Phase::Deprovisioned => given,
        Phase::Failed => given && lifecycle.completion.is_some(),
    }
}

fn build_requirements(
    request: &RunFunctionRequest,
    evaluation: &ClusterEvaluation,
) -> Option<proto::Requirements> {
    let settings = &evaluation.settings;
    let ask = |wants| required(request, &evaluation.observed, settings, wants);
    let composite = &evaluation.observed.composite;
    // This reads the claim itself, because the catalogue is a fetched resource.
    let likes = composite.spec["hub"]["affinity"].is_string();
    // The other side of a transfer, besides the resources for the choice of a hub.
    let none = || transfer::counterpart_requirements(&evaluation.observed, settings);
    let sought = evaluation.plan.request.as_ref().ok().filter(|_| evaluation.observed.looks_up_primary());
    let primary = || sought.map(|request| request.primary_name());
    match evaluation.plan.request.as_ref().map(|r| &r.block) {
        Ok(Block::CiOperator(_)) => {
            // Its hub does not depend on other claims, and one round trip of core suffices.
            let pools = settings.quotas_for_ci_operator;
            ask(RequirementOptions { pools, templates: false, hubs: none(), primary_object: None })
        }
        Ok(Block::ClusterClaim(_)) => {
            ask(RequirementOptions { pools: true, templates: false, hubs: none(), primary_object: primary() })
        }
        Ok(Block::Template(templated)) => {
            let wanted = templated.needs_hubs(&evaluation.observed);
            let mut hubs =
                if wanted { hub_requirements(composite, likes, settings) } else { BTreeMap::new() };
            hubs.extend(none());
            ask(RequirementOptions { pools: true, templates: true, hubs, primary_object: primary() })
        }
        Err(_) => None,
    }
}
