//! `SpaceEvaluation` → response: encodes the decisions for the wire, with events for changes.

use prost::{Message as _, bytes::Bytes};
use serde_json::json;
use testplatform_apis::{
    condition::{Condition, ConditionStatus, FatalReason, SPACE_READY, SpaceReady},
    foreign::meta::find_condition,
    space::SpaceStatus,
    text::bounded,
};

use super::{SpaceCredentials, SpaceEvaluation};
use crate::{
    Options,
    sdk::{
        fatal::{build_fatal, repeat_conditions},
        proto::{Ready, Resource, RunFunctionRequest, RunFunctionResponse, State, Target},
        response::{Event, encode_condition, encode_event, encode_resource, response_meta},
        wire,
    },
};

/// Builds the full response. Resources of earlier steps pass through byte for byte. It requests nothing: everything it needs is observed or
/// configured.
pub(super) fn build_response(
    request: &RunFunctionRequest,
    evaluation: &SpaceEvaluation,
    options: &Options,
) -> RunFunctionResponse {
    let target = match evaluation.observed.composite.claim {
        Some(_) => Target::CompositeAndClaim,
        None => Target::Composite,
    };
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
    let ready = ready_condition(evaluation);
    let event = find_event(evaluation, &ready);
    let ttl = evaluation.settings.ttl.map_or(options.ttl, testplatform_apis::duration::GoDuration::as_signed);
    RunFunctionResponse {
        meta: Some(response_meta(request, Some(ttl))),
        desired: Some(desired),
        results: event.into_iter().map(|e| encode_event(e, target)).collect(),
        context: request.context.clone(),
        requirements: None,
        conditions: vec![encode_condition(ready, target)],
        output: None,
    }
}

fn build_desired(request: &RunFunctionRequest, evaluation: &SpaceEvaluation) -> Result<State, wire::Error> {
    let mut desired = request.desired.clone().unwrap_or_default();
    for resource in &evaluation.resources {
        let message = encode_resource(resource, request)?;
        desired.resources.insert(resource.name.clone().into_owned(), Bytes::from(message.encode_to_vec()));
    }
    let composite = &evaluation.observed.composite;
    let status = SpaceStatus {
        phase: Some(evaluation.phase()),
        message: Some(bounded(&evaluation.state.message, 1024)),
        namespace: evaluation.namespace.clone(),
    };
    let body = composite.status_body(json!(status));
    // A ready composite has its Secret replaced as a whole, so it must have all keys.
    let ready = if evaluation.details.is_some() { Ready::True } else { Ready::False };
    desired.composite = Some(Resource {
        resource: wire::json_to_struct(&body)?,
        connection_details: evaluation.details.iter().flat_map(SpaceCredentials::entries).collect(),
        ready: ready.into(),
    });
    Ok(desired)
}

fn ready_condition(evaluation: &SpaceEvaluation) -> Condition {
    let status = match evaluation.state.reason {
        SpaceReady::SpaceAvailable => ConditionStatus::True,
        SpaceReady::SpaceNameInvalid
        | SpaceReady::SpaceNamespacePending
        | SpaceReady::SpaceContentPending
        | SpaceReady::SpaceCredentialsPending
        | SpaceReady::SpaceRefused
        | SpaceReady::SpaceHubUnreachable
        | SpaceReady::SpacePaused
        | SpaceReady::SpaceTerminating => ConditionStatus::False,
    };
    Condition {
        type_: SPACE_READY.into(),
        status,
        reason: evaluation.state.reason.as_str().into(),
        message: bounded(&evaluation.state.message, 1024),
    }
}

/// A transition to something that somebody wants to know. A failed pass says nothing of what was shown before it.
fn find_event(evaluation: &SpaceEvaluation, new: &Condition) -> Option<Event> {
    let waits = match evaluation.state.reason {
        SpaceReady::SpaceNamespacePending
        | SpaceReady::SpaceContentPending
        | SpaceReady::SpaceCredentialsPending => true,
        SpaceReady::SpaceAvailable
        | SpaceReady::SpaceNameInvalid
        | SpaceReady::SpaceRefused
        | SpaceReady::SpaceHubUnreachable
        | SpaceReady::SpacePaused
        | SpaceReady::SpaceTerminating => false,
    };
    let old = find_condition(&evaluation.observed.composite.conditions, SPACE_READY);
    let news = old.is_none_or(|old| old.reason != new.reason && old.reason != "FatalError");
    (news && !waits).then(|| Event {
        warning: new.status != ConditionStatus::True,
        reason: evaluation.state.reason.as_str(),
        message: new.message.clone(),
    })
}
