//! The composition function: a claim as input; remote objects, status and credentials as output.
//!
//! ```text
//! request ──decode──▶ Observed ──validate──▶ Validated ──plan──▶ Plan ──respond──▶ response ──check──▶ out
//! ```
//!
//! [`run`] is the entry point, and it is pure.
//!
//! **Invariant:** no I/O and no clock outside `serve`. The same request, options and passed deadlines give the same bytes.
//!
//! **Invariant:** an OK response repeats every observed resource of this function that is not torn down on purpose. If that is impossible,
//! the response is FATAL, which changes nothing.

pub mod backend;
pub mod check;
pub mod cluster_pool;
pub mod conditions;
pub mod edge;
pub mod events;
pub mod explain;
pub mod fatal;
pub mod hubs;
pub mod intent;
pub mod observed;
pub mod plan;
pub mod pools;
pub mod proto;
pub mod render;
pub mod respond;
pub mod serve;
pub mod space;
pub mod status;
pub mod templates;
pub mod transfer;
pub mod validate;
pub mod wire;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::{
    ci_operator,
    input::{Input, Settings},
    text,
};

use observed::{Observed, UnusableRequest};
use plan::Plan;
use proto::{RunFunctionRequest, RunFunctionResponse};
use validate::Validated;

/// Command line settings for every call.
#[derive(Clone, Debug)]
pub struct Options {
    /// Default time for which core may cache a response; the step's input can override it. Core reruns the composite after it.
    pub ttl: SignedDuration,
}

impl Default for Options {
    fn default() -> Self {
        Self { ttl: SignedDuration::from_secs(60) }
    }
}

/// Runs the function once. The same request, options and passed deadlines give the same bytes.
pub fn run(request: &RunFunctionRequest, options: &Options, now: Timestamp) -> RunFunctionResponse {
    if cluster_pool::handles_kind(request) {
        return cluster_pool::run(request, options, now);
    }
    if space::handles_kind(request) {
        return space::run(request, options);
    }
    match evaluate(request, now, ci_operator::xrd_schema()) {
        Ok(evaluation) => check::check_response(
            respond::build_response(request, &evaluation, options, now),
            request,
            &evaluation,
        ),
        Err(unusable) => fatal::build_fatal(
            request,
            unusable.reason(),
            unusable.to_string(),
            fatal::repeat_conditions(request),
        ),
    }
}

/// Evaluation of a request, for any kind of composite.
#[derive(Debug)]
pub enum Evaluation {
    /// A cluster.
    Cluster(Box<ClusterEvaluation>),
    /// A pool of them.
    Pool(Box<cluster_pool::PoolEvaluation>),
    /// A space.
    Space(Box<space::SpaceEvaluation>),
}

impl Evaluation {
    /// Evaluates a request as [`run`] does.
    pub fn of(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest> {
        if cluster_pool::handles_kind(request) {
            return Ok(Self::Pool(Box::new(cluster_pool::evaluate(request, now)?)));
        }
        if space::handles_kind(request) {
            return Ok(Self::Space(Box::new(space::evaluate(request)?)));
        }
        Ok(Self::Cluster(Box::new(evaluate(request, now, ci_operator::xrd_schema())?)))
    }

    /// Finds an invariant that a response violates.
    pub fn find_violation(
        &self,
        response: &RunFunctionResponse,
        request: &RunFunctionRequest,
    ) -> Option<String> {
        match self {
            Self::Cluster(evaluation) => check::find_violation(response, request, evaluation),
            Self::Pool(evaluation) => cluster_pool::find_violation(response, request, evaluation),
            Self::Space(evaluation) => space::find_violation(response, request, evaluation),
        }
    }

    /// Explains a response.
    pub fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        match self {
            Self::Cluster(evaluation) => explain::explain_response(evaluation, response),
            Self::Pool(evaluation) => cluster_pool::explain_response(evaluation, response),
            Self::Space(evaluation) => space::explain_response(evaluation, response),
        }
    }
}

/// A decoded, validated and planned request.
#[derive(Debug)]
pub struct ClusterEvaluation {
    /// The step's input with every default filled in.
    pub settings: Settings,
    /// Observed state.
    pub observed: Observed,
    /// Desired state and phase of the claim.
    pub plan: Plan,
}

/// Evaluates a request, without messages. `schema` is the known schema of `spec.ciOperator`.
pub fn evaluate(
    request: &RunFunctionRequest,
    now: Timestamp,
    schema: &Value,
) -> Result<ClusterEvaluation, UnusableRequest> {
    let settings = read_settings(request)?;
    let observed = Observed::decode(request, &settings, now)?;
    let validated = validate::validate(&observed, settings.clone(), schema);
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
    let plan = plan::plan_pass(validated, &observed, now);
    Ok(ClusterEvaluation { settings, observed, plan })
}

/// Reads the step's input. An unreadable input is an error, because it may contain the location of live clusters.
pub(crate) fn read_settings(request: &RunFunctionRequest) -> Result<Settings, UnusableRequest> {
    let Some(bytes) = &request.input else { return Ok(Settings::default()) };
    let input: Input = wire::from_struct(bytes).map_err(|e| UnusableRequest::Unreadable {
        part: "the input of this pipeline step".into(),
        why: e.to_string(),
    })?;
    Ok(input.to_settings())
}
