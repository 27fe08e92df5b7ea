//! The composite of a cluster: a claim as input; remote objects, status and credentials as output.
//!
//! ```text
//! request ──decode──▶ Observed ──validate──▶ Validated ──plan──▶ Plan ──respond──▶ response ──check──▶ out
//! ```
//!
//! Modules use one another in one direction: `respond`, `lifecycle`, `backends`, `admission`, `catalog`, `request`, `observed`.

pub mod admission;
pub mod backends;
pub mod catalog;
pub mod check;
pub mod explain;
pub mod lifecycle;
pub mod observed;
pub mod request;
pub mod respond;

use jiff::Timestamp;
pub use lifecycle::ClusterEvaluation;
use serde_json::Value;
use testplatform_apis::ci_operator;

use self::observed::Observed;
use crate::{
    Options,
    cluster::request::Validated,
    composite::CompositeEvaluation,
    sdk::{
        proto::{RunFunctionRequest, RunFunctionResponse},
        request::{UnusableRequest, read_settings},
    },
};

impl CompositeEvaluation for ClusterEvaluation {
    /// A request of no other kind is for a cluster.
    fn handles_kind(_request: &RunFunctionRequest) -> bool {
        true
    }

    fn evaluate(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest> {
        evaluate(request, now, ci_operator::xrd_schema())
    }

    fn build_response(
        &self,
        request: &RunFunctionRequest,
        options: &Options,
        now: Timestamp,
    ) -> RunFunctionResponse {
        respond::build_response(request, self, options, now)
    }

    fn find_violation(&self, response: &RunFunctionResponse, request: &RunFunctionRequest) -> Option<String> {
        check::find_violation(response, request, self)
    }

    fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        explain::explain_response(self, response)
    }
}

/// Evaluates a request, without messages. `schema` is the known schema of `spec.ciOperator`.
pub fn evaluate(
    request: &RunFunctionRequest,
    now: Timestamp,
    schema: &Value,
) -> Result<ClusterEvaluation, UnusableRequest> {
    let settings = read_settings(request)?;
    let observed = Observed::decode(request, &settings, now)?;
    let validated =
        admission::validate(&observed, settings.clone(), schema, backends::select_rollout(&observed));
    // A refused request has no desired state, which would delete the cluster here. Such a claim comes from the incumbent, which accepts
    // longer names.
    if let (Err(problems), true) = (&validated, observed.primary.is_some() || observed.cluster_may_exist()) {
        let why =
            problems.iter().map(|p| format!("{} {}", p.field, p.sentence)).collect::<Vec<_>>().join("; ");
        let part = "the composite, for which a cluster was made".into();
        return Err(UnusableRequest::Unreadable { part, why });
    }
    // The Object cannot be repeated, and omitting it would end its cluster.
    if validated.as_ref().is_ok_and(Validated::is_pool_unknown) && observed.primary.is_some() {
        let part = "the Object with the ClusterClaim".into();
        let why = "it names no pool, and nothing else tells which one it was; put clusterPoolName back into its manifest".into();
        return Err(UnusableRequest::Unreadable { part, why });
    }
    let plan = lifecycle::plan_pass(validated, &observed, now);
    Ok(ClusterEvaluation { settings, observed, plan })
}
