//! `credentials.mode: ServiceAccount`: for each cluster a ServiceAccount in it, of which a token that ends is published in place of what its
//! admin has.
//!
//! ```text
//! wish, published Secret, now ──due──▶ keep | renew
//!                                                          │ Issue { AdminKubeconfig, Wish }
//! the cluster ──look──▶ AccountState ──plan──▶ AccountStep ──┴─▶ make, ask, verify ──▶ Credentials ──▶ publish
//! ```
//!
//! **Invariant:** [`AdminKubeconfig`] never reaches a published Secret: it can only open a client and return an address.
//! **Invariant:** a token is published only after the cluster has accepted it, and then replaces the previous content; a failure leaves that
//! unchanged.
//! **Invariant:** the ServiceAccount belongs to one claim (its name contains the uid), and may delete itself: the published Secret is all that its
//! revocation needs.

pub mod admin;
mod client;
pub mod fingerprint;
pub(crate) mod guest_client;
pub mod guest_limiter;
pub mod plan;
mod revoke;
pub mod token;
pub(crate) mod token_lifetime;

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::{account::AccessRequest, names::ours};
use testplatform_runtime::{error::Cause, redacted::Redacted};

pub(crate) use self::revoke::revoke_tokens;
use self::{
    admin::{AdminKubeconfig, token_kubeconfig},
    fingerprint::{TokenFingerprint, kubeconfig_digest},
    guest_limiter::GuestLimiter,
    token::{DeliveredCluster, TokenFailure, issue_token},
};
use crate::credentials::{Credentials, Published};

/// The namespace of a delivered cluster in which the ServiceAccount is made.
pub const NAMESPACE: &str = "testplatform-access";
/// Requested lifetime of a token; an API server may grant less. A third is left when a new token replaces it, which is longer than most tests
/// take.
pub const LIFETIME: Duration = Duration::from_hours(12);
/// How long it may take to make one and to have it published.
pub const GUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Name of the ServiceAccount that is made for an object of this uid.
pub fn account_name(uid: &str) -> String {
    format!("tpc-{uid}")
}

/// Request to issue a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// By what the cluster lets us in.
    pub admin: AdminKubeconfig,
    /// Requested access.
    pub wish: AccessRequest,
    /// Uid of the object that it is for.
    pub uid: String,
    /// Which state of the admin's kubeconfig this is.
    pub revision: String,
}

impl Issue {
    /// Fingerprint of the inputs of the token. A token whose inputs differ is replaced.
    pub fn origin_fingerprint(&self) -> String {
        fingerprint::origin_fingerprint(&self.wish, &self.uid, &self.revision)
    }

    /// Makes a token, and what is published around it.
    ///
    /// # Errors
    /// If the cluster does not answer, does not take the admin's kubeconfig or the token, or has no such ClusterRole; or if too many wait for clusters
    /// already, or what was published before is about to end with its ServiceAccount.
    pub(crate) async fn issue_credentials(
        &self,
        callers: &GuestLimiter,
        now: Timestamp,
    ) -> Result<Credentials, Cause> {
        callers.ensure_not_revoked(&account_name(&self.uid))?;
        let _leave = callers.acquire_permit()?;
        self.issue_credentials_with(&client::connect(&self.admin, &self.uid, &self.wish)?, now).await
    }

    /// The same in a cluster that somebody else has opened.
    ///
    /// # Errors
    /// If the cluster does not answer, does not take the admin's kubeconfig or the token, or has no such ClusterRole.
    pub async fn issue_credentials_with(
        &self,
        cluster: &impl DeliveredCluster,
        now: Timestamp,
    ) -> Result<Credentials, Cause> {
        let address = self.admin.read_parts().map_err(TokenFailure::Unusable)?.address;
        let token = issue_token(cluster).await?;
        let text = token_kubeconfig(&address, &account_name(&self.uid), &token.token.0);
        let stamp = TokenFingerprint {
            issued: now,
            expires: token.expires,
            generation: self.wish.generation,
            origin: self.origin_fingerprint(),
            digest: kubeconfig_digest(text.as_bytes()),
        };
        Ok(Credentials {
            kubeconfig: Redacted(text.into_bytes()),
            password: Redacted(Vec::new()),
            source_revision: stamp.to_string(),
        })
    }
}

/// Owner of the credentials that are published for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialsOwner {
    /// Those of the cluster's admin.
    Admin,
    /// Those of this ServiceAccount.
    Account(AccessRequest),
    /// Nobody may have the credentials; the reason, as a sentence.
    Nobody(&'static str),
}

/// Decides which credentials are published. `annotation` is the access request on the object. Published credentials of a ServiceAccount never
/// turn into the admin's: otherwise anyone who may edit the object could obtain those by removing the request.
pub fn credentials_owner(annotation: Option<&str>, published: &Published) -> CredentialsOwner {
    match annotation.map(AccessRequest::from_annotation) {
        Some(Ok(wish)) => CredentialsOwner::Account(wish),
        Some(Err(_)) => CredentialsOwner::Nobody(UNREADABLE),
        None if TokenFingerprint::of(published).is_some() => CredentialsOwner::Nobody(REQUEST_REMOVED),
        None => CredentialsOwner::Admin,
    }
}

/// The annotation with the wish.
pub const WISH: &str = ours::CREDENTIALS_WISH;

const UNREADABLE: &str =
    "annotation testplatform.ci.openshift.org/credentials-wish cannot be understood; update the provider";
const REQUEST_REMOVED: &str = "annotation testplatform.ci.openshift.org/credentials-wish was removed, and the admin's credentials are \
    not published in its place";
