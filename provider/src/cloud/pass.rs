//! Takes one step after the other until there is nothing to do but to wait.

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::cloud::Report;

use super::{
    next::{
        CredentialCheck, CredentialStep, DeletionResult, IdentityError, IssuedCredential, ObservedCredential,
        StepResults, StoredSecret, next, remaining,
    },
    record::{CredentialRecord, CredentialRef},
};
use crate::execute::{Error, Reason};

/// More steps than it ever takes with a sensible number of issuers: of credentials no more are deleted than [`BATCH`](super::next::BATCH).
const STEPS: usize = 512;

/// The hub and the identity service, as far as one order goes. An error is the hub's and ends the pass; each call may have been done although it
/// failed, and may be repeated.
pub trait CredentialBackend {
    /// Whether what is published works.
    fn probe(&self) -> impl Future<Output = CredentialCheck> + Send;
    /// Those of ours that an issuer has.
    fn list(&self, issuer: &str) -> impl Future<Output = Result<Vec<CredentialRef>, IdentityError>> + Send;
    /// Creates a credential with this number through an issuer. The implementation keeps its secret.
    fn mint(
        &mut self,
        issuer: &str,
        number: u32,
    ) -> impl Future<Output = Result<IssuedCredential, IdentityError>> + Send;
    /// Whether the one that was made last works.
    fn verify(&self, minted: &IssuedCredential) -> impl Future<Output = CredentialCheck> + Send;
    /// Deletes one, through its issuer or, where that one cannot, through these.
    fn remove(&self, one: &CredentialRef, others: &[String]) -> impl Future<Output = DeletionResult> + Send;
    /// Puts the finalizer on the order. False: there is no order any more.
    fn hold(&mut self) -> impl Future<Output = Result<bool, Error>> + Send;
    /// Writes on the order since when what was made is being deleted.
    fn mark(&mut self, removing: Option<Timestamp>) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes a record on the Secret.
    fn note(&mut self, record: &CredentialRecord) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes the one that was made last into the Secret, and a record on it, at once.
    fn publish(
        &mut self,
        minted: &IssuedCredential,
        record: &CredentialRecord,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Deletes the Secret.
    fn withdraw(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Takes the finalizer from the order.
    fn release(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
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
    Told(Report, Duration),
    /// Nothing new to report; the requeue delay.
    Later(Duration),
    /// The request is released.
    Released,
    /// There is nothing to do.
    Nothing,
}

/// Executes a reconcile. `happened` receives each event as soon as it is true.
///
/// # Errors
/// If the hub could not be written.
pub async fn pass<B: CredentialBackend + Sync>(
    mut scene: ObservedCredential,
    both: &mut B,
    now: Timestamp,
    mut happened: impl FnMut(CredentialEvent),
) -> Result<PassOutcome, Error> {
    let mut known = StepResults::default();
    for _ in 0..STEPS {
        match next(&scene, &known, now) {
            CredentialStep::Nothing => return Ok(PassOutcome::Nothing),
            CredentialStep::Tell(report, after) => return Ok(PassOutcome::Told(report, after)),
            CredentialStep::Later(after) => return Ok(PassOutcome::Later(after)),
            CredentialStep::Hold => {
                if !both.hold().await? {
                    // A credential that is created now would have no owner.
                    return Ok(PassOutcome::Nothing);
                }
                scene.holds = true;
                known.begun = true;
            }
            CredentialStep::Mark(removing) => {
                both.mark(removing).await?;
                scene.removing = removing;
            }
            CredentialStep::Probe => known.probe = Some(both.probe().await),
            CredentialStep::List(issuer) => {
                let found = both.list(&issuer).await;
                known.list(issuer, found);
            }
            CredentialStep::Note(record) => {
                both.note(&record).await?;
                scene.stands(record, false);
            }
            CredentialStep::Announce(record, issuer, number) => {
                both.note(&record).await?;
                scene.stands(record, false);
                known.noted = Some((issuer, number));
            }
            CredentialStep::Mint(issuer, number) => {
                let made = both.mint(&issuer, number).await;
                known.mint(issuer, made);
            }
            CredentialStep::Verify => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let verdict = both.verify(&minted).await;
                let before = scene.record().and_then(|record| record.held.as_ref());
                known.verify(verdict, before.map(|held| held.one.id.as_str()));
            }
            CredentialStep::Publish(record) => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let first = scene.record().is_none_or(|record| record.held.is_none());
                both.publish(&minted, &record).await?;
                scene.stands(record, true);
                known.publish();
                let name = minted.one.name;
                happened(if first { CredentialEvent::Made(name) } else { CredentialEvent::Rotated(name) });
            }
            CredentialStep::Remove(one) => {
                let removal = both.remove(&one, &scene.issuers).await;
                if removal == DeletionResult::Gone {
                    happened(CredentialEvent::Removed(one.name.clone()));
                }
                known.remove(one, removal);
            }
            CredentialStep::Withdraw => {
                let left = remaining(&scene, &known);
                both.withdraw().await?;
                for one in left {
                    happened(CredentialEvent::LeftBehind(one.name));
                }
                scene.stored = StoredSecret::Absent;
                known.withdrawn = true;
            }
            CredentialStep::Release => {
                both.release().await?;
                if !known.withdrawn {
                    for one in remaining(&scene, &known) {
                        happened(CredentialEvent::LeftBehind(one.name));
                    }
                }
                return Ok(PassOutcome::Released);
            }
        }
    }
    Err(Error { action: "cloud_pass", reason: Reason::NotYet, message: "there is more to do".into() })
}

fn bug(message: &str) -> Error {
    Error { action: "cloud_pass", reason: Reason::Bug, message: message.into() }
}
