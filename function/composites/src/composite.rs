//! Kinds of composites: one evaluation for each, and one way from a request to a response.

use std::fmt::Debug;

use jiff::Timestamp;

use crate::{
    Options,
    sdk::{
        fatal,
        invariants::fatal_if_violated,
        proto::{RunFunctionRequest, RunFunctionResponse},
        request::UnusableRequest,
    },
};

/// Evaluation of a request for one kind of composite: it is decoded, validated and planned.
pub trait CompositeEvaluation: Debug {
    /// Whether a request is for this kind of composite.
    fn handles_kind(request: &RunFunctionRequest) -> bool
    where
        Self: Sized;

    /// Evaluates a request, without messages.
    fn evaluate(request: &RunFunctionRequest, now: Timestamp) -> Result<Self, UnusableRequest>
    where
        Self: Sized;

    /// Builds the response.
    fn build_response(
        &self,
        request: &RunFunctionRequest,
        options: &Options,
        now: Timestamp,
    ) -> RunFunctionResponse;

    /// Finds an invariant that a response violates.
    fn find_violation(&self, response: &RunFunctionResponse, request: &RunFunctionRequest) -> Option<String>;

    /// Explains a response.
    fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String>;

    /// Runs the function once. An unusable request and a violated invariant make the response FATAL.
    fn run(request: &RunFunctionRequest, options: &Options, now: Timestamp) -> RunFunctionResponse
    where
        Self: Sized,
    {
        match Self::evaluate(request, now) {
            Ok(evaluation) => {
                let response = evaluation.build_response(request, options, now);
                let violated = evaluation.find_violation(&response, request);
                fatal_if_violated(violated, response, request)
            }
            Err(unusable) => fatal::build_fatal(
                request,
                unusable.reason(),
                unusable.to_string(),
                fatal::repeat_conditions(request),
            ),
        }
    }
}
