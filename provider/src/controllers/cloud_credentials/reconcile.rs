//! Takes one step after the other until there is nothing to do but to wait.

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::cloud::CloudCredentialReport;
use testplatform_runtime::error::{Error, Reason};

use super::{
    plan::{
        CredentialCheck, CredentialStep, DeletionResult, IdentityError, IssuedCredential, ObservedCredential,
        StepResults, StoredSecret, next_step, remaining_credentials,
    },
    record::{CredentialRecord, CredentialRef},
};

/// More steps than it ever takes with a sensible number of issuers: of credentials no more are deleted than [`BATCH`](super::plan::BATCH).
const STEPS: usize = 512;

/// The hub and the identity service, as far as one order goes. An error is the hub's and ends the pass; each call may have been done although it
/// failed, and may be repeated.
pub trait CredentialBackend {
    /// Whether what is published works.
    fn probe_published(&self) -> impl Future<Output = CredentialCheck> + Send;
    /// Those of ours that an issuer has.
    fn list_credentials(
        &self,
        issuer: &str,
    ) -> impl Future<Output = Result<Vec<CredentialRef>, IdentityError>> + Send;
    /// Creates a credential with this number through an issuer. The implementation keeps its secret.
    fn issue_credential(
        &mut self,
        issuer: &str,
        number: u32,
    ) -> impl Future<Output = Result<IssuedCredential, IdentityError>> + Send;
    /// Whether the one that was made last works.
    fn verify_issued(&self, minted: &IssuedCredential) -> impl Future<Output = CredentialCheck> + Send;
    /// Deletes one, through its issuer or, where that one cannot, through these.
    fn delete_credential(
        &self,
        one: &CredentialRef,
        others: &[String],
    ) -> impl Future<Output = DeletionResult> + Send;
    /// Puts the finalizer on the order. False: there is no order any more.
    fn add_finalizer(&mut self) -> impl Future<Output = Result<bool, Error>> + Send;
    /// Writes on the order since when what was made is being deleted.
    fn mark_removing(
        &mut self,
        removing: Option<Timestamp>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes a record on the Secret.
    fn write_record(&mut self, record: &CredentialRecord) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes the one that was made last into the Secret, and a record on it, at once.
    fn publish_issued(
        &mut self,
        minted: &IssuedCredential,
        record: &CredentialRecord,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Deletes the Secret.
    fn withdraw_secret(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Takes the finalizer from the order.
    fn release_request(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Event of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialEvent {
    /// The first one is published; its name.
    Made(String),
    /// Another one is published; its name.
    Rotated(String),
    /// A credential was deleted, or was gone already; its name.
    Removed(String),
    /// A credential is left at the identity service when the request is released: deletion is forbidden, impossible, or unanswered; its name.
    LeftBehind(String),
}

/// Result of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// Report to write, and the requeue delay.
    Told(CloudCredentialReport, Duration),
    /// Nothing new to report; the requeue delay.
    Later(Duration),
    /// The request is released.
    Released,
    /// There is nothing to do.
    Nothing,
}

/// Executes a reconcile that begins with this step. `happened` receives each event as soon as it is true.
///
/// # Errors
/// If the hub could not be written.
pub async fn reconcile_credential<B: CredentialBackend + Sync>(
    mut scene: ObservedCredential,
    first: CredentialStep,
    both: &mut B,
    now: Timestamp,
    mut happened: impl FnMut(CredentialEvent),
) -> Result<PassOutcome, Error> {
    let mut known = StepResults::default();
    let mut step = first;
    for _ in 0..STEPS {
        match step {
            CredentialStep::Nothing => return Ok(PassOutcome::Nothing),
            CredentialStep::Tell(report, after) => return Ok(PassOutcome::Told(report, after)),
            CredentialStep::Later(after) => return Ok(PassOutcome::Later(after)),
            CredentialStep::Hold => {
                if !both.add_finalizer().await? {
                    // A credential that is created now would have no owner.
                    return Ok(PassOutcome::Nothing);
                }
                scene.holds = true;
                known.begun = true;
            }
            CredentialStep::Mark(removing) => {
                both.mark_removing(removing).await?;
                scene.removing = removing;
            }
            CredentialStep::Probe => known.probe = Some(both.probe_published().await),
            CredentialStep::List(issuer) => {
                let found = both.list_credentials(&issuer).await;
                known.record_list(issuer, found);
            }
            CredentialStep::Note(record) => {
                both.write_record(&record).await?;
                scene.set_stored(record, false);
            }
            CredentialStep::Announce(record, issuer, number) => {
                both.write_record(&record).await?;
                scene.set_stored(record, false);
                known.announced = Some((issuer, number));
            }
            CredentialStep::Mint(issuer, number) => {
                let made = both.issue_credential(&issuer, number).await;
                known.record_issued(issuer, made);
            }
            CredentialStep::Verify => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let verdict = both.verify_issued(&minted).await;
                let before = scene.record().and_then(|record| record.held.as_ref());
                known.record_check(verdict, before.map(|held| held.one.id.as_str()));
            }
            CredentialStep::Publish(record) => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let first = scene.record().is_none_or(|record| record.held.is_none());
                both.publish_issued(&minted, &record).await?;
                scene.set_stored(record, true);
                known.record_publication();
                let name = minted.one.name;
                happened(if first { CredentialEvent::Made(name) } else { CredentialEvent::Rotated(name) });
            }
            CredentialStep::Remove(one) => {
                let removal = both.delete_credential(&one, &scene.issuers).await;
                if removal == DeletionResult::Gone {
                    happened(CredentialEvent::Removed(one.name.clone()));
                }
                known.record_deletion(one, removal);
            }
            CredentialStep::Withdraw => {
                let remaining = remaining_credentials(&scene, &known);
                both.withdraw_secret().await?;
                for one in remaining {
                    happened(CredentialEvent::LeftBehind(one.name));
                }
                scene.stored = StoredSecret::Absent;
                known.withdrawn = true;
            }
            CredentialStep::Release => {
                both.release_request().await?;
                if !known.withdrawn {
                    for one in remaining_credentials(&scene, &known) {
                        happened(CredentialEvent::LeftBehind(one.name));
                    }
                }
                return Ok(PassOutcome::Released);
            }
        }
        step = next_step(&scene, &known, now);
    }
    Err(Error { action: "cloud_pass", reason: Reason::NotYet, message: "there is more to do".into() })
}

fn bug(message: &str) -> Error {
    Error { action: "cloud_pass", reason: Reason::Bug, message: message.into() }
}
