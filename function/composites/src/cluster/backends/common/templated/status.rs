//! Observed state of a cluster → its stage and its failures.
//!
//! **Invariant:** without published credentials nothing is Ready, whatever the backend reports.

use jiff::Timestamp;
use testplatform_apis::{
    condition::{ConditionStatus, Credentials, Failure, SetupLevel},
    foreign::meta::Metadata,
    hive_status::HiveStatus,
    names::ours,
    status::ErrorStatus,
    text::bounded,
};

use super::FailureCondition;
use crate::{
    cluster::{
        backends::{
            BackendCondition, Health, Stage,
            api::MAX_DIAGNOSTICS,
            common::{
                bundles,
                published_credentials::{PublishedCredentials, is_admin_published, read_published},
            },
        },
        observed::{Observed, PrimaryObject},
        request::{Templated, Validated},
    },
    objects::SyncState,
};

/// State of a cluster as a backend observes it.
pub(in crate::cluster::backends) struct BackendStatus<'a> {
    /// Kind of the object that stands for the cluster.
    pub kind: &'static str,
    /// Its metadata.
    pub metadata: &'a Metadata,
    /// Whether the cluster's API answers.
    pub api_answers: bool,
    /// Whether all that was asked for is there.
    pub is_up: bool,
    /// Whether anything is made for it yet.
    pub has_started: bool,
    /// Failures that do not resolve by themselves.
    pub terminal: Vec<FailureCondition>,
    /// Failures that degrade a cluster that was ready.
    pub degrading: Vec<FailureCondition>,
    /// Failures that may resolve by themselves, the most important first.
    pub transient: Vec<FailureCondition>,
}

