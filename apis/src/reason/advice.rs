//! Advice to the owner of a claim about the reason of a condition, in one line. `kubectl testplatform why` prints it, and the reference of the
//! reasons lists it.
//!
//! The same reason in another condition can mean another state: `UnknownField` of `RequestAccepted` is final, and of `RemoteConsistent` it is not.

use crate::condition::ConditionType::{
    self, ClusterReady, CredentialsPublished, ProwJobCompleted, RemoteConsistent, RequestAccepted,
};

const NEW_CLAIM: &str = "correct it in a new claim; this one is final";
const PLATFORM_TEAM: &str = "contact your platform team; the claim continues once this is fixed";
const OTHER_OFFER: &str = "choose an offer that the message names, or ask the administrators for more";
/// The pool of a claim cannot be changed.
const OTHER_POOL: &str =
    "name a pool that the message lists in a new claim, or ask the administrators for one";
const OTHER_HUB: &str = "leave spec.hub out in a new claim, or ask the administrators for a hub";
const READ_SECRET: &str =
    "let the platform read the Secret: apply the Role of package/install/examples/byoc-role.yaml";
const HUBS_MESSAGE: &str = "follow the hub's message, or ask the administrators of the hub";
const MINUTE: &str = "wait a minute; if nothing changes, ask the administrators";
const ROOM: &str = "wait, or end clusters that are no longer needed";
const QUOTA: &str =
    "end clusters of this namespace that are no longer needed: `kubectl testplatform get` lists them";
const HANDOVER: &str = "do what the message says: docs/how-to/test-clusters.md has the steps of a handover";
const PUBLISHER: &str = "wait a minute; if nothing changes, the hub's administrators see why provider-testplatform does not publish it";
const HUBS_ADMINISTRATORS: &str = "ask the hub's administrators";
const OTHER_SECRET: &str = "name another in spec.writeConnectionSecretToRef, or delete that Secret, if nothing needs it; Crossplane tries again within a minute";
const NOTHING: &str = "nothing";
const PATIENCE: &str = "wait; nothing is wrong";

