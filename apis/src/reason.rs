//! Every reason that users see: in a condition, an event, an annotation or a failure. This is the only place with their sentences.
//!
//! The reference of the reasons is generated from it, and entries of the runbook begin with its sentences. Texts refer to another reason or an
//! alert as `[Name]`.

mod administrator;
mod advice;
mod hub_operator;
mod nobody;
mod tenant;

pub use advice::{advice_about, advise_owner};

/// A reason, its meaning and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The word on the wire.
    pub word: &'static str,
    /// Conditions, events and other places that show it.
    pub shown_as: &'static str,
    /// Meaning.
    pub meaning: &'static str,
    /// Action.
    pub action: Action,
}

/// Action about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// A sentence says it.
    Sentence(&'static str),
    /// The entry of the reason in the runbook says it.
    Entry(RunbookPage),
}

/// Page of the runbook with entries of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunbookPage {
    /// For tenants.
    Tenants,
    /// For administrators of a Konflux cluster.
    Administrators,
    /// For the same, about hubs and credentials.
    Connections,
    /// For administrators of pools.
    Pools,
    /// For operators of a hub.
    Hub,
}

impl RunbookPage {
    /// Name of its file, without an ending.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Tenants => "tenants",
            Self::Administrators => "administrators",
            Self::Connections => "connections",
            Self::Pools => "pools",
            Self::Hub => "hub",
        }
    }
}

/// Party that acts on a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Nobody has to.
    Nobody,
    /// The tenant of the claim.
    Tenant,
    /// An administrator of the Konflux cluster, or of its pools.
    Administrator,
    /// An operator of the hub.
    HubOperator,
}

impl Actor {
    /// Everybody, each with the reasons on which they act.
    const ALL: [(Self, &'static [Reason]); 4] = [
        (Self::Nobody, nobody::REASONS),
        (Self::Tenant, tenant::REASONS),
        (Self::Administrator, administrator::REASONS),
        (Self::HubOperator, hub_operator::REASONS),
    ];

    /// Name for users.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Tenant => "tenant",
            Self::Administrator => "administrator",
            Self::HubOperator => "hub operator",
        }
    }
}

/// Every reason, and who acts on it.
pub fn all() -> impl Iterator<Item = (Actor, &'static Reason)> {
    Actor::ALL.into_iter().flat_map(|(actor, reasons)| reasons.iter().map(move |reason| (actor, reason)))
}

/// The reason with this word, and who acts on it.
pub fn find(word: &str) -> Option<(Actor, &'static Reason)> {
    all().find(|(_, reason)| reason.word == word)
}

const fn reason(word: &'static str, shown_as: &'static str, meaning: &'static str, action: Action) -> Reason {
    Reason { word, shown_as, meaning, action }
}
