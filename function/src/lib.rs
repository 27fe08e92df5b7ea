//! The composition function: claim in, remote objects, status and credentials out.
//!
//! [`run`] is the whole of it: a pure function from a request and a point in time to a response.

pub mod edge;
pub mod proto;
pub mod serve;
pub mod wire;

use jiff::{SignedDuration, Timestamp};
use proto::{RunFunctionRequest, RunFunctionResponse};

/// What the command line sets for every call.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long an answer is good when the step's input does not say; core re-runs the composite after it.
    pub ttl: SignedDuration,
}

impl Default for Options {
    fn default() -> Self {
        Self { ttl: SignedDuration::from_secs(60) }
    }
}

/// Runs the function once. Same request, options and passed deadlines: same bytes.
pub fn run(request: &RunFunctionRequest, options: &Options, now: Timestamp) -> RunFunctionResponse {
    let _ = (request, options, now);
    RunFunctionResponse::default()
}