/// Condition, reasons, and what to do.
const ADVICE: &[(ConditionType, &[&str], &str)] = &[
    (RequestAccepted, &["InvalidClaim", "UnknownField"], NEW_CLAIM),
    (RequestAccepted, &["HubRefused"], HUBS_MESSAGE),
    (
        RequestAccepted,
        &[
            "EnvironmentConfigMissing",
            "EnvironmentConfigInvalid",
            "PoolsMissing",
            "CatalogueInvalid",
            "FieldNotDeclared",
        ],
        PLATFORM_TEAM,
    ),
    (
        RequestAccepted,
        &[
            "TemplateNotFound",
            "TemplateNotAllowed",
            "VersionUnsupported",
            "FieldRefused",
            "InvalidParameter",
            "InvalidNodeGroups",
        ],
        OTHER_OFFER,
    ),
    (RequestAccepted, &["PoolNotFound", "PoolNotAllowed"], OTHER_POOL),
    (RequestAccepted, &["PinnedHubMissing", "NoHubMatches", "TenantNotAllowed"], OTHER_HUB),
    (RequestAccepted, &["SecretForbidden"], READ_SECRET),
    (
        RequestAccepted,
        &["SecretNotFound"],
        "create the Secret that the message names, in the claim's namespace",
    ),
    (RequestAccepted, &["SecretIncomplete"], "put the keys that the message names into the Secret"),
    (RequestAccepted, &["PoolDeleting"], "name another pool in a new claim"),
    (RequestAccepted, &["NoCapacity", "HubFull"], ROOM),
    (
        RequestAccepted,
        &["HubsNotRead", "SecretsNotCarried", "PlatformCredentialsNotReady", "PrerequisitesNotReady"],
        MINUTE,
    ),
    (RequestAccepted, &["QuotaExceeded"], QUOTA),
    (RequestAccepted, &["TakeOverWaits", "HandOverWaits"], HANDOVER),
    (
        RequestAccepted,
        &["HandedOver"],
        "delete the claim once the message says that the cluster was handed over",
    ),
    (
        RequestAccepted,
        &[
            "ChangeIgnored",
            "LifetimeIgnored",
            "LifetimeClamped",
            "LifetimeBeyondHub",
            "SecretsOutdated",
            "TemplateDeprecated",
            "AnnotationIgnored",
            "UnknownFieldForwarded",
            "NoTenant",
            "Accepted",
        ],
        NOTHING,
    ),
    (RemoteConsistent, &["InSync", "NotObserved", "Recreating"], MINUTE),
    (
        RemoteConsistent,
        &["PlaceUnknown"],
        "ask the administrators: the message says what they have to restore",
    ),
    (
        RemoteConsistent,
        &["RemoteDeleted", "RemoteReplaced"],
        "create a new claim; the hub's audit log shows who deleted this one",
    ),
    (
        RemoteConsistent,
        &["UnknownField"],
        "remove the field, or ask the administrators why the hub does not know it",
    ),
    (RemoteConsistent, &["HubRefused"], HUBS_MESSAGE),
    (
        RemoteConsistent,
        &["HubUnreachable", "HubFailing"],
        "ask the administrators; a running cluster keeps running meanwhile",
    ),
    (
        RemoteConsistent,
        &["KindNotServed"],
        "ask the administrators to install the kind's definition on the hub",
    ),
    (
        RemoteConsistent,
        &["Paused"],
        "ask who paused it; it continues once annotation crossplane.io/paused is removed",
    ),
    (RemoteConsistent, &["Unreadable"], "ask the administrators"),
    (CredentialsPublished, &["Published", "PublishedWithoutPassword"], NOTHING),
    (CredentialsPublished, &["NotAssigned", "NotRunning"], "wait"),
    (CredentialsPublished, &["SecretMissing", "KeyMissing", "MetadataMissing"], PUBLISHER),
    (CredentialsPublished, &["KubeconfigRejected", "OwnershipMismatch"], HUBS_ADMINISTRATORS),
    (CredentialsPublished, &["SecretTaken"], OTHER_SECRET),
    (ClusterReady, &["Provisioning", "SettingUp"], PATIENCE),
    (
        ClusterReady,
        &["Pending"],
        "wait; after some minutes, ask the administrators whether the provider on the hub runs",
    ),
    (ClusterReady, &["Late"], "look at the job; it may still become ready"),
    (ClusterReady, &["SetupFailed"], "ask the administrators to look at it; it may still become ready"),
    (ClusterReady, &["Degraded"], "wait; if it does not recover, request a new cluster"),
    (ClusterReady, &["Failed"], "create a claim with another name"),
    (ProwJobCompleted, &["TearingDown"], "wait; this often takes longer than creating the cluster"),
];

/// Advice to the owner of a claim while a condition has this reason; none if nobody waits because of it.
pub fn advise_owner(condition: ConditionType, reason: &str) -> Option<&'static str> {
    let found = ADVICE.iter().find(|(of, reasons, _)| *of == condition && reasons.contains(&reason));
    found.map(|(_, _, advice)| *advice)
}

/// Every advice about a reason, with its condition.
pub fn advice_about(reason: &str) -> impl Iterator<Item = (ConditionType, &'static str)> {
    let about = move |(_, reasons, _): &&(ConditionType, &[&str], &str)| reasons.contains(&reason);
    ADVICE.iter().filter(about).map(|(condition, _, advice)| (*condition, *advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        condition::{Credentials, Remote, Request},
        reason::find,
    };

    #[test]
    fn every_reason_that_a_claim_waits_for_has_one_advice() {
        let requests = Request::ALL.iter().map(|reason| (RequestAccepted, reason.as_str()));
        let remotes = Remote::ALL.iter().map(|reason| (RemoteConsistent, reason.as_str()));
        let credentials = Credentials::ALL.iter().map(|reason| (CredentialsPublished, reason.as_str()));
        for (condition, word) in requests.chain(remotes).chain(credentials) {
            let found = advice_about(word).filter(|(of, _)| *of == condition).count();
            assert_eq!(found, 1, "{condition} {word}");
        }
    }

    #[test]
    fn advice_is_about_documented_reasons_of_their_conditions() {
        for (condition, reasons, advice) in ADVICE {
            assert!(!advice.ends_with('.') && advice.split(' ').count() <= 30, "{advice}");
            for word in *reasons {
                let (_, reason) = find(word).unwrap_or_else(|| panic!("{word} has no entry"));
                assert!(
                    reason.shown_as.contains(condition.as_str()),
                    "{condition} {word}: {}",
                    reason.shown_as
                );
            }
        }
    }
}
