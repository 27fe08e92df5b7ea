//! The third composite: a space. Input is a `Namespace` claim; output is a namespace on a hub with its limits and its credentials.
//!
//! ```text
//! request ──decode──▶ SpaceState ──build_resources──▶ desired ──build_response──▶ response ──check──▶ out
//! ```
//!
//! Differences from a cluster, and their reasons:
//! - **Nothing is pinned by uid.** A namespace that somebody deletes on the hub costs nothing to recreate, and the hub-side provider
//!   publishes credentials for the new one.
//! - **Creation has an order:** the namespace; once the hub has it, its limits; once all of them exist, the rights; then credentials. So
//!   the hub refuses nothing, and nobody has rights without quota. Deletion is the reverse: only the namespace is deleted, and everything
//!   else goes with it.
//! - **A space of the incumbent stays unchanged.** Its Object `secret`, with the token of running pipelines, is repeated as observed for
//!   the life of the space.
//!
//! **Invariant:** pure, like the rest of the core. An OK response repeats every observed resource of ours. Connection details are all five
//! keys or none, and the composite is ready only in a response that has them.

mod check;
mod legacy;
mod observed;
mod resources;
mod respond;
mod state;

use jiff::Timestamp;
use serde::Deserialize;
use testplatform_apis::{
    input::Settings,
    space::{GROUP, SPACE_KIND},
};

pub use observed::{SpaceCredentials, SpaceObject, SpaceState};
pub use state::SpaceProgress;

use crate::{
    Options,
    composite::CompositeEvaluation,
    sdk::{
        proto::{RunFunctionRequest, RunFunctionResponse},
        request::{UnusableRequest, read_settings},
        response::DesiredResource,
        wire,
    },
};

/// Composition resource name of the Object that carries the namespace.
pub const NAMESPACE: &str = "namespace";
/// Permissions on a namespace that is not proven to be created here: a namespace that existed before is neither changed nor deleted with
/// the claim.
const NEWBORN: [&str; 2] = ["Observe", "Create"];
/// Of the one that carries the quota of everything.
pub const QUOTA: &str = "quota";
/// Of the one that carries the quota of containers without an end.
pub const QUOTA_NOT_TERMINATING: &str = "quota-not-terminating";
/// Of the one that carries the quota of containers that end by themselves.
pub const QUOTA_TERMINATING: &str = "quota-terminating";
/// Of the one that carries the limits of containers.
pub const LIMITS: &str = "resource-limits";
/// Of the one that lets pods of the space reach each other.
pub const SAME_NAMESPACE: &str = "allow-same-namespace";
/// Of the one that lets OpenShift reach them.
pub const FROM_OPENSHIFT: &str = "allow-from-openshift";
/// Of the one that carries the ServiceAccount.
pub const SERVICE_ACCOUNT: &str = "serviceaccount";
/// Of the one that carries its rights.
pub const ROLE_BINDING: &str = "rolebinding";
/// Of the incumbent's, which carries a token that does not expire. Never made here.
pub const SECRET: &str = "secret";
/// Of the one that observes the published credentials.
pub const CREDENTIALS: &str = "credentials";

/// Objects that are created as soon as the namespace exists, all of them before anybody gets rights.
pub const CONTENT: [&str; 7] = [
    FROM_OPENSHIFT,
    SAME_NAMESPACE,
    QUOTA,
    QUOTA_NOT_TERMINATING,
    QUOTA_TERMINATING,
    LIMITS,
    SERVICE_ACCOUNT,
];

/// Composition resource names of ours, in the order of names.
pub const OURS: [&str; 11] = [
    FROM_OPENSHIFT,
    SAME_NAMESPACE,
    CREDENTIALS,
    NAMESPACE,
    QUOTA,
    QUOTA_NOT_TERMINATING,
    QUOTA_TERMINATING,
    LIMITS,
    ROLE_BINDING,
    SECRET,
    SERVICE_ACCOUNT,
];

/// A decoded and planned request for a space.
#[derive(Debug)]
pub struct SpaceEvaluation {
    /// The step's input with every default filled in.
    pub settings: Settings,
    /// Observed state.
    pub observed: SpaceState,
    /// Name of the namespace on the hub; none: the composite's name makes none.
    pub namespace: Option<String>,
    /// Desired resources.
    pub resources: Vec<DesiredResource>,
    /// The credentials, all of them or none.
    pub details: Option<SpaceCredentials>,
    /// Progress of the space.
    pub state: SpaceProgress,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpaceTypeMeta<'a> {
    api_version: &'a str,
    kind: &'a str,
}

/// Whether a request is for a space.
pub fn handles_kind(request: &RunFunctionRequest) -> bool {
    let composite = request.observed.as_ref().and_then(|o| o.composite.as_ref());
    let is = |k: SpaceTypeMeta<'_>| k.kind == SPACE_KIND && k.api_version.split('/').next() == Some(GROUP);
    composite.is_some_and(|c| wire::from_struct::<SpaceTypeMeta<'_>>(&c.resource).is_ok_and(is))
}

impl CompositeEvaluation for SpaceEvaluation {
    fn handles_kind(request: &RunFunctionRequest) -> bool {
        handles_kind(request)
    }

    /// A space has no deadlines, so the time does not matter.
    fn evaluate(request: &RunFunctionRequest, _now: Timestamp) -> Result<Self, UnusableRequest> {
        let settings = read_settings(request)?;
        let observed = SpaceState::decode(request)?;
        let namespace = observed.namespace();
        let resources = namespace
            .as_ref()
            .map_or_else(Vec::new, |namespace| resources::build_resources(namespace, &settings, &observed));
        let details = namespace.as_ref().and_then(|namespace| observed.credentials(namespace));
        let state = state::read_progress(namespace.as_deref(), &resources, details.is_some(), &observed);
        Ok(Self { settings, observed, namespace, resources, details, state })
    }

    fn build_response(
        &self,
        request: &RunFunctionRequest,
        options: &Options,
        _now: Timestamp,
    ) -> RunFunctionResponse {
        respond::build_response(request, self, options)
    }

    fn find_violation(&self, response: &RunFunctionResponse, request: &RunFunctionRequest) -> Option<String> {
        check::find_violation(response, request, self)
    }

    fn explain_response(&self, response: &RunFunctionResponse) -> Vec<String> {
        explain_response(self, response)
    }
}

/// The reasons behind a response, most important first.
fn explain_response(evaluation: &SpaceEvaluation, response: &RunFunctionResponse) -> Vec<String> {
    use crate::sdk::proto::Severity;
    if let Some(fatal) = response.results.iter().find(|r| r.severity == i32::from(Severity::Fatal)) {
        return vec![format!("fatal: {}", fatal.message)];
    }
    let mut lines = vec![format!("phase {}: {}", evaluation.phase(), evaluation.state.message)];
    lines.push(format!("reason: {}", evaluation.state.reason));
    for name in OURS {
        let wanted = evaluation.resources.iter().any(|r| r.name == name);
        let what = match (evaluation.observed.objects.get(name), wanted) {
            (None, false) => continue,
            (None, true) => "asked for now",
            (Some(item), true) if item.exists() => "is there",
            (Some(_), true) => "asked for",
            (Some(_), false) => "taken away: it never was on the hub",
        };
        lines.push(format!("{name}: {what}"));
    }
    let given = if evaluation.details.is_some() { "given" } else { "not given: not all of them are known" };
    lines.push(format!("credentials: {given}"));
    lines
}

/// The last segment of what a composite is called on the hub: dots are no part of a namespace's name.
pub(crate) fn namespace_of(composite: &str) -> String {
    composite.replace('.', "-")
}
