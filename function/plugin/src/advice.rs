//! Advice about a reason, in one line, with the page of the documentation that has more. The lines are those of the catalogue of reasons.

use testplatform_apis::{
    condition::{ClusterReady, ConditionType, Credentials, JobCompleted, Remote, Request},
    reason::advise_owner,
};

use super::{claim::Flavour, runbook::entry_of};

/// For a reason that the catalogue does not have, such as one of a newer function.
const ASK: &str = "ask the administrators";

/// Advice while a request is refused or blocked.
pub fn request(reason: Request) -> &'static str {
    advise_owner(ConditionType::RequestAccepted, reason.as_str()).unwrap_or(ASK)
}

/// Advice while the hub lacks the requested object.
pub fn remote(reason: Remote) -> &'static str {
    advise_owner(ConditionType::RemoteConsistent, reason.as_str()).unwrap_or(ASK)
}

/// Advice while there are no credentials although the hub is ready.
pub fn credentials(reason: Credentials) -> &'static str {
    match reason {
        Credentials::SecretTaken => foreign_secret(Flavour::Cluster),
        _ => advise_owner(ConditionType::CredentialsPublished, reason.as_str()).unwrap_or(ASK),
    }
}

/// Advice while a cluster is created or has trouble, by the reason of `ClusterReady`, with its page.
pub fn cluster(reason: ClusterReady) -> String {
    let advice = advise_owner(ConditionType::ClusterReady, reason.as_str()).unwrap_or(ASK);
    with_entry(advice, reason.as_str())
}

/// Advice while a cluster is torn down, with its page.
pub fn teardown() -> String {
    let reason = JobCompleted::TearingDown.as_str();
    with_entry(advise_owner(ConditionType::ProwJobCompleted, reason).unwrap_or(ASK), reason)
}

/// Advice while Crossplane cannot write the Secret of a claim that is ready.
pub fn advise_undelivered(reason: Credentials) -> &'static str {
    match reason {
        Credentials::SecretTaken => foreign_secret(Flavour::Claim),
        _ => "fix the cause, such as an exhausted quota of Secrets; Crossplane tries again within a minute",
    }
}

/// Advice if the Secret that a claim names belongs to another owner.
pub fn foreign_secret(flavour: Flavour) -> &'static str {
    let reason = Credentials::SecretTaken.as_str();
    match flavour {
        Flavour::Claim => advise_owner(ConditionType::CredentialsPublished, reason).unwrap_or(ASK),
        // There it cannot be changed.
        Flavour::Cluster => {
            "delete the Secret of that name, if nothing needs it; else create a claim with another name"
        }
    }
}

/// An advice with the page that has more.
pub fn with_entry(advice: &str, reason: &str) -> String {
    format!("{advice} ({})", entry_of(reason))
}
