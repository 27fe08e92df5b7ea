//! The invariants of any response for a pool, checked on every one.

use super::{OURS, PoolEvaluation};
use crate::{
    check::{foreign, missing, repeated},
    proto::{RunFunctionRequest, RunFunctionResponse},
};

/// What the response violates.
pub fn violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    judged: &PoolEvaluation,
) -> Option<String> {
    let away = judged.removed_resources();
    missing(OURS.map(|name| (name, away.contains(&name))), response, request)
        .or_else(|| foreign(response, request, &OURS))
        .or_else(|| repeated(response))
}
