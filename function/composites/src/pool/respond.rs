//! `PoolEvaluation` → response: encodes the decisions for the wire, with events for changes.

use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::json;
use testplatform_apis::{
    condition::{Condition, PoolConditionType},
    foreign::meta::find_condition,
    pool::ScalingMode,
    pool_status::PoolPhase,
};

use super::{
    PoolEvaluation,
    conditions::{build_conditions, is_good, is_same},
    observed::peer_requirements,
    sizing::{PoolSize, is_draining_for_rotation},
    status::build_status,
};
use crate::{
    Options,
    sdk::{
        fatal::{build_fatal, repeat_conditions},
        proto::{Ready, Resource, RunFunctionRequest, RunFunctionResponse, State, Target},
        response::{
            Event, UNSETTLED_TTL, encode_condition, encode_event, encode_resource, response_meta, ttl_until,
        },
        wire,
    },
};

/// Builds the full response. Resources of earlier steps pass through byte for byte.
pub(super) fn build_response(
    request: &RunFunctionRequest,
    evaluation: &PoolEvaluation,
    options: &Options,
    now: Timestamp,
) -> RunFunctionResponse {
    let conditions = build_conditions(evaluation);
    let events = find_events(evaluation, &conditions);
    let desired = match build_desired(request, evaluation) {
        Ok(desired) => desired,
        Err(error) => {
            let why = format!("cannot encode the desired state: {error}; nothing is changed");
            return build_fatal(request, "InternalError", why, repeat_conditions(request));
        }
    };
    let configured =
        evaluation.settings.ttl.map_or(options.ttl, testplatform_apis::duration::GoDuration::as_signed);
    let wanted = evaluation.plan.as_ref().ok();
    let blocked = wanted.is_some_and(|w| w.blocked_by.is_some());
    let configured = if blocked { configured.min(UNSETTLED_TTL) } else { configured };
    let ttl = ttl_until(configured, wanted.and_then(|w| w.schedule.next), now);
    RunFunctionResponse {
        meta: Some(response_meta(request, Some(ttl))),
        desired: Some(desired),
        results: events.into_iter().map(|e| encode_event(e, Target::Composite)).collect(),
        context: request.context.clone(),
        requirements: peer_requirements(request, &evaluation.observed),
        conditions: conditions.into_iter().map(|c| encode_condition(c, Target::Composite)).collect(),
        output: None,
    }
}

fn build_desired(request: &RunFunctionRequest, evaluation: &PoolEvaluation) -> Result<State, wire::Error> {
    let mut desired = request.desired.clone().unwrap_or_default();
    for resource in &evaluation.resources {
        let message = encode_resource(resource, request)?;
        desired.resources.insert(resource.name.clone().into_owned(), Bytes::from(message.encode_to_vec()));
    }
    let composite = &evaluation.observed.composite;
    let body = composite.status_body(json!(build_status(evaluation)));
    let ready = match evaluation.phase {
        PoolPhase::Ready | PoolPhase::Drained => Ready::True,
        PoolPhase::Pending | PoolPhase::Degraded | PoolPhase::Draining => Ready::False,
    };
    desired.composite = Some(Resource {
        resource: wire::json_to_struct(&body)?,
        connection_details: vec![],
        ready: ready.into(),
    });
    Ok(desired)
}

/// Transitions: only in the pass in which what is shown differs from what will be. A failed pass (Unknown/FatalError) says nothing about
/// what was shown before, and the first pass has nothing to compare with but what is wrong.
fn find_events(evaluation: &PoolEvaluation, conditions: &[Condition]) -> Vec<Event> {
    let shown = &evaluation.observed.composite.conditions;
    let mut events = Vec::new();
    // Before the other pools were read the answer is not the last one.
    if evaluation.observed.pool.is_none() && evaluation.observed.peers.is_none() {
        return events;
    }
    for new in conditions {
        let Some(type_) = PoolConditionType::parse(&new.type_) else { continue };
        let good = is_good(type_, new.status.as_str(), &new.reason);
        let news = match find_condition(shown, &new.type_) {
            Some(old) if old.status == "Unknown" && old.reason == "FatalError" => false,
            Some(old) => !is_same(old, new),
            None => !good,
        };
        if news {
            events.push(Event {
                warning: !good,
                reason: type_.as_str(),
                message: format!("{}: {}", new.reason, new.message),
            });
        }
    }
    events.extend(scaled_to_zero_event(evaluation));
    events
}

/// Not of a refresh, which takes clusters away for as long as installing others takes, nor of a size that is somebody else's.
fn scaled_to_zero_event(evaluation: &PoolEvaluation) -> Option<Event> {
    let before = PoolSize::requested(evaluation.observed.pool.as_ref()?.manifest())?.size;
    let wanted = evaluation.plan.as_ref().ok().filter(|w| !w.drain)?;
    let ours = wanted.spec.scaling_mode != Some(ScalingMode::External);
    let rotates =
        || evaluation.observed.report().is_some_and(|report| is_draining_for_rotation(&wanted.spec, report));
    let zero = before > 0 && wanted.size?.size == 0;
    let lasts = || wanted.steady_size.is_some_and(|usual| usual.size == 0) || rotates();
    (ours && zero && lasts()).then(|| Event {
        warning: true,
        reason: "ScaledToZero",
        message: "the pool keeps no clusters ready from now on; a claim is still served by installing one, which takes longer".into(),
    })
}
