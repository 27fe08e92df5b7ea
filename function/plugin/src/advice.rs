//! Reasons → what to do, in one line, with the page of the documentation that has more.

use testplatform_apis::condition::{Credentials, Remote, Request};

use super::{claim::Flavour, runbook::entry_of};

/// Advice while a request is refused or blocked.
pub fn request(reason: Request) -> &'static str {
    use Request as R;
    match reason {
        R::InvalidClaim | R::UnknownField => "correct it in a new claim; this one is final",
        R::HubRefused => "follow the hub's message, or ask the administrators of the hub",
        R::EnvironmentConfigMissing
        | R::EnvironmentConfigInvalid
        | R::PoolsMissing
        | R::CatalogueInvalid
        | R::FieldNotDeclared => "contact your platform team; the claim continues once this is fixed",
        R::TemplateNotFound
        | R::TemplateNotAllowed
        | R::VersionUnsupported
        | R::FieldRefused
        | R::InvalidParameter
        | R::InvalidNodeGroups => {
            "choose an offer that the message names, or ask the administrators for more"
        }
        // The pool of a claim cannot be changed.
        R::PoolNotFound | R::PoolNotAllowed => {
            "name a pool that the message lists in a new claim, or ask the administrators for one"
        }
        R::PinnedHubMissing | R::NoHubMatches | R::TenantNotAllowed => {
            "leave spec.hub out in a new claim, or ask the administrators for a hub"
        }
        R::SecretForbidden => {
            "let the platform read the Secret: apply the Role of package/install/examples/byoc-role.yaml"
        }
        R::SecretNotFound => "create the Secret that the message names, in the claim's namespace",
        R::SecretIncomplete => "put the keys that the message names into the Secret",
        R::PoolDeleting => "name another pool in a new claim",
        R::NoCapacity | R::HubFull => "wait, or end clusters that are no longer needed",
        R::HubsNotRead | R::SecretsNotCarried | R::PlatformCredentialsNotReady | R::PrerequisitesNotReady => {
            "wait a minute; if nothing changes, ask the administrators"
        }
        R::QuotaExceeded => {
            "end clusters of this namespace that are no longer needed: `kubectl testplatform get` lists them"
        }
        R::TakeOverWaits | R::HandOverWaits => {
            "do what the message says: docs/how-to/test-clusters.md has the steps of a handover"
        }
        R::HandedOver => "delete the claim once the message says that the cluster was handed over",
        R::ChangeIgnored
        | R::LifetimeIgnored
        | R::LifetimeClamped
        | R::LifetimeBeyondHub
        | R::SecretsOutdated
        | R::TemplateDeprecated
        | R::AnnotationIgnored
        | R::UnknownFieldForwarded
        | R::NoTenant
        | R::Accepted => "nothing",
    }
}

/// Advice while the hub lacks the requested object.
pub fn remote(reason: Remote) -> &'static str {
    use Remote as R;
    match reason {
        R::InSync | R::NotObserved | R::Recreating => {
            "wait a minute; if nothing changes, ask the administrators"
        }
        R::PlaceUnknown => "ask the administrators: the message says what they have to restore",
        R::RemoteDeleted | R::RemoteReplaced => {
            "create a new claim; the hub's audit log shows who deleted this one"
        }
        R::UnknownField => "remove the field, or ask the administrators why the hub does not know it",
        R::HubRefused => "follow the hub's message, or ask the administrators of the hub",
        R::HubUnreachable | R::HubFailing => {
            "ask the administrators; a running cluster keeps running meanwhile"
        }
        R::KindNotServed => "ask the administrators to install the kind's definition on the hub",
        R::Paused => "ask who paused it; it continues once annotation crossplane.io/paused is removed",
        R::Unreadable => "ask the administrators",
    }
}

/// Advice while there are no credentials although the hub is ready.
pub fn credentials(reason: Credentials) -> &'static str {
    use Credentials as R;
    match reason {
        R::Published | R::PublishedWithoutPassword => "nothing",
        R::NotAssigned | R::NotRunning => "wait",
        R::SecretMissing | R::KeyMissing | R::MetadataMissing => {
            "wait a minute; if nothing changes, the hub's administrators see why provider-testplatform does not publish it"
        }
        R::KubeconfigRejected | R::OwnershipMismatch => "ask the hub's administrators",
        R::SecretTaken => foreign_secret(Flavour::Cluster),
    }
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
    match flavour {
        Flavour::Claim => {
            "name another in spec.writeConnectionSecretToRef, or delete that Secret, if nothing needs it; Crossplane tries again within a minute"
        }
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
