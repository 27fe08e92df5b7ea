//! Parts of a response that every composite encodes alike.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::condition::{Condition, ConditionStatus};

use super::{
    proto::{self, Ready, Resource, ResponseMeta, RunFunctionRequest, Severity, Target},
    requirements::announces_capabilities,
    wire,
};

/// TTL of a claim that waits for configuration or for room on a hub: core ≤ 2.3 watches neither.
pub(crate) const UNSETTLED_TTL: SignedDuration = SignedDuration::from_secs(15);

/// A composed resource that is to exist.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredResource {
    /// Composition resource name.
    pub name: Cow<'static, str>,
    /// The whole object, without status.
    pub object: Value,
    /// Whether it counts as ready.
    pub ready: bool,
}

/// An event to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether something needs attention.
    pub warning: bool,
    /// CamelCase reason.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

pub(crate) fn response_meta(request: &RunFunctionRequest, ttl: Option<SignedDuration>) -> ResponseMeta {
    ResponseMeta {
        tag: request.meta.as_ref().map(|m| m.tag.clone()).unwrap_or_default(),
        ttl: ttl.map(|t| prost_types::Duration { seconds: t.as_secs(), nanos: t.subsec_nanos() }),
    }
}

/// The configured TTL, but no later than the deadline requires.
pub(crate) fn ttl_until(
    configured: SignedDuration,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> SignedDuration {
    let Some(deadline) = deadline else { return configured };
    let remaining = deadline.duration_since(now);
    // A TTL has a precision of whole seconds.
    let wake =
        SignedDuration::from_secs((remaining.as_secs() / 10 * 9 + remaining.as_secs() % 10 * 9 / 10).max(1));
    configured.min(wake)
}

/// Encodes a composed resource for the core of this request.
///
/// In each reconcile, core emits an event for each resource that is not ready. client-go drops all but 25 events of an object and one more
/// every five minutes, so in a longer life the transitions of a TestCluster would be lost among them. The composite's readiness is explicit,
/// and core needs that of its resources only without realtime compositions: it then reconciles again at once. Cores that announce
/// capabilities (2.2 and later) have realtime compositions by default.
pub(crate) fn encode_resource(
    resource: &DesiredResource,
    request: &RunFunctionRequest,
) -> Result<Resource, wire::Error> {
    let ready = if resource.ready || announces_capabilities(request) { Ready::True } else { Ready::False };
    Ok(Resource {
        resource: wire::json_to_struct(&resource.object)?,
        connection_details: vec![],
        ready: ready.into(),
    })
}

pub(crate) fn encode_event(event: Event, target: Target) -> proto::Result {
    proto::Result {
        severity: if event.warning { Severity::Warning } else { Severity::Normal }.into(),
        message: event.message,
        reason: Some(event.reason.to_owned()),
        target: Some(target.into()),
    }
}

pub(crate) fn encode_condition(condition: Condition, target: Target) -> proto::Condition {
    let status = match condition.status {
        ConditionStatus::True => proto::Status::ConditionTrue,
        ConditionStatus::False => proto::Status::ConditionFalse,
        ConditionStatus::Unknown => proto::Status::ConditionUnknown,
    };
    proto::Condition {
        r#type: condition.type_,
        status: status.into(),
        reason: condition.reason,
        message: Some(condition.message),
        target: Some(target.into()),
    }
}