impl BackendStatus<'_> {
    /// Terminal failures that have persisted.
    pub fn persistent_failures(&self, now: Timestamp) -> Vec<&FailureCondition> {
        self.terminal.iter().filter(|wrong| wrong.is_persistent(now)).collect()
    }

    /// Adds to what the backend says: the stage, the credentials, what is wrong and when that changes.
    pub fn complete_health(
        self,
        mut health: Health,
        templated: &Templated,
        request: &Validated,
        observed: &Observed,
    ) -> Health {
        let (metadata, now, ever_ready) = (self.metadata, observed.now, observed.ever_ready());
        let annotation = metadata.annotation(ours::STATUS).map(HiveStatus::from_annotation).transpose();
        let unreadable = annotation.as_ref().err().map(|e| format!("annotation {}: {e}", ours::STATUS));
        let (report, account) =
            (annotation.unwrap_or_default().unwrap_or_default(), request.access.is_some());
        let (secret, blocking) = self.read_credentials(&report, account);
        health.publishes_admin = is_admin_published(&report, account);
        health.unreadable = health.unreadable.or(unreadable);
        health.revision = metadata.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
        health.diagnostics = metadata.annotation(ours::DIAGNOSTICS).map(|d| bounded(d, MAX_DIAGNOSTICS));

        let progress = health.conditions.progress.as_ref();
        health.phase_word = progress.and_then(|p| p.step.clone()).unwrap_or_default();
        let message = progress.and_then(|p| p.message.clone());
        let goes = metadata.deletion_timestamp.is_some();
        let worst = || self.terminal.iter().chain(&self.transient).next().map(FailureCondition::text);
        // Why it was not ready in time is no less true once it goes for that.
        let waiting = if goes { worst() } else { message.clone() };
        let setup = bundles::setup_condition(templated, observed);
        let counts = |level: &&BackendCondition<SetupLevel>| {
            self.is_up || (goes && level.reason == SetupLevel::SetupFailed)
        };
        let lacks = setup.as_ref().filter(|level| level.status == ConditionStatus::False).filter(counts);
        health.set_up = lacks.map(|level| level.reason);
        let lacks = lacks.map(|level| level.message.clone());
        let applied = lacks.is_none();
        health.waiting = lacks.or_else(|| waiting.filter(|_| !self.is_up)).unwrap_or_default();
        // It is ready once all of that is there too.
        let set_up_at = observed.bundles.report().filter(|_| applied && setup.is_some());
        health.ready_since = health.ready_since.max(set_up_at.and_then(|report| report.since));
        if let Some(level) = setup.filter(|_| is_true(health.conditions.setup.as_ref())) {
            // The backend's own condition takes precedence.
            health.conditions.setup = Some(level);
        }
        health.teardown_waits_for = bundles::teardown_waits_for(observed);
        let patience = templated.effective.as_ref().and_then(|e| e.timeouts?.teardown);
        // Its Object waits for those that depend on it before the hub is told, and what comes before that is looked at from its beginning on.
        let primary_deleted_at =
            observed.primary.as_ref().and_then(|primary| primary.object.metadata.deletion_timestamp);
        let undone = observed.bundles.observer.as_ref();
        let begun = undone.and_then(|undone| undone.object.metadata.creation_timestamp);
        let since = metadata.deletion_timestamp.into_iter().chain(primary_deleted_at).chain(begun).min();
        let blocked_at =
            since.zip(patience).and_then(|(at, patience)| at.checked_add(patience.as_signed()).ok());
        health.teardown_arrived = goes;
        if health.teardown_failure.is_none() && blocked_at.is_some_and(|b| b <= now) {
            // The awaited condition is no longer observed.
            let first = health
                .teardown_waits_for
                .clone()
                .map_or_else(|| "its nodes are deleted first".into(), |w| format!("it {w}"));
            let undelivered =
                || format!("the hub has not received the deletion yet of the {}: {first}", self.kind);
            health.teardown_failure = if goes { message } else { Some(undelivered()) };
        }

        if health.teardown_failure.is_none() {
            health.teardown_failure = refused_deletion(observed, self.kind);
        }

        let awaited = if ever_ready { &self.degrading } else { &self.terminal };
        let counting = awaited
            .iter()
            .filter(|wrong| !wrong.is_persistent(now))
            .filter_map(FailureCondition::persistent_at);
        health.changes_at = counting.chain(blocked_at).filter(|at| *at > now).min();
        health.stage = self.decide_stage(secret.is_some(), applied, request, observed);
        (health.secret, health.blocking) = (secret, blocking);
        let worst =
            self.terminal.iter().chain(self.degrading.iter().filter(|_| ever_ready)).chain(&self.transient);
        health.conditions.last_error = worst.into_iter().next().map(|wrong| ErrorStatus {
            reason: Some(wrong.reason.clone()),
            message: Some(wrong.message.clone()),
            since: wrong.since,
            terminal: Some(wrong.terminal),
        });
        health
    }

    fn decide_stage(
        &self,
        published: bool,
        applied: bool,
        request: &Validated,
        observed: &Observed,
    ) -> Stage {
        let refused =
            |wrong: &&FailureCondition| Stage::Refused { message: bounded(&wrong.text(), 512), costs: true };
        let persistent = self.persistent_failures(observed.now);
        // The failure stays visible.
        let failed = observed.annotation(ours::FAILED) == Some(Failure::HubRefused.as_str());
        if self.metadata.deletion_timestamp.is_some() {
            let why = persistent.first().filter(|_| failed).map(refused);
            return why
                .unwrap_or_else(|| Stage::Failing(format!("the {} is being deleted on the hub", self.kind)));
        }
        let ends = request.teardown == Some(true)
            || observed.is_teardown_recorded()
            || observed.primary.as_ref().is_some_and(PrimaryObject::is_deleting);
        match (observed.ever_ready(), persistent.first()) {
            // A failure that is not observed any more may have passed, however long ago it began.
            (false, Some(wrong)) if !ends && (failed || is_up_to_date(observed)) => refused(wrong),
            (false, _) if self.is_up && published && applied => Stage::Ready,
            (false, _) if !self.has_started => Stage::Queued,
            (false, _) => Stage::Provisioning,
            (true, _) => self.decide_running_stage(published, observed.now),
        }
    }

    /// Stage of a cluster that was ready. Flapping failures are ignored.
    fn decide_running_stage(&self, published: bool, now: Timestamp) -> Stage {
        if let Some(wrong) = self.degrading.iter().find(|wrong| wrong.is_persistent(now)) {
            return Stage::Failing(bounded(&wrong.text(), 512));
        }
        if !published {
            return Stage::Failing("the hub does not publish its credentials at the moment".into());
        }
        // Gone without a word, such as by a restore of the hub.
        if self.degrading.is_empty() && !self.api_answers {
            return Stage::Failing("the hub does not report whether its API server answers".into());
        }
        Stage::Ready
    }

    /// The published Secret, or why there is none.
    fn read_credentials(&self, report: &HiveStatus, account: bool) -> PublishedCredentials {
        let own = format!("{}-credentials", self.metadata.name);
        match read_published(report, &own, account) {
            Some(reported) => reported,
            None if !self.api_answers => {
                (None, Some((Credentials::NotRunning, "its API server does not answer yet".into())))
            }
            None => (None, Some((Credentials::SecretMissing, "the hub has not published them yet".into()))),
        }
    }
}

/// Why provider-kubernetes cannot delete the object of the cluster: it tries the manifest before that, and the hub refuses even what it has itself.
fn refused_deletion(observed: &Observed, kind: &str) -> Option<String> {
    let primary = observed.primary.as_ref().filter(|primary| primary.is_deleting())?;
    let SyncState::Refused(message) = &primary.sync else { return None };
    let cause =
        "the hub refuses every change of it, and provider-kubernetes deletes nothing that it cannot apply";
    Some(bounded(&format!("the {kind} has to be deleted on the hub: {cause}: {message}"), 768))
}

/// Whether what is known of the cluster is of now.
fn is_up_to_date(observed: &Observed) -> bool {
    observed.primary.as_ref().is_some_and(|primary| primary.sync.is_up_to_date())
}

/// Whether a part is there.
fn is_true<R>(level: Option<&BackendCondition<R>>) -> bool {
    level.is_some_and(|level| level.status == ConditionStatus::True)
}

/// Health of a cluster that was not observed yet.
pub(in crate::cluster::backends) fn unobserved_health(templated: &Templated) -> Health {
    let version = templated.effective.as_ref().and_then(|e| e.version.as_deref());
    Health { version_desired: version.map(|v| bounded(v, 64)), ..Health::default() }
}
