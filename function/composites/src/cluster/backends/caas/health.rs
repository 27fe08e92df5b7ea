//! Status of a ClusterTemplateInstance → [`Health`].

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{caas::KIND, meta::find_condition},
    template::entry::Observes,
    text::bounded,
};

use super::{CaasRequest, cluster_conditions, facts::InstanceFacts, failures, observer};
use crate::{
    cluster::{
        backends::{
            Health,
            common::{
                conditions::progress_step,
                templated::{BackendStatus, unobserved_health},
            },
            hosted_cluster::UnderlyingCluster,
        },
        observed::{Observed, PrimaryObject},
        request::{Templated, Validated},
    },
    objects::SyncState,
};

pub(super) fn assess_health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unobserved_health(templated);
    let Some(facts) = InstanceFacts::from_observed(observed) else {
        report_orphaned(&mut health, templated, observed);
        health.conditions.progress =
            health.orphaned.as_ref().map(|message| progress_step("Deleting", message));
        return health;
    };
    let (remote, status) = (facts.remote, facts.status);
    let sight = BackendStatus {
        kind: KIND,
        metadata: &remote.metadata,
        api_answers: facts.api_answers(),
        is_up: facts.is_up(),
        has_started: !status.phase.is_empty(),
        terminal: failures::terminal_failures(&facts),
        degrading: failures::degrading_failures(&facts),
        transient: failures::transient_failures(&facts),
    };
    health.has_cluster =
        !status.conditions.is_empty() || !status.phase.is_empty() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.is_up);
    health.unreadable.clone_from(&remote.status.error);
    let behind = facts.hosted_cluster.as_ref();
    health.version = behind.and_then(UnderlyingCluster::version);
    let url = |reported: &str| reported.starts_with("https://").then(|| bounded(reported, 2048));
    health.api_server_url =
        url(&status.api_server_url).or_else(|| behind.and_then(UnderlyingCluster::api_server_url));
    health.console_url = url(&status.console_url).or_else(|| behind.and_then(UnderlyingCluster::console_url));
    health.conditions = cluster_conditions::build_conditions(
        &facts,
        templated,
        observed,
        &sight.persistent_failures(observed.now),
    );
    let mut health = sight.complete_health(health, templated, request, observed);
    report_orphaned(&mut health, templated, observed);
    health
}

/// Reports the rest of the cluster once its ClusterTemplateInstance is gone, which goes first, and why that rest stays.
fn report_orphaned(health: &mut Health, templated: &Templated, observed: &Observed) {
    let Some(hosted) = &observed.hosted else {
        let behind = CaasRequest::from_templated(templated).and_then(|wanted| wanted.spec.observes);
        let expected = matches!(behind, Some(Observes::HostedCluster)) && observed.expected_uid().is_some();
        // It is looked for first.
        health.orphaned =
            expected.then(|| "it is not known yet whether its HostedCluster is gone".to_owned());
        return;
    };
    if hosted.is_deleted() && hosted.is_reobserving() {
        return;
    }
    let (namespace, name) = hosted.namespaced_name();
    let which = format!("HostedCluster {}", bounded(&format!("{namespace}/{name}"), 320));
    let goes = hosted.remote().and_then(|remote| remote.metadata.deletion_timestamp);
    health.orphaned = Some(match hosted.remote() {
        Some(_) if goes.is_some() => format!("{which} is being destroyed"),
        Some(_) => format!("{which} still exists, and its deletion has not started"),
        None => format!("it is not known yet whether {which} is gone"),
    });
    let unseen = hosted.outage().map(|outage| format!("{which} cannot be read: {outage}"));
    let since = goes.or_else(|| orphaned_since(observed.primary.as_ref()?));
    let blocked_at = observer::teardown_deadline(templated, since);
    let lasts = blocked_at
        .filter(|at| *at <= observed.now && !hosted.is_deleted())
        .map(|_| format!("{which} is still there"));
    health.teardown_failure = health.teardown_failure.take().or(unseen).or(lasts);
    let later = blocked_at.filter(|at| *at > observed.now);
    health.changes_at = health.changes_at.into_iter().chain(later).min();
}

/// Time since which no object represents the cluster, so the HostedCluster is expected to go although nobody deletes it. After a removal it
/// is the creation of the searching Object. After a replacement nothing is removed, and Synced has the time.
fn orphaned_since(primary: &PrimaryObject) -> Option<Timestamp> {
    let object = &primary.object;
    if primary.sync == SyncState::Replaced {
        return find_condition(&object.status.conditions, "Synced")?.last_transition_time;
    }
    object.metadata.creation_timestamp.filter(|_| primary.is_searching())
}
