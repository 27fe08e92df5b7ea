//! Access to the cluster. It is fixed with the first request: published credentials stay in use.

use testplatform_apis::{
    account::{AccessRequest, DEFAULT_ROLE, Mode},
    condition::Request,
    names::ours,
};

use crate::{
    cluster::{observed::Observed, request::AdmissionIssue},
    sdk::composite::FieldProblem,
};

/// The ServiceAccount that is wished for; none where the admin's credentials are.
pub(super) fn resolve_access(
    observed: &Observed,
    problems: &mut Vec<FieldProblem>,
    issues: &mut Vec<AdmissionIssue>,
) -> Option<AccessRequest> {
    let requested = AccessRequest::from_spec(&observed.composite.spec["credentials"]);
    let mut ignored = || {
        let message = "mode and clusterRole of spec.credentials cannot change after a cluster was requested, and stay as they were";
        issues.push(AdmissionIssue::new(Request::ChangeIgnored, message));
    };
    let Some(primary) = &observed.primary else {
        return requested.unwrap_or_else(|(path, sentence)| {
            if observed.cluster_may_exist() {
                // It has to be looked for all the same, and what nobody understands is no wish for the admin's.
                ignored();
                return Some(AccessRequest { cluster_role: DEFAULT_ROLE.to_owned(), generation: 0 });
            }
            let dot = if path.is_empty() { "" } else { "." };
            problems.push(FieldProblem { field: format!("spec.credentials{dot}{path}"), sentence });
            None
        });
    };
    // A manifest that lost it is no wish for the admin's either: the remote object has what it was told, and status that there was one.
    let of_remote = || primary.remote()?.metadata().annotation(ours::CREDENTIALS_WISH);
    let reported = primary.manifest_annotation(ours::CREDENTIALS_WISH).or_else(of_remote);
    let shown = observed.composite.status.credentials.as_ref().and_then(|c| c.mode);
    let before =
        reported.or((shown == Some(Mode::ServiceAccount)).then_some("")).map(AccessRequest::from_annotation);
    match (before, requested) {
        (None, Ok(None)) => None,
        (Some(before), Ok(Some(asked)))
            if before.as_ref().ok().is_none_or(|before| before.cluster_role == asked.cluster_role) =>
        {
            Some(asked)
        }
        (before, _) => {
            ignored();
            let unread = |_| AccessRequest { cluster_role: DEFAULT_ROLE.to_owned(), generation: 0 };
            before.map(|before| before.unwrap_or_else(unread))
        }
    }
}
