//! Takes one step after the other until there is a token that the cluster takes.

use jiff::Timestamp;
use testplatform_runtime::{
    error::{Cause, Reason},
    redacted::Redacted,
};

use super::plan::{
    AccountObject, AccountObjects, AccountState, AccountStep, ObjectState, TokenCheck, TokenError, plan,
};

/// More steps than ever needed: every wrong object is deleted, looked up, created, and then the token requested and verified.
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
pub trait DeliveredCluster {
    /// Reads the account's objects in the cluster.
    fn read_objects(&self) -> impl Future<Output = Result<AccountObjects, TokenFailure>> + Send;
    /// Takes away what is there and wrong.
    fn delete_object(&self, thing: AccountObject) -> impl Future<Output = Result<(), TokenFailure>> + Send;
    /// Makes what is not there. Whether it did: if not, it was there after all, or that which it is in was not.
    fn create_object(&self, thing: AccountObject) -> impl Future<Output = Result<bool, TokenFailure>> + Send;
    /// Asks for a token.
    fn request_token(&self) -> impl Future<Output = Result<Token, TokenFailure>> + Send;
    /// Checks whether the cluster accepts a token.
    fn verify_token(&self, token: &Token) -> impl Future<Output = Result<TokenCheck, TokenFailure>> + Send;
}

/// Why there is no token. The sentences do not change from try to try, and quote nothing that the cluster said: its owner may be a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFailure {
    /// The admin's kubeconfig cannot be used, and why.
    Unusable(&'static str),
    /// The cluster does not answer.
    Unreachable,
    /// The cluster does not let its admin in (401).
    AdminUnknown,
    /// The cluster answered that, to a call of its admin.
    Answered(u16),
    /// The request was carried out, and the token may not be published.
    Obstacle(TokenError),
    /// It went on and on.
    Restless,
}

impl From<TokenFailure> for Cause {
    fn from(trouble: TokenFailure) -> Self {
        let message = match trouble {
            TokenFailure::Unusable(why) => format!("the kubeconfig of the cluster's admin {why}"),
            TokenFailure::Unreachable => "the cluster cannot be reached from the hub".to_owned(),
            TokenFailure::AdminUnknown => "the cluster rejects the kubeconfig of its admin".to_owned(),
            TokenFailure::Answered(code) => {
                format!("the cluster answered {code} to the creation of its ServiceAccount")
            }
            TokenFailure::Obstacle(TokenError::NoRole) => {
                "the cluster does not have the ClusterRole that spec.credentials.clusterRole names".to_owned()
            }
            TokenFailure::Obstacle(TokenError::Going) => {
                "the ServiceAccount or its rights are being deleted; a token is issued after that".to_owned()
            }
            TokenFailure::Obstacle(TokenError::Unknown) => {
                "the cluster rejects the token that it issued".to_owned()
            }
            TokenFailure::Obstacle(TokenError::NoRights) => {
                "the cluster has not given the ServiceAccount its rights yet".to_owned()
            }
            TokenFailure::Restless => {
                "the objects that were created in the cluster disappear again".to_owned()
            }
        };
        Self::new(Reason::Delivered, message)
    }
}

/// Makes a token that the cluster takes.
///
/// # Errors
/// Fails if a call fails, or if the cluster cannot issue a token. Objects that were created until then are found again.
pub async fn issue_token(cluster: &impl DeliveredCluster) -> Result<Token, TokenFailure> {
    let mut known = AccountState::default();
    let mut token = None;
    for _ in 0..STEPS {
        let step = plan(&known);
        match (step, &token) {
            (AccountStep::Look, _) => known.objects = Some(cluster.read_objects().await?),
            // A finalizer may keep the old object: creating a new one next to it would fail.
            (AccountStep::Remove(thing), _) => {
                cluster.delete_object(thing).await?;
                known.objects = None;
            }
            (AccountStep::Make(thing), _) => {
                if cluster.create_object(thing).await? {
                    record_created(&mut known, thing);
                } else {
                    known.objects = None;
                }
            }
            (AccountStep::Ask, _) | (AccountStep::Verify | AccountStep::Take, None) => {
                token = Some(cluster.request_token().await?);
                known.token = true;
            }
            (AccountStep::Verify, Some(token)) => known.answer = Some(cluster.verify_token(token).await?),
            (AccountStep::Take, Some(token)) => return Ok(token.clone()),
            (AccountStep::Stop(obstacle), _) => return Err(TokenFailure::Obstacle(obstacle)),
        }
    }
    Err(TokenFailure::Restless)
}

fn record_created(known: &mut AccountState, thing: AccountObject) {
    let places =
        known.objects.iter_mut().flat_map(|objects| AccountObject::ALL.into_iter().zip(&mut objects.things));
    for (_, place) in places.filter(|(other, _)| *other == thing) {
        *place = ObjectState::Right;
    }
}
