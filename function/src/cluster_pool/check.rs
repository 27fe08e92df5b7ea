//! The invariants of any response for a pool, checked on every one.

use super::{Judged, OURS};
use crate::{
    check::{foreign, missing, repeated},
    proto::{RunFunctionRequest, RunFunctionResponse},
};

/// What the response violates.
pub fn violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    judged: &Judged,
) -> Option<String> {
    let away = judged.taken_away();
    missing(OURS.map(|name| (name, away.contains(&name))), response, request)
        .or_else(|| foreign(response, request, &OURS))
        .or_else(|| repeated(response))
}
