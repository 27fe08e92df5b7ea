//! The composition function: a composite as input; remote objects, status and credentials as output.
//!
//! [`run`] is the entry point, and it is pure. Each kind of composite has a module: [`cluster`], [`pool`] and [`space`]. They share
//! [`sdk`], the protocol, and [`objects`], Objects of provider-kubernetes. [`serve`] has the sockets.
//!
//! **Invariant:** no I/O and no clock outside `serve`. The same request, options and passed deadlines give the same bytes.
//!
//! **Invariant:** an OK response repeats every observed resource of this function that is not torn down on purpose. If that is impossible,
//! the response is FATAL, which changes nothing.

pub mod cluster;
pub mod objects;
pub mod pool;
pub mod render;
pub mod sdk;
pub mod serve;
pub mod space;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{ci_operator, text};

use cluster::ClusterEvaluation;
use sdk::{
    fatal,
    proto::{RunFunctionRequest, RunFunctionResponse},
    request::UnusableRequest,
};

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
    if pool::handles_kind(request) {
        return pool::run(request, options, now);
    }
    if space::handles_kind(request) {
        return space::run(request, options);
    }
    match cluster::evaluate(request, now, ci_operator::xrd_schema()) {
        Ok(evaluation) => cluster::check::check_response(
            cluster::respond::build_response(request, &evaluation, options, now),
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
    Pool(Box<pool::PoolEvaluation>),
    /// A space.
    Space(Box<space::SpaceEvaluation>),
}

impl Evaluation {
    /// Evaluates a request as [`run`] does.
    pub fn of(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest> {
        if pool::handles_kind(request) {
            return Ok(Self::Pool(Box::new(pool::evaluate(request, now)?)));
        }
        if space::handles_kind(request) {
            return Ok(Self::Space(Box::new(space::evaluate(request)?)));
        }
        Ok(Self::Cluster(Box::new(cluster::evaluate(request, now, ci_operator::xrd_schema())?)))
    }

    /// Finds an invariant that a response violates.
    pub fn find_violation(
        &self,
        response: &RunFunctionResponse,
        request: &RunFunctionRequest,
    ) -> Option<String> {
        match self {
            Self::Cluster(evaluation) => cluster::check::find_violation(response, request, evaluation),
            Self::Pool(evaluation) => pool::find_violation(response, request, evaluation),
            Self::Space(evaluation) => space::find_violation(response, request, evaluation),
        }
    }

    /// Explains a response.
    pub fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        match self {
            Self::Cluster(evaluation) => cluster::explain::explain_response(evaluation, response),
            Self::Pool(evaluation) => pool::explain_response(evaluation, response),
            Self::Space(evaluation) => space::explain_response(evaluation, response),
        }
    }
}
