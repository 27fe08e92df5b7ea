//! Upstream's "Resulting phase, all combinations" (spec 4.4), with what ours comes to.

use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, TEST_COMPLETED},
        prow_job::JobState,
        status::Phase,
    },
};
use rstest::rstest;

use crate::next::fixture::{Case, complete, no_namespace, pending, ready, served};

type Said = (&'static str, &'static str);

const NOT_SAID: Said = ("", "");
const NO_NAMESPACE: Said = ("False", "NamespacePending");
const PENDING: Said = ("False", "CredentialsPending");
const PUBLISHED: Said = ("True", "CredentialsPublished");
const GONE: Said = ("False", "Deprovisioned");
const FAILED: Said = ("False", "ProwJobFailure");
const TOLD: Said = ("True", "Signalled");

fn comes_to(case: Case, phase: Phase, cluster_ready: Said, test_completed: Said, prow_job_completed: Said) {
    let case = case.settled();
    assert_eq!(case.object.status.value.phase, Some(phase));
    assert_eq!(case.said(CLUSTER_READY), cluster_ready);
    assert_eq!(case.said(TEST_COMPLETED), test_completed);
    assert_eq!(case.said(PROW_JOB_COMPLETED), prow_job_completed);
}

/// A job that was left alone until something changes.
fn running(site: JobSite) -> Case {
    served(JobState::Pending, site)
}

#[rstest]
#[case::no_namespace(running(no_namespace()), Phase::Provisioning, NO_NAMESPACE, NOT_SAID)]
// Upstream: Failed.
#[case::no_namespace_torn_down(running(no_namespace()).torn_down(), Phase::Deprovisioning, NO_NAMESPACE, NO_NAMESPACE)]
#[case::no_kubeconfig(running(pending()), Phase::Provisioning, PENDING, NOT_SAID)]
#[case::no_kubeconfig_torn_down(running(pending()).torn_down(), Phase::Deprovisioning, PENDING, TOLD)]
#[case::kubeconfig(running(complete()), Phase::Ready, PUBLISHED, NOT_SAID)]
#[case::kubeconfig_torn_down(running(complete()).torn_down(), Phase::Deprovisioning, PUBLISHED, TOLD)]
fn status_of_a_running_job(
    #[case] case: Case,
    #[case] phase: Phase,
    #[case] cluster_ready: Said,
    #[case] test_completed: Said,
) {
    comes_to(case, phase, cluster_ready, test_completed, NOT_SAID);
}

#[rstest]
#[case::unseen(running(no_namespace()), NOT_SAID, ("True", "ProwJobCompleted"))]
#[case::ready(ready(), NOT_SAID, ("True", "ProwJobCompleted"))]
// Upstream: the signal that was sent is forgotten.
#[case::torn_down(ready().torn_down().settled().on(no_namespace()), TOLD, ("True", "ProwJobCompleted"))]
#[case::torn_down_in_its_namespace(ready().torn_down().settled(), TOLD, ("True", "ProwJobCompleted"))]
#[case::torn_down_at_the_end(running(no_namespace()).torn_down().settled(), NO_NAMESPACE, ("True", "ProwJobCompleted"))]
fn status_of_a_successful_job(#[case] case: Case, #[case] test_completed: Said, #[case] completed: Said) {
    let case = case.in_state(JobState::Success);
    comes_to(case, Phase::Deprovisioned, GONE, test_completed, completed);
}

#[rstest]
#[case::before_a_namespace(running(no_namespace()), NOT_SAID, ("True", "ProwJobFailure"))]
#[case::before_a_kubeconfig(running(pending()), NOT_SAID, ("True", "ProwJobFailure"))]
#[case::ready(ready(), NOT_SAID, ("True", "EndedWithoutSignal"))]
#[case::torn_down(ready().torn_down().settled(), TOLD, ("True", "DeprovisionFailed"))]
#[case::torn_down_early(running(no_namespace()).torn_down().settled(), NO_NAMESPACE, ("True", "ProwJobFailure"))]
fn status_of_a_failed_job(
    #[case] case: Case,
    #[case] test_completed: Said,
    #[case] completed: Said,
    #[values(JobState::Failure, JobState::Aborted, JobState::Error)] state: JobState,
) {
    comes_to(case.in_state(state), Phase::Failed, FAILED, test_completed, completed);
}

#[rstest]
// Upstream: all unchanged.
#[case::while_provisioning(running(pending()), Phase::Failed, ("False", "ProwJobGone"), NOT_SAID)]
#[case::while_ready(ready(), Phase::Failed, ("False", "ProwJobGone"), NOT_SAID)]
#[case::while_torn_down(ready().torn_down().settled(), Phase::Deprovisioned, GONE, TOLD)]
fn status_of_a_missing_job(
    #[case] case: Case,
    #[case] phase: Phase,
    #[case] cluster_ready: Said,
    #[case] test_completed: Said,
) {
    let completed = if phase == Phase::Deprovisioned { "ProwJobCompleted" } else { "ProwJobGone" };
    comes_to(case.gone(), phase, cluster_ready, test_completed, ("True", completed));
}

#[rstest]
fn swept_job_of_a_completed_object_changes_nothing(
    #[values(JobState::Success, JobState::Failure)] state: JobState,
    #[values(true, false)] looked: bool,
) {
    let case = ready().in_state(state).settled();
    let mut swept = case.clone().gone();
    swept.world.job_is_missing = looked;
    let swept = swept.cached().settled();
    assert_eq!(swept.object.status.value, case.object.status.value);
    assert_eq!(swept.object.metadata.finalizers, None);
}
