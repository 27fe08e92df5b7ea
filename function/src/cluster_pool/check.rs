//! The invariants of any response for a pool, checked on every one.

use super::{Judged, OURS};
use crate::{
    check::{foreign, repeated, unless},
    proto::{RunFunctionRequest, RunFunctionResponse},
};

/// The response, if it holds what every response must; a FATAL that says what it does not hold otherwise.
pub(super) fn checked(
    response: RunFunctionResponse,
    request: &RunFunctionRequest,
    judged: &Judged,
) -> RunFunctionResponse {
    let violated = violation(&response, request, judged);
    unless(violated, response, request)
}

/// What the response violates.
pub fn violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    judged: &Judged,
) -> Option<String> {
    dropped(response, request, judged)
        .or_else(|| foreign(response, request, &OURS))
        .or_else(|| repeated(response))
}

/// Nothing of ours that exists is dropped, but on purpose.
fn dropped(response: &RunFunctionResponse, request: &RunFunctionRequest, judged: &Judged) -> Option<String> {
    let observed = request.observed.as_ref()?;
    let away = judged.taken_away();
    OURS.into_iter().find_map(|name| {
        let kept = response.desired.as_ref().is_some_and(|d| d.resources.contains_key(name));
        (observed.resources.contains_key(name) && !kept && !away.contains(&name))
            .then(|| format!("observed resource {name:?} is missing from the desired state"))
    })
}
