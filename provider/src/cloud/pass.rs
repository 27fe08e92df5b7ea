//! Takes one step after the other until there is nothing to do but to wait.

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::cloud::Report;

use super::{
    next::{Fault, Known, Minted, Removal, Scene, Step, Stored, Verdict, next, remaining},
    record::{One, Record},
};
use crate::execute::{Error, Reason};

/// More steps than it ever takes with a sensible number of issuers: of credentials no more are deleted than [`BATCH`](super::next::BATCH).
const STEPS: usize = 512;

/// The hub and the identity service, as far as one order goes. An error is the hub's and ends the pass; each call may have been done although it
/// failed, and may be repeated.
pub trait Both {
    /// Whether what is published works.
    fn probe(&self) -> impl Future<Output = Verdict> + Send;
    /// Those of ours that an issuer has.
    fn list(&self, issuer: &str) -> impl Future<Output = Result<Vec<One>, Fault>> + Send;
    /// Makes one of this number through an issuer. Its secret stays with whoever implements this.
    fn mint(&mut self, issuer: &str, number: u32) -> impl Future<Output = Result<Minted, Fault>> + Send;
    /// Whether the one that was made last works.
    fn verify(&self, minted: &Minted) -> impl Future<Output = Verdict> + Send;
    /// Deletes one, through its issuer or, where that one cannot, through these.
    fn remove(&self, one: &One, others: &[String]) -> impl Future<Output = Removal> + Send;
    /// Puts the finalizer on the order. False: there is no order any more.
    fn hold(&mut self) -> impl Future<Output = Result<bool, Error>> + Send;
    /// Writes on the order since when what was made is being deleted.
    fn mark(&mut self, removing: Option<Timestamp>) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes a record on the Secret.
    fn note(&mut self, record: &Record) -> impl Future<Output = Result<(), Error>> + Send;
    /// Writes the one that was made last into the Secret, and a record on it, at once.
    fn publish(&mut self, minted: &Minted, record: &Record)
    -> impl Future<Output = Result<(), Error>> + Send;
    /// Deletes the Secret.
    fn withdraw(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Takes the finalizer from the order.
    fn release(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Something that happened in a pass, for those who watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The first one is published; its name.
    Made(String),
    /// Another one is published; its name.
    Rotated(String),
    /// One was deleted, or was gone; its name.
    Removed(String),
    /// One is left at the identity service when the order is let go: it may not be deleted, there is nobody who could, or nobody has answered; its name.
    LeftBehind(String),
}

/// Result of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// This is to be said, and it is to be looked at again after this time.
    Told(Report, Duration),
    /// Nothing new is to be said, and it is to be looked at again after this time.
    Later(Duration),
    /// The order is let go.
    Released,
    /// There is nothing to do.
    Nothing,
}

/// Carries out a pass. `happened` gets what is worth telling as soon as it was done.
///
/// # Errors
/// If the hub could not be written.
pub async fn pass<B: Both + Sync>(
    mut scene: Scene,
    both: &mut B,
    now: Timestamp,
    mut happened: impl FnMut(Happened),
) -> Result<End, Error> {
    let mut known = Known::default();
    for _ in 0..STEPS {
        match next(&scene, &known, now) {
            Step::Nothing => return Ok(End::Nothing),
            Step::Tell(report, after) => return Ok(End::Told(report, after)),
            Step::Later(after) => return Ok(End::Later(after)),
            Step::Hold => {
                if !both.hold().await? {
                    // A credential that is created now would have no owner.
                    return Ok(End::Nothing);
                }
                scene.holds = true;
                known.begun = true;
            }
            Step::Mark(removing) => {
                both.mark(removing).await?;
                scene.removing = removing;
            }
            Step::Probe => known.probe = Some(both.probe().await),
            Step::List(issuer) => {
                let found = both.list(&issuer).await;
                known.list(issuer, found);
            }
            Step::Note(record) => {
                both.note(&record).await?;
                scene.stands(record, false);
            }
            Step::Announce(record, issuer, number) => {
                both.note(&record).await?;
                scene.stands(record, false);
                known.noted = Some((issuer, number));
            }
            Step::Mint(issuer, number) => {
                let made = both.mint(&issuer, number).await;
                known.mint(issuer, made);
            }
            Step::Verify => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let verdict = both.verify(&minted).await;
                let before = scene.record().and_then(|record| record.held.as_ref());
                known.verify(verdict, before.map(|held| held.one.id.as_str()));
            }
            Step::Publish(record) => {
                let Some(minted) = known.minted.clone() else { return Err(bug("nothing was made")) };
                let first = scene.record().is_none_or(|record| record.held.is_none());
                both.publish(&minted, &record).await?;
                scene.stands(record, true);
                known.publish();
                let name = minted.one.name;
                happened(if first { Happened::Made(name) } else { Happened::Rotated(name) });
            }
            Step::Remove(one) => {
                let removal = both.remove(&one, &scene.issuers).await;
                if removal == Removal::Gone {
                    happened(Happened::Removed(one.name.clone()));
                }
                known.remove(one, removal);
            }
            Step::Withdraw => {
                let left = remaining(&scene, &known);
                both.withdraw().await?;
                for one in left {
                    happened(Happened::LeftBehind(one.name));
                }
                scene.stored = Stored::Absent;
                known.withdrawn = true;
            }
            Step::Release => {
                both.release().await?;
                if !known.withdrawn {
                    for one in remaining(&scene, &known) {
                        happened(Happened::LeftBehind(one.name));
                    }
                }
                return Ok(End::Released);
            }
        }
    }
    Err(Error { action: "cloud_pass", reason: Reason::NotYet, message: "there is more to do".into() })
}

fn bug(message: &str) -> Error {
    Error { action: "cloud_pass", reason: Reason::Bug, message: message.into() }
}
