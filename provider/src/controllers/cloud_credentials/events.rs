//! The report of a request for a cloud credential, and events about its changes.

use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::cloud::{CloudCredentialReport, CredentialPhase};
use testplatform_runtime::{error::Error, event::Event};

use super::{
    controller::{CloudController, lock},
    execute::Worker,
    metrics::CredentialOutcome,
    reconcile::CredentialEvent,
};

impl CloudController {
    /// Writes the report, and emits events about changes.
    pub(super) async fn write_report(
        &self,
        key: &str,
        before: &CloudCredentialReport,
        worker: &mut Worker,
        mut report: CloudCredentialReport,
    ) -> Result<(), Error> {
        let same = before.state == report.state;
        report.since = if same { before.since.or(Some(worker.now)) } else { Some(worker.now) };
        worker.write_report(&report).await?;
        if lock(&self.known).contains_key(key) {
            self.gauge.record(key, report.state);
        }
        if same {
            return Ok(());
        }
        let (state, message) = (report.state, report.message.unwrap_or_default());
        tracing::info!(order = key, ?state, message, "cloud credential report changed");
        let outcome = match state {
            Some(CredentialPhase::RotationFailed) => CredentialOutcome::RotationFailed,
            Some(CredentialPhase::OwnerInvalid) => CredentialOutcome::OwnerInvalid,
            Some(
                CredentialPhase::Valid
                | CredentialPhase::Unreachable
                | CredentialPhase::Blocked
                | CredentialPhase::Leaving,
            )
            | None => return Ok(()),
        };
        self.publish_event(key, &worker.map, outcome, message).await;
        Ok(())
    }

    pub(super) async fn record_event(&self, key: &str, map: &ConfigMap, what: CredentialEvent) {
        tracing::info!(order = key, ?what, "cloud credential changed");
        let (outcome, note) = match what {
            CredentialEvent::Made(name) => (CredentialOutcome::Made, format!("{name} is published")),
            CredentialEvent::Rotated(name) => (
                CredentialOutcome::Rotated,
                format!("{name} is published; the previous one is deleted later"),
            ),
            CredentialEvent::Removed(name) => (CredentialOutcome::Removed, format!("{name} is gone")),
            CredentialEvent::LeftBehind(name) => (
                CredentialOutcome::LeftBehind,
                format!(
                    "{name} could not be deleted by any issuer; an administrator of the cloud must delete it, if it exists"
                ),
            ),
        };
        self.publish_event(key, map, outcome, note).await;
    }

    async fn publish_event(&self, key: &str, map: &ConfigMap, outcome: CredentialOutcome, note: String) {
        self.metrics.cloud_came_to(outcome);
        let event = Event { warning: outcome.is_warning(), reason: outcome.as_str().into(), note };
        self.teller.publish_event(key, map, &event, (self.options.now)()).await;
    }
}
