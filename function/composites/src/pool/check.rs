//! The invariants of any response for a pool, checked on every one.

use super::{OURS, PoolEvaluation};
use crate::sdk::{
    invariants::{find_changed_foreign, find_missing, find_repeated_condition},
    proto::{RunFunctionRequest, RunFunctionResponse},
};

/// Finds an invariant that the response violates.
pub fn find_violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &PoolEvaluation,
) -> Option<String> {
    let away = evaluation.removed_resources();
    find_missing(OURS.map(|name| (name, away.contains(&name))), response, request)
        .or_else(|| find_changed_foreign(response, request, &OURS))
        .or_else(|| find_repeated_condition(response))
}
