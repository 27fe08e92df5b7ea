//! A FATAL response: core changes nothing. It repeats the desired state of earlier steps. It also repeats the shown conditions, because
//! core sets omitted ones of a failed pass to Unknown.

use testplatform_apis::{
    condition::{ConditionType, PoolConditionType, SPACE_READY, TemplateConditionType},
    foreign::{cluster_claim::conditions as hive, ephemeral_cluster::conditions, meta::ObservedCondition},
};

use crate::sdk::{
    composite::Composite,
    proto::{
        self, Condition, ResponseMeta, RunFunctionRequest, RunFunctionResponse, Severity, Status, Target,
    },
};

/// A FATAL that leaves everything as it came in, and says why.
pub fn build_fatal(
    request: &RunFunctionRequest,
    reason: &str,
    message: String,
    conditions: Vec<Condition>,
) -> RunFunctionResponse {
    RunFunctionResponse {
        meta: Some(ResponseMeta {
            tag: request.meta.as_ref().map(|meta| meta.tag.clone()).unwrap_or_default(),
            ttl: None,
        }),
        desired: request.desired.clone(),
        context: request.context.clone(),
        results: vec![proto::Result {
            severity: Severity::Fatal.into(),
            message,
            reason: Some(reason.to_owned()),
            target: Some(Target::CompositeAndClaim.into()),
        }],
        conditions,
        ..RunFunctionResponse::default()
    }
}

/// The conditions of ours that the composite shows, to be said again. None where it cannot be read.
pub fn repeat_conditions(request: &RunFunctionRequest) -> Vec<Condition> {
    let composite = request.observed.as_ref().and_then(|o| o.composite.as_ref());
    let Some(Ok(composite)) = composite.map(|c| Composite::decode(&c.resource)) else { return vec![] };
    let target = if composite.claim.is_some() { Target::CompositeAndClaim } else { Target::Composite };
    let templated = !composite.spec["template"].is_null();
    let ours = |c: &&ObservedCondition| {
        ConditionType::parse(&c.type_).is_some()
            || (templated && TemplateConditionType::parse(&c.type_).is_some())
            || PoolConditionType::parse(&c.type_).is_some()
            || c.type_ == SPACE_READY
            || [conditions::PROW_JOB_CREATING, conditions::TEST_COMPLETED].contains(&c.type_.as_str())
            || [hive::CLUSTER_ASSIGNED, hive::CLUSTER_RUNNING].contains(&c.type_.as_str())
    };
    let shown = composite.conditions.iter().filter(ours).filter(|c| c.reason != "FatalError");
    shown
        .map(|c| Condition {
            r#type: c.type_.clone(),
            status: match c.status.as_str() {
                "True" => Status::ConditionTrue,
                "False" => Status::ConditionFalse,
                _ => Status::ConditionUnknown,
            }
            .into(),
            reason: c.reason.clone(),
            message: Some(c.message.clone()),
            target: Some(target.into()),
        })
        .collect()
}
