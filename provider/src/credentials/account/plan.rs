//! Plans the next step for a token and its ServiceAccount. Pure.

use jiff::Timestamp;

use super::fingerprint::TokenFingerprint;
use crate::credentials::Published;

/// Whether what is published is good, as far as time and wishes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenDue {
    /// It is, until then.
    Keep(Timestamp),
    /// A token is made.
    Renew,
}

/// Decides whether to issue a token. `generation` and `origin` are those of the request.
pub fn token_due(published: &Published, generation: i64, origin: &str, now: Timestamp) -> TokenDue {
    let wanted = TokenFingerprint::of(published).filter(|s| s.generation == generation && s.origin == origin);
    wanted.and_then(|stamp| stamp.lifetime().usable_until(now)).map_or(TokenDue::Renew, TokenDue::Keep)
}

/// Objects that a cluster needs, in the order of their creation: those that grant rights come last, and the right to delete the own
/// ServiceAccount first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccountObject {
    /// The namespace.
    Namespace,
    /// The ServiceAccount.
    Account,
    /// A Role to delete that very ServiceAccount.
    Ending,
    /// The ServiceAccount has it.
    EndingBinding,
    /// Binding of the ServiceAccount to the requested ClusterRole.
    Binding,
}

impl AccountObject {
    /// All of them, in that order.
    pub const ALL: [Self; 5] =
        [Self::Namespace, Self::Account, Self::Ending, Self::EndingBinding, Self::Binding];
}

/// How one of them was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectState {
    /// It is not there.
    #[default]
    Absent,
    /// It is as it has to be.
    Right,
    /// It differs, and can only be recreated.
    Wrong,
    /// It is being deleted: what is made of it would end with it.
    Deleting,
}

/// Observed objects of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountObjects {
    /// Whether the requested ClusterRole exists. A binding to a missing one would be accepted, and grant nothing.
    pub has_role: bool,
    /// Each of [`AccountObject::ALL`].
    pub things: [ObjectState; 5],
}

/// How a cluster took a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    /// It knows whose it is, and that one has the right to end itself.
    Taken,
    /// It does not know it (401).
    Unknown,
    /// It knows it, and the rights have not arrived.
    NoRights,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Observed objects; None before the first observation.
    pub objects: Option<AccountObjects>,
    /// Whether there is a token.
    pub token: bool,
    /// How the cluster took it; none before it was tried.
    pub answer: Option<TokenCheck>,
}

/// Why there is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// The cluster has no such ClusterRole.
    NoRole,
    /// A required object is being deleted, and has to be gone before it is created again.
    Going,
    /// It does not take its own token.
    Unknown,
    /// It takes it, and gives it no rights.
    NoRights,
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountStep {
    /// See what there is.
    Look,
    /// Take away what cannot be changed.
    Remove(AccountObject),
    /// Make one.
    Make(AccountObject),
    /// Ask for a token.
    Ask,
    /// Ask the cluster whether it accepts the token.
    Verify,
    /// It may be published.
    Take,
    /// It cannot be now.
    Stop(TokenError),
}

/// Plans the next step.
pub fn plan(known: &AccountState) -> AccountStep {
    let Some(objects) = &known.objects else { return AccountStep::Look };
    if !objects.has_role {
        return AccountStep::Stop(TokenError::NoRole);
    }
    for (thing, found) in AccountObject::ALL.into_iter().zip(objects.things) {
        match found {
            ObjectState::Right => {}
            ObjectState::Absent => return AccountStep::Make(thing),
            ObjectState::Wrong => return AccountStep::Remove(thing),
            ObjectState::Deleting => return AccountStep::Stop(TokenError::Going),
        }
    }
    match (known.token, known.answer) {
        (false, _) => AccountStep::Ask,
        (true, None) => AccountStep::Verify,
        (true, Some(TokenCheck::Taken)) => AccountStep::Take,
        (true, Some(TokenCheck::Unknown)) => AccountStep::Stop(TokenError::Unknown),
        (true, Some(TokenCheck::NoRights)) => AccountStep::Stop(TokenError::NoRights),
    }
}
