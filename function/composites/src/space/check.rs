//! The invariants of any response for a space, checked on every one.

use memchr::memmem::Finder;
use prost::{Message as _, bytes::Bytes};
use testplatform_apis::space::keys;

use super::{OURS, SECRET, SpaceCredentials, SpaceEvaluation};
use crate::sdk::{
    invariants::{find_changed_foreign, find_missing, find_repeated_condition},
    proto::{Ready, Resource, RunFunctionRequest, RunFunctionResponse},
};

/// Finds an invariant that the response violates.
pub fn find_violation(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &SpaceEvaluation,
) -> Option<String> {
    // An Object with an invalid name carries nothing.
    let nothing = |name: &str| name == SECRET && !evaluation.observed.is_legacy();
    find_missing(OURS.map(|name| (name, nothing(name))), response, request)
        .or_else(|| find_partial_credentials(response))
        .or_else(|| find_leak(response, request, evaluation))
        .or_else(|| find_changed_foreign(response, request, &OURS))
        .or_else(|| find_repeated_condition(response))
}

/// All keys or none; and ready with all of them alone.
fn find_partial_credentials(response: &RunFunctionResponse) -> Option<String> {
    let composite = response.desired.as_ref()?.composite.as_ref()?;
    let details = &composite.connection_details;
    let complete = SpaceCredentials::new(details).is_complete() && details.len() == keys::EVERY.len();
    let ready = composite.ready == i32::from(Ready::True);
    let given = ready || !details.is_empty();
    (given && !complete).then(|| "a space would be given a part of its credentials".to_owned())
}

/// Secrets travel as connection details only. A value that the request shows openly is no secret.
fn find_leak(
    response: &RunFunctionResponse,
    request: &RunFunctionRequest,
    evaluation: &SpaceEvaluation,
) -> Option<String> {
    let items = evaluation.observed.objects.values().map(|item| &item.details);
    let known = items.chain([&evaluation.observed.details]).chain(&evaluation.details);
    let secrets: Vec<&Bytes> =
        known.flat_map(|k| [k.get(keys::KUBECONFIG), k.get(keys::TOKEN)]).flatten().collect();
    let objects = |resources: &std::collections::BTreeMap<String, Bytes>| -> Vec<Bytes> {
        let ours = resources.iter().filter(|(name, _)| OURS.contains(&name.as_str()));
        ours.filter_map(|(_, bytes)| Resource::decode(bytes.clone()).ok()).map(|r| r.resource).collect()
    };
    let desired = response.desired.as_ref()?;
    let mut open = objects(&desired.resources);
    open.extend(desired.composite.iter().map(|c| c.resource.clone()));
    open.extend(response.results.iter().map(|r| Bytes::from(r.message.clone())));
    open.extend(response.conditions.iter().filter_map(|c| c.message.clone()).map(Bytes::from));
    let shown = objects(&request.observed.as_ref()?.resources);
    let within = |texts: &[Bytes], secret: &Finder<'_>| texts.iter().any(|t| secret.find(t).is_some());
    // Shorter ones occur by chance in any text.
    let secrets = secrets.into_iter().filter(|secret| secret.len() >= 8).map(Finder::new);
    secrets
        .into_iter()
        .any(|secret| within(&open, &secret) && !within(&shown, &secret))
        .then(|| "a secret would leave through something other than connection details".to_owned())
}
