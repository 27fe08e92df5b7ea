//! The composition function: a composite as input; remote objects, status and credentials as output.
//!
//! [`run`] is the entry point, and it is pure. Each kind of composite has a module: [`cluster`], [`pool`] and [`space`]. They share
//! [`sdk`], the protocol, and [`objects`], Objects of provider-kubernetes. The crate `function-testplatform` has the sockets.
//!
//! **Invariant:** no I/O and no clock. The same request, options and passed deadlines give the same bytes.
//!
//! **Invariant:** an OK response repeats every observed resource of this function that is not torn down on purpose. If that is impossible,
//! the response is FATAL, which changes nothing.

pub mod cluster;
pub mod composite;
pub mod objects;
pub mod pool;
pub mod sdk;
pub mod space;

use jiff::{SignedDuration, Timestamp};

use cluster::ClusterEvaluation;
use composite::CompositeEvaluation;
use pool::PoolEvaluation;
use sdk::{
    proto::{RunFunctionRequest, RunFunctionResponse},
    request::UnusableRequest,
};
use space::SpaceEvaluation;

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
    (select_kind(request).run)(request, options, now)
}

/// Kinds of composites, in the order of the dispatch. The last one handles every request.
const KINDS: [CompositeKind; 3] = [
    CompositeKind::of::<PoolEvaluation>(),
    CompositeKind::of::<SpaceEvaluation>(),
    CompositeKind::of::<ClusterEvaluation>(),
];

/// Functions of one kind of composite.
struct CompositeKind {
    handles_kind: fn(&RunFunctionRequest) -> bool,
    run: fn(&RunFunctionRequest, &Options, Timestamp) -> RunFunctionResponse,
    evaluate: fn(&RunFunctionRequest, Timestamp) -> Result<Evaluation, UnusableRequest>,
}

impl CompositeKind {
    const fn of<E: CompositeEvaluation + Into<Evaluation>>() -> Self {
        Self {
            handles_kind: E::handles_kind,
            run: E::run,
            evaluate: |request, now| E::evaluate(request, now).map(Into::into),
        }
    }
}

fn select_kind(request: &RunFunctionRequest) -> &'static CompositeKind {
    let [.., cluster] = &KINDS;
    KINDS.iter().find(|kind| (kind.handles_kind)(request)).unwrap_or(cluster)
}

/// Evaluation of a request, for any kind of composite.
#[derive(Debug)]
pub enum Evaluation {
    /// A cluster.
    Cluster(Box<ClusterEvaluation>),
    /// A pool of them.
    Pool(Box<PoolEvaluation>),
    /// A space.
    Space(Box<SpaceEvaluation>),
}

impl Evaluation {
    /// Evaluates a request as [`run`] does.
    pub fn of(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest> {
        (select_kind(request).evaluate)(request, now)
    }

    fn inner(&self) -> &dyn CompositeEvaluation {
        match self {
            Self::Cluster(evaluation) => evaluation.as_ref(),
            Self::Pool(evaluation) => evaluation.as_ref(),
            Self::Space(evaluation) => evaluation.as_ref(),
        }
    }

    /// Finds an invariant that a response violates.
    pub fn find_violation(
        &self,
        response: &RunFunctionResponse,
        request: &RunFunctionRequest,
    ) -> Option<String> {
        self.inner().find_violation(response, request)
    }

    /// Explains a response.
    pub fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        self.inner().explain_response(response)
    }
}

impl From<ClusterEvaluation> for Evaluation {
    fn from(evaluation: ClusterEvaluation) -> Self {
        Self::Cluster(Box::new(evaluation))
    }
}

impl From<PoolEvaluation> for Evaluation {
    fn from(evaluation: PoolEvaluation) -> Self {
        Self::Pool(Box::new(evaluation))
    }
}

impl From<SpaceEvaluation> for Evaluation {
    fn from(evaluation: SpaceEvaluation) -> Self {
        Self::Space(Box::new(evaluation))
    }
}
