//! Takes one step after the other until there is a token that the cluster takes.

use jiff::Timestamp;

use super::next::{Answer, Found, Known, Obstacle, Seen, Step, Thing, next};
use crate::{
    execute::{Cause, Reason},
    redacted::Redacted,
};

/// More steps than it ever takes: everything that may be wrong is taken away, each time looked for again, made, asked for and tried.
const STEPS: usize = 16;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token itself.
    pub token: Redacted<String>,
    /// When it ends, by the cluster's clock.
    pub expires: Timestamp,
}

/// A cluster that was delivered, as its admin sees it, as far as one ServiceAccount goes. Each call may be repeated, and may have been done
/// although it failed.
pub trait Delivered {
    /// What there is.
    fn look(&self) -> impl Future<Output = Result<Seen, Trouble>> + Send;
    /// Takes away what is there and wrong.
    fn remove(&self, thing: Thing) -> impl Future<Output = Result<(), Trouble>> + Send;
    /// Makes what is not there. Whether it did: if not, it was there after all, or that which it is in was not.
    fn make(&self, thing: Thing) -> impl Future<Output = Result<bool, Trouble>> + Send;
    /// Asks for a token.
    fn ask(&self) -> impl Future<Output = Result<Token, Trouble>> + Send;
    /// Says how it takes a token.
    fn verify(&self, token: &Token) -> impl Future<Output = Result<Answer, Trouble>> + Send;
}

/// Why there is no token. The sentences do not change from try to try, and quote nothing that the cluster said: its owner may be a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The admin's kubeconfig cannot be used, and why.
    Unusable(&'static str),
    /// The cluster does not answer.
    Unreachable,
    /// The cluster does not let its admin in (401).
    AdminUnknown,
    /// The cluster answered that, to a call of its admin.
    Answered(u16),
    /// What was asked of it is done, and there is none that may be published.
    Obstacle(Obstacle),
    /// It went on and on.
    Restless,
}

impl From<Trouble> for Cause {
    fn from(trouble: Trouble) -> Self {
        let message = match trouble {
            Trouble::Unusable(why) => format!("the kubeconfig of the cluster's admin {why}"),
            Trouble::Unreachable => "the cluster cannot be reached from the hub".to_owned(),
            Trouble::AdminUnknown => "the cluster does not take the kubeconfig of its admin".to_owned(),
            Trouble::Answered(code) => {
                format!("the cluster answered {code} when its ServiceAccount was to be made")
            }
            Trouble::Obstacle(Obstacle::NoRole) => {
                "the cluster has no ClusterRole of the name that spec.credentials.clusterRole says".to_owned()
            }
            Trouble::Obstacle(Obstacle::Going) => {
                "the ServiceAccount or its rights are being deleted; a token is made after that".to_owned()
            }
            Trouble::Obstacle(Obstacle::Unknown) => {
                "the cluster does not take the token that it made".to_owned()
            }
            Trouble::Obstacle(Obstacle::NoRights) => {
                "the cluster has not given the ServiceAccount its rights yet".to_owned()
            }
            Trouble::Restless => "what was made in the cluster does not stay".to_owned(),
        };
        Self::new(Reason::Delivered, message)
    }
}

/// Makes a token that the cluster takes.
///
/// # Errors
/// If a call fails, or the cluster cannot give one. Whatever was made until then is found again.
pub async fn mint(cluster: &impl Delivered) -> Result<Token, Trouble> {
    let mut known = Known::default();
    let mut token = None;
    for _ in 0..STEPS {
        let step = next(&known);
        match (step, &token) {
            (Step::Look, _) => known.seen = Some(cluster.look().await?),
            // A finalizer may hold it, as it was: what is made beside it would not be made.
            (Step::Remove(thing), _) => {
                cluster.remove(thing).await?;
                known.seen = None;
            }
            (Step::Make(thing), _) => {
                if cluster.make(thing).await? {
                    made(&mut known, thing);
                } else {
                    known.seen = None;
                }
            }
            (Step::Ask, _) | (Step::Verify | Step::Take, None) => {
                token = Some(cluster.ask().await?);
                known.token = true;
            }
            (Step::Verify, Some(token)) => known.answer = Some(cluster.verify(token).await?),
            (Step::Take, Some(token)) => return Ok(token.clone()),
            (Step::Stop(obstacle), _) => return Err(Trouble::Obstacle(obstacle)),
        }
    }
    Err(Trouble::Restless)
}

fn made(known: &mut Known, thing: Thing) {
    let places = known.seen.iter_mut().flat_map(|seen| Thing::ALL.into_iter().zip(&mut seen.things));
    for (_, place) in places.filter(|(other, _)| *other == thing) {
        *place = Found::Right;
    }
}
