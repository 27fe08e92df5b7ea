//! Invariants of every response, whatever its composite is. A bug thus becomes a FATAL, which changes nothing.

use testplatform_apis::condition::FatalReason;

use super::{
    fatal::{build_fatal, repeat_conditions},
    proto::{RunFunctionRequest, RunFunctionResponse},
};

/// Returns the response, unless an invariant is violated.
pub(crate) fn fatal_if_violated(
    violated: Option<String>,
    response: RunFunctionResponse,
    request: &RunFunctionRequest,
) -> RunFunctionResponse {
    match violated {
        None => response,
        Some(violated) => {
            let why = format!("internal error, nothing is changed: {violated}");
            build_fatal(request, FatalReason::InternalError.as_str(), why, repeat_conditions(request))
        }
    }
}

/// Finds an observed resource of ours that is missing from the response. Each name has a flag for an intended omission.
pub(crate) fn find_missing<'n>(
    ours: impl IntoIterator<Item = (&'n str, bool)>,
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
) -> Option<String> {
    let observed = request.observed.as_ref()?;
    ours.into_iter().find_map(|(name, on_purpose)| {
        let is_desired = response.desired.as_ref().is_some_and(|d| d.resources.contains_key(name));
        (observed.resources.contains_key(name) && !is_desired && !on_purpose)
            .then(|| format!("observed resource {name:?} is missing from the desired state"))
    })
}

/// Resources of other steps must pass through byte for byte.
pub(crate) fn find_changed_foreign(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    ours: &[&str],
) -> Option<String> {
    let (before, after) = (request.desired.as_ref()?, response.desired.as_ref()?);
    let changed = before
        .resources
        .iter()
        .find(|(name, value)| !ours.contains(&name.as_str()) && after.resources.get(*name) != Some(value));
    changed.map(|(name, _)| format!("desired resource {name:?} of another step was changed"))
}

/// No condition type may occur twice: core takes the last one.
pub(crate) fn find_repeated_condition(response: &RunFunctionResponse) -> Option<String> {
    let conditions = &response.conditions;
    // There are a dozen or two.
    let before = |at: usize| conditions[..at].iter().map(|c| &c.r#type);
    let (_, twice) = conditions.iter().enumerate().find(|(at, c)| before(*at).any(|t| *t == c.r#type))?;
    Some(format!("condition {} is given twice", twice.r#type))
}
